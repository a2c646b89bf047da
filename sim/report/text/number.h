// Writes numbers as people read them: few digits, a unit, commas between thousands.
#pragma once

#include <string>
#include <string_view>

#include "sim/base/units.h"

namespace foretoken::report {

/// Writes `digits` significant digits, with commas between thousands: 17.92, 0.0123, 175,500.
[[nodiscard]] std::string significant(double value, int digits = 4);

/// Returns a chance from 0 to 1 as "87 %". Near the ends, where an estimate is never certain: "< 1 %", "> 99 %".
[[nodiscard]] std::string chance(double part);

/// Writes at most `digits` significant digits without trailing zeros: 312, 12.5.
[[nodiscard]] std::string plain(double value, int digits = 4);

/// Writes a rounded whole number, with commas between thousands: 1,536.
[[nodiscard]] std::string whole(double value);

/// Writes a count with its noun: "1,536 GPUs". `many` is needed only where the plural is not `one` plus s.
[[nodiscard]] std::string counted(double count, std::string_view one, std::string_view many = {});

/// Writes large numbers in words: 300 billion, 1.5 trillion, 12,500.
[[nodiscard]] std::string in_words(double value);

/// Writes a time: 17.92 s, 312 ms, 8.2 us.
[[nodiscard]] std::string time_text(Seconds time);

/// Writes a long time: 2.5 years, 33.4 days, 5.1 hours, 12 minutes.
[[nodiscard]] std::string days_text(double days);

/// Writes bytes in binary units: 59.1 GiB, 9.64 TiB.
[[nodiscard]] std::string binary_bytes(Bytes bytes);

/// Writes bytes in decimal units: 10.6 TB.
[[nodiscard]] std::string decimal_bytes(Bytes bytes);

/// Writes the number of GiB with one decimal, without the unit.
[[nodiscard]] std::string gib(Bytes bytes);

/// Writes a fraction in percent: 41.2 %.
[[nodiscard]] std::string percent(double fraction);

}  // namespace foretoken::report
