// Writes a profile as a table of its laws, with each source once below.
#include "tools/text/profile_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/cost/parts.h"

namespace foretoken::tools {
namespace {

using report::Table;

// One law as a row, or the head of a group of rows.
struct LawRow {
  std::string label;
  cost::Evidence evidence;
  bool heads_group = false;
};

std::string_view collective_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all-reduce";
    case CollectiveKind::kAllGather:
      return "all-gather";
    case CollectiveKind::kReduceScatter:
      return "reduce-scatter";
    case CollectiveKind::kAllToAll:
      return "all-to-all";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kReduce:
      return "reduce";
  }
  return "";
}

bool same(const cost::Evidence& a, const cost::Evidence& b) {
  return a.provenance == b.provenance && a.source == b.source && a.samples == b.samples && a.held_out == b.held_out &&
         a.median_error == b.median_error && a.p90_error == b.p90_error && a.worst_error == b.worst_error;
}

// Adds a group of curves. Several collectives often share one curve; they stand in one row.
template <class Curves, class Front>
void add_curves(std::vector<LawRow>& rows, std::string title, const Curves& curves, const Front& front) {
  if (curves.empty()) return;
  rows.push_back({std::move(title), {}, true});
  std::vector<std::pair<std::string, LawRow>> group;  // by the text in front of the collectives' names
  for (const auto& curve : curves) {
    const std::string before = front(curve);
    const auto twin = std::find_if(group.begin(), group.end(), [&](const auto& known) {
      return known.first == before && same(known.second.evidence, curve.evidence);
    });
    const std::string name(collective_name(curve.kind));
    if (twin != group.end())
      twin->second.label += ", " + name;
    else
      group.push_back({before, {"  " + before + name, curve.evidence}});
  }
  for (auto& [before, row] : group) rows.push_back(std::move(row));
}

std::vector<LawRow> rows_of(const cost::Profile& profile) {
  std::vector<LawRow> rows;
  for (const auto& [precision, law] : profile.gemm)
    rows.push_back({fmt::format("GEMM {}", name_of(precision)), law.evidence});
  if (!profile.misaligned_rows.evidence.source.empty())
    rows.push_back({"GEMM with misaligned rows", profile.misaligned_rows.evidence});
  for (const cost::AttentionLaw& law : profile.attention.laws)
    rows.push_back({fmt::format("attention, head {}, {}", law.head_dim, law.causal ? "causal" : "full"), law.evidence});
  rows.push_back({"memory-bound kernels", profile.memory_bound.evidence});
  const auto by_ranks = [](const cost::CollectiveCurve& curve) { return fmt::format("{}: ", curve.ranks); };
  add_curves(rows, "collectives over NVLink, by ranks", profile.nvlink.curves, by_ranks);
  add_curves(rows, "collectives over PCIe, by ranks", profile.pcie.curves, by_ranks);
  add_curves(rows, "collectives across nodes", profile.network.curves,
             [](const cost::AcrossNodesCurve&) { return std::string(); });
  const cost::PointToPointLaw& messages = profile.point_to_point;
  rows.push_back({"messages over NVLink", messages.nvlink.evidence});
  rows.push_back({"messages over PCIe", messages.pcie.evidence});
  rows.push_back({"messages across nodes", messages.network.evidence});
  if (profile.host) rows.push_back({"launches by the host", profile.host->evidence});
  return rows;
}

// Splits a label that is too long: adds its front as its own line and returns the rest.
std::string last_line(const std::string& label, std::size_t columns, Table& table) {
  if (label.size() <= columns) return label;
  const std::size_t comma = label.rfind(", ", columns - 1);
  if (comma == label.npos) return label;
  table.add_note({label.substr(0, comma + 1)}, "");
  return last_line("    " + label.substr(comma + 2), columns, table);
}

std::string origin_of(const cost::Evidence& e) {
  return e.provenance == cost::Provenance::kScaled ? fmt::format("{}: {}", e.scaled_from, e.source) : e.source;
}

std::string errors_of(const cost::Evidence& e) {
  if (e.held_out == 0) return "-";
  return fmt::format("{:.1f} / {:.1f} / {:.1f} %", 100 * e.median_error, 100 * e.p90_error, 100 * e.worst_error);
}

}  // namespace

std::string profile_page(const cost::Profile& profile, const report::Paint& paint) {
  Table table({{"part", Table::Align::kLeft},
               {"", Table::Align::kLeft},
               {"samples"},
               {"held out", Table::Align::kRight, 1},
               {"median / p90 / worst"},
               {"from"}});
  constexpr std::size_t kAround = 49, kMostPart = 42;
  const std::size_t part_columns = std::min(kMostPart, paint.columns() - kAround);
  std::vector<std::string> sources;
  for (const LawRow& row : rows_of(profile)) {
    if (row.heads_group) {
      table.add_note({}, row.label);
      continue;
    }
    const cost::Evidence& e = row.evidence;
    const std::string origin = origin_of(e);
    const auto known = std::find(sources.begin(), sources.end(), origin);
    const auto number = known - sources.begin() + 1;
    if (known == sources.end()) sources.push_back(origin);
    table.add({last_line(row.label, part_columns, table), std::string(cost::name_of(e.provenance)),
               fmt::format("{}", e.samples), fmt::format("{}", e.held_out), errors_of(e), fmt::format("[{}]", number)});
  }
  std::string text = paint(report::Ink::kBold, profile.name) + fmt::format("  costs of the GPU {}\n\n", profile.gpu) +
                     table.text(paint);
  text += paint.paragraph("  ",
                          "Measured: on this machine by foretoken-calibrate or nccl-tests. Fitted: on published tables "
                          "of this GPU. Scaled: from another "
                          "GPU. Errors: |predicted / measured - 1| on samples that the fit did not use.");
  text += '\n';
  for (std::size_t i = 0; i < sources.size(); ++i)
    text += paint.paragraph(report::pad_right(fmt::format("  [{}]", i + 1), 7), sources[i]);
  return text;
}

}  // namespace foretoken::tools
