// Keys of a scenario that are varied: their values, every combination, and where more of a value stops paying.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace foretoken::study {

/// "batch.micro=1,2,4": a key and the values it takes, as they were written.
struct Varied {
  std::string key;
  std::vector<std::string> values;
};

/// Parses one --vary. Commas inside brackets, braces and quotes do not part values. Throws ConfigError.
[[nodiscard]] Varied parse_varied(const std::string& text);

/// Every combination of values, as indices by key; the last key changes fastest.
[[nodiscard]] std::vector<std::vector<std::size_t>> combinations(std::span<const Varied> keys);

/// A number tried and the step time it gave.
struct Trial {
  double value = 0, seconds = 0;
};

/// Where a curve of step times goes flat.
struct Knee {
  double value = 0;        ///< going further towards `better` saves less than kKneeGain a doubling (halving)
  bool more_pays = false;  ///< no knee: it pays up to the last value tried, `value`
  bool matters = true;     ///< false: no doubling in the range saves kKneeGain
  bool larger_is_better = true;
  double gain = 0;  ///< step time saved by the next doubling (halving) from `value` on; of the last one tried
};

/// A doubling that saves less than this part of the step no longer pays.
inline constexpr double kKneeGain = 0.05;

/// The knee of trials with distinct, positive values, in any order: of each interval the time saved is put in terms of
/// a doubling, 1 - (t2/t1)^(ln 2 / ln(x2/x1)). Nothing for fewer than three trials, or when the time both falls and
/// rises by more than a thousandth (then the best value is the answer).
[[nodiscard]] std::optional<Knee> knee_of(std::vector<Trial> trials);

}  // namespace foretoken::study
