// Fits one message between two GPUs on sendrecv tables.
#include <algorithm>
#include <cmath>

#include "calibration/fit/laws/fit_collective.h"
#include "calibration/fit/laws/fit_size_correction.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

/// Compares predicted with measured messages. In nccl-tests' sendrecv every rank sends to the next one, so across nodes
/// one message leaves each node.
std::vector<Outcome> outcomes_of(const TablePool& pool, bool crosses_nodes, const cost::PointToPointLaw::Path& path,
                                 std::vector<double>* sizes = nullptr) {
  const cost::Profile profile{.point_to_point = {.nvlink = path, .pcie = path, .network = path}};
  std::vector<Outcome> all;
  for (const CollectiveTable& table : pool.tables)
    for (const auto& row : table.rows) {
      const PointToPointShape shape{Bytes(row.bytes), crosses_nodes, 1};
      const NodeLinks links = links_of(table, pool.reference_gb_per_s);
      all.push_back({cost::point_to_point_time(shape, links, profile).value(), row.seconds});
      if (sizes) sizes->push_back(row.bytes);
    }
  return all;
}

}  // namespace

cost::PointToPointLaw::Path fit_messages(const TablePool& pool, bool crosses_nodes, Seconds latency) {
  const bool shown = std::any_of(pool.tables.begin(), pool.tables.end(), starts_small);
  const auto path_of = [&](const Arguments& at) {
    return cost::PointToPointLaw::Path{.latency = shown ? microseconds(rounded(std::exp(at[2]))) : latency,
                                       .efficiency = rounded(std::min(1.0, std::exp(at[0]))),
                                       .spread = rounded(1e-3 * std::exp(at[1])),
                                       .correction = {}};
  };
  const auto objective = [&](const Arguments& at) {
    return mean_log_error(outcomes_of(pool, crosses_nodes, path_of(at)));
  };
  cost::PointToPointLaw::Path path =
      path_of(minimise(objective, {std::log(0.7), 0.0, std::log(lowest_floor(pool.tables) * 1e6)}, 0.3, 3000));
  std::vector<double> sizes;
  const std::vector<Outcome> misses = outcomes_of(pool, crosses_nodes, path, &sizes);
  std::vector<SizePull> pulls;
  for (std::size_t i = 0; i < misses.size(); ++i)
    pulls.push_back({sizes[i], std::log(misses[i].measured / misses[i].predicted)});
  path.correction = follow_sizes(pulls);
  return path;
}

}  // namespace foretoken::fit
