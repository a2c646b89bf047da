// Changes of a known value: ${NAME%.sh}, ${NAME/a/b}, ${NAME:0:3}, ${NAME^^}.
#pragma once

#include <string>
#include <string_view>

#include "sim/io/import/launch/shell/variables.h"

namespace foretoken::io::shell {

/// Returns `value` as the part behind the name in ${NAME...} changes it: "%.sh", "##*/", "//a/b", ":0:3", "^^".
/// The result is unknown for a change that this does not read.
[[nodiscard]] std::string substituted(const std::string& value, std::string_view change);

/// Returns the elements that ":1:3" keeps of an array. The result is one unknown text for a place that is no number.
[[nodiscard]] Texts elements_in(const Texts& elements, std::string_view change);

/// Returns true when `text` matches a shell pattern of *, ? and [...]. A character behind a
/// backslash stands for itself.
[[nodiscard]] bool matches_pattern(std::string_view text, std::string_view pattern);

}  // namespace foretoken::io::shell
