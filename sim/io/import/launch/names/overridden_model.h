// A named model with other values in its configuration, as config_overrides state them.
#pragma once

#include <string>
#include <string_view>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch {

/// Returns a scalar of YAML or of a command line as a number or a switch, where it is one: "8" is 8, "true" is true.
[[nodiscard]] Json typed_value(const std::string& text);

/// The settings that state a name and its overrides.
struct Overrides {
  std::string from{}, overrides_from{};
};

/// Maps the model of `name` with `overrides` put over its configuration. A null removes a key. Does nothing where no
/// override changes it, or the name is not known. Refuses overrides with which the model cannot be read.
void override_named_model(std::string_view name, const Json& overrides, const Overrides& places, Report& report);

}  // namespace foretoken::io::launch
