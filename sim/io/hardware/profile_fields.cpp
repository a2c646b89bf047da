// Times, rates and evidence.
#include "sim/io/hardware/profile_fields.h"

namespace foretoken::io {
namespace {

constexpr WholeRange kCount{.low = 0, .high = 1'000'000'000};

}  // namespace

Seconds us(const Node& node, std::string_view key) { return microseconds(node.number(key, kMicroseconds)); }
BytesPerSecond gb(const Node& node, std::string_view key) { return gigabytes_per_second(node.number(key, kRate)); }

cost::Evidence read_evidence(const Node& parent) {
  const Node node = parent.object("evidence");
  node.allow_only(
      {"provenance", "scaled_from", "source", "samples", "held_out", "median_error", "p90_error", "worst_error"});
  using enum cost::Provenance;
  const auto provenance = node.one_of<cost::Provenance>(
      "provenance", {{"measured", kMeasured}, {"fitted", kFitted}, {"scaled", kScaled}, {"assumed", kAssumed}});
  if (node.has("scaled_from") != (provenance == kScaled))
    node.complain("scaled_from", "expected the name of a GPU exactly when \"provenance\" is \"scaled\"");
  return {.provenance = provenance,
          .scaled_from = node.find_text("scaled_from").value_or(""),
          .source = node.text("source"),
          .samples = static_cast<int>(node.find_whole("samples", kCount).value_or(0)),
          .held_out = static_cast<int>(node.find_whole("held_out", kCount).value_or(0)),
          .median_error = node.find_number("median_error", kNonNegative).value_or(0),
          .p90_error = node.find_number("p90_error", kNonNegative).value_or(0),
          .worst_error = node.find_number("worst_error", kNonNegative).value_or(0)};
}

}  // namespace foretoken::io
