// Writes the request of a search as JSON, and lists the keys that it can leave open.
#include "sim/study/search/request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/job/patch.h"

namespace foretoken::study {
namespace {

using Json = nlohmann::ordered_json;

bool is_requested(job::Key key) { return std::ranges::find(job::requested_keys(), key) != job::requested_keys().end(); }

// Returns true for keys that can be freed. GPUs are chosen by --gpus.
bool can_be_freed(job::Key key) { return key != job::Key::kGpus; }

// Returns true when `free` names the key or an object above it. A search deals layers out evenly. A stated list of them
// goes with the degrees, and cannot be searched itself.
bool frees_key(std::string_view free, job::Key key) {
  const std::string_view name = name_of(key);
  if (name == free) return key != job::Key::kLayersPerStage;
  return name.size() > free.size() && name.starts_with(free) && name[free.size()] == '.';
}

}  // namespace

std::vector<std::string> all_keys_free(const model::Transformer& model, const job::Runtime& runtime) {
  std::vector<std::string> sets;
  for (const job::Key key : job::choice_keys())
    if (can_be_freed(key) && !is_requested(key) && !search::has_no_choice(model, runtime, key))
      sets.push_back(fmt::format("{}=null", name_of(key)));
  return sets;
}

std::vector<std::string> overrides_of_free(std::string_view free, const model::Transformer& model,
                                           const job::Runtime& runtime) {
  std::vector<std::string> sets;
  for (const job::Key key : keys_freed_by(free))
    if (!search::has_no_choice(model, runtime, key)) sets.push_back(fmt::format("{}=null", name_of(key)));
  return sets;
}

std::vector<job::Key> keys_freed_by(std::string_view free) {
  std::vector<job::Key> keys;
  for (const job::Key key : job::choice_keys())
    if (can_be_freed(key) && frees_key(free, key)) keys.push_back(key);
  return keys;
}

std::vector<std::string> freeable_keys() {
  std::vector<std::string> names;
  for (const job::Key key : job::choice_keys())
    if (can_be_freed(key) && frees_key(name_of(key), key)) names.emplace_back(name_of(key));
  return names;
}

namespace {

// Explains the lack of a choice.
std::string why_not(const job::Question& question, job::Key key) {
  const std::string runtime = in_quotes(question.runtime.name);
  if (job::is_about_experts(key) && !question.model.experts)
    return fmt::format("model {} is dense, so a search cannot choose it", in_quotes(question.model.name));
  if (key == job::Key::kEncoderPipeline)
    return fmt::format("model {} has no encoder beside a decoder, so a search cannot choose it",
                       in_quotes(question.model.name));
  if (key == job::Key::kDispatcher)
    return fmt::format("runtime {} states no dispatchers to choose from; state one with --set {}=all-to-all", runtime,
                       name_of(key));
  return fmt::format(
      "runtime {} has no switch for it, so a search cannot choose it; state it with --set {}=true or "
      "false",
      runtime, name_of(key));
}

}  // namespace

void expect_choices(const job::Question& question, std::span<const std::string> frees) {
  std::vector<Complaint> complaints;
  for (const std::string& free : frees) {
    const std::vector<job::Key> keys = keys_freed_by(free);
    const auto is_fixed = [&](job::Key key) { return search::has_no_choice(question.model, question.runtime, key); };
    if (!keys.empty() && std::ranges::all_of(keys, is_fixed))
      complaints.push_back({"--free " + free, "", why_not(question, keys.front())});
  }
  if (!complaints.empty()) throw ConfigError(std::move(complaints));
}

std::string to_json(const SearchRequest& request) {
  std::vector<std::string_view> requested;
  for (const job::Key key : request.space.requested) requested.push_back(name_of(key));
  Json json = {{"foretoken_search", 2},
               {"program", request.program},
               {"inputs", request.inputs},
               {"objective", name_of(request.objective)},
               {"pareto", {name_of(request.axes[0]), name_of(request.axes[1])}},
               {"top", request.top},
               {"require_fit", request.require_fit},
               {"gpus", request.space.gpus},
               {"schedules", request.space.schedules},
               {"cross_node_tensor", request.space.cross_node_tensor},
               {"requested", requested},
               {"scenario", Json::parse(request.question)}};
  if (request.space.stated_zero_stage > 1) json["stated_zero_stage"] = request.space.stated_zero_stage;
  if (request.space.partition == search::Partition::kPipeDream) json["partition"] = "pipedream";
  return json.dump();
}

}  // namespace foretoken::study
