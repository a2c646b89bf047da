// Nested choices from the outside in: GPUs, tensor, context, pipeline, chunks and schedule, micro-batch, then the rest.
//
// What cannot be valid (degrees that do not divide the GPUs, layers that cannot be dealt out, batches that do not
// divide) is left out here because it is most of what could be written down; all other rules are those of reading a
// scenario. Choices that change nothing are left out too: sequence parallelism or shards over one rank.
#include "sim/study/search/space.h"

#include <algorithm>
#include <limits>

#include "sim/job/layout.h"
#include "sim/schedule/catalogue.h"

namespace foretoken::search {
namespace {

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

// The divisors of `number` when the key is open, else what is stated (which may not divide: then nothing is valid).
std::vector<std::int64_t> choices(bool open, std::int64_t stated, std::int64_t number) {
  if (open) return divisors(number);
  return number % stated == 0 ? std::vector{stated} : std::vector<std::int64_t>{};
}

}  // namespace

std::vector<std::string> default_schedules() { return {"1f1b", "interleaved-1f1b"}; }

Space::Space(const io::OpenScenario& question, SpaceOptions options)
    : question_(&question), options_(std::move(options)), schedules_(options_.schedules) {
  const job::Job& base = question.base();
  const job::Parallelism& stated = base.parallelism;
  if (!question.open().schedule) schedules_ = {question.stated_schedule()};
  if (schedules_.empty()) schedules_ = default_schedules();
  if (options_.gpus.empty()) options_.gpus = {base.gpus};
  for (const int gpus : options_.gpus)
    for (const std::int64_t tensor : choices(question.open().tensor, stated.tensor, gpus)) {
      if (question.open().tensor && !open_tensor_fits(static_cast<int>(tensor))) continue;
      for (const std::int64_t context : choices(question.open().context, stated.context, gpus / tensor)) {
        if (context > 1 && base.attention != model::AttentionKind::kFlash) continue;
        if (context > 1 && base.batch.sequence_length % (2 * context) != 0) continue;
        add_pipelines({.gpus = gpus, .tensor = static_cast<int>(tensor), .context = static_cast<int>(context)});
      }
    }
}

bool Space::open_tensor_fits(int tensor) const {
  const job::Job& base = question_->base();
  const model::Transformer& model = base.model;
  if (model.heads % tensor != 0 || model.ffn_hidden % tensor != 0) return false;
  return options_.cross_node_tensor || base.cluster.links.gpus % tensor == 0;
}

void Space::add_pipelines(Candidate candidate) {
  const job::Job& base = question_->base();
  const io::OpenKeys& open = question_->open();
  const int rest = candidate.gpus / (candidate.tensor * candidate.context);
  job::Parallelism shape = base.parallelism;
  for (const std::int64_t pipeline : choices(open.pipeline, base.parallelism.pipeline, rest)) {
    if (pipeline > base.model.layers + 2) break;
    const int data = rest / static_cast<int>(pipeline);
    if (base.parallelism.data != 0 && base.parallelism.data != data) continue;
    if (base.batch.global % data != 0) continue;
    const int most_chunks = static_cast<int>((base.model.layers + 2) / pipeline);
    const int first = open.virtual_pipeline ? 1 : base.parallelism.virtual_pipeline;
    const int last = open.virtual_pipeline ? most_chunks : base.parallelism.virtual_pipeline;
    for (int chunks = first; chunks <= last; ++chunks) {
      shape.pipeline = static_cast<int>(pipeline);
      shape.virtual_pipeline = chunks;
      if (!job::deal_layers(base.model.layers, shape)) continue;
      candidate.pipeline = shape.pipeline;
      candidate.virtual_pipeline = chunks;
      add_batches(candidate);
    }
  }
}

void Space::add_batches(Candidate candidate) {
  const job::Batch& batch = question_->base().batch;
  const std::int64_t data = candidate.data();
  for (std::size_t s = 0; s < schedules_.size(); ++s) {
    const auto schedule = schedule::find_schedule(schedules_[s]);
    if (!schedule || schedule->interleaves != (candidate.virtual_pipeline > 1)) continue;
    for (const std::int64_t micro : choices(question_->open().micro_batch, batch.micro, batch.global / data)) {
      const std::int64_t microbatches = batch.global / data / micro;
      if (microbatches > std::numeric_limits<int>::max()) continue;
      if (why_not(*schedule, {.stages = candidate.pipeline,
                              .microbatches = static_cast<int>(microbatches),
                              .chunks = candidate.virtual_pipeline,
                              .group = batch.microbatch_group}))
        continue;
      candidate.schedule = static_cast<int>(s);
      candidate.micro = micro;
      add_group(candidate);
    }
  }
}

void Space::add_group(Candidate candidate) {
  const job::Job& base = question_->base();
  const io::OpenKeys& open = question_->open();
  const bool splits = candidate.tensor > 1;
  const int replicas = candidate.gpus / (candidate.tensor * candidate.pipeline);  // data x context
  // What a runtime does not shard by itself, nobody expects it to shard; only a pipeline of one stage can.
  const int most_sharding = replicas == 1 ? 0 : base.runtime.default_zero_stage >= 2 ? 3 : 1;
  const std::size_t begin = candidates_.size();
  for (const bool sequence_parallel : {false, true}) {
    if (open.sequence_parallel ? sequence_parallel && !splits : sequence_parallel != base.parallelism.sequence_parallel)
      continue;
    for (const auto recompute :
         {RecomputeGranularity::kNone, RecomputeGranularity::kSelective, RecomputeGranularity::kFull}) {
      if (!open.recompute && recompute != base.recompute.granularity) continue;
      for (const int zero_stage : {0, 1, 2, 3}) {
        if (open.zero_stage ? zero_stage > most_sharding : zero_stage != base.optimizer.zero_stage) continue;
        if (zero_stage >= 2 && candidate.pipeline > 1) continue;
        candidate.sequence_parallel = sequence_parallel;
        candidate.recompute = recompute;
        candidate.zero_stage = zero_stage;
        candidates_.push_back(candidate);
      }
    }
  }
  if (candidates_.size() > begin) groups_.push_back({begin, candidates_.size()});
}

void Space::apply(const Candidate& candidate, job::Job& job) const {
  const job::Job& base = question_->base();
  job.gpus = candidate.gpus;
  job.parallelism.tensor = candidate.tensor;
  job.parallelism.context = candidate.context;
  job.parallelism.pipeline = candidate.pipeline;
  job.parallelism.virtual_pipeline = candidate.virtual_pipeline;
  job.parallelism.data = base.parallelism.data;
  job.parallelism.sequence_parallel = candidate.sequence_parallel;
  job.schedule = schedules_[static_cast<std::size_t>(candidate.schedule)];
  job.batch.micro = candidate.micro;
  job.recompute.granularity = candidate.recompute;
  job.optimizer.zero_stage = candidate.zero_stage;
}

}  // namespace foretoken::search
