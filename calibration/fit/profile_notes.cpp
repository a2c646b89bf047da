// Notes that `foretoken profiles show` prints.
#include "calibration/fit/profile_notes.h"

#include <fmt/format.h>

#include <algorithm>

namespace foretoken::fit {
namespace {

std::string line(const char* part, const cost::Evidence& e) {
  std::string text = fmt::format("{}: {}", part, e.source);
  if (e.held_out > 0)
    text += fmt::format("; {} samples, error on {} held out: median {:.1f} %, p90 {:.1f} %, worst {:.0f} %", e.samples,
                        e.held_out, 100 * e.median_error, 100 * e.p90_error, 100 * e.worst_error);
  return text;
}

/// Of the curves that were checked: how many, and the middle of their median errors.
template <class Curves>
std::string curves_line(const char* part, const Curves& curves) {
  std::vector<double> medians;
  std::string source = curves.front().evidence.source;
  for (const auto& curve : curves) {
    if (curve.evidence.held_out == 0) continue;
    if (medians.empty()) source = curve.evidence.source;
    medians.push_back(curve.evidence.median_error);
  }
  std::string text = fmt::format("{}: {}", part, source);
  if (medians.empty()) return text;
  std::sort(medians.begin(), medians.end());
  return text + fmt::format("; {} of {} curves checked, median errors {:.1f} to {:.1f} %, middle {:.1f} %",
                            medians.size(), curves.size(), 100 * medians.front(), 100 * medians.back(),
                            100 * medians[medians.size() / 2]);
}

const char* label(Precision precision) {
  return precision == Precision::kFp16   ? "gemm fp16"
         : precision == Precision::kBf16 ? "gemm bf16"
         : precision == Precision::kFp8  ? "gemm fp8"
                                         : "gemm fp32";
}

}  // namespace

std::vector<std::string> notes_of(const cost::Profile& profile) {
  std::vector<std::string> notes;
  for (const auto& [precision, law] : profile.gemm) notes.push_back(line(label(precision), law.evidence));
  notes.push_back(curves_line("attention", profile.attention.laws));
  notes.push_back(line("memory-bound", profile.memory_bound.evidence));
  notes.push_back(curves_line("collectives over NVLink", profile.nvlink.curves));
  notes.push_back(curves_line("collectives over PCIe", profile.pcie.curves));
  notes.push_back(curves_line("collectives across nodes", profile.network.curves));
  notes.push_back(line("messages", profile.point_to_point.evidence));
  return notes;
}

}  // namespace foretoken::fit
