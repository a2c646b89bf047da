// Fits the collective laws on nccl-tests tables.
#pragma once

#include <optional>

#include "calibration/fit/collectives/collective_samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Curves for every kind and measured group size (powers of two). All-gather and reduce-scatter share their tables and
/// curves, broadcast and reduce take the same; without any table, all-gather and all-to-all take all-reduce's with half
/// its latency. Where no table has small messages, the latency is `latencies`' for the same kind, or follows from the
/// other sizes.
[[nodiscard]] cost::InsideNodeLaw fit_inside(const TablePool& pool, const cost::InsideNodeLaw* latencies = nullptr);

/// The curve of `kind` on one group size of one machine, from its own tables: what a machine that is measured gets. It
/// follows every row. `latency`: known beforehand, or nothing to take it from the tables.
/// Precondition: pool.one_machine; tables of one kind (or of all-gather and reduce-scatter) and one group size.
[[nodiscard]] cost::CollectiveCurve fit_tables(CollectiveKind kind, const TablePool& pool,
                                               std::optional<Seconds> latency = std::nullopt);

/// What tables across nodes may not show.
struct AcrossGivens {
  std::optional<double> two_node_gain;  ///< hidden when the links inside the node are the narrower ones
  std::optional<Seconds> doubling;      ///< latency per doubling of the nodes: hidden when all tables have two nodes
  std::optional<Seconds> latency;       ///< hidden when no table has small messages
};

/// Curves across nodes for every kind, with a correction for each measured shape of group. Kinds without a table take
/// all-reduce's law with half its latency. Precondition: a table of all-reduce.
[[nodiscard]] cost::AcrossNodesLaw fit_across(const TablePool& pool, const cost::InsideNodeLaw& inside,
                                              const AcrossGivens& givens = {});

/// The curve of one kind. Precondition: a table of it.
[[nodiscard]] cost::AcrossNodesCurve fit_across_curve(CollectiveKind kind, const TablePool& pool,
                                                      const cost::InsideNodeLaw& inside, const AcrossGivens& givens);

/// All-reduce's curve for a kind without a table: a ring all-reduce is a reduce-scatter and an all-gather, so each has
/// half its steps.
[[nodiscard]] cost::AcrossNodesCurve like_all_reduce(CollectiveKind kind, cost::AcrossNodesCurve all_reduce);

/// NIC efficiency of one rank per node, relative to many.
[[nodiscard]] double lone_rank_factor(const cost::AcrossNodesCurve& all_reduce);

/// Highest bus bandwidth of all-reduces over exactly two nodes, relative to the NIC rate, in the pool.
[[nodiscard]] double highest_two_node_gain(const TablePool& pool);

/// The same law, from `origin`, with evidence from, and corrections by, tables that it was not fitted on.
[[nodiscard]] cost::AcrossNodesLaw checked(cost::AcrossNodesLaw law, const TablePool& pool,
                                           const cost::InsideNodeLaw& inside, const cost::Evidence& origin);

/// A message's path from its sendrecv tables on one machine. `crosses_nodes`: over the NICs, else inside a node.
/// `latency`: of the same path elsewhere, taken when no table has small messages.
[[nodiscard]] cost::PointToPointLaw::Path fit_messages(const TablePool& pool, bool crosses_nodes, Seconds latency);

}  // namespace foretoken::fit
