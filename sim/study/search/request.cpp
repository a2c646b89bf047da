// The request of a search as JSON, and the keys that it can leave open.
#include "sim/study/search/request.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace foretoken::study {
namespace {

using Json = nlohmann::ordered_json;

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

std::vector<std::string> all_keys_free() {
  std::vector<std::string> sets;
  for (const char* key : kFreeKeys) sets.push_back(fmt::format("{}=null", key));
  return sets;
}

std::string to_json(const SearchRequest& request) {
  const Json json = {{"foretoken_search", 1},
                     {"objective", name_of(request.objective)},
                     {"pareto", {name_of(request.axes[0]), name_of(request.axes[1])}},
                     {"top", request.top},
                     {"require_fit", request.require_fit},
                     {"gpus", request.space.gpus},
                     {"schedules", request.space.schedules},
                     {"cross_node_tensor", request.space.cross_node_tensor},
                     {"scenario", Json::parse(request.question)}};
  return json.dump();
}

}  // namespace foretoken::study
