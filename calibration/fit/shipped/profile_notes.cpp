// Writes the notes that `foretoken profiles show` prints.
#include "calibration/fit/shipped/profile_notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cost/parts.h"

namespace foretoken::fit {
namespace {

std::string origin(const cost::Evidence& e) {
  if (e.provenance == cost::Provenance::kScaled) return fmt::format("scaled from {}: {}", e.scaled_from, e.source);
  return fmt::format("{}: {}", cost::name_of(e.provenance), e.source);
}

std::string line(const std::string& part, const cost::Evidence& e) {
  std::string text = fmt::format("{}: {}", part, origin(e));
  if (e.held_out > 0)
    text += fmt::format("; {} samples, error on {} held out: median {:.1f} %, p90 {:.1f} %, worst {:.0f} %", e.samples,
                        e.held_out, 100 * e.median_error, 100 * e.p90_error, 100 * e.worst_error);
  return text;
}

/// Writes the number of checked curves, and the middle of their median errors.
std::string curves_line(const cost::Part& part) {
  std::vector<double> medians;
  const cost::Evidence* first = &part.evidence.front();
  for (const cost::Evidence& e : part.evidence) {
    if (e.held_out == 0) continue;
    if (medians.empty()) first = &e;
    medians.push_back(e.median_error);
  }
  std::string text = fmt::format("{}: {}", part.name, origin(*first));
  if (medians.empty()) return text;
  std::sort(medians.begin(), medians.end());
  if (medians.size() == 1)
    return text +
           fmt::format("; 1 of {} curves checked, median error {:.1f} %", part.evidence.size(), 100 * medians.front());
  return text + fmt::format("; {} of {} curves checked, median errors {:.1f} to {:.1f} %, middle {:.1f} %",
                            medians.size(), part.evidence.size(), 100 * medians.front(), 100 * medians.back(),
                            100 * medians[medians.size() / 2]);
}

}  // namespace

std::vector<std::string> notes_of(const cost::Profile& profile) {
  std::vector<std::string> notes;
  for (const cost::Part& part : cost::parts_of(profile))
    notes.push_back(part.evidence.size() == 1 ? line(part.name, part.evidence.front()) : curves_line(part));
  return notes;
}

}  // namespace foretoken::fit
