// Reads published charts of attention and tables of nccl-tests.
#include "calibration/fit/shipped/published.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "sim/base/parse_number.h"
#include "sim/base/text.h"
#include "sim/io/json/document.h"

namespace foretoken::fit {
namespace {

using io::Node;

AttentionHalf half_of(const std::string& series) {
  if (series.ends_with("_fwd_bwd")) return AttentionHalf::kBoth;
  return series.ends_with("_bwd") ? AttentionHalf::kBackward : AttentionHalf::kForward;
}

/// Reads the bars of one line, named "causal_d128" or "full_d64". A bar that could not be read off the chart is null.
AttentionSeries read_bars(const Node& group, const std::string& key, std::vector<double> sequences) {
  AttentionSeries series{.causal = key.starts_with("causal"), .sequences = std::move(sequences)};
  const std::size_t at = key.find("_d");
  const auto head_dim = at == std::string::npos ? std::nullopt : parse_number<int>(key.substr(at + 2), 1);
  if (!head_dim || !(series.causal || key.starts_with("full")))
    group.complain(key, fmt::format("expected a key like causal_d128 or full_d64, found {}", in_quotes(key)));
  series.head_dim = head_dim.value_or(128);
  for (const Node& bar : group.array(key))
    series.tflops.push_back(bar.value().is_null() ? 0.0 : bar.as_number({.low = 0, .above_low = true}));
  if (series.tflops.size() != series.sequences.size())
    group.complain(key, fmt::format("expected {} rates (the lengths of \"seq\"), found {}", series.sequences.size(),
                                    series.tflops.size()));
  return series;
}

/// Reads the kind of collective. Returns nothing for a message from one GPU to another.
std::optional<CollectiveKind> read_kind(const Node& node) {
  using enum CollectiveKind;
  return node.one_of<std::optional<CollectiveKind>>("collective", {{"all_reduce", kAllReduce},
                                                                   {"all_gather", kAllGather},
                                                                   {"reduce_scatter", kReduceScatter},
                                                                   {"alltoall", kAllToAll},
                                                                   {"broadcast", kBroadcast},
                                                                   {"reduce", kReduce},
                                                                   {"sendrecv", std::nullopt}});
}

CollectiveTable::Row read_row(const Node& row) {
  const std::vector<Node> pair = row.as_array();
  if (pair.size() != 2) {
    row.expected("[bytes, microseconds]");
    return {};
  }
  return {pair[0].as_number({.low = 0, .above_low = true}), pair[1].as_number({.low = 0, .above_low = true}) * 1e-6};
}

CollectiveTable read_table(const Node& node) {
  node.allow_only({"id", "system", "gpu", "network", "source", "nccl_version", "env", "collective", "ranks", "nodes",
                   "ranks_per_node", "nic_gb_per_s_per_node", "link_gb_per_s", "rows", "note"});
  const auto kind = read_kind(node);
  CollectiveTable table{.id = node.text("id"),
                        .system = node.text("system"),
                        .gpu = node.text("gpu"),
                        .network = node.text("network"),
                        .source = node.text("source"),
                        .nccl_version = node.find_text("nccl_version").value_or(""),
                        .environment = node.find_text("env").value_or(""),
                        .kind = kind.value_or(CollectiveKind::kAllReduce),
                        .message = !kind,
                        .ranks = node.positive_int("ranks"),
                        .nodes = node.positive_int("nodes"),
                        .ranks_per_node = node.positive_int("ranks_per_node"),
                        .nic_gb_per_s = node.find_number("nic_gb_per_s_per_node", io::kNonNegative).value_or(0),
                        .link_gb_per_s = node.find_number("link_gb_per_s", io::kNonNegative).value_or(0)};
  for (const Node& row : node.array("rows")) table.rows.push_back(read_row(row));
  return table;
}

}  // namespace

std::vector<AttentionSeries> read_attention_series(const std::filesystem::path& path) {
  io::Findings findings;
  const auto document = io::document_from_file(path, findings);
  findings.throw_if_wrong();
  const Node root = document->root(findings);
  const std::vector<double> sequences = root.numbers("seq", io::kPositive);
  std::vector<AttentionSeries> all;
  for (const std::string& name : root.keys()) {
    if (name == "source" || name == "convention" || name == "seq" || name == "fits") continue;
    const Node group = root.object(name);
    for (const std::string& key : group.keys()) {
      all.push_back(read_bars(group, key, sequences));
      all.back().name = name;
      all.back().half = half_of(name);
    }
  }
  findings.throw_if_wrong();
  return all;
}

std::vector<CollectiveTable> read_collective_tables(const std::filesystem::path& path) {
  io::Findings findings;
  const auto document = io::document_from_file(path, findings);
  findings.throw_if_wrong();
  const Node root = document->root(findings);
  root.allow_only({"about", "tables"});
  std::vector<CollectiveTable> tables;
  for (const Node& table : root.array("tables")) tables.push_back(read_table(table.as_object()));
  findings.throw_if_wrong();
  return tables;
}

}  // namespace foretoken::fit
