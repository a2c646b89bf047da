// Writes the request of a search as JSON, and lists the keys that it can leave open.
#include "sim/study/search/request.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/job/patch.h"

namespace foretoken::study {
namespace {

using Json = nlohmann::ordered_json;

// Returns true for keys that "all" frees. GPUs are chosen by --gpus, and overlaps follow from other choices.
bool is_freed_by_all(job::Key key) {
  return key != job::Key::kGpus && key != job::Key::kGradReduce && key != job::Key::kParamGather;
}

}  // namespace

std::vector<std::string> all_keys_free() {
  std::vector<std::string> sets;
  for (const job::Key key : job::choice_keys())
    if (is_freed_by_all(key)) sets.push_back(fmt::format("{}=null", name_of(key)));
  return sets;
}

std::string to_json(const SearchRequest& request) {
  const Json json = {{"foretoken_search", 2},
                     {"program", request.program},
                     {"inputs", request.inputs},
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
