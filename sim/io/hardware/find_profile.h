// Finds the profile of a GPU among the data files.
#pragma once

#include <optional>
#include <string>

#include "sim/cost/profile.h"
#include "sim/io/json/node.h"

namespace foretoken::io {

/// Returns the profile called `name`, or nothing when there is none. Complaints about its file point at `asker`.
/// A program that reads many scenarios parses each file once: bytes that were read before are not parsed again.
[[nodiscard]] std::optional<cost::Profile> find_profile(const Node& asker, const std::string& name);

}  // namespace foretoken::io
