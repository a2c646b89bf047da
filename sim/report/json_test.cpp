// Tests the JSON answer: its keys, numbers that read back, and no line break.
#include "sim/report/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/report/example_test_data.h"

namespace foretoken::report {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;

std::vector<std::string> keys_of(const ordered_json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

TEST(Json, HasTheDocumentedKeysInOrder) {
  const auto json = ordered_json::parse(to_json(example_metrics()));
  EXPECT_THAT(
      keys_of(json),
      ElementsAre("name", "schedule", "step_time_s", "simulated_step_time_s", "forward_only_step_s", "bias",
                  "step_time_s_interval", "interval", "tokens_per_s", "tokens_per_s_per_gpu", "model_tflops_per_gpu",
                  "hardware_tflops_per_gpu", "megatron_log_tflops_per_gpu", "mfu", "hfu", "mfu_peak_tflops",
                  "bubble_fraction", "ideal_bubble_fraction", "bubble_fraction_of_step", "layer", "shown_gpus",
                  "time_s", "parameters", "p2p_bytes_per_step", "memory", "run", "delays", "assumptions", "warnings"));
  EXPECT_THAT(keys_of(json["layer"]), ElementsAre("forward_s", "backward_s"));
  EXPECT_THAT(keys_of(json["time_s"]),
              ElementsAre("compute", "tensor_parallel_comm", "context_parallel_comm", "pipeline_comm",
                          "data_parallel_comm", "optimizer", "bubble", "host", "other"));
  EXPECT_THAT(keys_of(json["memory"]),
              ElementsAre("peak_bytes", "capacity_bytes", "outside_allocator_bytes", "fits", "verdict", "filled",
                          "dominant", "advice", "model_state_bytes", "boundary_activations_whole_batch_bytes",
                          "boundary_activations_microbatch_bytes", "per_stage"));
  EXPECT_THAT(keys_of(json["memory"]["per_stage"][0]),
              ElementsAre("weights_bytes", "gradients_bytes", "optimizer_bytes", "activations_bytes", "other_bytes",
                          "peak_bytes", "capacity_bytes", "layers", "peak_microbatch_chunks"));
  EXPECT_THAT(keys_of(json["run"]),
              ElementsAre("tokens", "days", "gpu_hours", "cost", "currency", "days_interval", "cost_interval"));
}

TEST(Json, NamesSlowHardwareThatTheStepWaitsFor) {
  Metrics metrics = example_metrics();
  metrics.delays.emplace();
  metrics.delays->push_back(
      {.what = "NIC 3 of node 1 has failed", .node = NodeId{1}, .nic = 3, .without = Seconds(9.5)});
  const auto json = ordered_json::parse(to_json(metrics));
  EXPECT_EQ(json["delays"], ordered_json::parse(R"([{"what": "NIC 3 of node 1 has failed", "node": 1, "nic": 3,
      "on_critical_path_s": null, "step_time_s_without": 9.5, "waits_s": 0.5}])"));
}

TEST(Json, NumbersReadBackExactly) {
  Metrics metrics = example_metrics();
  metrics.step_time = Seconds(17.123456789012345);
  metrics.mfu = 0.1 + 0.2;
  const auto json = ordered_json::parse(to_json(metrics));
  EXPECT_EQ(json["step_time_s"].get<double>(), 17.123456789012345);
  EXPECT_EQ(json["mfu"].get<double>(), 0.1 + 0.2);
  EXPECT_EQ(json["memory"]["peak_bytes"].get<std::int64_t>(), static_cast<std::int64_t>(metrics.memory.peak.value()));
  EXPECT_EQ(json["run"]["cost"].get<double>(), 508626.0);
}

TEST(Json, AnIntervalHasItsEndsAndItsWords) {
  Metrics metrics = example_metrics();
  EXPECT_TRUE(ordered_json::parse(to_json(metrics))["step_time_s_interval"].is_null());
  metrics.interval = {
      .level = 0.8, .low = Seconds(9.5), .high = Seconds(11), .cases = 3, .outside = true, .words = "3 cases"};
  const auto json = ordered_json::parse(to_json(metrics));
  EXPECT_EQ(json["step_time_s_interval"], (ordered_json{9.5, 11.0}));
  EXPECT_EQ(json["interval"], (ordered_json{{"level", 0.8},
                                            {"cases", 3},
                                            {"distance", 0.0},
                                            {"outside_validated", true},
                                            {"away_in", ordered_json::array()},
                                            {"words", "3 cases"}}));
}

TEST(Json, WhatIsAbsentIsNull) {
  Metrics metrics = example_metrics();
  metrics.run->cost.reset();
  EXPECT_TRUE(ordered_json::parse(to_json(metrics))["run"]["cost"].is_null());
  metrics.run.reset();
  const auto json = ordered_json::parse(to_json(metrics));
  EXPECT_TRUE(json["run"].is_null());
  EXPECT_TRUE(json["memory"]["advice"].is_null());
}

TEST(Json, IsOneLineWhateverTheNamesHold) {
  Metrics metrics = example_metrics();
  metrics.name = "two\nlines, \"quotes\" and \xff";
  EXPECT_EQ(to_json(metrics).find('\n'), std::string::npos);
  EXPECT_EQ(to_json(metrics), to_json(metrics));
}

}  // namespace
}  // namespace foretoken::report
