// Reads TRL's options of accelerate.
//
// Profiles: huggingface/trl, trl/accelerate_configs. Options: trl/cli.py and trl/scripts/utils.py.
#include "sim/io/import/launch/tuning/trl.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

namespace foretoken::io::launch::tuning {
namespace {

struct Profile {
  std::string_view name, option, stage;  ///< `stage` is of ZeRO
  std::int64_t processes;
};
constexpr Profile kProfiles[] = {{"single_gpu", "", "", 1},          {"multi_gpu", "multi-gpu", "", 8},
                                 {"fsdp1", "use-fsdp", "", 8},       {"fsdp2", "use-fsdp", "", 8},
                                 {"zero1", "use-deepspeed", "1", 8}, {"zero2", "use-deepspeed", "2", 8},
                                 {"zero3", "use-deepspeed", "3", 8}};

std::string take(const char* key, Json& document) {
  const auto found = document.find(key);
  if (found == document.end() || !found->is_string()) return "";
  std::string value = found->get<std::string>();
  document.erase(key);
  return value;
}

}  // namespace

// `trl sft ...`: a folder may be called trl, too.
bool is_trl(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 1 < words.size() && !words[i].ends_with(".py"); ++i)
    if (std::filesystem::path(words[i]).filename() == "trl" && !words[i + 1].starts_with('-')) return true;
  return false;
}

void take_options_of_trl(const shell::Command& command, Json& document, LaunchedProgram& launched,
                         std::optional<std::int64_t>& gpus) {
  const std::string count = take("num_processes", document), name = take("accelerate_config", document);
  (void)take("num_machines", document);
  if (!gpus) gpus = whole_of(count);
  if (name.empty()) return;
  const auto add = [&](std::string_view option, std::vector<std::string> values) {
    launched.options.push_back({std::string(option), std::move(values), command.place()});
  };
  const auto* const profile = std::ranges::find(kProfiles, std::string_view(name), &Profile::name);
  if (profile == std::end(kProfiles)) return add("config-file", {name});
  // The option may have a value that nobody knows.
  const bool counted =
      std::ranges::any_of(command.words, [](const std::string& word) { return word.starts_with("--num_processes"); });
  if (!gpus && !counted) gpus = profile->processes;
  add("mixed-precision", {"bf16"});
  if (!profile->option.empty()) add(profile->option, {});
  if (!profile->stage.empty()) add("zero-stage", {std::string(profile->stage)});
}

}  // namespace foretoken::io::launch::tuning
