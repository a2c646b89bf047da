// --strict: no prediction from constants that belong to another GPU.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "sim/base/error.h"
#include "sim/job/job.h"

namespace foretoken::tools {

inline constexpr int kRefused = 1;  ///< exit status: the answer is no

/// Adds --strict.
void add_strict_option(CLI::App& command, bool& strict);

/// Why the scenario's profile may not speak for its GPU: the parts that it reads and that were scaled from another one,
/// and what would measure them. Nothing when all of them are this GPU's own or assumed.
[[nodiscard]] std::optional<Complaint> why_not_strict(const job::Job& scenario, const std::string& file);

}  // namespace foretoken::tools
