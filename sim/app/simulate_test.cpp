// Whole runs: both fidelities agree, time adds up, and activations are kept as the schedule says.
#include "sim/app/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/error.h"
#include "sim/io/read_scenario.h"

namespace foretoken::app {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kMostTasks = 20'000;  // sanitizers are slow; the release build runs every scenario
#else
constexpr std::size_t kMostTasks = SIZE_MAX;
#endif

std::vector<std::string> shipped() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(FORETOKEN_SOURCE_DIR "/scenarios"))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// A 24-layer model on 8 stages of one GPU each; `more` is merged into the scenario.
lowering::Scenario small(const nlohmann::json& more = nlohmann::json::object()) {
  nlohmann::json scenario = {{"model", {{"base", "gpt-1.7b"}}},
                             {"cluster", "dgx-a100-80gb-hdr"},
                             {"gpus", 8},
                             {"runtime", "megatron-2022"},
                             {"parallelism", {{"pipeline", 8}}},
                             {"batch", {{"micro", 1}, {"global", 32}, {"sequence_length", 2048}}}};
  scenario.merge_patch(more);
  return io::read_scenario_text(scenario.dump(), "small.json");
}

TEST(Simulate, StageAndKernelFidelityAgreeToThePicosecondOnEveryShippedScenario) {
  int compared = 0;
  for (const std::string& file : shipped()) {
    SCOPED_TRACE(file);
    const lowering::Scenario scenario = io::read_scenario_file(file);
    const Simulation stage = simulate(scenario);
    if (stage.metrics.tasks > kMostTasks) continue;
    const Simulation kernel = simulate(scenario, lowering::Fidelity::kKernel);
    EXPECT_EQ(stage.run.makespan, kernel.run.makespan);
    EXPECT_EQ(stage.observations.busiest.bubble, kernel.observations.busiest.bubble);
    EXPECT_EQ(stage.metrics.memory.peak, kernel.metrics.memory.peak);
    ++compared;
  }
  EXPECT_GE(compared, 15);
}

TEST(Simulate, TheTimeSplitAddsUpToTheStepOnEveryShippedScenario) {
  for (const std::string& file : shipped()) {
    SCOPED_TRACE(file);
    const Simulation seen = simulate(io::read_scenario_file(file));
    const observe::StageSplit& s = seen.observations.busiest;
    const std::int64_t sum = s.compute.ps + s.tensor_comm.ps + s.context_comm.ps + s.pipeline_comm.ps + s.data_comm.ps +
                             s.optimizer.ps + s.bubble.ps + s.host.ps + s.other.ps;
    EXPECT_EQ(sum, seen.run.makespan.ps);
    for (const auto part : {s.compute, s.tensor_comm, s.pipeline_comm, s.data_comm, s.bubble, s.host})
      EXPECT_GE(part.ps, 0);
  }
}

TEST(Simulate, TwoRunsAreTheSame) {
  const lowering::Scenario scenario = small();
  const Simulation one = simulate(scenario), two = simulate(scenario);
  EXPECT_EQ(one.run.start, two.run.start);
  EXPECT_EQ(one.run.end, two.run.end);
}

TEST(Simulate, GpipeKeepsAllMicroBatches1F1bAtMostPAndInterleavedAChunkShareMore) {
  const int p = 8, m = 32;
  const auto peak = [](const nlohmann::json& more, int stage) {
    return simulate(small(more)).memory[static_cast<std::size_t>(stage)];
  };
  EXPECT_EQ(peak({{"schedule", "gpipe"}}, 0).most_chunks, m);
  EXPECT_EQ(peak({{"schedule", "1f1b"}}, 0).most_chunks, p);
  EXPECT_EQ(peak({{"schedule", "1f1b"}}, p - 1).most_chunks, 1);
  const int v = 3;
  const auto chunked = peak({{"parallelism", {{"virtual_pipeline", v}}}, {"schedule", "interleaved-1f1b"}}, 0);
  EXPECT_EQ(chunked.most_chunks, v * p + p - 1) << "p (1 + (p-1)/(p v)) stages, in chunks of 1/v stage";
  // In bytes, on a stage without embedding or head.
  const double flat = peak({{"schedule", "1f1b"}}, 1).activations_at_peak.value();
  const double gpipe = peak({{"schedule", "gpipe"}}, 1).activations_at_peak.value();
  EXPECT_DOUBLE_EQ(gpipe / flat, static_cast<double>(m) / (p - 1));
}

TEST(Simulate, ABubbleIsNearItsClosedForm) {
  const report::Metrics metrics = simulate(small()).metrics;
  EXPECT_DOUBLE_EQ(metrics.ideal_bubble_fraction, 7.0 / 32);
  EXPECT_GT(metrics.bubble_fraction, 0.1);
  EXPECT_LT(metrics.bubble_fraction, 0.4);
  EXPECT_NEAR(metrics.bubble_fraction_of_step, metrics.bubble_fraction / (1 + metrics.bubble_fraction), 1e-12);
}

TEST(Simulate, WhatDoesNotFitSaysWhatWould) {
  const nlohmann::json large = {{"model", "gpt-22b"},
                                {"parallelism", {{"tensor", 8}, {"pipeline", 1}}},
                                {"batch", {{"micro", 4}, {"global", 4}}}};
  const report::Metrics metrics = simulate(small(large)).metrics;
  EXPECT_FALSE(metrics.memory.fits);
  EXPECT_EQ(metrics.memory.dominant, "activations");
  EXPECT_NE(metrics.memory.advice.find("recompute \"selective\""), std::string::npos) << metrics.memory.advice;
}

TEST(Simulate, AdviceAsksTheScheduleBeforeItProposesASmallerMicroBatch) {
  // Micro-batch 1 would make 20 micro-batches, which groups of 6 do not take on 4 stages.
  const report::Metrics metrics =
      simulate(small({{"model", {{"base", "gpt3-175b"}, {"n_layer", 48}}},
                      {"gpus", 16},
                      {"parallelism", {{"tensor", 4}, {"pipeline", 4}, {"virtual_pipeline", 3}}},
                      {"batch", {{"micro", 2}, {"global", 20}, {"microbatch_group", 6}}}}))
          .metrics;
  EXPECT_FALSE(metrics.memory.fits);
  EXPECT_EQ(metrics.memory.advice.find("batch.micro"), std::string::npos) << metrics.memory.advice;
}

TEST(Simulate, WaitingForParametersIsNotWork) {
  const auto bubble = [](bool overlap) {
    return simulate(small({{"model", "gpt-7.5b"},
                           {"gpus", 16},
                           {"cluster", {{"base", "dgx-a100-80gb-hdr"}, {"node", {{"nics", {{"gb_per_s", 0.5}}}}}}},
                           {"parallelism", {{"tensor", 4}, {"pipeline", 2}}},
                           {"optimizer", {{"zero_stage", 1}}},
                           {"overlap", {{"grad_reduce", overlap}, {"param_gather", overlap}}}}))
        .observations.stages;
  };
  const auto exposed = bubble(false), overlapped = bubble(true);
  for (std::size_t stage = 0; stage < exposed.size(); ++stage) EXPECT_EQ(exposed[stage].busy, overlapped[stage].busy);
}

TEST(Simulate, AStepOfMonthsIsTheUsersMistake) {
  const nlohmann::json slow = {{"cluster", {{"base", "dgx-a100-80gb-hdr"}, {"node", {{"nics", {{"gb_per_s", 1e-9}}}}}}},
                               {"gpus", 16}};
  EXPECT_THROW((void)simulate(small(slow)), ConfigError);
}

TEST(Simulate, OverlapHidesGradientReductionAndParameterGathering) {
  const auto step = [](bool overlap, int zero) {
    return simulate(small({{"parallelism", {{"pipeline", 2}}},
                           {"optimizer", {{"zero_stage", zero}}},
                           {"overlap", {{"grad_reduce", overlap}, {"param_gather", overlap && zero == 1}}}}))
        .metrics;
  };
  for (const int zero : {0, 1}) {
    const report::Metrics exposed = step(false, zero), hidden = step(true, zero);
    EXPECT_LT(hidden.step_time, exposed.step_time) << "ZeRO " << zero;
  }
}

}  // namespace
}  // namespace foretoken::app
