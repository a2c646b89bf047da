// Makes a small prediction for the tests of the writers.
#pragma once

#include "sim/report/metrics.h"

namespace foretoken::report {

inline StageMemory example_stage(double weights_gib, int layers) {
  StageMemory stage{.weights = Bytes(weights_gib * kGiB),
                    .gradients = Bytes(2 * weights_gib * kGiB),
                    .optimizer = Bytes(6 * weights_gib * kGiB),
                    .activations = Bytes(10 * kGiB),
                    .other = Bytes(kGiB),
                    .peak = {},
                    .capacity = Bytes(79 * kGiB),
                    .peak_microbatch_chunks = 4,
                    .layers = layers};
  stage.peak = stage.weights + stage.gradients + stage.optimizer + stage.activations + stage.other;
  return stage;
}

/// Returns two stages of 10 s a step: 6 s compute, 2 s tensor-parallel communication, 1.5 s bubble, 0.5 s
/// data-parallel.
inline Metrics example_metrics() {
  Metrics m;
  m.name = "toy on 16 A100";
  m.simulated_step_time = m.step_time = Seconds(10);
  m.tokens_per_s = 6553.6;
  m.tokens_per_s_per_gpu = 409.6;
  m.model_tflops_per_gpu = 128.5;
  m.hardware_tflops_per_gpu = 140.25;
  m.megatron_log_tflops_per_gpu = 120.125;
  m.mfu = 128.5 / 312;
  m.hfu = 140.25 / 312;
  m.mfu_peak_tflops = 312;
  m.bubble_fraction = 0.1875;
  m.ideal_bubble_fraction = 0.125;
  m.bubble_fraction_of_step = 0.15;
  m.layer_forward = Seconds(0.004);
  m.layer_backward = Seconds(0.0105);
  m.time.compute = Seconds(6);
  m.time.comm[Axis::kTensor] = Seconds(2);
  m.time.comm[Axis::kData] = Seconds(0.5);
  m.time.bubble = Seconds(1.5);
  m.memory.per_stage = PerStage<StageMemory>(std::vector{example_stage(4, 12), example_stage(3, 11)});
  m.memory.peak = m.memory.per_stage.front().peak;
  m.memory.capacity = Bytes(79 * kGiB);
  m.memory.outside_allocator = Bytes(2 * kGiB);
  m.memory.dominant = "optimizer states";
  m.memory.model_state = Bytes(10.6e12);
  m.memory.boundary_whole_batch = Bytes(16.9e12);
  m.memory.boundary_one_microbatch = Bytes(8.8e9);
  m.run = RunCost{.tokens = 300e9, .days = 529.8, .gpu_hours = 203450, .cost = 508626.0, .currency = "USD"};
  m.p2p_bytes_per_step = 1 << 30;
  m.tasks = 100;
  m.assumptions = {"collectives: nccl-tests on 8 A100"};
  m.warnings = {"the network was never measured"};
  return m;
}

}  // namespace foretoken::report
