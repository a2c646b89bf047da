// Compares a program with the counts of a golden case, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/schedule/check_program.h"
#include "sim/schedule/program_counts.h"
#include "sim/schedule/test_programs.h"

namespace foretoken::schedule {

/// Expects a valid program with the peak stashes and the messages of the case.
inline void expect_golden_counts(const Program& program, const nlohmann::json& row) {
  EXPECT_EQ(check_program(program, shape_of(row)), std::vector<std::string>{});
  std::vector<int> peaks;
  for (const StageProgram& ops : program.stages) peaks.push_back(peak_in_flight(ops));
  EXPECT_EQ(peaks, row.at("metrics_equal").at("peak_stash_until_W").get<std::vector<int>>());
  EXPECT_EQ(sends_per_stage(program), row.at("metrics_equal").at("p2p_sends").get<std::vector<std::int64_t>>());
}

}  // namespace foretoken::schedule
