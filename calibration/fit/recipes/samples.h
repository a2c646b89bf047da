// Measured tables as they were published, read into samples. Throws std::runtime_error naming the file when malformed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/kernel.h"

namespace foretoken::fit {

/// One measured matrix product.
struct GemmSample {
  GemmShape shape;
  double seconds = 0;
  [[nodiscard]] std::string key() const;  ///< what decides whether it is held out
};

/// CSV with the columns m, n, k, time_us (others ignored); forward products in 16 bit.
[[nodiscard]] std::vector<GemmSample> read_gemm_table(const std::filesystem::path& path);

/// One kernel of an operator table: efficiency against the peak.
struct OperatorSample {
  std::string system;  ///< "a100_pcie", "b200_bf16_ceperm"
  bool attention = false;
  GemmShape gemm{};
  AttentionShape shape{};  ///< causal; efficiency already halved
  double seconds = 0;
  [[nodiscard]] std::string key() const;
};

/// SimuMax's operator efficiencies as CSV: system, op, shape, tflops, b, m, k, n, layout, accumulate.
[[nodiscard]] std::vector<OperatorSample> read_operator_table(const std::filesystem::path& path);

enum class AttentionHalf { kForward, kBackward, kBoth };

/// TFLOP/s over the sequence length, hidden size 2048 and 16384 tokens, 16 bit.
struct AttentionSeries {
  std::string name;  ///< "A100_FA2_fwd_bwd"
  AttentionHalf half = AttentionHalf::kBoth;
  bool causal = true;
  int head_dim = 128;
  std::vector<double> sequences{}, tflops{};  ///< parallel; a missing bar is 0
};

[[nodiscard]] std::vector<AttentionSeries> read_attention_series(const std::filesystem::path& path);

/// One nccl-tests table.
struct CollectiveTable {
  std::string id, system, gpu, network, source;
  std::string nccl_version{}, environment{};  ///< "2.27.5", "NCCL_ALGO=Ring QPS=2"; empty where nothing is stated
  CollectiveKind kind = CollectiveKind::kAllReduce;
  bool message = false;  ///< sendrecv: `kind` says nothing, `bytes` is one message
  int ranks = 1, nodes = 1, ranks_per_node = 1;
  double nic_gb_per_s = 0;  ///< line rate of one node, 0 when unknown
  struct Row {
    double bytes, seconds;
  };
  std::vector<Row> rows{};
};

/// All tables of calibration/measurements/collectives.json or a file like it, messages among them.
[[nodiscard]] std::vector<CollectiveTable> read_collective_tables(const std::filesystem::path& path);

}  // namespace foretoken::fit
