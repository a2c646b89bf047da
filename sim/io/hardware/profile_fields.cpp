// Lists the fields of evidence (the origin of a part of a profile, and its errors on held-out samples) and of
// corrections by size.
#include "sim/io/hardware/profile_fields.h"

#include "sim/io/json/fields.h"

namespace foretoken::io {

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

}  // namespace foretoken::io
