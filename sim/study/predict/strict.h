// --strict: no prediction from constants that belong to another GPU.
#pragma once

#include <optional>
#include <string>

#include "sim/base/error.h"
#include "sim/job/job.h"

namespace foretoken::study {

/// Why the scenario's profile may not speak for its GPU: the parts that it reads and that were scaled from another one,
/// and what would measure them. Nothing when all of them are this GPU's own or assumed.
[[nodiscard]] std::optional<Complaint> why_not_strict(const job::Job& scenario, const std::string& file);

}  // namespace foretoken::study
