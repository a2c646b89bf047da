// Writes the times of the same work on two profiles, line by line.
#include "calibration/fit/profiles/diff_profiles.h"

#include <fmt/format.h>

#include <optional>

#include "calibration/fit/profiles/typical_work.h"

namespace foretoken::fit {

std::string diff_profiles(const cost::Profile& a, const cost::Profile& b) {
  std::string text = fmt::format("{:<40}{:>16}{:>16}{:>8}\n", "", a.name, b.name, "b / a");
  for (const TypicalWork& work : typical_work()) {
    const std::optional<Seconds> of_a = work.time(a), of_b = work.time(b);
    const auto shown = [](const std::optional<Seconds>& t) {
      return t ? fmt::format("{:.1f} us", 1e6 * t->value()) : std::string("-");
    };
    text += fmt::format("{:<40}{:>16}{:>16}{:>8}\n", work.name, shown(of_a), shown(of_b),
                        of_a && of_b ? fmt::format("{:.3f}", *of_b / *of_a) : std::string("-"));
  }
  return text;
}

}  // namespace foretoken::fit
