// The model flavors of torchtitan that are known by name.
#pragma once

#include <optional>
#include <string>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::torchtitan {

/// A model as a scenario takes it: the name of a shipped file, or an object.
struct Flavor {
  Json model{};
  std::int64_t layers = 0;
};

/// Returns the model of `name` ("llama3") and `flavor` ("8B", any case); nothing for others, which are names in
/// torchtitan's code.
[[nodiscard]] std::optional<Flavor> flavor_of(const std::string& name, const std::string& flavor);

}  // namespace foretoken::io::launch::torchtitan
