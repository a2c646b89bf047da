// Names the variable that a script writes behind a flag.
#pragma once

#include <string>
#include <string_view>

namespace foretoken::io::launch::tuning {

/// Returns "ACC" for the flag "--grad_accum" and a text with `--grad_accum "${ACC}"` or `--grad-accum=$ACC`; empty
/// where no variable stands behind the flag.
[[nodiscard]] std::string variable_behind(std::string_view flag, std::string_view text);

}  // namespace foretoken::io::launch::tuning
