// Words the reason why a variant of a scenario is impossible, with keys as users write them.
#pragma once

#include <string>

#include "sim/base/error.h"

namespace foretoken::study {

/// Returns a complaint with its key as --set and --vary take it: "batch.global: expected ...". A complaint about a
/// whole document has no key.
[[nodiscard]] std::string reason(const Complaint& complaint);

/// Returns all complaints, one a line.
[[nodiscard]] std::string reasons(const std::vector<Complaint>& complaints);

}  // namespace foretoken::study
