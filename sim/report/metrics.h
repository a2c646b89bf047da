// Defines the numbers of a prediction. Writers turn them into text and JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "sim/job/job.h"
#include "sim/observe/memory_timeline.h"
#include "sim/observe/stage_times.h"
#include "sim/step/lower.h"
#include "sim/step/memory/memory.h"
#include "sim/trust/bias.h"
#include "sim/trust/interval.h"

namespace foretoken::report {

/// The time of the busiest stage, split into parts that add up to the step.
using TimeSplit = observe::TimeSplit<Seconds>;

/// The memory of a stage. The parts add up to `peak`, which torch.cuda.max_memory_allocated would report.
struct StageMemory {
  Bytes weights, gradients, optimizer;
  Bytes activations;  ///< stored for backward passes, at the peak
  Bytes other;        ///< workspaces, and short-lived tensors at the peak
  Bytes peak;
  Bytes capacity;                  ///< of the stage's GPU
  int peak_microbatch_chunks = 0;  ///< most chunk activations alive at once, as replayed
  int layers = 0;
  step::Outside outside = {};  ///< of the GPU: what stands on its host and on the disks, at the peak
};

/// Memory outside the GPUs: all that the GPUs of one host keep there.
struct OutsideRoom {
  Bytes used, capacity;
  [[nodiscard]] bool fits() const { return used <= capacity; }
};

/// The hosts of a job that offloads. They are those of the stage with the least room.
struct HostRoom {
  OutsideRoom memory;
  std::optional<OutsideRoom> disks;  ///< absent: nothing goes there
  int gpus = 1;                      ///< of the job on one host
  [[nodiscard]] bool fits() const { return memory.fits() && (!disks || disks->fits()); }
};

/// A tight job fits, with so little room that its step is uncertain. Peaks of published runs are missed by up to 2 %
/// (docs/modeller/validation.md, set megatron-ci). Allocators that run short make steps up to 20 % longer (sets
/// mpt-fsdp-a100 and mpt-fsdp-h100).
enum class Fit : std::uint8_t { kFits, kTight, kDoesNotFit };
inline constexpr double kEdgeOfMemory = 0.95;  ///< a job that fills more is tight

/// "fits", "tight" or "does not fit": one word everywhere.
[[nodiscard]] std::string_view name_of(Fit fit);

struct Memory {
  Bytes peak, capacity;     ///< of the stage with the least room
  Bytes outside_allocator;  ///< CUDA context and NCCL buffers; fits when peak + this <= capacity
  bool fits = true;
  PerStage<StageMemory> per_stage;
  Stage fullest = {};            ///< the stage with the least room
  std::string dominant;          ///< the largest part of the fullest stage
  std::optional<HostRoom> host;  ///< of a job that offloads
  /// The cheapest change that would make it fit; nothing when it fits or the question did not ask for advice.
  std::optional<std::string> advice;
  [[nodiscard]] Bytes needed() const { return peak + outside_allocator; }
  /// Returns the part of the capacity that the allocator and the memory outside it fill.
  [[nodiscard]] double filled() const { return needed() / capacity; }
  [[nodiscard]] Fit fit() const {
    if (!fits) return Fit::kDoesNotFit;
    return filled() > kEdgeOfMemory ? Fit::kTight : Fit::kFits;
  }
  // These count the whole model over all GPUs.
  Bytes model_state;              ///< bytes per parameter x parameters
  Bytes boundary_whole_batch;     ///< layer-boundary activations (2 s b h per layer) of the whole global batch at once
  Bytes boundary_one_microbatch;  ///< the same for one micro-batch
};

struct RunCost {
  double tokens = 0, days = 0, gpu_hours = 0;
  std::optional<double> cost;
  std::string currency = "USD";
};

/// A slow or failed part of the hardware that the step waits for.
struct Delay {
  std::string what;  ///< "GPU 37 (node 4) is 10 % slower"
  std::optional<Gpu> gpu = std::nullopt;
  std::optional<NodeId> node = std::nullopt;
  std::optional<int> nic = std::nullopt;                   ///< position in the node
  std::optional<Seconds> on_critical_path = std::nullopt;  ///< of its tasks; nothing where it has none
  Seconds without{};                                       ///< the step time with this part repaired
};

/// Parameters of the model, without layers of multi-token prediction.
struct Parameters {
  double total = 0;
  double active = 0;      ///< that one token meets
  double trainable = 0;   ///< that training changes
  double prediction = 0;  ///< of the layers of multi-token prediction, beside the others
};

/// The weights of a pipeline without a flush, by stage.
struct WeightAges {
  PerStage<int> kept;       ///< versions of the weights at once
  PerStage<int> staleness;  ///< updates between the version of a forward pass and the update with its gradient
};

/// Every number that `simulate --json` prints.
struct Metrics {
  std::string name;
  std::string schedule;                      ///< "1f1b", or the name of its file
  Seconds simulated_step_time;               ///< of the engine
  std::optional<Seconds> forward_only_step;  ///< an evaluation step; none: not asked for
  Seconds step_time;                         ///< the headline: simulated, times what runs like it took longer
  std::optional<trust::Bias> bias;           ///< nothing when not asked for: the headline is then the simulated step
  std::optional<trust::Interval> interval;   ///< of the measured step time; nothing when not asked for
  double tokens_per_s = 0, tokens_per_s_per_gpu = 0;
  double model_tflops_per_gpu = 0, hardware_tflops_per_gpu = 0, megatron_log_tflops_per_gpu = 0;
  double mfu = 0, hfu = 0, mfu_peak_tflops = 0;
  double bubble_fraction = 0, ideal_bubble_fraction = 0, bubble_fraction_of_step = 0;
  Seconds layer_forward, layer_backward;
  TimeSplit time;
  Parameters parameters;
  Memory memory;
  std::optional<WeightAges> weights;  ///< of a schedule without a flush
  std::optional<RunCost> run;
  std::optional<std::vector<Delay>> delays;  ///< nothing when not asked for
  PerStage<Gpu> shown_gpus;                  ///< the GPU whose `time` is shown; empty when one stands for all
  double p2p_bytes_per_step = 0;             ///< pipeline messages sent by the busiest stage, one rank
  std::size_t tasks = 0;
  std::vector<std::string> assumptions, warnings;

  /// The headline over the simulated step.
  [[nodiscard]] double bias_factor() const { return bias ? bias->factor() : 1; }
};

}  // namespace foretoken::report
