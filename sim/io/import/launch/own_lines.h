// Comments of a launch file that state facts of the machine, which no launch states.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::io::launch {

inline constexpr std::string_view kOwnLine = "# foretoken: ";  ///< then KEY=VALUE, as --set takes it

/// The keys that such a comment may state: the machine, its software, and the length of the training.
inline constexpr std::array<std::string_view, 8> kOwnKeys = {"name",    "cluster",       "gpus",       "profile",
                                                             "runtime", "imperfections", "stragglers", "run"};

/// Returns the assignments KEY=VALUE of such comments in the text.
[[nodiscard]] std::vector<std::string> own_lines(std::string_view text);

}  // namespace foretoken::io::launch
