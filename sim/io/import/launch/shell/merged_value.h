// The value of a variable behind branches of an open condition.
#pragma once

#include <string>

#include "sim/io/import/launch/shell/variables.h"

namespace foretoken::io::shell {

/// Returns a text of which nothing is known, because branches change the variable.
[[nodiscard]] std::string open_value(const std::string& name);

/// Returns what stays known of a variable that has one of two values. It keeps the words with which both begin. Where
/// flags alone follow in both, it keeps each flag that stands once in both with the same words.
[[nodiscard]] Texts merged_value(const std::string& name, const Texts& before, const Texts& now);

}  // namespace foretoken::io::shell
