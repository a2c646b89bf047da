// Tables of text.
#include "calibration/fit/show_profile.h"

#include <fmt/format.h>

#include <optional>

#include "calibration/fit/typical_work.h"
#include "sim/cost/parts.h"

namespace foretoken::fit {
namespace {

std::string errors_of(const cost::Evidence& e) {
  if (e.held_out == 0) return fmt::format("{:>8} {:>8} {:>8}", "-", "-", "-");
  return fmt::format("{:>7.1f}% {:>7.1f}% {:>7.1f}%", 100 * e.median_error, 100 * e.p90_error, 100 * e.worst_error);
}

std::string origin_of(const cost::Evidence& e) {
  return e.provenance == cost::Provenance::kScaled ? fmt::format("{}, {}", e.scaled_from, e.source) : e.source;
}

/// Curves of several kinds often share their evidence; equal lines in a row stand once.
bool same(const cost::Evidence& a, const cost::Evidence& b) {
  return a.source == b.source && a.provenance == b.provenance && a.samples == b.samples && a.held_out == b.held_out &&
         a.median_error == b.median_error && a.worst_error == b.worst_error;
}

}  // namespace

std::string show_profile(const cost::Profile& profile) {
  std::string text = fmt::format("{} ({})\n\n{:<26}{:<10}{:>8} {:>8} {:>8} {:>8} {:>8}  {}\n", profile.name,
                                 profile.gpu, "part", "", "samples", "held out", "median", "p90", "worst", "source");
  for (const cost::Part& part : cost::parts_of(profile)) {
    const cost::Evidence* before = nullptr;
    for (const cost::Evidence& e : part.evidence) {
      if (before && same(*before, e)) continue;
      text += fmt::format("{:<26}{:<10}{:>8} {:>8} {}  {}\n", before ? "" : part.name, cost::name_of(e.provenance),
                          e.samples, e.held_out, errors_of(e), origin_of(e));
      before = &e;
    }
  }
  return text;
}

std::string diff_profiles(const cost::Profile& a, const cost::Profile& b) {
  std::string text = fmt::format("{:<52}{:>14}{:>14}{:>9}\n", "", a.name, b.name, "b / a");
  for (const TypicalWork& work : typical_work()) {
    const std::optional<Seconds> of_a = work.time(a), of_b = work.time(b);
    const auto shown = [](const std::optional<Seconds>& t) {
      return t ? fmt::format("{:.1f} us", 1e6 * t->value()) : std::string("-");
    };
    text += fmt::format("{:<52}{:>14}{:>14}{:>9}\n", work.name, shown(of_a), shown(of_b),
                        of_a && of_b ? fmt::format("{:.3f}", *of_b / *of_a) : std::string("-"));
  }
  return text;
}

}  // namespace foretoken::fit
