// Writes intervals as people read them: of the step time, and of values that grow or fall with it.
#pragma once

#include <optional>
#include <string>

#include "sim/report/metrics.h"

namespace foretoken::report {

struct Range {
  double low = 0, high = 0;
};

/// Returns the interval of a value in proportion to the step time, such as days or cost; none where the step has none.
[[nodiscard]] std::optional<Range> range_of(const Metrics& metrics, double value);

/// Returns the interval of a value in inverse proportion to the step time, such as tokens a second.
[[nodiscard]] std::optional<Range> range_of_rate(const Metrics& metrics, double value);

/// Writes an amount with three digits: 1.51 million.
[[nodiscard]] std::string in_words3(double amount);

// These functions write three digits in the unit of the upper end: "23.1-26.4 days".
[[nodiscard]] std::string number_range(Range range);
[[nodiscard]] std::string time_range(Range seconds);
[[nodiscard]] std::string days_range(Range days);
[[nodiscard]] std::string words_range(Range amount);    ///< "1.45-1.66 million"
[[nodiscard]] std::string letters_range(Range amount);  ///< "1.45-1.66M", in the form of command-line options
/// Writes an amount with a letter: "1.56M".
[[nodiscard]] std::string letters(double amount);

}  // namespace foretoken::report
