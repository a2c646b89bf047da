// Options of commands that search: which keys are open, which cluster sizes and schedules are tried.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sim/study/search/space.h"

namespace foretoken::tools {

struct OpenOptions {
  std::string gpus;
  std::vector<std::string> sets, fixes, frees, schedules;
  bool cross_node_tensor = false;
};

/// Adds --free, --fix, --set, --gpus, --schedules and --cross-node-tensor.
void add_open_options(CLI::App& command, OpenOptions& options);

/// Overrides of the scenario in their order: keys given free first, then what is set or fixed. With --gpus the stated
/// data-parallel degree is free, as it belongs to the scenario's own GPUs.
[[nodiscard]] std::vector<std::string> overrides(const OpenOptions& options);

/// Throws ConfigError when sizes or schedules are none.
[[nodiscard]] search::SpaceOptions space_of(const OpenOptions& options);

}  // namespace foretoken::tools
