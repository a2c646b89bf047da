// Computes the metrics of a prediction by their definitions.
#include "sim/study/predict/measure.h"

#include <algorithm>
#include <utility>

#include "sim/job/layout.h"
#include "sim/model/counts/flop.h"
#include "sim/model/counts/parameters.h"
#include "sim/schedule/async/versions.h"
#include "sim/step/memory/memory.h"
#include "sim/step/offload/host_copies.h"
#include "sim/study/schedule_replay.h"

namespace foretoken::study {
namespace {

using job::Job;
using report::Memory;
using report::Metrics;
using report::RunCost;
using report::StageMemory;
using report::TimeSplit;

constexpr double kTera = 1e12;

// Returns the layers of each kind whose forward pass is repeated.
std::vector<model::LayerCount> recomputed_layers(const Job& job) {
  if (!job.recompute.block) return model::layers_between(job.model, 0, job.model.layers);
  std::vector<model::LayerCount> layers;
  for (const Stage stage : ids<Stage>(job.parallelism.pipeline))
    for (const Chunk chunk : ids<Chunk>(job.parallelism.virtual_pipeline)) {
      const auto repeated = job::first_layers(job::contents_of(job, stage, chunk).layers, job.recompute.layers);
      layers.insert(layers.end(), repeated.begin(), repeated.end());
    }
  return layers;
}

// Returns the model's operations and the recomputed ones, of one sequence. Packed sequences are many short ones.
Flop hardware_flop(const Job& job) {
  using model::RecomputedWork;
  using model::RecomputeGranularity;
  const model::Lengths s = job.batch.lengths();
  const job::Recompute& recompute = job.recompute;
  const bool selective = recompute.granularity == RecomputeGranularity::kSelective;
  RecomputedWork work = RecomputedWork::kNone;
  if (recompute.granularity == RecomputeGranularity::kFull) work = RecomputedWork::kWholeLayer;
  if (selective && recompute.modules.core_attention) work = RecomputedWork::kAttentionCore;
  Flop flop = model::hardware_flop_per_sequence(job.model, s, work, recomputed_layers(job));
  if (selective) {
    model::SelectiveModules others = recompute.modules;
    others.core_attention = false;
    flop += model::module_flop_per_sequence(job.model, s, others);
  }
  return flop;
}

void measure_rates(Metrics& metrics, const Job& job) {
  const double step = metrics.step_time.value();
  const auto sequences = static_cast<double>(job.batch.global);
  const double gpus = job.gpus;
  const model::Lengths s = job.batch.lengths();
  const double packed = real(job.batch.sequence_length) / real(s.sequence);
  metrics.tokens_per_s = sequences * real(job.batch.sequence_length) / step;
  metrics.tokens_per_s_per_gpu = metrics.tokens_per_s / gpus;
  const double per_gpu = packed * sequences / (step * gpus * kTera);
  metrics.model_tflops_per_gpu = model::model_flop_per_sequence(job.model, s).value() * per_gpu;
  metrics.megatron_log_tflops_per_gpu = model::causal_model_flop_per_sequence(job.model, s).value() * per_gpu;
  metrics.hardware_tflops_per_gpu = hardware_flop(job).value() * per_gpu;
  metrics.mfu_peak_tflops = job.mean_peak().value() / kTera;
  metrics.mfu = metrics.model_tflops_per_gpu / metrics.mfu_peak_tflops;
  metrics.hfu = metrics.hardware_tflops_per_gpu / metrics.mfu_peak_tflops;
}

// Returns the mean time of such passes over all stages, for every chunk.
Table<Chunk, des::Duration> mean_times(const Job& job, const step::Passes& passes, schedule::OpKind kind) {
  des::Duration sum;
  for (const Stage stage : ids<Stage>(job.parallelism.pipeline))
    for (const Chunk chunk : ids<Chunk>(job.parallelism.virtual_pipeline))
      sum += passes.timing(stage, chunk, kind).total;
  const std::int64_t count = std::int64_t{job.parallelism.pipeline} * job.parallelism.virtual_pipeline;
  return Table<Chunk, des::Duration>(job.parallelism.virtual_pipeline, des::Duration{sum.ps / count});
}

// Returns the bubble with equal stages and free messages: a formula for Megatron's schedules, a replay for the others.
double ideal_bubble(const Job& job, const step::Passes& passes) {
  if (job.schedule.without_flush) return 0;
  if (job.schedule.posting == schedule::Posting::kAsInMegatron)
    return (job.parallelism.pipeline - 1.0) /
           (static_cast<double>(job.parallelism.virtual_pipeline) * job.microbatches());
  ReplayTimes times;
  for (const schedule::OpKind kind : schedule::pass_kinds(job.schedule))
    times.passes[kind] = mean_times(job, passes, kind);
  Job a_step = job;
  a_step.optimizer.post_validation = false;
  const schedule::Program program = step::program_of(a_step);
  const Replay flushed = replay(program, times);
  if (!job.optimizer.post_validation) return flushed.bubble_fraction();
  const schedule::PipelineShape shape = job::pipeline_shape(job);
  const des::Duration step = steady_step(schedule::repeated(program, shape, false), shape, times);
  return static_cast<double>((step - flushed.work).ps) / static_cast<double>(flushed.work.ps);
}

// Without a pipeline no stage waits for another. A stage that waits for parameters has no bubble.
void measure_bubble(Metrics& metrics, const Job& job, const step::Passes& passes,
                    const observe::Observations& observations) {
  if (job.parallelism.pipeline == 1) return;
  des::Instant first = observations.stages.front().first_forward_start, last;
  des::Duration busy;
  for (const observe::StageActivity& stage : observations.stages) {
    first = std::min(first, stage.first_forward_start);
    last = std::max(last, stage.last_backward_end);
    busy = std::max(busy, stage.busy);
  }
  const double total = des::to_seconds(last - first).value(), work = des::to_seconds(busy).value();
  metrics.bubble_fraction = (total - work) / work;
  metrics.bubble_fraction_of_step = (total - work) / total;
  metrics.ideal_bubble_fraction = ideal_bubble(job, passes);
}

TimeSplit split_of(const observe::StageSplit& split, double factor) {
  const auto to_seconds = [&](des::Duration time) { return factor * des::to_seconds(time); };
  TimeSplit seconds{.compute = to_seconds(split.compute),
                    .comm = {},
                    .optimizer = to_seconds(split.optimizer),
                    .bubble = to_seconds(split.bubble),
                    .host = to_seconds(split.host),
                    .other = to_seconds(split.other),
                    .offload = to_seconds(split.offload)};
  for (const auto& [axis, name] : kAxisNames) seconds.comm[axis] = to_seconds(split.comm[axis]);
  return seconds;
}

report::Parameters count_parameters(const model::Transformer& whole) {
  const model::Transformer model = model::without_prediction(whole);
  const double total = model::total_parameters(model);
  return {.total = total,
          .active = model.experts ? model::active_parameters(model) : total,
          .trainable = model::trained_parameters(model),
          .prediction = whole.prediction_layers > 0 ? model::total_parameters(whole) - total : 0};
}

StageMemory stage_memory(const Job& job, const step::StaticMemory& fixed, Stage stage,
                         const observe::StageTimeline& timeline) {
  StageMemory memory{.weights = fixed.weights,
                     .gradients = fixed.gradients,
                     .optimizer = fixed.optimizer,
                     .activations = timeline.activations_at_peak,
                     .other = fixed.other + timeline.transient_at_peak,
                     .peak = fixed.total() + timeline.peak,
                     .capacity = job.cluster_of(stage).gpu.memory,
                     .peak_microbatch_chunks = timeline.most_chunks};
  for (const Chunk chunk : ids<Chunk>(job.parallelism.virtual_pipeline)) memory.layers += job.layers_in(stage, chunk);
  return memory;
}

std::string dominant_part(const StageMemory& memory) {
  const std::pair<Bytes, const char*> parts[] = {{memory.weights, "weights"},
                                                 {memory.gradients, "gradients"},
                                                 {memory.optimizer, "optimizer states"},
                                                 {memory.activations, "activations"},
                                                 {memory.other, "workspaces and short-lived tensors"}};
  return std::max_element(std::begin(parts), std::end(parts),
                          [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

// Activations of all micro-batches that are on their way stand outside at once.
step::Outside outside_at_peak(step::Outside outside, const observe::StageTimeline& timeline) {
  for (step::OutsideMemory* const place : {&outside.host, &outside.disk})
    place->activations = static_cast<double>(timeline.most_chunks) * place->activations;
  return outside;
}

// Measures the host with the least room.
std::optional<report::HostRoom> measure_hosts(const Job& job, const PerStage<StageMemory>& stages) {
  if (!job.offload.any()) return std::nullopt;
  std::optional<report::HostRoom> least;
  for (const Stage stage : stages.ids()) {
    const net::Host& host = job.cluster_of(stage).host.value();
    const int gpus = step::gpus_on_host(job, stage);
    report::HostRoom room{
        .memory = {gpus * stages[stage].outside.host.total(), host.memory}, .disks = {}, .gpus = gpus};
    if (job.offload.uses_disks())
      room.disks = report::OutsideRoom{gpus * stages[stage].outside.disk.total(), host.disks.value().capacity};
    if (!least || room.memory.used > least->memory.used) least = room;
  }
  return least;
}

Memory measure_memory(const Job& job, const PerStage<observe::StageTimeline>& timelines) {
  Memory memory;
  const step::JobMemory held(job);
  Stage& fullest = memory.fullest;
  const auto room = [](const StageMemory& stage) { return stage.capacity - stage.peak; };
  for (const Stage stage : timelines.ids()) {
    memory.per_stage.push_back(stage_memory(job, held.held(stage), stage, timelines[stage]));
    if (job.offload.any()) memory.per_stage[stage].outside = outside_at_peak(held.outside(stage), timelines[stage]);
    if (room(memory.per_stage[stage]) < room(memory.per_stage[fullest])) fullest = stage;
  }
  memory.peak = memory.per_stage[fullest].peak;
  memory.capacity = memory.per_stage[fullest].capacity;
  memory.outside_allocator = step::outside_allocator(job);
  memory.host = measure_hosts(job, memory.per_stage);
  memory.fits = memory.peak + memory.outside_allocator <= memory.capacity && (!memory.host || memory.host->fits());
  memory.dominant = dominant_part(memory.per_stage[fullest]);
  const step::WholeModelMemory whole = step::whole_model_memory(job);
  memory.model_state = whole.state;
  memory.boundary_whole_batch = whole.batch_boundaries;
  memory.boundary_one_microbatch = whole.microbatch_boundaries;
  return memory;
}

std::optional<RunCost> measure_run(const Job& job, const Metrics& metrics) {
  if (!job.run) return std::nullopt;
  RunCost cost;
  cost.tokens = job.run->tokens;
  cost.currency = job.run->currency;
  const double hours = cost.tokens / metrics.tokens_per_s / 3600;
  cost.days = hours / 24;
  cost.gpu_hours = hours * job.gpus;
  if (job.run->price_per_gpu_hour) cost.cost = cost.gpu_hours * *job.run->price_per_gpu_hour;
  return cost;
}

std::optional<report::WeightAges> measure_weights(const Job& job) {
  if (!job.schedule.without_flush) return std::nullopt;
  const schedule::PipelineShape shape = job::pipeline_shape(job);
  const auto versions =
      schedule::weight_versions(schedule::steady_program(job.schedule, shape), *job.schedule.without_flush, shape);
  report::WeightAges ages;
  for (const Stage stage : versions.kept.ids()) {
    ages.kept.push_back(versions.kept[stage]);
    ages.staleness.push_back(versions.staleness[stage]);
  }
  return ages;
}

}  // namespace

Metrics measure(const Job& job, const step::LoweredStep& step, const observe::Observations& observations,
                const PerStage<observe::StageTimeline>& memory, std::size_t tasks, std::optional<trust::Bias> bias) {
  Metrics metrics;
  metrics.name = job.name;
  metrics.schedule = job.schedule.name;
  metrics.bias = std::move(bias);
  metrics.simulated_step_time = des::to_seconds(observations.makespan);
  metrics.step_time = metrics.bias_factor() * metrics.simulated_step_time;
  measure_rates(metrics, job);
  measure_bubble(metrics, job, *step.passes, observations);
  metrics.layer_forward = step.passes->layer_forward(observations.busiest_stage);
  metrics.layer_backward = step.passes->layer_backward(observations.busiest_stage);
  metrics.time = split_of(observations.busiest, metrics.bias_factor());
  metrics.parameters = count_parameters(job.model);
  metrics.memory = measure_memory(job, memory);
  metrics.weights = measure_weights(job);
  metrics.run = measure_run(job, metrics);
  metrics.p2p_bytes_per_step = static_cast<double>(step.most_sends) * step.message.value();
  metrics.tasks = tasks;
  return metrics;
}

}  // namespace foretoken::study
