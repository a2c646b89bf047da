// Computes an interval, and says in words which cases it rests on.
#include "sim/trust/interval.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "sim/base/check.h"
#include "sim/base/noun.h"
#include "sim/trust/local_error.h"

namespace foretoken::trust {
namespace {

constexpr double kSame = 1.05;     // numbers this near count as the same
constexpr double kNearFactor = 8;  // near: a factor of at most 8 in GPUs and in parameters

double ratio_between(double a, double b) { return std::max(a / b, b / a); }

using Takes = std::function<bool(const Place&)>;

// The errors of some of the cases.
struct Neighbours {
  int count = 0;
  double mean = 0, spread = 0;  // of predicted / measured - 1

  [[nodiscard]] std::string error() const {
    return count > 1 ? fmt::format("error {:+.1f} +/- {:.1f} %", 100 * mean, 100 * spread)
                     : fmt::format("error {:+.1f} %", 100 * mean);
  }
};

Neighbours neighbours(const std::vector<Case>& cases, const Takes& takes) {
  Neighbours found;
  double squares = 0;
  for (const Case& one : cases) {
    if (!takes(one.place)) continue;
    const double error = std::exp(-one.log_ratio) - 1;
    ++found.count;
    found.mean += error;
    squares += error * error;
  }
  if (found.count == 0) return found;
  found.mean /= found.count;
  if (found.count > 1)
    found.spread = std::sqrt(std::max(0.0, (squares - found.count * found.mean * found.mean) / (found.count - 1)));
  return found;
}

// Returns "; 3.1 times the GPUs of the largest", which says how far the place lies beyond these cases.
std::string beyond(const Place& place, const std::vector<Case>& cases, const Takes& takes) {
  double most_gpus = 0, most_parameters = 0, least_parameters = std::numeric_limits<double>::max();
  for (const Case& one : cases) {
    if (!takes(one.place)) continue;
    most_gpus = std::max(most_gpus, one.place.gpus);
    most_parameters = std::max(most_parameters, one.place.parameters);
    least_parameters = std::min(least_parameters, one.place.parameters);
  }
  std::string text;
  if (place.gpus > kSame * most_gpus)
    text += fmt::format("; {:.2g} times the GPUs of the largest", place.gpus / most_gpus);
  if (place.parameters > kSame * most_parameters)
    text += fmt::format("; {:.2g} times the parameters of the largest", place.parameters / most_parameters);
  if (kSame * place.parameters < least_parameters)
    text += fmt::format("; {:.2g} of the parameters of the smallest", place.parameters / least_parameters);
  return text;
}

struct Kind {
  Takes takes;
  std::string words;  // they follow "12 cases"
  bool outside = true;
};

// Lists the kinds of cases from the nearest to all.
std::vector<Kind> kinds_around(const Place& place) {
  const auto same = [&](const Place& other) { return distance(place, other).jumps == 0; };
  const auto near = [&, same](const Place& other) {
    return same(other) && ratio_between(place.gpus, other.gpus) <= kNearFactor &&
           ratio_between(place.parameters, other.parameters) <= kNearFactor;
  };
  const auto same_gpu = [&](const Place& other) { return place.gpu_kind() == other.gpu_kind(); };
  const std::string kind = shown_kind(place), bits = place.bits == 16 ? "" : fmt::format(" in {} bits", place.bits);
  const std::string here = fmt::format("on {} with this runtime{}", kind, bits);
  return {{near, fmt::format("{}, within {:.0f} times its GPUs and parameters", here, kNearFactor), false},
          {same, here},
          {same_gpu, fmt::format("on {} (none with this runtime){}", kind, bits)},
          {[](const Place&) { return true; }, fmt::format("on other GPUs (none on {})", place.gpu)}};
}

void describe(Interval& interval, const Place& place, const std::vector<Case>& cases) {
  for (const Kind& kind : kinds_around(place)) {
    const Neighbours found = neighbours(cases, kind.takes);
    if (found.count == 0) continue;
    const std::string limits = beyond(place, cases, kind.takes);
    interval.cases = found.count;
    interval.outside = kind.outside || !limits.empty();
    interval.words = fmt::format("{} {}{}: {}{}", with_noun(found.count, "case"), kind.words, limits, found.error(),
                                 interval.outside ? "; outside the validated range, so wider" : "");
    return;
  }
}

}  // namespace

double width_at(const Evidence& evidence, double level) {
  const auto width = std::find_if(evidence.widths.begin(), evidence.widths.end(),
                                  [&](const Width& each) { return std::abs(each.level - level) < 1e-9; });
  expects(width != evidence.widths.end(), "an interval is asked for at a calibrated level");
  return width->spreads;
}

Interval interval_of(const Place& place, Seconds predicted, const Evidence& evidence, double level) {
  const LocalError error = local_error(place, evidence.cases, [](std::size_t) { return true; });
  const double half = width_at(evidence, level) * error.spread(evidence.widening);
  Interval interval;
  interval.level = level;
  interval.low = std::exp(std::min(0.0, error.mean - half)) * predicted;
  interval.high = std::exp(std::max(0.0, error.mean + half)) * predicted;
  describe(interval, place, evidence.cases);
  return interval;
}

}  // namespace foretoken::trust
