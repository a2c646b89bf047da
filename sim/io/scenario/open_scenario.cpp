// Open keys are those that are absent; completing a choice runs the same rules as reading a file.
#include "sim/io/scenario/open_scenario.h"

#include <utility>

#include "sim/io/scenario/scenario_parts.h"
#include "sim/io/scenario/scenario_rules.h"

namespace foretoken::io {
namespace {

using job::Job;
using nlohmann::json;

bool states(const json& value, std::string_view part, std::string_view key) {
  const auto object = value.find(part);
  if (object == value.end() || !object->is_object()) return false;
  const auto member = object->find(key);
  return member != object->end() && !member->is_null();
}

bool states(const json& value, std::string_view key) {
  const auto member = value.find(key);
  return member != value.end() && !member->is_null();
}

OpenKeys open_keys(const json& value) {
  const auto open = [&](std::string_view key) { return !states(value, "parallelism", key); };
  return {.tensor = open("tensor"),
          .pipeline = open("pipeline"),
          .virtual_pipeline = open("virtual_pipeline"),
          .context = open("context"),
          .sequence_parallel = open("sequence_parallel"),
          .schedule = !states(value, "schedule"),
          .micro_batch = !states(value, "batch", "micro"),
          .recompute = !states(value, "recompute"),
          .zero_stage = !states(value, "optimizer", "zero_stage")};
}

}  // namespace

OpenScenario::OpenScenario(Job base, Document document)
    : base_(std::move(base)), document_(std::move(document)), open_(open_keys(document_.value)) {
  if (!open_.schedule) {
    const std::string stated = document_.value.at("schedule").get<std::string>();
    base_.schedule = schedule::find_schedule(stated).value_or(schedule::Schedule{.name = stated, .description = ""});
  }
  anchor_references(document_.value, document_.source.folder);
  document_.value["name"] = base_.name;
}

std::vector<Complaint> OpenScenario::complete(Job& scenario) const {
  json keys = {{"schedule", scenario.schedule.name}};  // of all keys, the rules read only these two
  if (const auto overlap = document_.value.find("overlap"); overlap != document_.value.end())
    keys["overlap"] = *overlap;
  drop_idle_overlap(scenario, keys);
  Findings findings;
  const Node root(keys, document_.source, findings);
  scenario.warnings.clear();
  read_overlap(root, scenario);
  apply_scenario_rules(root, Sound{}, scenario);
  return std::move(findings.complaints);
}

// A stated overlap of parameter gathers speaks of the choices that gather: where sharding is open and nothing is
// sharded it says nothing.
void OpenScenario::drop_idle_overlap(const Job& scenario, json& value) const {
  if (!open_.zero_stage || scenario.optimizer.zero_stage > 0) return;
  if (const auto overlap = value.find("overlap"); overlap != value.end() && overlap->is_object())
    overlap->erase("param_gather");
}

std::string OpenScenario::text_of(const Job& scenario, int indent) const {
  const job::Parallelism& chosen = scenario.parallelism;
  json value = document_.value;
  value["gpus"] = scenario.gpus;
  value["schedule"] = scenario.schedule.name;
  value["batch"]["micro"] = scenario.batch.micro;
  value["optimizer"]["zero_stage"] = scenario.optimizer.zero_stage;
  if (open_.recompute) value["recompute"] = name_of(scenario.recompute.granularity);
  json& parallelism = value["parallelism"];
  parallelism["tensor"] = chosen.tensor;
  parallelism["pipeline"] = chosen.pipeline;
  parallelism["virtual_pipeline"] = chosen.virtual_pipeline;
  parallelism["context"] = chosen.context;
  parallelism["data"] = chosen.data;
  parallelism["sequence_parallel"] = chosen.sequence_parallel;
  drop_idle_overlap(scenario, value);
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

std::string OpenScenario::question() const { return document_.value.dump(); }

}  // namespace foretoken::io
