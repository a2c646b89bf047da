// Writes a choice of the open keys back into the scenario's JSON.
#include "sim/io/scenario/open_scenario.h"

#include <fmt/format.h>

#include "sim/base/hash.h"

namespace foretoken::io {

using nlohmann::json;

OpenScenario::OpenScenario(job::Question asked, Document document, std::vector<ReadFile> files)
    : asked_(std::move(asked)), document_(std::move(document)), files_(std::move(files)) {
  anchor_references(document_.value, document_.source.folder);
  document_.value["name"] = asked_.name;
}

std::string OpenScenario::text_of(const job::Job& job, int indent) const {
  const job::Parallelism& chosen = job.parallelism;
  json value = document_.value;
  value["gpus"] = job.gpus;
  value["schedule"] = job.schedule.name;
  value["batch"]["micro"] = job.batch.micro;
  value["optimizer"]["zero_stage"] = job.optimizer.zero_stage;
  if (!asked_.choices.recompute) value["recompute"] = name_of(job.recompute.granularity);
  json& parallelism = value["parallelism"];
  for (const auto& [axis, degree] : job::kDegrees) parallelism[std::string(name_of(axis))] = chosen.*degree;
  parallelism["virtual_pipeline"] = chosen.virtual_pipeline;
  parallelism["sequence_parallel"] = chosen.sequence_parallel;
  // A stated overlap of parameter gathers applies only to choices with gathers. Without sharding it has no effect.
  if (!asked_.choices.zero_stage && job.optimizer.zero_stage == 0)
    if (const auto overlap = value.find("overlap"); overlap != value.end() && overlap->is_object())
      overlap->erase("param_gather");
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

std::string OpenScenario::inputs() const {
  std::uint64_t digest = 0;
  for (const ReadFile& file : files_) digest = hash(digest ^ file.digest);
  return fmt::format("{:016x}", digest);
}

std::string OpenScenario::question() const { return document_.value.dump(); }

}  // namespace foretoken::io
