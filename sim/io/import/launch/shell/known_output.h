// The outputs of the few commands that a reading can know without running anything: pwd, dirname, basename, echo.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sim/io/import/launch/shell/variables.h"

namespace foretoken::io::shell {

/// Returns the output of `command` in `folder`; nothing where only running it could tell. `expand` gives the fields of
/// a word.
[[nodiscard]] std::optional<std::string> known_output(std::string_view command, const std::string& folder,
                                                      const std::function<Texts(std::string_view)>& expand);

}  // namespace foretoken::io::shell
