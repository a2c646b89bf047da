// Reads counts as people write them: 300B tokens, 1.5M, a sequence of 4k.
#pragma once

#include <optional>
#include <string_view>

namespace foretoken {

inline constexpr double kThousand = 1000, kBinaryThousand = 1024;

/// Reads a number with k, M, B (or G) or T behind it, or none: "300B" is 3e11. With a `thousand` of 1024, "4k" is 4096.
/// Returns nothing for any other text.
[[nodiscard]] std::optional<double> parse_count(std::string_view text, double thousand = kThousand);

}  // namespace foretoken
