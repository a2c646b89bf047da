// Computes an interval from the distance to the nearest case, and names the cases it rests on.
#include "sim/trust/interval.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/noun.h"

namespace foretoken::trust {
namespace {

constexpr double kSame = 1.05;     // numbers this near count as the same
constexpr double kNearFactor = 8;  // near: a factor of at most 8 in GPUs and in parameters

double ratio_between(double a, double b) { return std::max(a / b, b / a); }

using Takes = std::function<bool(const Place&)>;

// The errors of some of the cases.
struct Neighbours {
  int count = 0;
  double mean = 0, spread = 0;  // of simulated / measured - 1

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

std::string shown(double number) {
  return number < 1e9 ? fmt::format("{:.6g}", number) : fmt::format("{:.3g} billion", number / 1e9);
}

// Returns "sequence length 131072 (validated up to 8192)" when the value lies beyond those of the cases.
std::string beyond(const PlaceKey& key, double value, double Place::*number, const std::vector<const Place*>& places) {
  double least = places.front()->*number, most = least;
  for (const Place* place : places) {
    least = std::min(least, place->*number);
    most = std::max(most, place->*number);
  }
  const auto limit = [&](const char* side, double end) {
    return fmt::format("{} {} (validated {} {})", key.words, shown(value), side, shown(end));
  };
  if (value > kSame * most) return limit("up to", most);
  return kSame * value < least ? limit("from", least) : "";
}

// Returns "attention unfused" when no case has the value.
std::string never(const PlaceKey& key, const Place& place, const std::vector<const Place*>& places) {
  const auto same = [&](const Place* each) { return steps_of(key, place, *each) == 0; };
  if (std::any_of(places.begin(), places.end(), same)) return "";
  return fmt::format("{} {}", key.words, value_of(key, place));
}

// Lists the properties whose values none of these cases has.
std::vector<std::string> away_from(const Place& place, const std::vector<const Place*>& places) {
  std::vector<std::string> away;
  for (const PlaceKey& key : place_keys()) {
    const auto* const number = std::get_if<double Place::*>(&key.member);
    std::string words = number != nullptr && key.scale == Scale::kDoubling
                            ? beyond(key, place.*(*number), *number, places)
                            : never(key, place, places);
    if (!words.empty()) away.push_back(std::move(words));
  }
  return away;
}

struct Kind {
  Takes takes;
  std::string words;  // they follow "12 cases"
};

// The case that the width of an interval rests on.
struct Nearest {
  const Place* place = nullptr;
  double distance = 0;
};

// Returns the distance over which every kind differs.
double farthest() { return static_cast<double>(place_keys().size()); }

// Of equally near cases it is one of the place's own kind. Without a case, and at most, the distance is the farthest.
Nearest nearest_to(const Place& place, const Evidence& evidence) {
  Nearest nearest{nullptr, std::numeric_limits<double>::infinity()};
  for (const Case& one : evidence.cases) {
    const auto distance = distance_within(nearest.distance, evidence.weights, place, one.place);
    if (!distance) continue;
    const bool is_nearer = nearest.place == nullptr || *distance < nearest.distance;
    const bool is_alike = !is_nearer && !same_kind(place, *nearest.place) && same_kind(place, one.place);
    if (is_nearer || is_alike) nearest = {&one.place, *distance};
  }
  nearest.distance = nearest.place == nullptr ? farthest() : std::min(farthest(), nearest.distance);
  return nearest;
}

// Returns why cases of another kind than the place's are named: "" where they are of its kind.
std::string why_others(const Place& place, const Place& nearest, const std::vector<Case>& cases) {
  if (same_kind(place, nearest)) return "";
  const auto any = [&](const Takes& takes) {
    return std::ranges::any_of(cases, [&](const Case& one) { return takes(one.place); });
  };
  if (!any([&](const Place& other) { return place.gpu == other.gpu; }))
    return fmt::format(" (none on {})", shown_kind(place));
  const std::string own = fmt::format("on {} with this runtime{}", shown_kind(place), shown_bits(place));
  return any([&](const Place& other) { return same_kind(place, other); }) ? fmt::format(" (nearer than those {})", own)
                                                                          : fmt::format(" (none {})", own);
}

// Lists the cases like the nearest one: first those near the place, then all of them.
std::vector<Kind> kinds_around(const Place& place, const Place& nearest, const std::vector<Case>& cases) {
  const auto alike = [&nearest](const Place& other) { return same_kind(nearest, other); };
  const auto near = [&place, alike](const Place& other) {
    return alike(other) && ratio_between(place.gpus, other.gpus) <= kNearFactor &&
           ratio_between(place.parameters, other.parameters) <= kNearFactor;
  };
  const std::string runtime =
      place.runtime == nearest.runtime ? "this runtime" : fmt::format("runtime {}", nearest.runtime.text());
  const std::string where = fmt::format("on {} with {}{}", shown_kind(nearest), runtime, shown_bits(nearest));
  const std::string others = why_others(place, nearest, cases);
  return {{near, fmt::format("{}, within {:.0f} times its GPUs and parameters{}", where, kNearFactor, others)},
          {alike, where + others}};
}

void describe(Interval& interval, const Place& place, const Place& nearest, const Evidence& evidence) {
  for (const Kind& kind : kinds_around(place, nearest, evidence.cases)) {
    const Neighbours found = neighbours(evidence.cases, kind.takes);
    if (found.count == 0) continue;
    std::vector<const Place*> places;
    for (const Case& one : evidence.cases)
      if (kind.takes(one.place)) places.push_back(&one.place);
    interval.cases = found.count;
    interval.away = away_from(place, places);
    interval.outside = !interval.away.empty();
    interval.words = fmt::format("{} {}: {}", with_noun(found.count, "case"), kind.words, found.error());
    if (interval.outside)
      interval.words += fmt::format("; outside the validated range, so wider: {}", fmt::join(interval.away, ", "));
    return;
  }
}

}  // namespace

double distance_to(const Place& place, const Evidence& evidence) { return nearest_to(place, evidence).distance; }

double spread_at(double distance, double growth) { return std::sqrt(1 + growth * distance); }

double width_at(const Evidence& evidence, double level) {
  const auto width = std::find_if(evidence.widths.begin(), evidence.widths.end(),
                                  [&](const Width& each) { return std::abs(each.level - level) < 1e-9; });
  expects(width != evidence.widths.end(), "an interval is asked for at a calibrated level");
  return width->half;
}

Interval interval_of(const Place& place, Seconds headline, const Evidence& evidence, double level) {
  Interval interval;
  interval.level = level;
  const Nearest nearest = nearest_to(place, evidence);
  interval.distance = nearest.distance;
  const double half = width_at(evidence, level) * spread_at(interval.distance, evidence.growth);
  interval.low = std::exp(-half) * headline;
  interval.high = std::exp(half) * headline;
  if (nearest.place != nullptr) describe(interval, place, *nearest.place, evidence);
  return interval;
}

double error_quantile(const Evidence& evidence, double distance, double part) {
  expects(part > 0 && part < 1, "a quantile lies between two ends");
  expects(evidence.quantiles.size() >= 2, "a distribution is asked for with calibrated quantiles");
  const boost::math::normal_distribution<double> normal;
  // The last pair that begins at or below `part`; the first and the last pair also serve beyond their ends.
  std::size_t at = 0;
  while (at + 2 < evidence.quantiles.size() && evidence.quantiles[at + 1].part <= part) ++at;
  const Quantile &from = evidence.quantiles[at], &to = evidence.quantiles[at + 1];
  const double low = boost::math::quantile(normal, from.part), high = boost::math::quantile(normal, to.part);
  const double error =
      from.error + (to.error - from.error) * (boost::math::quantile(normal, part) - low) / (high - low);
  return error * spread_at(distance, evidence.growth);
}

}  // namespace foretoken::trust
