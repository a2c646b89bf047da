// The subcommands of `foretoken calibrate`.
#pragma once

#include <string>
#include <vector>

#include "calibration/import/samples.h"
#include "tools/commands.h"

namespace foretoken::tools {

/// Counts samples in words: "600 matrix products, 96 collectives", or "nothing".
[[nodiscard]] std::string counts_of(const measured::Samples& samples);

/// All files and folders together. Throws ConfigError with every complaint of every file.
[[nodiscard]] measured::Samples samples_of(const std::vector<std::string>& files);

void add_calibrate_import(CLI::App& calibrate, Action& chosen);
void add_calibrate_fit(CLI::App& calibrate, Action& chosen);
void add_calibrate_check(CLI::App& calibrate, Action& chosen);
void add_calibrate_show(CLI::App& calibrate, Action& chosen);
void add_calibrate_diff(CLI::App& calibrate, Action& chosen);

}  // namespace foretoken::tools
