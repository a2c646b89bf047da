// Nested choices from the outside in: GPUs, tensor, context, pipeline, chunks and schedule, micro-batch, then the rest.
//
// Candidates that cannot be valid (degrees that do not divide the GPUs, layers that cannot be dealt out, batches that
// do not divide) is left out here because it is most of what could be written down; the rest is asked when a job is
// made (sim/job/rules). Choices that change nothing are left out too: sequence parallelism or shards over one rank.
#include "sim/study/search/space.h"

#include <algorithm>
#include <limits>

#include "sim/job/layout.h"
#include "sim/job/rules/rules.h"
#include "sim/schedule/catalogue.h"

namespace foretoken::search {
namespace {

using job::Key;
using model::RecomputeGranularity;

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    low.push_back(d);
    if (d * d != number) high.push_back(number / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

// The stated degree, if it divides `number`; all divisors when none is stated.
template <class Degree>
std::vector<std::int64_t> choices(const std::optional<Degree>& stated, std::int64_t number) {
  if (!stated) return divisors(number);
  return number % *stated == 0 ? std::vector<std::int64_t>{*stated} : std::vector<std::int64_t>{};
}

// A stated schedule stands as it is: the catalogue need not have it.
std::vector<schedule::Schedule> schedules_of(const job::Choices& asked, const SpaceOptions& options) {
  if (asked.schedule) return {*asked.schedule};
  std::vector<schedule::Schedule> schedules;
  for (const std::string& name : options.schedules.empty() ? default_schedules() : options.schedules)
    schedules.push_back(schedule::schedule_named(name));
  return schedules;
}

}  // namespace

std::vector<std::string> default_schedules() { return {"1f1b", "interleaved-1f1b"}; }

Space::Space(const io::OpenScenario& question, SpaceOptions options)
    : question_(&question), options_(std::move(options)), schedules_(schedules_of(question.asked().choices, options_)) {
  const job::Choices& asked = question.asked().choices;
  if (options_.gpus.empty()) options_.gpus = {asked.gpus};
  for (const int gpus : options_.gpus)
    for (const std::int64_t tensor : choices(asked.parallelism.tensor, gpus)) {
      if (is_open(Key::kTensor) && !open_tensor_fits(static_cast<int>(tensor))) continue;
      add_contexts({.gpus = gpus, .tensor = static_cast<int>(tensor)});
    }
}

bool Space::open_tensor_fits(int tensor) const {
  const job::Question& asked = question_->asked();
  if (!job::tensor_divides(asked.model, tensor)) return false;
  return options_.cross_node_tensor || asked.cluster.links.gpus % tensor == 0;
}

void Space::add_contexts(Candidate candidate) {
  const job::Question& asked = question_->asked();
  const auto attention = asked.attention.value_or(asked.runtime.default_attention);
  for (const std::int64_t context : choices(asked.choices.parallelism.context, candidate.gpus / candidate.tensor)) {
    if (context > 1 && attention.kind != model::AttentionKind::kFlash) continue;
    if (!job::context_divides(asked.choices.batch.sequence_length, context)) continue;
    candidate.context = static_cast<int>(context);
    add_pipelines(candidate);
  }
}

void Space::add_pipelines(Candidate candidate) {
  const job::Question& asked = question_->asked();
  const job::AskedParallelism& degrees = asked.choices.parallelism;
  const std::int64_t layers = asked.model.layers;
  const int rest = candidate.gpus / (candidate.tensor * candidate.context);
  job::Parallelism shape{.embedding_and_head_as_layers = degrees.embedding_and_head_as_layers,
                         .layers_per_stage = degrees.layers_per_stage};
  for (const std::int64_t pipeline : choices(degrees.pipeline, rest)) {
    if (pipeline > layers + 2) break;
    const int data = rest / static_cast<int>(pipeline);
    if (degrees.data && *degrees.data != data) continue;
    if (asked.choices.batch.global % data != 0) continue;
    const int first = degrees.virtual_pipeline.value_or(1);
    const int last = degrees.virtual_pipeline.value_or(static_cast<int>((layers + 2) / pipeline));
    for (int chunks = first; chunks <= last; ++chunks) {
      shape.pipeline = static_cast<int>(pipeline);
      shape.virtual_pipeline = chunks;
      if (!job::deal_layers(layers, shape)) continue;
      candidate.pipeline = shape.pipeline;
      candidate.virtual_pipeline = chunks;
      add_batches(candidate);
    }
  }
}

void Space::add_batches(Candidate candidate) {
  const job::AskedBatch& batch = question_->asked().choices.batch;
  const std::int64_t data = candidate.data();
  for (std::size_t s = 0; s < schedules_.size(); ++s) {
    const schedule::Schedule& schedule = schedules_[s];
    if (schedule.interleaves != (candidate.virtual_pipeline > 1)) continue;
    for (const std::int64_t micro : choices(batch.micro, batch.global / data)) {
      const std::int64_t microbatches = batch.global / data / micro;
      if (microbatches > std::numeric_limits<int>::max()) continue;
      if (why_not(schedule, {.stages = candidate.pipeline,
                             .microbatches = static_cast<int>(microbatches),
                             .chunks = candidate.virtual_pipeline,
                             .group = batch.microbatch_group.value_or(0)}))
        continue;
      candidate.schedule = static_cast<int>(s);
      candidate.micro = micro;
      add_group(candidate);
    }
  }
}

std::vector<bool> Space::sequence_parallel_choices(const Candidate& candidate) const {
  const std::optional<bool> stated = question_->asked().choices.parallelism.sequence_parallel;
  if (stated) return {*stated};
  return candidate.tensor > 1 ? std::vector{false, true} : std::vector{false};
}

std::vector<RecomputeGranularity> Space::recompute_choices() const {
  const std::optional<job::Recompute>& stated = question_->asked().choices.recompute;
  if (stated) return {stated->granularity};
  return {RecomputeGranularity::kNone, RecomputeGranularity::kSelective, RecomputeGranularity::kFull};
}

std::vector<int> Space::zero_stage_choices(const Candidate& candidate) const {
  const job::Question& asked = question_->asked();
  std::vector<int> stages;
  if (asked.choices.zero_stage) {
    stages = {*asked.choices.zero_stage};
  } else {
    const int replicas = candidate.gpus / (candidate.tensor * candidate.pipeline);  // data x context
    // A runtime that does not shard parameters by itself is not expected to.
    const int most = replicas == 1 ? 0 : asked.runtime.default_zero_stage >= 2 ? 3 : 1;
    for (int stage = 0; stage <= most; ++stage) stages.push_back(stage);
  }
  std::erase_if(stages, [&](int stage) { return !job::pipeline_allows(stage, candidate.pipeline); });
  return stages;
}

void Space::add_group(Candidate candidate) {
  const std::vector<RecomputeGranularity> recomputes = recompute_choices();
  const std::vector<int> zero_stages = zero_stage_choices(candidate);
  const std::size_t begin = candidates_.size();
  for (const bool sequence_parallel : sequence_parallel_choices(candidate))
    for (const RecomputeGranularity recompute : recomputes)
      for (const int zero_stage : zero_stages) {
        candidate.sequence_parallel = sequence_parallel;
        candidate.recompute = recompute;
        candidate.zero_stage = zero_stage;
        candidates_.push_back(candidate);
      }
  if (candidates_.size() > begin) groups_.push_back({begin, candidates_.size()});
}

job::Patch Space::patch_of(const Candidate& candidate) const {
  job::Patch patch = {{Key::kGpus, std::int64_t{candidate.gpus}}};
  const auto choose = [&](Key key, job::Value value) {
    if (is_open(key)) patch.push_back({key, value});
  };
  choose(Key::kTensor, std::int64_t{candidate.tensor});
  choose(Key::kPipeline, std::int64_t{candidate.pipeline});
  choose(Key::kVirtualPipeline, std::int64_t{candidate.virtual_pipeline});
  choose(Key::kContext, std::int64_t{candidate.context});
  choose(Key::kSequenceParallel, candidate.sequence_parallel);
  choose(Key::kSchedule, schedules_[static_cast<std::size_t>(candidate.schedule)]);
  choose(Key::kMicroBatch, candidate.micro);
  choose(Key::kRecompute, candidate.recompute);
  choose(Key::kZeroStage, std::int64_t{candidate.zero_stage});
  // A stated overlap of parameter gathers speaks of the choices that gather. Where a search shards nothing, it is void.
  if (is_open(Key::kZeroStage) && candidate.zero_stage == 0) patch.push_back({Key::kParamGather, {}});
  return patch;
}

}  // namespace foretoken::search
