// Varies keys of a scenario: their values, every combination, and the knee where a larger value stops paying.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::study {

/// A key and the values to try, as written: "batch.micro=1,2,4".
struct Varied {
  std::string key;
  std::vector<std::string> values;
};

/// Parses one --vary. Commas inside brackets, braces and quotes do not separate values. Throws ConfigError.
[[nodiscard]] Varied parse_varied(const std::string& text);

/// Returns true when `key` itself is varied.
[[nodiscard]] bool is_varied(std::span<const Varied> keys, std::string_view key);

/// Returns the first value that stands twice.
[[nodiscard]] std::optional<std::string> first_twice(std::span<const std::string> values);

/// Returns every combination of values, as indices by key. The last key changes fastest.
[[nodiscard]] std::vector<std::vector<std::size_t>> combinations(std::span<const Varied> keys);

/// Appends the values of one combination to `sets`, as KEY=VALUE.
void append_choice(std::span<const Varied> keys, const std::vector<std::size_t>& choice,
                   std::vector<std::string>& sets);

/// A value and the step time that it gives.
struct Trial {
  double value = 0, seconds = 0;
};

/// The value at which a curve of step times becomes flat.
struct Knee {
  double value = 0;        ///< beyond it a doubling (or halving, where smaller is better) saves less than kKneeGain
  bool more_pays = false;  ///< there is no knee: it pays up to the last value, `value`
  bool matters = true;     ///< false where no doubling in the range saves kKneeGain
  bool larger_is_better = true;
  double gain = 0;  ///< part of the step that the next doubling from `value` saves, or the last one when more pays
};

/// A doubling that saves less than this part of the step no longer pays.
inline constexpr double kKneeGain = 0.05;

/// Returns the knee of trials with distinct, positive values, in any order. The time saved in an interval is scaled to
/// a doubling: 1 - (t2/t1)^(ln 2 / ln(x2/x1)). Returns nothing for fewer than three trials. Returns nothing also when
/// the time both falls and rises by more than a thousandth, because the best value is then the answer.
[[nodiscard]] std::optional<Knee> knee_of(std::vector<Trial> trials);

}  // namespace foretoken::study
