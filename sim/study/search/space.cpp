// Enumerates nested choices from the outside in: GPUs, degrees, chunks and schedule, micro-batch, then the rest.
//
// Most combinations cannot be valid: degrees that do not divide the GPUs, layers that do not split, batches that do not
// divide. They are left out here; making a job checks all other rules (sim/job/rules). Choices without effect are left
// out too: sequence parallelism or shards over one rank.
#include "sim/study/search/space.h"

#include <algorithm>
#include <limits>
#include <utility>

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

// Returns the stated degree if it divides `number`, or all divisors when none is stated.
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

std::vector<std::pair<std::string_view, int>> degrees_by_key(const Candidate& candidate) {
  std::vector<std::pair<std::string_view, int>> degrees;
  for (const auto& [axis, member] : job::kDegrees) {
    degrees.emplace_back(name_of(axis), candidate.degrees[axis]);
    if (axis == Axis::kPipeline) degrees.emplace_back("virtual_pipeline", candidate.virtual_pipeline);
  }
  return degrees;
}

std::vector<std::string> default_schedules() { return {"1f1b", "interleaved-1f1b"}; }

Space::Space(const io::OpenScenario& question, SpaceOptions options)
    : question_(&question), options_(std::move(options)), schedules_(schedules_of(question.asked().choices, options_)) {
  const job::Choices& asked = question.asked().choices;
  if (options_.gpus.empty()) options_.gpus = {asked.gpus};
  for (const int gpus : options_.gpus) add_cuts(gpus);
}

// Returns true when layers can be cut `degree` times along the axis, for any other choices.
bool Space::cuts_layer(Axis axis, std::int64_t degree) const {
  const job::Question& asked = question_->asked();
  if (axis != Axis::kTensor) return job::sequence_fits(asked, axis, degree);
  if (!is_open(job::key_of(axis))) return true;
  if (!job::tensor_divides(asked.model, degree)) return false;
  return options_.cross_node_tensor || asked.cluster.links.gpus % degree == 0;
}

void Space::add_cuts(int gpus) {
  std::vector<Candidate> cut = {{.gpus = gpus}};
  for (const auto& [axis, name] : job::kDegrees) {
    if (!net::kLayerAxes.contains(axis)) continue;
    std::vector<Candidate> before = std::move(cut);
    cut.clear();
    for (Candidate& candidate : before)
      for (const std::int64_t degree : choices(question_->asked().choices.parallelism.degrees[axis],
                                               gpus / product(candidate.degrees, net::kLayerAxes))) {
        if (!cuts_layer(axis, degree)) continue;
        cut.push_back(candidate);
        cut.back().degrees[axis] = static_cast<int>(degree);
      }
  }
  for (const Candidate& candidate : cut) add_pipelines(candidate);
}

void Space::add_pipelines(Candidate candidate) {
  const job::Question& asked = question_->asked();
  const job::AskedParallelism& stated = asked.choices.parallelism;
  const std::int64_t layers = asked.model.layers;
  const int rest = candidate.gpus / product(candidate.degrees, net::kLayerAxes);
  job::Parallelism shape{.embedding_and_head_as_layers = stated.embedding_and_head_as_layers,
                         .layers_per_stage = stated.layers_per_stage};
  for (const std::int64_t pipeline : choices(stated.degrees[Axis::kPipeline], rest)) {
    if (pipeline > layers + 2) break;
    const int data = rest / static_cast<int>(pipeline);
    if (stated.degrees[Axis::kData].value_or(data) != data) continue;
    if (asked.choices.batch.global % data != 0) continue;
    const int first = stated.virtual_pipeline.value_or(1);
    const int last = stated.virtual_pipeline.value_or(static_cast<int>((layers + 2) / pipeline));
    for (int chunks = first; chunks <= last; ++chunks) {
      shape.pipeline = static_cast<int>(pipeline);
      shape.virtual_pipeline = chunks;
      if (!job::deal_layers(layers, shape)) continue;
      candidate.degrees[Axis::kPipeline] = shape.pipeline;
      candidate.degrees[Axis::kData] = data;
      candidate.virtual_pipeline = chunks;
      add_batches(candidate);
    }
  }
}

void Space::add_batches(Candidate candidate) {
  const job::AskedBatch& batch = question_->asked().choices.batch;
  const std::int64_t data = candidate.degrees[Axis::kData];
  for (std::size_t s = 0; s < schedules_.size(); ++s) {
    const schedule::Schedule& schedule = schedules_[s];
    if (schedule.interleaves != (candidate.virtual_pipeline > 1)) continue;
    for (const std::int64_t micro : choices(batch.micro, batch.global / data)) {
      const std::int64_t microbatches = batch.global / data / micro;
      if (microbatches > std::numeric_limits<int>::max()) continue;
      if (why_not(schedule, {.stages = candidate.degrees[Axis::kPipeline],
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
  return candidate.degrees[Axis::kTensor] > 1 ? std::vector{false, true} : std::vector{false};
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
    const int replicas = product(candidate.degrees, net::kReplicaAxes);
    // Parameters are sharded only for runtimes that do so by default.
    const int most = replicas == 1 ? 0 : asked.runtime.default_zero_stage >= 2 ? 3 : 1;
    for (int stage = 0; stage <= most; ++stage) stages.push_back(stage);
  }
  std::erase_if(stages, [&](int stage) { return !job::pipeline_allows(stage, candidate.degrees[Axis::kPipeline]); });
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
  for (const auto& [axis, degree] : job::kDegrees) choose(job::key_of(axis), std::int64_t{candidate.degrees[axis]});
  choose(Key::kVirtualPipeline, std::int64_t{candidate.virtual_pipeline});
  choose(Key::kSequenceParallel, candidate.sequence_parallel);
  choose(Key::kSchedule, schedules_[static_cast<std::size_t>(candidate.schedule)]);
  choose(Key::kMicroBatch, candidate.micro);
  choose(Key::kRecompute, candidate.recompute);
  choose(Key::kZeroStage, std::int64_t{candidate.zero_stage});
  // A stated overlap of parameter gathers applies only to choices with gathers. Without sharding it has no effect.
  if (is_open(Key::kZeroStage) && candidate.zero_stage == 0) patch.push_back({Key::kParamGather, {}});
  return patch;
}

}  // namespace foretoken::search
