// Lines of comma-separated tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretoken::measured {

/// The fields of one line: split at commas outside double quotes, without the quotes and
/// without blanks around a field.
[[nodiscard]] std::vector<std::string> split_csv(std::string_view line);

}  // namespace foretoken::measured
