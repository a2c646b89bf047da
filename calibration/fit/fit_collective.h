// Fits the collective laws on nccl-tests tables.
#pragma once

#include <optional>

#include "calibration/fit/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Tables of one architecture that one law is fitted on.
struct TablePool {
  std::vector<CollectiveTable> tables;
  std::string source;
  double reference_gb_per_s = 0;  ///< link rate of the GPUs in the tables
};

/// Curves for every kind and measured group size (powers of two). All-gather and reduce-scatter share their tables and
/// curves, broadcast takes the same; without any table, all-gather and all-to-all take all-reduce's with half its
/// latency. Where no table has small messages, the latency is `latencies`' for the same kind, or follows from the other
/// sizes.
[[nodiscard]] cost::InsideNodeLaw fit_inside(const TablePool& pool, const cost::InsideNodeLaw* latencies = nullptr);

/// The curve of one kind and group size inside a node from its own tables alone: what a machine that is measured gets.
/// Rows of 8 KiB and more. Precondition: same kind and ranks, at least one table with rows of 64 KiB and less.
[[nodiscard]] cost::CollectiveCurve fit_tables(const TablePool& pool);

/// What tables across nodes may not show.
struct AcrossGivens {
  std::optional<double> two_node_gain;  ///< hidden when the links inside the node are the narrower ones
  std::optional<Seconds> doubling;      ///< latency per doubling of the nodes: hidden when all tables have two nodes
};

/// Curves across nodes for every kind. Kinds without a table take all-reduce's with half its latency.
[[nodiscard]] cost::AcrossNodesLaw fit_across(const TablePool& pool, const cost::InsideNodeLaw& inside,
                                              const AcrossGivens& givens = {});

/// Highest bus bandwidth of all-reduces over exactly two nodes, relative to the NIC rate, in the pool.
[[nodiscard]] double highest_two_node_gain(const TablePool& pool);

/// The same law, from `origin`, with evidence from tables that it was not fitted on.
[[nodiscard]] cost::AcrossNodesLaw checked(cost::AcrossNodesLaw law, const TablePool& pool,
                                           const cost::InsideNodeLaw& inside, const cost::Evidence& origin);

/// A node of the table's cluster: eight GPUs with links of `link_gb_per_s`, eight NICs of an eighth of its line rate.
[[nodiscard]] NodeLinks links_of(const CollectiveTable& table, double link_gb_per_s);

}  // namespace foretoken::fit
