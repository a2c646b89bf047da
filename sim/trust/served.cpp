// Distances between services, and the widths of their intervals.
#include "sim/trust/served.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "sim/base/grouped.h"

namespace foretoken::trust {
namespace {

constexpr auto kServedKeys = std::to_array<ServedKey>({
    {"model", "model", Scale::kSwitch, &ServedPlace::model},
    {"layers", "kinds of layers", Scale::kKind, &ServedPlace::layers},
    {"parameters", "parameters", Scale::kDoubling, &ServedPlace::parameters},
    {"engine", "engine", Scale::kKind, &ServedPlace::engine},
    {"gpu", "GPU", Scale::kKind, &ServedPlace::gpu},
    {"arrivals", "arrivals", Scale::kSwitch, &ServedPlace::arrivals},
    {"batching", "batching", Scale::kSwitch, &ServedPlace::batching},
    {"weights", "precision of weights", Scale::kKind, &ServedPlace::weights},
    {"cache", "precision of the cache", Scale::kSwitch, &ServedPlace::cache},
    {"kernels", "kernels", Scale::kSwitch, &ServedPlace::kernels},
    {"pools", "pools", Scale::kSwitch, &ServedPlace::pools},
    {"draft", "speculation", Scale::kSwitch, &ServedPlace::draft},
    {"tensor", "tensor degree", Scale::kDoubling, &ServedPlace::tensor},
    {"pipeline", "pipeline degree", Scale::kDoubling, &ServedPlace::pipeline},
    {"expert", "expert degree", Scale::kDoubling, &ServedPlace::expert},
    {"attention_data", "attention-data degree", Scale::kDoubling, &ServedPlace::attention_data},
    {"instances", "instances", Scale::kDoubling, &ServedPlace::instances},
    {"input", "tokens of a prompt", Scale::kDoubling, &ServedPlace::input},
    {"output", "tokens of an answer", Scale::kDoubling, &ServedPlace::output},
    {"beams", "beams", Scale::kDoubling, &ServedPlace::beams},
    {"load", "load", Scale::kDoubling, &ServedPlace::load},
});

constexpr double kLevel = 0.9, kMostOfSet = 20;

double steps_of(const ServedKey& key, const ServedPlace& a, const ServedPlace& b) {
  if (const auto* text = std::get_if<std::string ServedPlace::*>(&key.member)) return a.*(*text) == b.*(*text) ? 0 : 1;
  const auto number = std::get<double ServedPlace::*>(key.member);
  return a.*number == b.*number ? 0 : std::abs(std::log2(a.*number / b.*number));
}

double weight_of(Scale scale) {
  const Weights usual;
  return scale == Scale::kKind ? 1 : scale == Scale::kDoubling ? usual.doubling : usual.one_switch;
}

double spread_of(double distance, double growth) { return std::sqrt(1 + growth * distance); }

/// A case as others see it: its error, its weight, and its distance from them.
struct Seen {
  double error = 0, weight = 1, distance = 0;
};

/// Returns the cases of one quantity, each seen from other sets, or from all other cases.
std::vector<Seen> seen_from(const std::vector<ServedCase>& cases, Served quantity, bool other_sets) {
  std::map<std::string, double> sizes;
  for (const ServedCase& one : cases) sizes[one.set] += one.quantity == quantity;
  std::vector<Seen> all;
  for (const ServedCase& one : cases) {
    if (one.quantity != quantity) continue;
    double nearest = std::numeric_limits<double>::infinity();
    for (const ServedCase& other : cases)
      if (&other != &one && other.quantity == quantity && (!other_sets || other.set != one.set))
        nearest = std::min(nearest, distance_between(one.place, other.place));
    if (std::isfinite(nearest))
      all.push_back({std::abs(one.log_ratio()), std::min(1.0, kMostOfSet / sizes[one.set]), nearest});
  }
  return all;
}

/// Returns the least half width at which intervals hold the level of the cases.
double half_of(const std::vector<Seen>& cases, double growth) {
  std::vector<std::pair<double, double>> scores;  // |error| over spread, weight
  double total = 0;
  for (const Seen& one : cases) {
    scores.emplace_back(one.error / spread_of(one.distance, growth), one.weight);
    total += one.weight;
  }
  std::sort(scores.begin(), scores.end());
  double sum = 0;
  for (const auto& [score, weight] : scores) {
    sum += weight;
    if (sum >= kLevel * total) return score;
  }
  return scores.empty() ? 0 : scores.back().first;
}

double interval_score(const std::vector<Seen>& cases, double growth, double half) {
  double sum = 0;
  for (const Seen& one : cases) {
    const double width = half * spread_of(one.distance, growth);
    sum += one.weight * (2 * width + 2 / (1 - kLevel) * std::max(0.0, one.error - width));
  }
  return sum;
}

ServedWidth width_of(const std::vector<ServedCase>& cases, Served quantity) {
  const std::vector<Seen> apart = seen_from(cases, quantity, true), beside = seen_from(cases, quantity, false);
  ServedWidth best{.quantity = quantity};
  double least = std::numeric_limits<double>::infinity();
  for (const double growth : {0.25, 0.5, 1.0, 2.0, 4.0}) {
    const double half = std::max(half_of(apart, growth), half_of(beside, growth));
    const double score = interval_score(apart, growth, half) + interval_score(beside, growth, half);
    if (score >= least) continue;
    least = score;
    best = {quantity, growth, half};
  }
  return best;
}

/// Returns a value as people read it: value_of() with commas between thousands.
std::string shown(const ServedKey& key, const ServedPlace& place) {
  const auto* member = std::get_if<double ServedPlace::*>(&key.member);
  const bool is_whole = member != nullptr && place.*(*member) < 1e6 && place.*(*member) == std::floor(place.*(*member));
  return is_whole ? grouped(fmt::format("{:.0f}", place.*(*member))) : value_of(key, place);
}

/// Names what differs from the nearest case by a kind, a switch, or more than a factor of two.
std::vector<std::string> differences(const ServedPlace& place, const ServedPlace& nearest) {
  std::vector<std::string> words;
  for (const ServedKey& key : kServedKeys)
    if (steps_of(key, place, nearest) >= (key.scale == Scale::kDoubling ? 1.0 + 1e-9 : 1.0))
      words.push_back(fmt::format("{} {} (nearest: {})", key.words, shown(key, place), shown(key, nearest)));
  return words;
}

}  // namespace

std::string_view name_of(Served quantity) {
  constexpr std::array<std::string_view, kServed.size()> kNames{"ttft", "tpot", "latency", "throughput"};
  return kNames.at(static_cast<std::size_t>(quantity));
}

std::span<const ServedKey> served_keys() { return kServedKeys; }

std::string value_of(const ServedKey& key, const ServedPlace& place) {
  if (const auto* text = std::get_if<std::string ServedPlace::*>(&key.member)) return place.*(*text);
  const double number = place.*std::get<double ServedPlace::*>(key.member);
  return number < 1e6 ? fmt::format("{:.4g}", number)
                      : fmt::format("{:.3g}{}", number / (number < 1e9 ? 1e6 : 1e9), number < 1e9 ? "M" : "B");
}

double distance_between(const ServedPlace& a, const ServedPlace& b) {
  double distance = 0;
  for (const ServedKey& key : kServedKeys) distance += weight_of(key.scale) * steps_of(key, a, b);
  return distance;
}

double ServedCase::log_ratio() const { return std::log(measured / predicted); }

const ServedCase* nearest_case(const ServedPlace& place, const ServedEvidence& evidence) {
  const ServedCase* nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const ServedCase& one : evidence.cases)
    if (const double distance = distance_between(place, one.place); distance < least) {
      least = distance;
      nearest = &one;
    }
  return nearest;
}

std::optional<ServedInterval> served_interval(const ServedPlace& place, Served quantity, double predicted,
                                              const ServedEvidence& evidence) {
  const auto width = std::ranges::find(evidence.widths, quantity, &ServedWidth::quantity);
  ServedEvidence same;
  std::set<std::string> sets;
  for (const ServedCase& one : evidence.cases)
    if (one.quantity == quantity) {
      same.cases.push_back(one);
      sets.insert(one.set);
    }
  if (width == evidence.widths.end() || same.cases.empty()) return std::nullopt;
  const ServedCase& nearest = *nearest_case(place, same);
  ServedInterval interval{.cases = static_cast<int>(same.cases.size()), .sets = static_cast<int>(sets.size())};
  interval.distance = distance_between(place, nearest.place);
  interval.away = differences(place, nearest.place);
  const double half = width->half * spread_of(interval.distance, width->growth);
  interval.low = predicted * std::exp(-half);
  interval.high = predicted * std::exp(half);
  return interval;
}

std::vector<ServedWidth> calibrate_served(const std::vector<ServedCase>& cases) {
  std::vector<ServedWidth> widths;
  for (const Served quantity : kServed)
    if (std::ranges::find(cases, quantity, &ServedCase::quantity) != cases.end())
      widths.push_back(width_of(cases, quantity));
  return widths;
}

}  // namespace foretoken::trust
