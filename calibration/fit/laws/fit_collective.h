// Fits the collective laws on nccl-tests tables.
#pragma once

#include <optional>

#include "calibration/fit/collectives/collective_samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Fits curves for every kind and measured group size (powers of two). All-gather and reduce-scatter share their tables
/// and curves; broadcast and reduce take the same. Without any table, all-gather and all-to-all take all-reduce's curve
/// with half its latency. Where no table has small messages, the latency is that kind's in `latencies`, or follows from
/// the other sizes.
[[nodiscard]] cost::InsideNodeLaw fit_inside(const TablePool& pool, const cost::InsideNodeLaw* latencies = nullptr);

/// Fits the curve of `kind` on one group size of one machine, from its own tables. It follows every row. `latency` is
/// known beforehand, or absent to take it from the tables.
/// Precondition: pool.one_machine; tables of one kind (or of all-gather and reduce-scatter) and one group size.
[[nodiscard]] cost::CollectiveCurve fit_tables(CollectiveKind kind, const TablePool& pool,
                                               std::optional<Seconds> latency = std::nullopt);

/// Numbers that tables across nodes may not show.
struct AcrossGivens {
  std::optional<double> two_node_gain;  ///< hidden when the links inside the node are the narrower ones
  std::optional<Seconds> doubling;      ///< latency per doubling of the nodes: hidden when all tables have two nodes
  std::optional<Seconds> latency;       ///< hidden when no table has small messages
};

/// Fits curves across nodes for every kind, with a correction for each measured shape of group. Kinds without a table
/// take all-reduce's law with half its latency. Precondition: a table of all-reduce.
[[nodiscard]] cost::AcrossNodesLaw fit_across(const TablePool& pool, const cost::InsideNodeLaw& inside,
                                              const AcrossGivens& givens = {});

/// Fits the curve of one kind. Precondition: a table of it.
[[nodiscard]] cost::AcrossNodesCurve fit_across_curve(CollectiveKind kind, const TablePool& pool,
                                                      const cost::InsideNodeLaw& inside, const AcrossGivens& givens);

/// Returns all-reduce's curve for a kind without a table. A ring all-reduce is a reduce-scatter and an all-gather, so
/// each has half its steps.
[[nodiscard]] cost::AcrossNodesCurve like_all_reduce(CollectiveKind kind, cost::AcrossNodesCurve all_reduce);

/// Returns the NIC efficiency of one rank per node, relative to many.
[[nodiscard]] double lone_rank_factor(const cost::AcrossNodesCurve& all_reduce);

/// Returns the highest bus bandwidth of the pool's all-reduces over exactly two nodes, relative to the NIC rate.
[[nodiscard]] double highest_two_node_gain(const TablePool& pool);

/// Returns the law from `origin` with evidence and corrections from tables that it was not fitted on.
[[nodiscard]] cost::AcrossNodesLaw checked(cost::AcrossNodesLaw law, const TablePool& pool,
                                           const cost::InsideNodeLaw& inside, const cost::Evidence& origin);

/// Fits a message's path on its sendrecv tables of one machine. `crosses_nodes` means over the NICs, else inside a
/// node. `latency` is the latency of the same path elsewhere. It is used when no table has small messages.
[[nodiscard]] cost::PointToPointLaw::Path fit_messages(const TablePool& pool, bool crosses_nodes, Seconds latency);

}  // namespace foretoken::fit
