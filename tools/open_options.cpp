// Options of commands that search.
#include "tools/open_options.h"

#include <fmt/format.h>

#include "tools/search_request.h"

namespace foretoken::tools {
namespace {

// Every key that a search can choose, and those that only make sense beside a stated one.
constexpr const char* kFreeKeys[] = {"parallelism.tensor",
                                     "parallelism.pipeline",
                                     "parallelism.virtual_pipeline",
                                     "parallelism.data",
                                     "parallelism.context",
                                     "parallelism.sequence_parallel",
                                     "parallelism.layers_per_stage",
                                     "schedule",
                                     "batch.micro",
                                     "batch.microbatch_group",
                                     "recompute",
                                     "optimizer.zero_stage"};

}  // namespace

void add_open_options(CLI::App& command, OpenOptions& options) {
  const auto keys = [&](const char* name, std::vector<std::string>& values, const char* about, const char* type) {
    command.add_option(name, values, about)->allow_extra_args(false)->type_name(type);
  };
  keys("--free", options.frees, "Search this key although the scenario states it; all: every key that can be searched",
       "KEY|all");
  keys("--fix", options.fixes, "Keep this key at a value; may be repeated", "KEY=VALUE");
  keys("--set", options.sets, "Override a key of the scenario; may be repeated", "KEY=VALUE");
  command.add_option("--gpus", options.gpus, "Cluster sizes: 512, or 512,1024, or 256:4096:x2")->type_name("SIZES");
  command.add_option("--schedules", options.schedules, "Schedules to choose from (1f1b,interleaved), or all")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  command.add_flag("--cross-node-tensor", options.cross_node_tensor,
                   "Also tensor degrees that do not divide the GPUs of a node");
}

std::vector<std::string> overrides(const OpenOptions& options) {
  std::vector<std::string> sets;
  if (!options.gpus.empty()) sets.emplace_back("parallelism.data=null");
  for (const std::string& key : options.frees) {
    if (key == "all")
      for (const char* each : kFreeKeys) sets.push_back(fmt::format("{}=null", each));
    else
      sets.push_back(key + "=null");
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
