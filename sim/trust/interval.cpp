// An interval and its words.
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

constexpr double kSame = 1.05;     // numbers so near are the same
constexpr double kNearFactor = 8;  // near: at most so many times as many GPUs, and as many parameters

double factor_apart(double a, double b) { return std::max(a / b, b / a); }

using Takes = std::function<bool(const Place&)>;

// What was missed on some of the cases.
struct Neighbours {
  int count = 0;
  double mean = 0, spread = 0;  // of predicted / measured - 1

  [[nodiscard]] std::string error() const {
    return count > 1 ? fmt::format("error {:+.1f} +/- {:.1f} %", 100 * mean, 100 * spread)
                     : fmt::format("error {:+.1f} %", 100 * mean);
  }
};

Neighbours neighbours(const std::vector<Case>& cases, const Takes& takes) {
  Neighbours seen;
  double squares = 0;
  for (const Case& one : cases) {
    if (!takes(one.place)) continue;
    const double error = std::exp(-one.log_ratio) - 1;
    ++seen.count;
    seen.mean += error;
    squares += error * error;
  }
  if (seen.count == 0) return seen;
  seen.mean /= seen.count;
  if (seen.count > 1)
    seen.spread = std::sqrt(std::max(0.0, (squares - seen.count * seen.mean * seen.mean) / (seen.count - 1)));
  return seen;
}

// "; 3.1 times the GPUs of the largest case": how far the place lies beyond the cases that are spoken of.
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
  std::string words;  // behind "12 cases"
  bool outside = true;
};

// From the nearest kind of cases to all of them.
std::vector<Kind> kinds_around(const Place& place) {
  const auto same = [&](const Place& other) { return distance(place, other).jumps == 0; };
  const auto near = [&, same](const Place& other) {
    return same(other) && factor_apart(place.gpus, other.gpus) <= kNearFactor &&
           factor_apart(place.parameters, other.parameters) <= kNearFactor;
  };
  const auto same_gpu = [&](const Place& other) { return place.gpu_kind() == other.gpu_kind(); };
  const std::string kind = shown_kind(place), bits = place.bits == 16 ? "" : fmt::format(" in {} bits", place.bits);
  const std::string here = fmt::format("on {} with this runtime{}", kind, bits);
  return {{near, fmt::format("{}, within {:.0f} times its GPUs and parameters", here, kNearFactor), false},
          {same, here},
          {same_gpu, fmt::format("on {}, none with this runtime{}", kind, bits)},
          {[](const Place&) { return true; }, fmt::format("on other GPUs, none on {}", place.gpu)}};
}

void describe(Interval& interval, const Place& place, const std::vector<Case>& cases) {
  for (const Kind& kind : kinds_around(place)) {
    const Neighbours seen = neighbours(cases, kind.takes);
    if (seen.count == 0) continue;
    const std::string limits = beyond(place, cases, kind.takes);
    interval.cases = seen.count;
    interval.outside = kind.outside || !limits.empty();
    interval.words = fmt::format("{} {}{}: {}{}", with_noun(seen.count, "case"), kind.words, limits, seen.error(),
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
