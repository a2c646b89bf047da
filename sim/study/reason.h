// Why a variant of a scenario is impossible, in the words in which users state keys.
#pragma once

#include <string>

#include "sim/base/error.h"

namespace foretoken::study {

/// "batch.global: expected ...": the key as --set and --vary take it, in place of the JSON pointer that points into a
/// file; of a whole document the message alone.
[[nodiscard]] std::string reason(const Complaint& complaint);

/// All complaints of `error`, one a line.
[[nodiscard]] std::string reasons(const std::vector<Complaint>& complaints);

}  // namespace foretoken::study
