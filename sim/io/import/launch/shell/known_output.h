// The outputs of the few commands that a reading can know without running anything.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sim/io/import/launch/shell/variables.h"

namespace foretoken::io::shell {

/// Returns the text of a file that a command reads; nothing for a file that is not there or must not be read.
using TextOfFile = std::function<std::optional<std::string>(const std::string& path)>;

/// Returns the output of `command` in `folder`, without the newlines at its end; nothing where only running it could
/// tell. `expand` gives the fields of a word.
///
/// Known are pwd, dirname, basename, readlink, realpath, cd, echo, cat, expr, and the expressions of yq that yq.h
/// names. Behind a | also tr, cut, wc, bc, head and awk's number of fields. `machine` says what counts of it give.
[[nodiscard]] std::optional<std::string> known_output(std::string_view command, const std::string& folder,
                                                      const std::function<Texts(std::string_view)>& expand,
                                                      const TextOfFile& text_of, const Machine& machine);

/// Returns the text that `echo` prints, with its options -n, -e and -E; nothing for escapes of -e other than \n, \t
/// and \\. `words` begins with the command.
[[nodiscard]] std::optional<std::string> echo_output(const Texts& words);

/// Returns the text that `printf FORMAT WORD...` prints; nothing for formats other than %s, %d and %%.
[[nodiscard]] std::optional<std::string> printf_output(const Texts& words);

}  // namespace foretoken::io::shell
