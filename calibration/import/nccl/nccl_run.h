// One run of an nccl-tests program, from its text or its JSON, and the samples that follow from it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/import/samples.h"
#include "sim/base/error.h"

namespace foretoken::measured {

/// Facts that a file may leave out. Old versions print no program name, and a pasted table has no ranks.
struct NcclTestsHints {
  std::optional<Collective> collective;
  std::optional<int> ranks;
  std::optional<int> ranks_per_node;  ///< all ranks when absent
  std::string gpu;
};

/// A GPU of the run.
struct NcclDevice {
  int rank = 0;
  int group = 0;  ///< NCCL_TESTS_SPLIT: ranks of one group make up a communicator
  std::string host, gpu;
};

/// One measured column block of a row.
struct NcclResult {
  bool in_place = false;
  double time_us = 0, algorithm_gb_per_s = 0, bus_gb_per_s = 0;
  double time_step_us = 0.01, rate_step_gb_per_s = 0.01;  ///< smallest difference that the numbers' digits show
};

struct NcclRow {
  std::string where;  ///< "FILE:LINE" or "FILE:/results/3"
  double bytes = 0;
  std::string type;
  std::vector<NcclResult> results;
};

struct NcclRun {
  std::string where;  ///< place of its table
  std::optional<Collective> collective;
  std::vector<NcclDevice> devices;
  std::vector<NcclRow> rows;
  int iterations = 0;  ///< that a time is the mean of; 0: not stated
  std::vector<std::pair<std::string, std::string>> facts;
};

/// Returns the program's collective in a text such as "/opt/build/all_reduce_perf_mpi -b 8", or nothing when it names
/// none.
[[nodiscard]] std::optional<Collective> collective_of_program(std::string_view text);

/// Adds the run's rows to `samples`. Rows whose size, time and rates contradict each other or the collective become
/// complaints. `file` may name the collective when neither run nor hints do.
void add_run(const NcclRun& run, const NcclTestsHints& hints, const std::string& file, Samples& samples,
             Complaints& complaints);

}  // namespace foretoken::measured
