// Checks --strict: refuses a prediction that uses constants of another GPU.
#pragma once

#include <optional>
#include <string>

#include "sim/base/error.h"
#include "sim/job/job.h"

namespace foretoken::study {

/// Returns the refusal: the parts of the profile that the job uses and that were scaled from another GPU, and the
/// command that measures them. Returns nothing when all parts are this GPU's own or assumed.
[[nodiscard]] std::optional<Complaint> why_not_strict(const job::Job& scenario, const std::string& file);

}  // namespace foretoken::study
