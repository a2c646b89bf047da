// Commands that change a text: tr, cut, wc, head, bc, and the number of fields that awk prints.
#pragma once

#include <optional>
#include <string>

#include "sim/io/import/launch/shell/variables.h"

namespace foretoken::io::shell {

/// Returns what the command makes of `input`, as a shell pipes it: `tr , ' '`, `cut -d: -f2`, `wc -l`, `head -n1`,
/// `bc`, `awk -F, '{print NF}'`. Returns nothing for any other command, and where the result is unknown.
[[nodiscard]] std::optional<std::string> filtered(const Texts& words, const std::string& input);

}  // namespace foretoken::io::shell
