// Makes a job in this order: given parts, software, choices, and the rules between them.
#include "sim/job/make.h"

#include <numeric>
#include <utility>

#include "sim/base/check.h"
#include "sim/job/rules/rules.h"

namespace foretoken::job {
namespace {

// Takes the parts of a job that no choice changes.
void take_given_parts(const Question& question, Job& job) {
  job.name = question.name;
  job.model = question.model;
  job.cluster = question.cluster;
  job.profile = question.profile;
  for (const AskedPool& pool : question.pools)
    job.groups.push_back({.stages = 1, .cluster = pool.cluster, .profile = pool.profile});
  job.runtime = question.runtime;
  job.cuda_graphs = question.cuda_graphs;
  job.compile = question.compile;
  job.routing = question.routing.value_or(Routing{});
  job.optimizer.name = question.optimizer;
  job.optimizer.paged = question.paged_optimizer;
  job.optimizer.post_validation = question.post_validation;
  if (question.tuning) job.model.tuning = *question.tuning;
  job.imperfections = question.imperfections;
  job.stragglers = question.stragglers;
  job.run = question.run;
}

Parallelism stated(const AskedParallelism& asked) {
  Parallelism parallelism{.virtual_pipeline = asked.virtual_pipeline.value_or(1),
                          .sequence_parallel = asked.sequence_parallel.value_or(false),
                          .exchange = asked.exchange,
                          .embedding_and_head_as_layers = asked.embedding_and_head_as_layers,
                          .layers_per_stage = asked.layers_per_stage,
                          .encoder_pipeline = asked.encoder_pipeline};
  for (const auto& [axis, degree] : kDegrees) parallelism.*degree = asked.degrees[axis].value_or(1);
  parallelism.data = 1;  // until the rules know the GPUs that the others leave
  return parallelism;
}

void take_choices(const Question& question, Job& job) {
  const Choices& choices = question.choices;
  job.gpus = choices.gpus;
  job.parallelism = stated(choices.parallelism);
  if (choices.schedule) job.parallelism.copies = choices.schedule->copies;
  if (!choices.parallelism.virtual_pipeline) job.parallelism.virtual_pipeline = job.parallelism.copies;
  job.batch = {.micro = choices.batch.micro.value_or(1),
               .global = choices.batch.global,
               .sequence_length = choices.batch.sequence_length,
               .microbatch_group = choices.batch.microbatch_group,
               .masked_fraction = choices.batch.masked_fraction,
               .packed = choices.batch.packed,
               .decoder_sequence_length = choices.batch.decoder_sequence_length};
  if (job.model.encoder_decoder) job.parallelism.encoder_layers = job.model.encoder_decoder->encoder_layers;
  job.recompute = choices.recompute.value_or(Recompute{});
  job.optimizer.zero_stage = choices.zero_stage.value_or(question.runtime.default_zero_stage);
  job.offload = choices.offload.value_or(Offload{});
  job.precision = choices.precision.value_or(Precision::kBf16);
  job.recipe = recipe_of(question);
  job.routing.dispatcher = choices.dispatcher.value_or(Routing{}.dispatcher);
}

// Places the job on NVLink domains that hold several nodes.
void place_on_domains(const Question& question, Job& job) {
  const Parallelism& degrees = job.parallelism;
  const auto group = std::lcm<std::int64_t>(degrees.tensor, std::int64_t{degrees.expert} * degrees.expert_tensor);
  if (question.cluster.segment) job.cluster = net::as_placed(question.cluster, job.gpus, group);
  for (std::size_t kind = 0; kind < question.pools.size(); ++kind) {
    const AskedPool& pool = question.pools[kind];
    if (pool.cluster.segment) job.groups[kind].cluster = net::as_placed(pool.cluster, pool.gpus, group);
  }
}

// Asks every rule that a choice may break. Some rules complete the job.
void settle_choices(Draft& draft) {
  const Sound& sound = draft.sound;
  take_choices(draft.question, draft.job);
  place_on_domains(draft.question, draft.job);
  settle_overlap(draft);
  const bool known = sound.parallelism && sound.schedule && settle_schedule(draft);
  if (sound.cluster && sound.gpus && !pools_make_up_gpus(draft)) return;
  const bool fits = sound.parallelism && sound.gpus && degrees_fit(draft);
  if (fits && sound.model) settle_experts(draft);
  if (sound.cluster && sound.gpus) check_nodes(draft);
  if (sound.cluster && fits && !stages_stand_on_one_kind(draft)) return;
  if (sound.model) check_stack(draft);
  if (sound.model && sound.parallelism) check_shards(draft);
  const bool split = sound.model && sound.parallelism && layers_split(draft);
  if (sound.parallelism && sound.batch) check_sequence(draft);
  if (sound.model && sound.batch) check_positions(draft);
  if (sound.model && sound.batch) check_heads(draft);
  if (sound.batch) check_packing(draft);
  if (sound.model && sound.batch) check_tuning(draft);
  if (sound.model && sound.batch && sound.parallelism) check_halves(draft);
  if (sound.batch && fits && batch_divides(draft) && known) check_schedule(draft);
  if (split) check_recomputed_layers(draft);
  if (sound.parallelism) check_sharding(draft);
  check_hardware(draft);
  check_attention(draft);
  settle_offload(draft, split);
}

}  // namespace

namespace {

// Adds advice that the rules accept. Checking it asks them again, without advice.
void add_advice(Draft& draft) {
  const std::vector<Complaint> complaints = draft.complaints;
  const auto complaints_of = [&](const Question& changed) {
    Job job;
    Draft other{.question = changed, .sound = draft.sound, .job = job};
    take_given_parts(changed, job);
    settle_software(other);
    settle_choices(other);
    return std::move(other.complaints);
  };
  for (const auto& [place, advice] : draft.advice)
    draft.complaints[place].message +=
        advice_words(advice, complaints[place], draft.question, complaints, complaints_of);
}

}  // namespace

Attempt attempt(const Question& question, const Sound& sound) {
  Job job;
  Draft draft{.question = question, .sound = sound, .job = job};
  draft.advises = true;
  draft.notes.assumptions = question.notes.assumptions;
  draft.notes.defaulted = question.notes.defaulted;
  take_given_parts(question, job);
  settle_software(draft);
  settle_choices(draft);
  add_advice(draft);
  if (!draft.complaints.empty() || !sound.all()) return {std::nullopt, std::move(draft.complaints)};
  std::vector<std::string>& warnings = draft.notes.warnings;
  warnings.insert(warnings.end(), question.notes.warnings.begin(), question.notes.warnings.end());
  return {Made(std::move(job), std::move(draft.notes)), {}};
}

Made make(const Question& question) {
  Attempt result = attempt(question);
  if (!result.made) throw ConfigError(std::move(result.complaints));
  return std::move(*result.made);
}

std::vector<Complaint> wrong_for_any_choice(const Question& question) {
  Job job;
  const Sound sound;
  Draft draft{.question = question, .sound = sound, .job = job};
  settle_software(draft);
  return std::move(draft.complaints);
}

Maker::Maker(Question question) : question_(std::move(question)), asked_(question_.choices) {
  const Sound sound;
  Draft draft{.question = question_, .sound = sound, .job = job_};
  take_given_parts(question_, job_);
  settle_software(draft);
}

const Job* Maker::make(const Patch& patch) {
  question_.choices = asked_;
  for (const Edit& edit : patch) {
    expects(is_choice(edit.key), "a maker's jobs differ in choices only");
    apply(edit, question_);
  }
  const Sound sound;
  Draft draft{.question = question_, .sound = sound, .job = job_};
  settle_choices(draft);
  complaints_ = std::move(draft.complaints);
  return complaints_.empty() ? &job_ : nullptr;
}

}  // namespace foretoken::job
