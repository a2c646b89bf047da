// The words that yq makes of a YAML file, without running it.
#pragma once

#include <optional>
#include <string>

#include "sim/io/import/launch/shell/known_output.h"
#include "sim/io/import/launch/shell/variables.h"

namespace foretoken::io::shell {

/// Returns the output of `yq EXPRESSION FILE`; nothing for a file or an expression that is not read.
///
/// Read are pipelines of `.a."b-c"`, `.[]`, `to_entries`, `keys`, `select(.value != "x")`,
/// `with(select(.value == "x"); .value = "")`, `[.key + " " + .value]`, `join("")` and `... comments=""`. All scalars
/// are texts, as yq compares them.
[[nodiscard]] std::optional<std::string> yq_output(const Texts& words, const TextOfFile& text_of);

}  // namespace foretoken::io::shell
