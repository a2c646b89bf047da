// Writes a choice of the open keys back into the scenario's JSON.
#include "sim/io/scenario/open_scenario.h"

#include <fmt/format.h>

#include "sim/base/hash.h"
#include "sim/io/scenario/inline_files.h"
#include "sim/job/rules/precision_recipe.h"

namespace foretoken::io {

using nlohmann::json;

namespace {

// Returns true when the job has other gradients than the question asks for.
bool short_gradients(const job::Question& asked, const job::Job& job) {
  const std::optional<job::AskedRecipe>& stated = asked.choices.recipe;
  if (stated && stated->gradient_bytes) return false;
  const job::PrecisionRecipe usual = job::default_recipe(job.precision, asked.runtime);
  return job.recipe.gradient_bytes != usual.gradient_bytes;
}

}  // namespace

OpenScenario::OpenScenario(job::Question asked, Document document, std::vector<ReadFile> files)
    : asked_(std::move(asked)), document_(std::move(document)), files_(std::move(files)) {
  inline_files(document_.value, document_.source.folder);
  anchor_references(document_.value, document_.source.folder);
  document_.value["name"] = asked_.name;
}

std::string OpenScenario::text_of(const job::Job& job, int indent) const {
  const job::Parallelism& chosen = job.parallelism;
  json value = document_.value;
  value["gpus"] = job.gpus;
  const bool as_stated = job.schedule.only_shape || job.schedule.made;
  if (!as_stated) value["schedule"] = job.schedule.name;
  value["batch"]["micro"] = job.batch.micro;
  value["optimizer"]["zero_stage"] = job.optimizer.zero_stage;
  if (!asked_.choices.recompute) value["recompute"] = name_of(job.recompute.granularity);
  json& parallelism = value["parallelism"];
  for (const auto& [axis, degree] : job::kDegrees) parallelism[std::string(name_of(axis))] = chosen.*degree;
  parallelism["virtual_pipeline"] = chosen.virtual_pipeline;
  parallelism["sequence_parallel"] = chosen.sequence_parallel;
  if (chosen.encoder_pipeline) parallelism["encoder_pipeline"] = *chosen.encoder_pipeline;
  if (!chosen.layers_per_stage.empty()) parallelism["layers_per_stage"] = chosen.layers_per_stage;
  if (job.batch.microbatch_group) value["batch"]["microbatch_group"] = *job.batch.microbatch_group;
  for (const auto& [name, member] : job::kOverlaps) value["overlap"][std::string(name)] = job.overlap.*member;
  if (job.model.experts) {
    for (const auto& [axis, degree] : job::kExpertDegrees) parallelism[std::string(name_of(axis))] = chosen.*degree;
    value["moe"]["dispatcher"] = model::name_of(job.routing.dispatcher);
    value["moe"]["overlap"] = job.overlap.exchanges;
  }
  const job::Offload stated = asked_.choices.offload.value_or(job::Offload{});
  for (const auto& [key, part] : job::kOffloadedParts)
    if ((job.offload.*part).any() && !(stated.*part).any()) value["offload"][std::string(key)] = "cpu";
  value["precision"] = job.precision_name();
  if (short_gradients(asked_, job)) value["precision_recipe"]["gradients"] = job.recipe.gradient_bytes;
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

std::string OpenScenario::inputs() const {
  std::uint64_t digest = 0;
  for (const ReadFile& file : files_) digest = hash(digest ^ file.digest);
  return fmt::format("{:016x}", digest);
}

std::string OpenScenario::question() const { return document_.value.dump(); }

}  // namespace foretoken::io
