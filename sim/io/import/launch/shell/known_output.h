// The outputs of the few commands that a reading can know without running anything.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "sim/io/import/launch/shell/variables.h"

namespace foretoken::io::shell {

/// Returns the text of a file that a command reads; nothing for a file that is not there or must not be read.
using TextOfFile = std::function<std::optional<std::string>(const std::string& path)>;

/// Returns what the command `words` prints in `folder`, with the newlines at its end; nothing where only running it
/// could tell. cd changes the folder. `input` is what the command reads from a pipe, a here document or a here string.
///
/// Known are pwd, dirname, basename, readlink, realpath, cd, echo, printf, seq, cat, expr, getopt, and the expressions
/// of yq that yq.h names. With an input also cat and the filters of text_filter.h.
[[nodiscard]] std::optional<std::string> known_output(const Texts& words, const std::optional<std::string>& input,
                                                      std::string& folder, const TextOfFile& text_of);

/// Returns the text that `echo` prints, with its options -n, -e and -E; nothing for escapes of -e other than \n, \t
/// and \\. `words` begins with the command.
[[nodiscard]] std::optional<std::string> echo_output(const Texts& words);

/// Returns the text that `printf FORMAT WORD...` prints; nothing for formats other than %s, %d and %%.
[[nodiscard]] std::optional<std::string> printf_output(const Texts& words);

}  // namespace foretoken::io::shell
