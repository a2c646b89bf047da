// The subcommands of `foretoken calibrate`.
#pragma once

#include <string>

#include "calibration/import/samples.h"
#include "tools/commands.h"

namespace foretoken::tools {

/// Counts samples in words: "600 matrix products, 96 collectives", or "nothing".
[[nodiscard]] std::string counts_of(const measured::Samples& samples);

void add_calibrate_import(CLI::App& calibrate, Action& chosen);
void add_calibrate_fit(CLI::App& calibrate, Action& chosen);
void add_calibrate_show(CLI::App& calibrate, Action& chosen);
void add_calibrate_diff(CLI::App& calibrate, Action& chosen);

}  // namespace foretoken::tools
