// Finds the profile of a GPU among the data files.
#pragma once

#include <optional>
#include <string>

#include "sim/cost/profile.h"
#include "sim/io/json/node.h"

namespace foretoken::io {

/// Returns the profile called `name`, or nothing when there is none or its file is wrong. Complaints name that file.
/// A program parses each file once: bytes that were read before are not parsed again.
[[nodiscard]] std::optional<cost::Profile> find_profile(const std::string& name, Findings& findings);

}  // namespace foretoken::io
