// Options of commands that search: the open keys, and the cluster sizes and schedules to try.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sim/base/error.h"
#include "sim/study/scenario_source.h"
#include "sim/study/search/space.h"

namespace foretoken::tools {

struct OpenOptions {
  std::string gpus;
  std::vector<std::string> sets, fixes, frees, schedules, variables;
  bool cross_node_tensor = false;
  std::string partition = "even";
};

/// Adds --free, --fix, --set, --env, --gpus, --schedules, --cross-node-tensor and --partition.
void add_open_options(CLI::App& command, OpenOptions& options);

struct Overrides {
  std::vector<std::string> sets;
  int stated_zero_stage = 0;  ///< of a scenario whose stage is freed
};

/// Returns the overrides of the scenario in order, without `stated`, which other options add: the keys of --free, then
/// of --set, then of --fix. With --gpus the data-parallel degree is free too, because the stated one belongs to the
/// scenario's own number of GPUs. With --schedules the schedule is free. Reads the scenario to know its experts and the
/// choices of its runtime. Throws ConfigError for a key that cannot be freed, and for --schedules beside a schedule
/// that another option holds.
[[nodiscard]] Overrides overrides(const study::ScenarioSource& source, const OpenOptions& options,
                                  const std::vector<std::string>& stated = {});

/// Names --fix in complaints about the values that it stated: "--fix gpus=x" and not "--set gpus=x".
[[nodiscard]] std::vector<Complaint> with_fixes_named(std::vector<Complaint> complaints, const OpenOptions& options);

/// Returns the space to search. Throws ConfigError when --gpus or --schedules cannot be read.
[[nodiscard]] search::SpaceOptions space_of(const OpenOptions& options, int stated_zero_stage);

}  // namespace foretoken::tools
