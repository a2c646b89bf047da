// The options of `foretoken schedule show`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sim/schedule/program.h"

namespace foretoken::tools::schedule_show_command {

struct Options {
  std::string name, svg, csv, colour;
  schedule::PipelineShape shape{.chunks = 0};  // 0: one for each copy of the model
  std::vector<double> forward_ms{1}, backward_ms{2}, input_ms, weight_ms, pair_ms;
  double message_ms = 0;
  int steps = 1;  // without a flush
  bool blocking = false, json = false, plain = false;
};

/// Adds --stages, --microbatches, --chunks, --group and --steps.
void add_shape_options(CLI::App& command, Options& options);

/// Adds the times of passes and messages, in milliseconds, and --blocking.
void add_time_options(CLI::App& command, Options& options);

}  // namespace foretoken::tools::schedule_show_command
