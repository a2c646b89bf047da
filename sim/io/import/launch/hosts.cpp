// Reads files of hosts, "worker-1 slots=8", of DeepSpeed (deepspeed/launcher/runner.py, _parse_hostfile and main) and
// of Open MPI (mpirun(1) of version 4.1: without -np a process runs on every slot).
#include "sim/io/import/launch/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "sim/base/text.h"
#include "sim/io/import/launch/near_file.h"
#include "sim/io/import/launch/shell/inner_shell.h"
#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::launch {
namespace {

constexpr std::int64_t kMostSlots = 1 << 10;
constexpr std::size_t kMostHosts = 1 << 14;

struct Hosts {
  std::vector<std::int64_t> slots{};  ///< of each host
  std::string twice = "";             ///< a host that is listed twice; empty for none
};

// Returns the hosts of lines that begin with "NAME slots=N", whatever stands behind; nothing for another text.
std::optional<Hosts> hosts_in(std::string_view text) {
  Hosts hosts;
  std::set<std::string> names;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto words = words_of_text(text.substr(at, end - at));
    at = end + 1;
    if (words.empty() || words[0].starts_with('#')) continue;
    constexpr std::string_view kSlots = "slots=";
    if (words.size() < 2 || !words[1].starts_with(kSlots)) return std::nullopt;
    const std::string_view behind = std::string_view(words[1]).substr(kSlots.size());
    const auto count = whole_of(behind.substr(0, behind.find_first_not_of("0123456789")));
    if (!count || *count < 1 || *count > kMostSlots || hosts.slots.size() >= kMostHosts) return std::nullopt;
    if (!names.insert(words[0]).second && hosts.twice.empty()) hosts.twice = words[0];
    hosts.slots.push_back(*count);
  }
  return hosts.slots.empty() ? std::nullopt : std::optional(std::move(hosts));
}

// Returns true where DeepSpeed's launcher is the last one before --hostfile. Another launcher before the program has
// an option of its own with that name, or none.
bool is_by_deepspeed(const shell::Command& command, const LaunchedProgram& launched) {
  const auto& words = command.words;
  bool by_deepspeed = false;
  for (std::size_t i = 0; i + launched.program.size() < words.size(); ++i) {
    const std::string name = std::filesystem::path(words[i]).filename().string();
    if (name == "deepspeed" || words[i] == "deepspeed.launcher.runner") by_deepspeed = true;
    for (const char* other : {"accelerate", "torchrun", "mpirun", "mpiexec", "srun", "colossalai"})
      if (name == other) by_deepspeed = false;
    if (words[i] == "--hostfile" || words[i].starts_with("--hostfile=")) return by_deepspeed;
  }
  return false;
}

// Returns the file whose slots mpirun fills with processes; empty where options or a torchrun on each host count them.
std::string file_of_mpi(const shell::Command& command) {
  const auto& words = command.words;
  if (shell::process_launcher(words) != "mpirun") return "";
  std::string file;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string name = std::filesystem::path(words[i]).filename().string();
    if (name.starts_with("python") || name.ends_with(".py"))
      return shell::count_of_processes(words, i) ? std::string() : file;
    for (const char* other : {"torchrun", "deepspeed", "accelerate", "bash", "sh"})
      if (name == other) return "";
    const std::string_view option = std::string_view(words[i]).substr(0, words[i].find('='));
    for (const std::string_view counts : {"-N", "-npernode", "--npernode", "-pernode", "--pernode", "-npersocket",
                                          "--npersocket", "--map-by", "-map-by", "-H", "-host", "--host"})
      if (option == counts) return "";
    for (const std::string_view hosts : {"-hostfile", "--hostfile", "-machinefile", "--machinefile"})
      if (option == hosts)
        file = option.size() < words[i].size() ? words[i].substr(option.size() + 1)
               : i + 1 < words.size()          ? words[i + 1]
                                               : std::string();
  }
  return "";
}

// Puts the slots of all hosts in place of other counts.
void take_slots_of_mpi(const shell::Script& script, const shell::Command& command, const std::string& folder,
                       std::vector<Argument>& counts) {
  const std::string name = file_of_mpi(command);
  const auto text = name.empty() ? std::nullopt : text_of_named(script, name, folder);
  const auto hosts = text ? hosts_in(*text) : std::nullopt;
  if (!hosts) return;
  const std::int64_t all = std::accumulate(hosts->slots.begin(), hosts->slots.end(), std::int64_t{0});
  counts = {{"gpus", {std::to_string(all)}, command.place()}};
}

}  // namespace

std::string take_hosts(const shell::Script& script, const shell::Command& command, const LaunchedProgram& launched,
                       const std::string& folder, std::vector<Argument>& counts) {
  take_slots_of_mpi(script, command, folder, counts);
  const Argument* const stated = last_of(launched.options, "hostfile");
  const bool chosen = launched.has("include") || launched.has("exclude");
  if (stated == nullptr || stated->values.empty() || !is_by_deepspeed(command, launched)) return "";
  const std::string& name = stated->values.front();
  const auto text = text_of_named(script, name, folder);
  const auto hosts = text ? hosts_in(*text) : std::nullopt;
  if (!hosts) return "";
  if (!hosts->twice.empty())
    return fmt::format("{} lists {} twice, where DeepSpeed's launcher stops", printable(name, 100),
                       printable(shell::shown_unknown(hosts->twice), 60));
  if (chosen) return "";
  const auto option = [&](const char* flag) { return whole_of(value_of(launched.options, flag)).value_or(0); };
  const std::int64_t each = option("num-gpus"), nodes = option("num-nodes");
  std::int64_t all = 0;
  for (std::size_t host = 0; host < hosts->slots.size(); ++host)
    if (nodes < 1 || static_cast<std::int64_t>(host) < nodes) all += each > 0 ? each : hosts->slots[host];
  counts = {{"gpus", {std::to_string(all)}, command.place()}};
  return "";
}

}  // namespace foretoken::io::launch
