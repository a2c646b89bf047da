// Whole-number arithmetic of the shell: $((2 * TP)).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::io::shell {

/// Returns the value of `expression`, in which `value_of` gives the text of a bare name. Returns nothing where a part
/// is unknown or no number, for a division by zero, and for a result beyond 64 bits. Adds the variables that the
/// expression assigns (=, +=, ++, ...) to `assigned`; without it they have no value.
using Assigned = std::map<std::string, std::int64_t, std::less<>>;
[[nodiscard]] std::optional<std::int64_t> arithmetic(std::string_view expression,
                                                     const std::function<std::string(std::string_view)>& value_of,
                                                     Assigned* assigned = nullptr);

/// Returns the names that an expression assigns, whatever their values.
[[nodiscard]] std::vector<std::string> assigned_in(std::string_view expression);

}  // namespace foretoken::io::shell
