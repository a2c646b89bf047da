// The definitions of what a prediction says.
#include "sim/report/metrics.h"

#include <algorithm>
#include <utility>

#include "sim/lowering/memory.h"

namespace foretoken::report {
namespace {

using lowering::Scenario;

constexpr double kTera = 1e12;

// Layers whose forward pass is repeated.
double recomputed_layers(const Scenario& scenario) {
  if (!scenario.recompute.block) return static_cast<double>(scenario.model.layers);
  double layers = 0;
  for (int stage = 0; stage < scenario.parallelism.pipeline; ++stage)
    for (int chunk = 0; chunk < scenario.parallelism.virtual_pipeline; ++chunk)
      layers += std::min(scenario.recompute.layers, scenario.layers_in(stage, chunk));
  return layers;
}

// Model operations and those recomputed, of one sequence.
Flop hardware_flop(const Scenario& scenario) {
  using model::RecomputedWork;
  using model::RecomputeGranularity;
  const std::int64_t s = scenario.batch.sequence_length;
  const lowering::Recompute& recompute = scenario.recompute;
  RecomputedWork work = RecomputedWork::kNone;
  if (recompute.granularity == RecomputeGranularity::kFull) work = RecomputedWork::kWholeLayer;
  if (recompute.granularity == RecomputeGranularity::kSelective && recompute.modules.core_attention)
    work = RecomputedWork::kAttentionCore;
  Flop flop = model::hardware_flop_per_sequence(scenario.model, s, work, recomputed_layers(scenario));
  if (recompute.granularity == RecomputeGranularity::kSelective && recompute.modules.mlp)
    flop += Flop(2.0 * static_cast<double>(s * scenario.model.mlp_matrices() * scenario.model.hidden *
                                           scenario.model.ffn_hidden * scenario.model.layers));
  return flop;
}

void measure_rates(Metrics& metrics, const Scenario& scenario) {
  const double step = metrics.step_time.value();
  const auto sequences = static_cast<double>(scenario.batch.global);
  const double gpus = scenario.gpus;
  const std::int64_t s = scenario.batch.sequence_length;
  metrics.tokens_per_s = sequences * static_cast<double>(s) / step;
  metrics.tokens_per_s_per_gpu = metrics.tokens_per_s / gpus;
  const double per_gpu = sequences / (step * gpus * kTera);
  metrics.model_tflops_per_gpu = model::model_flop_per_sequence(scenario.model, s).value() * per_gpu;
  metrics.megatron_log_tflops_per_gpu = model::causal_model_flop_per_sequence(scenario.model, s).value() * per_gpu;
  metrics.hardware_tflops_per_gpu = hardware_flop(scenario).value() * per_gpu;
  metrics.mfu_peak_tflops = scenario.mean_peak().value() / kTera;
  metrics.mfu = metrics.model_tflops_per_gpu / metrics.mfu_peak_tflops;
  metrics.hfu = metrics.hardware_tflops_per_gpu / metrics.mfu_peak_tflops;
}

void measure_bubble(Metrics& metrics, const Scenario& scenario, const observe::Observations& seen) {
  des::Instant first = seen.stages.front().first_forward_start, last;
  des::Duration busy;
  for (const observe::StageActivity& stage : seen.stages) {
    first = std::min(first, stage.first_forward_start);
    last = std::max(last, stage.last_backward_end);
    busy = std::max(busy, stage.busy);
  }
  const double total = des::to_seconds(last - first).value(), work = des::to_seconds(busy).value();
  metrics.bubble_fraction = (total - work) / work;
  metrics.bubble_fraction_of_step = (total - work) / total;
  metrics.ideal_bubble_fraction =
      (scenario.parallelism.pipeline - 1.0) /
      (static_cast<double>(scenario.parallelism.virtual_pipeline) * scenario.microbatches());
}

TimeSplit split_of(const observe::StageSplit& split) {
  using des::to_seconds;
  return {.compute = to_seconds(split.compute),
          .tensor_parallel_comm = to_seconds(split.tensor_comm),
          .context_parallel_comm = to_seconds(split.context_comm),
          .pipeline_comm = to_seconds(split.pipeline_comm),
          .data_parallel_comm = to_seconds(split.data_comm),
          .optimizer = to_seconds(split.optimizer),
          .bubble = to_seconds(split.bubble),
          .host = to_seconds(split.host),
          .other = to_seconds(split.other)};
}

StageMemory stage_memory(const Scenario& scenario, int stage, const observe::StageTimeline& timeline) {
  const lowering::StaticMemory fixed = lowering::static_memory(scenario, stage);
  StageMemory memory{.weights = fixed.weights,
                     .gradients = fixed.gradients,
                     .optimizer = fixed.optimizer,
                     .activations = timeline.activations_at_peak,
                     .other = fixed.other + timeline.transient_at_peak,
                     .peak = fixed.total() + timeline.peak,
                     .capacity = scenario.cluster_of(stage).gpu.memory,
                     .peak_microbatch_chunks = timeline.most_chunks};
  for (int chunk = 0; chunk < scenario.parallelism.virtual_pipeline; ++chunk)
    memory.layers += scenario.layers_in(stage, chunk);
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

Memory measure_memory(const Scenario& scenario, const std::vector<observe::StageTimeline>& timelines) {
  Memory memory;
  std::size_t& fullest = memory.fullest;
  const auto room = [](const StageMemory& stage) { return stage.capacity - stage.peak; };
  for (std::size_t stage = 0; stage < timelines.size(); ++stage) {
    memory.per_stage.push_back(stage_memory(scenario, static_cast<int>(stage), timelines[stage]));
    if (room(memory.per_stage[stage]) < room(memory.per_stage[fullest])) fullest = stage;
  }
  memory.peak = memory.per_stage[fullest].peak;
  memory.capacity = memory.per_stage[fullest].capacity;
  memory.outside_allocator = lowering::outside_allocator(scenario);
  memory.fits = memory.peak + memory.outside_allocator <= memory.capacity;
  memory.dominant = dominant_part(memory.per_stage[fullest]);
  const lowering::WholeModelMemory whole = lowering::whole_model_memory(scenario);
  memory.model_state = whole.state;
  memory.boundary_whole_batch = whole.batch_boundaries;
  memory.boundary_one_microbatch = whole.microbatch_boundaries;
  return memory;
}

std::optional<RunCost> measure_run(const Scenario& scenario, const Metrics& metrics) {
  if (!scenario.run) return std::nullopt;
  RunCost cost;
  cost.tokens = scenario.run->tokens;
  cost.currency = scenario.run->currency;
  const double hours = cost.tokens / metrics.tokens_per_s / 3600;
  cost.days = hours / 24;
  cost.gpu_hours = hours * scenario.gpus;
  if (scenario.run->price_per_gpu_hour) cost.cost = cost.gpu_hours * *scenario.run->price_per_gpu_hour;
  return cost;
}

}  // namespace

Metrics measure(const Scenario& scenario, const lowering::LoweredStep& step, const observe::Observations& seen,
                const std::vector<observe::StageTimeline>& memory) {
  Metrics metrics;
  metrics.name = scenario.name;
  metrics.step_time = des::to_seconds(seen.makespan);
  measure_rates(metrics, scenario);
  measure_bubble(metrics, scenario, seen);
  metrics.layer_forward = step.passes->layer_forward(seen.busiest_stage);
  metrics.layer_backward = step.passes->layer_backward(seen.busiest_stage);
  metrics.time = split_of(seen.busiest);
  metrics.memory = measure_memory(scenario, memory);
  metrics.run = measure_run(scenario, metrics);
  metrics.p2p_bytes_per_step = static_cast<double>(step.most_sends) * step.message.value();
  metrics.tasks = step.workload.graph.tasks();
  metrics.assumptions = scenario.assumptions;
  metrics.warnings = scenario.warnings;
  return metrics;
}

}  // namespace foretoken::report
