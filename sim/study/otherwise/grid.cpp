// Parses varied keys, combines their values, and finds the knee of a curve.
#include "sim/study/otherwise/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "sim/base/error.h"
#include "sim/base/text.h"

namespace foretoken::study {
namespace {

// Splits `text` at the commas outside brackets and quotes.
std::vector<std::string> split_values(std::string_view text) {
  std::vector<std::string> values(1);
  int depth = 0;
  bool quoted = false, escaped = false;
  for (const char c : text) {
    if (c == ',' && depth == 0 && !quoted) {
      values.emplace_back();
      continue;
    }
    values.back() += c;
    if (quoted && c == '"' && !escaped)
      quoted = false;
    else if (!quoted && c == '"')
      quoted = true;
    else if (!quoted)
      depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    escaped = quoted && c == '\\' && !escaped;
  }
  return values;
}

// Returns the part of the time that a doubling of the value saves between two trials.
double gain_per_doubling(const Trial& from, const Trial& to) {
  return 1 - std::pow(to.seconds / from.seconds, std::log(2.0) / std::abs(std::log(to.value / from.value)));
}

}  // namespace

Varied parse_varied(const std::string& text) {
  const std::size_t equals = text.find('=');
  const auto refuse = [&](std::string message) {
    return ConfigError({{"--vary " + printable(text, 60), "", std::move(message)}});
  };
  if (equals == text.npos || equals == 0) throw refuse("expected KEY=VALUE,VALUE,..., for instance batch.micro=1,2,4");
  Varied varied{.key = text.substr(0, equals), .values = split_values(std::string_view(text).substr(equals + 1))};
  if (std::ranges::find(varied.values, "") != varied.values.end())
    throw refuse("a value is empty; expected VALUE,VALUE,...");
  if (const auto twice = first_twice(varied.values))
    throw refuse(fmt::format("the value {} stands twice", in_quotes(*twice)));
  return varied;
}

std::optional<std::string> first_twice(std::span<const std::string> values) {
  for (std::size_t i = 1; i < values.size(); ++i)
    if (std::ranges::find(values.first(i), values[i]) != values.begin() + static_cast<std::ptrdiff_t>(i))
      return values[i];
  return std::nullopt;
}

std::vector<std::vector<std::size_t>> combinations(std::span<const Varied> keys) {
  std::vector<std::vector<std::size_t>> all{{}};
  for (const Varied& key : keys) {
    std::vector<std::vector<std::size_t>> longer;
    for (const auto& head : all)
      for (std::size_t value = 0; value < key.values.size(); ++value) {
        longer.push_back(head);
        longer.back().push_back(value);
      }
    all = std::move(longer);
  }
  return all;
}

bool is_varied(std::span<const Varied> keys, std::string_view key) {
  return std::ranges::any_of(keys, [&](const Varied& each) { return each.key == key; });
}

void append_choice(std::span<const Varied> keys, const std::vector<std::size_t>& choice,
                   std::vector<std::string>& sets) {
  for (std::size_t i = 0; i < keys.size(); ++i) sets.push_back(keys[i].key + '=' + keys[i].values[choice[i]]);
}

std::optional<Knee> knee_of(std::vector<Trial> trials) {
  if (trials.size() < 3) return std::nullopt;
  std::sort(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) { return a.value < b.value; });
  constexpr double kFlat = 1e-3;
  bool falls = false, rises = false;
  for (std::size_t i = 1; i < trials.size(); ++i) {
    falls = falls || trials[i].seconds < trials[i - 1].seconds * (1 - kFlat);
    rises = rises || trials[i].seconds > trials[i - 1].seconds * (1 + kFlat);
  }
  if (falls && rises) return std::nullopt;
  Knee knee{.value = 0, .larger_is_better = !rises};
  if (rises) std::reverse(trials.begin(), trials.end());  // from the worst value to the best
  std::size_t last = 0;                                   // end of the last interval that pays
  for (std::size_t i = 1; i < trials.size(); ++i)
    if (gain_per_doubling(trials[i - 1], trials[i]) >= kKneeGain) last = i;
  knee.matters = last > 0;
  knee.more_pays = last == trials.size() - 1;
  knee.value = trials[last].value;
  const std::size_t next = std::min(last + 1, trials.size() - 1);
  knee.gain = gain_per_doubling(trials[next - 1], trials[next]);
  return knee;
}

}  // namespace foretoken::study
