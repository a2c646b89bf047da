// Times of exchanges of tokens by a library of its own. Pure functions, no I/O.
#pragma once

#include <vector>

#include "sim/cost/exchanges/exchange_law.h"

namespace foretoken::cost {

/// Time of one exchange under one law.
///
///   t = launch + ((work / rate)^p + (sent / (f link))^p)^(1/p)                    inside a node
///   work = tokens (copies (row + copy_bytes) + token_bytes + token_rows row),  sent = tokens copies (1 - 1/ranks) row
///
///   t = launch + log2(nodes / 2) launch_per_doubling
///     + ((work / rate)^p + (tokens network_copies row / (efficiency nic))^p)^(1/p)                across nodes
///   work = tokens (copies + network_rows network_copies) row
///
/// f is the shape's link_factor. `rate` counts once for each multiprocessor where the law says so. Source: the form
/// follows DeepEP's kernels, whose warps look at every token and copy a row for each rank; constants are fitted on
/// tables (docs/modeller/costs.md). Holds for: equal ranks that exchange at once. Error: the law's evidence.
/// Precondition: tokens, copies and rows are not negative; ranks, nodes and multiprocessors are at least 1. Across
/// nodes the law has constants for it, and a NIC has a rate.
[[nodiscard]] Seconds exchange_time(const ExchangeShape& shape, const ExchangeLaw& law);

/// Returns the law of a library's phase, or nullptr when there is none.
[[nodiscard]] const ExchangeLaw* find_exchange(const std::vector<ExchangeLaw>& laws, ExchangeLibrary library,
                                               ExchangePhase phase);

}  // namespace foretoken::cost
