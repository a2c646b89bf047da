// Whole-number arithmetic of the shell: $((2 * TP)).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace foretoken::io::shell {

/// Returns the value of `expression`, in which `value_of` gives the text of a bare name. Returns nothing where a part
/// is unknown or no number, for a division by zero, and for a result beyond 64 bits.
[[nodiscard]] std::optional<std::int64_t> arithmetic(std::string_view expression,
                                                     const std::function<std::string(std::string_view)>& value_of);

}  // namespace foretoken::io::shell
