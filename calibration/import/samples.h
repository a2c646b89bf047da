// Measurements in one form, whatever program or file they came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/kernel.h"
#include "sim/base/units.h"

namespace foretoken::measured {

/// Where samples come from: what a reader needs to trust, or repeat, a measurement.
struct Provenance {
  std::string source;                                      ///< file, or program that measured
  std::string gpu;                                         ///< name as the driver or the tool states it; may be empty
  std::vector<std::pair<std::string, std::string>> facts;  ///< driver, versions, clocks, ...: key and text, in order
  friend bool operator==(const Provenance&, const Provenance&) = default;
};

/// One kernel's time over repeated runs. Published tables give one number: all three are then that number, runs 0.
struct Timing {
  Seconds median, p10, p90;
  int runs = 0;
  friend bool operator==(const Timing&, const Timing&) = default;
};

/// A matrix product. The pass says the layout: forward TN, input gradient NN, weight gradient NT (fp8 always TN).
struct GemmSample {
  GemmShape shape;
  bool adds_to_fp32 = false;  ///< accumulates into an fp32 matrix (C = D, beta = 1); else writes `shape.precision`
  Timing time;
  bool with_quantisation = false;  ///< the time holds the quantisation of its m x k input too
};

/// A kernel limited by device memory.
struct KernelSample {
  std::string kernel;                  ///< "layer_norm", "adam", ...; "cast" and "scan" quantise to 8 bit
  std::int64_t rows = 1, columns = 1;  ///< what it worked on
  Bytes bytes;                         ///< read and written, each once
  bool cold = true;                    ///< its data were not in the L2 cache
  Timing time;
};

/// Attention forward or backward.
struct AttentionSample {
  AttentionShape shape;
  std::string implementation;  ///< "cudnn" (fused), "composed" (batched products and a softmax kernel)
  Timing time;
  Bytes beside{};  ///< moved by a kernel of its own in the same time: keys and values into a cache
};

/// What nccl-tests can measure, by the names of its programs without "_perf".
enum class Collective : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kSendRecv,
  kHypercube
};

/// A collective; `bytes` is nccl-tests' size column (total over ranks for all-gather, reduce-scatter, all-to-all,
/// gather, scatter and hypercube; else one rank's buffer), the time the slowest rank's.
struct CollectiveSample {
  Collective kind = Collective::kAllReduce;
  Bytes bytes;
  GroupShape group;
  bool in_place = false;
  std::string type = "float";  ///< element type as nccl-tests names it
  Timing time;
  std::optional<Seconds> estimate;  ///< what NCCL itself predicts
};

/// A cost of the host or of its link to the GPU, with the bytes of one copy (0: none).
struct HostSample {
  std::string what;  ///< "launch", "graph_node", "copy_to_device", ...
  Bytes bytes;
  Timing time;
};

/// One instant of a sustained run: the rate since the instant before, and what the GPU's sensors said.
struct ClockSample {
  std::string work;  ///< what ran
  Seconds at;        ///< since the run began
  FlopPerSecond rate;
  std::optional<double> sm_mhz, watts, celsius;
};

using Sample = std::variant<GemmSample, KernelSample, AttentionSample, CollectiveSample, HostSample, ClockSample>;

/// A sample and where it came from.
template <class T>
struct From : T {
  std::size_t origin = 0;  ///< index into Samples::origins
};

/// Everything that was read, by kind, in the order of the input.
struct Samples {
  std::vector<Provenance> origins;
  std::vector<From<GemmSample>> gemms;
  std::vector<From<KernelSample>> kernels;
  std::vector<From<AttentionSample>> attention;
  std::vector<From<CollectiveSample>> collectives;
  std::vector<From<HostSample>> host;
  std::vector<From<ClockSample>> clocks;
  std::vector<std::string> notes;  ///< what the user should know: a dropped partial line, a table cut short

  /// Adds a sample of the latest origin, which must exist.
  void add(Sample sample);
  /// Adds all of `other` behind.
  void append(Samples other);
  [[nodiscard]] std::size_t size() const;
};

/// "all_reduce", "alltoall", ...: nccl-tests' own names.
[[nodiscard]] std::string_view name_of(Collective kind);
[[nodiscard]] std::optional<Collective> collective_named(std::string_view name);

/// The front of ClockSample::work of a long run of products with three equal sides, before the side: "bf16 product of
/// ".
[[nodiscard]] std::string product_work(Precision precision);

/// Bus bandwidth over algorithm bandwidth (nccl-tests, doc/PERFORMANCE.md; its sources for gather, scatter, hypercube).
[[nodiscard]] double bus_factor(Collective kind, int ranks);

}  // namespace foretoken::measured
