// Reads Slurm's options, and names the variables that follow from them.
#include "sim/io/import/launch/shell/slurm.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>

#include "sim/io/import/launch/shell/lexer.h"
#include "sim/io/import/launch/shell/variables.h"

namespace foretoken::io::shell {
namespace {

// "4", "gpu:8" and "gpu:a100:8"; not "2-4".
std::optional<std::int64_t> count_of(const std::map<std::string, std::string>& options,
                                     std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = options.find(name);
    if (found == options.end()) continue;
    const std::string_view text = std::string_view(found->second).substr(found->second.rfind(':') + 1);
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size() && value > 0;
    return whole ? std::optional<std::int64_t>(value) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::map<std::string, std::string> slurm_directives(std::string_view text) {
  std::map<std::string, std::string> options;
  constexpr std::string_view kDirective = "#SBATCH";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    // Slurm reads no further than the first command.
    if (line.find_first_not_of(" \t\r") != line.npos && !line.starts_with('#')) break;
    if (!line.starts_with(kDirective)) continue;
    line.remove_prefix(kDirective.size());
    Texts words;
    for (const Token& token : tokens_of(line))
      if (!token.is_operator) words.push_back(token.text);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::size_t equals = words[i].find('=');
      const bool next = equals == std::string::npos && i + 1 < words.size() && !words[i + 1].starts_with('-');
      if (!words[i].starts_with('-')) continue;
      if (equals != std::string::npos)
        options[words[i].substr(0, equals)] = words[i].substr(equals + 1);
      else
        options[words[i]] = next ? words[i + 1] : "";
    }
  }
  return options;
}

std::map<std::string, std::string, std::less<>> slurm_variables(const std::map<std::string, std::string>& options) {
  std::map<std::string, std::string, std::less<>> variables;
  const auto nodes = count_of(options, {"--nodes", "-N"}), each = count_of(options, {"--ntasks-per-node"});
  const auto gpus = count_of(options, {"--gpus-per-node", "--gres"});
  auto tasks = count_of(options, {"--ntasks", "-n"});
  const bool tasks_stated = options.contains("--ntasks") || options.contains("-n");
  if (!tasks_stated && nodes && each) tasks = *nodes * *each;
  if (nodes) variables["SLURM_NNODES"] = variables["SLURM_JOB_NUM_NODES"] = std::to_string(*nodes);
  if (tasks) variables["SLURM_NTASKS"] = variables["SLURM_NPROCS"] = std::to_string(*tasks);
  if (each) variables["SLURM_NTASKS_PER_NODE"] = std::to_string(*each);
  // "8(x2)": eight tasks on each of two nodes. Beside another number of tasks the option is a limit.
  if (nodes && each && tasks == *nodes * *each)
    variables["SLURM_TASKS_PER_NODE"] =
        std::to_string(*each) + (*nodes == 1 ? "" : "(x" + std::to_string(*nodes) + ")");
  if (gpus) variables["SLURM_GPUS_ON_NODE"] = std::to_string(*gpus);
  // These hold the text of the option (sbatch(1), "OUTPUT ENVIRONMENT VARIABLES").
  constexpr std::pair<const char*, const char*> kTexts[] = {{"--gpus-per-node", "SLURM_GPUS_PER_NODE"},
                                                            {"--gpus", "SLURM_GPUS"},
                                                            {"-G", "SLURM_GPUS"},
                                                            {"--gpus-per-task", "SLURM_GPUS_PER_TASK"},
                                                            {"--cpus-per-task", "SLURM_CPUS_PER_TASK"},
                                                            {"-c", "SLURM_CPUS_PER_TASK"},
                                                            {"--job-name", "SLURM_JOB_NAME"},
                                                            {"-J", "SLURM_JOB_NAME"},
                                                            {"--partition", "SLURM_JOB_PARTITION"},
                                                            {"-p", "SLURM_JOB_PARTITION"}};
  for (const auto& [option, variable] : kTexts)
    if (const auto found = options.find(option); found != options.end() && !found->second.empty())
      variables[variable] = found->second;
  return variables;
}

}  // namespace foretoken::io::shell
