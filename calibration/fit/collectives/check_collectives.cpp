// Compares every table with three predictions: its system's, its architecture's, and a prediction from fits without it.
#include "calibration/fit/collectives/check_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "calibration/fit/laws/fit_collective.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

constexpr double kSmallestScored = 64 << 10;

double predicted(const CollectiveTable& table, double bytes, const cost::Profile& profile) {
  NodeLinks links = links_of(table, link_gb_per_s(table));
  if (over_pcie(table)) links.nvlink_per_gpu = BytesPerSecond(0);
  if (table.message) return cost::point_to_point_time({Bytes(bytes), table.nodes > 1, 1}, links, profile).value();
  const GroupShape group{.ranks = table.ranks, .nodes = table.nodes, .ranks_per_node = table.ranks_per_node};
  return cost::collective_time({table.kind, Bytes(bytes), group}, links, profile).value();
}

cost::Profile with_own_system(const CollectiveTable& table, cost::Profile profile,
                              const std::vector<cost::MeasuredCollectives>& systems) {
  for (const cost::MeasuredCollectives& system : systems)
    if (system.name == table.system) return cost::with_measured(std::move(profile), system);
  return profile;
}

std::vector<CollectiveTable> without(const std::vector<CollectiveTable>& tables, const CollectiveTable& one) {
  std::vector<CollectiveTable> others;
  for (const CollectiveTable& table : tables)
    if (table.id != one.id) others.push_back(table);
  return others;
}

std::vector<CollectiveTable> of_system(const std::vector<CollectiveTable>& tables, const std::string& system) {
  std::vector<CollectiveTable> own;
  for (const CollectiveTable& table : tables)
    if (table.system == system) own.push_back(table);
  return own;
}

std::string percents(const TableErrors& e) {
  return e.rows == 0 ? "-" : fmt::format("{:.1f} / {:.1f} / {:.0f}", 100 * e.median, 100 * e.p90, 100 * e.worst);
}

}  // namespace

std::string_view name_of_collective(const CollectiveTable& table) {
  if (table.message) return "send/recv";
  constexpr std::array<std::string_view, 6> kNames = {"all-reduce", "all-gather", "reduce-scatter",
                                                      "all-to-all", "broadcast",  "reduce"};
  return kNames[static_cast<std::size_t>(table.kind)];
}

TableErrors errors_on(const CollectiveTable& table, const cost::Profile& profile) {
  std::vector<double> errors;
  for (const auto& row : table.rows)
    if (row.bytes >= kSmallestScored)
      errors.push_back(std::abs(predicted(table, row.bytes, profile) / row.seconds - 1));
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  const auto quantile = [&](double part) {
    return errors[static_cast<std::size_t>(std::ceil(part * static_cast<double>(errors.size()))) - 1];
  };
  return {errors.size(), quantile(0.5), quantile(0.9), errors.back()};
}

std::vector<TableCheck> check_tables(const std::vector<CollectiveTable>& tables) {
  const GeneralLaws general = fit_general_laws(tables);
  const auto systems = measured_systems(tables, general);
  std::vector<TableCheck> checks;
  for (const CollectiveTable& table : tables) {
    const cost::Profile profile = general_profile(architecture_of(table.gpu), general);
    TableCheck check{&table, errors_on(table, with_own_system(table, profile, systems)), errors_on(table, profile), {}};
    const std::vector<CollectiveTable> others = without(tables, table);
    const GeneralLaws unseen = fit_general_laws(others);
    check.left_out = errors_on(table, with_own_system(table, general_profile(architecture_of(table.gpu), unseen),
                                                      measured_systems(of_system(others, table.system), unseen)));
    checks.push_back(check);
  }
  return checks;
}

std::string to_markdown(const std::vector<TableCheck>& checks) {
  std::string text =
      "| table | system | GPU | collective | ranks | nodes | rows | system's curve | architecture's law | table left "
      "out "
      "|\n|---|---|---|---|---|---|---|---|---|---|\n";
  std::array<std::array<int, 4>, 2> met{};  // inside a node, across nodes: tables, then tables within the bounds
  for (const TableCheck& check : checks) {
    const CollectiveTable& t = *check.table;
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", t.id, t.system, t.gpu,
                        name_of_collective(t), t.ranks, t.nodes, check.system.rows, percents(check.system),
                        percents(check.general), percents(check.left_out));
    auto& count = met[t.nodes > 1 ? 1 : 0];
    ++count[0];
    count[1] += check.system.within_bounds() ? 1 : 0;
    count[2] += check.general.within_bounds() ? 1 : 0;
    count[3] += check.left_out.within_bounds() ? 1 : 0;
  }
  std::string head =
      "| within 5 / 15 / 40 % | tables | system's curve | architecture's law | table left out "
      "|\n|---|---|---|---|---|\n";
  for (std::size_t place = 0; place < met.size(); ++place)
    head += fmt::format("| {} | {} | {} | {} | {} |\n", place == 0 ? "inside a node" : "across nodes", met[place][0],
                        met[place][1], met[place][2], met[place][3]);
  return head + "\n" + text;
}

}  // namespace foretoken::fit
