// Published charts of attention and published nccl-tests tables, as they were printed. Readers throw ConfigError.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/kernel.h"

namespace foretoken::fit {

/// Which passes the bars of a chart time.
enum class AttentionHalf : std::uint8_t { kForward, kBackward, kBoth };

/// One series of a chart: TFLOP/s over the sequence length, with hidden size 2048, 16384 tokens and 16 bit.
struct AttentionSeries {
  std::string name{};  ///< "A100_FA2_fwd_bwd"
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
  bool message = false;  ///< sendrecv: `kind` is not used, `bytes` is one message
  int ranks = 1, nodes = 1, ranks_per_node = 1;
  double nic_gb_per_s = 0;   ///< line rate of one node, 0 when unknown
  double link_gb_per_s = 0;  ///< NVLink of a rank to the others, where fewer cables than a GPU's join them; 0: all
  struct Row {
    double bytes = 0, seconds = 0;
  };
  std::vector<Row> rows{};
};

/// Reads all tables of calibration/measurements/collectives.json, or of a file in its form. Some are of messages.
[[nodiscard]] std::vector<CollectiveTable> read_collective_tables(const std::filesystem::path& path);

}  // namespace foretoken::fit
