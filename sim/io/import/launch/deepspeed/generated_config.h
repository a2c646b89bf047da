// Parses a DeepSpeed configuration that a script writes, with values that nobody knows.
#pragma once

#include <optional>
#include <string>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::deepspeed {

/// Returns the configuration with every scalar as a text. A value with an unknown part is an unknown text:
/// shell/unknown.h. Nothing where the text is no JSON object.
[[nodiscard]] std::optional<Json> parse_generated_config(const std::string& text);

/// Returns why a text is no such configuration; empty where it is one, and where that depends on an unknown part.
[[nodiscard]] std::string why_no_config(const std::string& text);

}  // namespace foretoken::io::launch::deepspeed
