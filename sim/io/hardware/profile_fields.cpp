// Lists the fields of evidence (the origin of a part of a profile, and its errors on held-out samples) and of
// corrections by size or by shape.
#include "sim/io/hardware/profile_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "sim/io/json/fields.h"

namespace foretoken::io {
namespace {

/// Returns true when the axis lists its knots one by one.
bool read_places(const Node& node, cost::GemmCorrection::Axis& axis) {
  const auto listed = node.find_array("knots_log2");
  if (!listed) return false;
  axis.places.clear();
  for (const Node& place : *listed) axis.places.push_back(place.as_number(kOctaves));
  axis.knots = static_cast<int>(axis.places.size());
  if (axis.knots < 2 ||
      std::adjacent_find(axis.places.begin(), axis.places.end(), std::greater_equal<>()) != axis.places.end()) {
    node.complain("knots_log2", "expected two or more numbers, each above the one before");
    return true;
  }
  axis.first = axis.places.front();
  axis.last = axis.places.back();
  return true;
}

/// Lists the fields of an axis: {"first_log2": 0, "last_log2": 15, "knots": 7}, or uneven {"knots_log2": [0, 3, 5,
/// 7, 8.5, 10]}
void axis_fields(Fields& f, cost::GemmCorrection::Axis& axis) {
  bool even = axis.places.empty();
  f.custom(
      "knots_log2", [&](const Node& node) { even = !read_places(node, axis); },
      [&] { return axis.places.empty() ? Json() : Json(axis.places); });
  f.number_where(even, "first_log2", axis.first, kOctaves);
  f.number_where(even, "last_log2", axis.last, kOctaves);
  f.whole_where(even, "knots", axis.knots, {.low = 2, .high = 20});
  f.check([&](const Node& node) {
    for (const char* key : {"first_log2", "last_log2", "knots"})
      if (even != node.has(key)) node.complain(key, "expected either knots_log2 alone or these three");
    if (axis.last <= axis.first) node.complain("last_log2", "expected more than first_log2");
  });
}

}  // namespace

void evidence_fields(Fields& f, cost::Evidence& e) {
  using enum cost::Provenance;
  constexpr WholeRange kCount{.low = 0, .high = 1'000'000'000};
  const bool checked = e.held_out > 0;

  f.one_of<cost::Provenance>(
      "provenance", e.provenance,
      {{"measured", kMeasured}, {"fitted", kFitted}, {"scaled", kScaled}, {"assumed", kAssumed}});
  f.check([&](const Node& node) {
    if (node.has("scaled_from") != (e.provenance == kScaled))
      node.complain("scaled_from", "expected the name of a GPU exactly when \"provenance\" is \"scaled\"");
  });
  f.text_where(e.provenance == kScaled, "scaled_from", e.scaled_from);
  f.text("source", e.source);
  f.whole_where(e.samples > 0, "samples", e.samples, kCount);
  f.whole_where(checked, "held_out", e.held_out, kCount);
  f.number_where(checked, "median_error", e.median_error, kNonNegative);
  f.number_where(checked, "p90_error", e.p90_error, kNonNegative);
  f.number_where(checked, "worst_error", e.worst_error, kNonNegative);
}

void size_correction_fields(Fields& f, cost::SizeCorrection& correction) {
  f.number("first_log2", correction.first_log2, kOctaves);
  f.number("last_log2", correction.last_log2, kOctaves);
  f.ten_thousandths("log_ratio_1e4", correction.log_ratio, kLogRatio);
  f.check([&](const Node& node) {
    if (correction.last_log2 <= correction.first_log2) node.complain("last_log2", "expected more than first_log2");
    if (correction.log_ratio.size() < 2) node.complain("log_ratio_1e4", "expected at least two values");
  });
}

void grid_correction_fields(Fields& f, cost::GemmCorrection& grid) {
  f.object("m", grid.m, axis_fields);
  f.object("n", grid.n, axis_fields);
  f.object("k", grid.k, axis_fields);
  f.ten_thousandths("log_ratio_1e4", grid.log_ratio, kLogRatio);
  f.check([&](const Node& node) {
    const std::size_t knots = static_cast<std::size_t>(grid.m.knots * grid.n.knots * grid.k.knots);
    if (grid.log_ratio.size() != knots)
      node.complain("log_ratio_1e4",
                    fmt::format("expected {} values (the knots of m x n x k), found {}", knots, grid.log_ratio.size()));
  });
}

}  // namespace foretoken::io
