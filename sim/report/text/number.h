// Numbers as people read them: few digits, a unit, thousands set apart.
#pragma once

#include <string>
#include <string_view>

#include "sim/base/units.h"

namespace foretoken::report {

/// `value` with `digits` significant digits and thousands set apart by commas: 17.92, 0.0123, 175,500.
[[nodiscard]] std::string significant(double value, int digits = 4);

/// `value` with at most `digits` significant digits and no trailing zeros: 312, 12.5.
[[nodiscard]] std::string plain(double value, int digits = 4);

/// `value` rounded to a whole number, thousands set apart: 1,536.
[[nodiscard]] std::string whole(double value);

/// "1,536 GPUs". Give `many` where the plural is not `one` plus s.
[[nodiscard]] std::string counted(double count, std::string_view one, std::string_view many = {});

/// 300 billion, 1.5 trillion, 12,500.
[[nodiscard]] std::string in_words(double value);

/// 17.92 s, 312 ms, 8.2 us.
[[nodiscard]] std::string time_text(Seconds time);

/// 2.5 years, 33.4 days, 5.1 hours, 12 minutes.
[[nodiscard]] std::string days_text(double days);

/// Binary units: 59.1 GiB, 9.64 TiB.
[[nodiscard]] std::string binary_bytes(Bytes bytes);

/// Decimal units: 10.6 TB.
[[nodiscard]] std::string decimal_bytes(Bytes bytes);

/// The number of GiB with one decimal, without the unit.
[[nodiscard]] std::string gib(Bytes bytes);

/// 41.2 %.
[[nodiscard]] std::string percent(double fraction);

}  // namespace foretoken::report
