// Draws the plots of a validation: predicted against measured, and errors by GPU count.
#pragma once

#include <string>

#include "validate/validate.h"

namespace foretoken::validate {

/// Draws predicted against measured step times of all sets. With `labels` every point names its row.
[[nodiscard]] std::string steps_plot(const Validation& validation, bool labels);

/// Draws the error of the step time by GPU count, likewise.
[[nodiscard]] std::string errors_plot(const Validation& validation, bool labels);

}  // namespace foretoken::validate
