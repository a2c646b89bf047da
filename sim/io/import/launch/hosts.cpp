// Reads DeepSpeed's file of hosts: "worker-1 slots=8" (deepspeed/launcher/runner.py, _parse_hostfile).
#include "sim/io/import/launch/hosts.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "sim/base/text.h"
#include "sim/io/import/launch/near_file.h"
#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::launch {
namespace {

constexpr std::int64_t kMostSlots = 1 << 10;
constexpr std::size_t kMostHosts = 1 << 14;

// Returns the slots of each host; nothing for another text.
std::optional<std::vector<std::int64_t>> slots_in(std::string_view text) {
  std::vector<std::int64_t> slots;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const auto words = words_of_text(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    constexpr std::string_view kSlots = "slots=";
    if (words.size() != 2 || !words[1].starts_with(kSlots)) return std::nullopt;
    const auto count = whole_of(std::string_view(words[1]).substr(kSlots.size()));
    if (!count || *count < 1 || *count > kMostSlots || slots.size() >= kMostHosts) return std::nullopt;
    slots.push_back(*count);
  }
  return slots.empty() ? std::nullopt : std::optional(std::move(slots));
}

bool is_by_deepspeed(const shell::Command& command) {
  return std::ranges::any_of(
      command.words, [](const std::string& word) { return std::filesystem::path(word).filename() == "deepspeed"; });
}

}  // namespace

void take_hosts(const shell::Script& script, const shell::Command& command, const LaunchedProgram& launched,
                const std::string& folder, std::vector<Argument>& counts) {
  const Argument* const stated = last_of(launched.options, "hostfile");
  const bool chosen = launched.has("include") || launched.has("exclude");
  if (stated == nullptr || stated->values.empty() || chosen || !is_by_deepspeed(command)) return;
  const auto text = text_of_named(script, stated->values.front(), folder);
  const auto slots = text ? slots_in(*text) : std::nullopt;
  if (!slots) return;
  const auto option = [&](const char* name) { return whole_of(value_of(launched.options, name)).value_or(0); };
  const std::int64_t each = option("num-gpus"), nodes = option("num-nodes");
  std::int64_t all = 0;
  for (std::size_t host = 0; host < slots->size(); ++host)
    if (nodes < 1 || static_cast<std::int64_t>(host) < nodes)
      all += each > 0 ? std::min(each, (*slots)[host]) : (*slots)[host];
  counts = {{"gpus", {std::to_string(all)}, command.place()}};
}

}  // namespace foretoken::io::launch
