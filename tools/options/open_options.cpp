// Turns the options of commands that search into overrides and a search space.
#include "tools/options/open_options.h"

#include "sim/study/search/request.h"
#include "tools/options/search_values.h"

namespace foretoken::tools {
void add_open_options(CLI::App& command, OpenOptions& options) {
  const auto keys = [&](const char* name, std::vector<std::string>& values, const char* about, const char* type) {
    command.add_option(name, values, about)->allow_extra_args(false)->type_name(type);
  };
  keys("--free", options.frees, "Search this key, though the scenario sets it; all: every key that can be searched",
       "KEY|all");
  keys("--fix", options.fixes, "Hold this key at one value; may be repeated", "KEY=VALUE");
  keys("--set", options.sets, "Override a key of the scenario; may be repeated", "KEY=VALUE");
  command.add_option("--gpus", options.gpus, "Try these cluster sizes: 512, or 512,1024, or 256:4096:x2")
      ->type_name("SIZES");
  command.add_option("--schedules", options.schedules, "Try these schedules (1f1b,interleaved), or all")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  command.add_flag("--cross-node-tensor", options.cross_node_tensor,
                   "Also try tensor degrees that do not divide the GPUs of a node");
}

std::vector<std::string> overrides(const OpenOptions& options) {
  std::vector<std::string> sets;
  if (!options.gpus.empty()) sets.emplace_back("parallelism.data=null");
  for (const std::string& key : options.frees) {
    const std::vector<std::string> freed = key == "all" ? study::all_keys_free() : std::vector{key + "=null"};
    sets.insert(sets.end(), freed.begin(), freed.end());
  }
  sets.insert(sets.end(), options.sets.begin(), options.sets.end());
  sets.insert(sets.end(), options.fixes.begin(), options.fixes.end());
  return sets;
}

search::SpaceOptions space_of(const OpenOptions& options) {
  search::SpaceOptions space{
      .gpus = {}, .schedules = parse_schedules(options.schedules), .cross_node_tensor = options.cross_node_tensor};
  if (!options.gpus.empty()) space.gpus = parse_gpus(options.gpus);
  return space;
}

}  // namespace foretoken::tools
