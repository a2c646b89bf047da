// The output of getopt: the arguments of a script, sorted and quoted, for `eval set -- "$(getopt ...)"`.
#pragma once

#include <optional>
#include <string>

#include "sim/io/import/launch/shell/variables.h"

namespace foretoken::io::shell {

/// Returns what `getopt -o SHORT --long LONG,LONG: -- ARGUMENT...` prints; nothing where it ends with an error, or
/// where its own options are others. Source: getopt(1) of util-linux.
[[nodiscard]] std::optional<std::string> getopt_output(const Texts& words);

}  // namespace foretoken::io::shell
