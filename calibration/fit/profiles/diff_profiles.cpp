// Writes the times of the same work on two profiles, line by line.
#include "calibration/fit/profiles/diff_profiles.h"

#include <fmt/format.h>

#include "calibration/fit/profiles/typical_work.h"

namespace foretoken::fit {

std::vector<ComparedWork> compare_profiles(const cost::Profile& a, const cost::Profile& b) {
  std::vector<ComparedWork> compared;
  for (const TypicalWork& work : typical_work()) compared.push_back({work.name, work.time(a), work.time(b)});
  return compared;
}

std::string diff_profiles(const cost::Profile& a, const cost::Profile& b) {
  std::string text = fmt::format("{:<40}{:>16}{:>16}{:>8}\n", "", a.name, b.name, "b / a");
  for (const auto& [name, of_a, of_b] : compare_profiles(a, b)) {
    const auto shown = [](const std::optional<Seconds>& t) {
      return t ? fmt::format("{:.1f} us", 1e6 * t->value()) : std::string("-");
    };
    text += fmt::format("{:<40}{:>16}{:>16}{:>8}\n", name, shown(of_a), shown(of_b),
                        of_a && of_b ? fmt::format("{:.3f}", *of_b / *of_a) : std::string("-"));
  }
  return text;
}

}  // namespace foretoken::fit
