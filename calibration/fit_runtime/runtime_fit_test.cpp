// Tests that a fit finds the numbers behind made-up steps, and predicts a fold without using it.
#include "calibration/fit_runtime/runtime_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "sim/base/error.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/predict.h"

namespace foretoken::fit {
namespace {

constexpr double kGemm = 1.04, kAccumulation = 14;

MeasuredStep step(int hidden, int micro) {
  const std::string text =
      R"({"model": {"model_type": "gpt2", "n_positions": 1024, "vocab_size": 51200, "n_layer": 4,
    "n_head": 16, "n_embd": )" +
      std::to_string(hidden) +
      R"(}, "cluster": "dgx-a100-80gb-hdr", "gpus": 8, "runtime": "megatron-2022", "precision": "fp16",
    "batch": {"sequence_length": 1024, "global": 64, "micro": )" +
      std::to_string(micro) + "}}";
  MeasuredStep made{
      .scenario = io::read_scenario_text(text, "test").job, .seconds = 0, .group = std::to_string(hidden)};
  job::Job truth = made.scenario;
  truth.runtime.gemm_factor = kGemm;
  truth.runtime.gradient_accumulation_bytes = kAccumulation;
  made.seconds = study::predict(truth).metrics.step_time.value();
  return made;
}

RuntimeFitRequest request() {
  RuntimeFitRequest made{.runtime = "megatron-2022",
                         .numbers = {{"gemm_factor", 0.9, 1.2}, {"gradient_accumulation_bytes", 2, 30}},
                         .steps = {},
                         .folds = 3};
  for (const int hidden : {1024, 2048, 4096})
    for (const int micro : {1, 4}) made.steps.push_back(step(hidden, micro));
  return made;
}

TEST(RuntimeFit, FindsTheNumbersThatMadeTheSteps) {
  const RuntimeFit fit = fit_runtime(request());
  EXPECT_NEAR(fit.values[0], kGemm, 0.003);
  EXPECT_NEAR(fit.values[1], kAccumulation, 0.3);
  ASSERT_EQ(fit.fold_values.size(), 3u);
  for (const double error : fit.held_out) EXPECT_LT(std::abs(error), 0.003);
}

TEST(RuntimeFit, AFoldIsPredictedWithoutIt) {
  RuntimeFitRequest odd = request();
  for (MeasuredStep& measured : odd.steps)
    if (measured.group == "4096") measured.seconds *= 1.3;  // no other step shows this
  const RuntimeFit fit = fit_runtime(odd);
  for (std::size_t i = 0; i < odd.steps.size(); ++i) {
    if (odd.steps[i].group == "4096")
      EXPECT_NEAR(fit.held_out[i], 1 / 1.3 - 1, 0.05) << i << ": the others, which make its fit, are as they were";
    else
      EXPECT_LT(std::abs(fit.held_out[i]), 0.3) << i << ": the odd group pulls at the others' fits, but by no more";
  }
  EXPECT_LT(fit.held_out.back(), -0.2);
}

TEST(RuntimeFit, ShippedRequestsCanBeRead) {
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FORETOKEN_SOURCE_DIR "/calibration/runtime_fits")) {
    const RuntimeFitRequest made = read_runtime_fit(entry.path());
    EXPECT_EQ(made.runtime, entry.path().stem().string());
    EXPECT_GE(made.steps.size(), 5u) << entry.path();
    ++read;
  }
  EXPECT_GE(read, 7);
}

TEST(RuntimeFit, WrongRequestsSayWhere) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "foretoken_wrong_fit.json";
  std::ofstream(path) << R"({"runtime": "megatron-2021", "sets": ["sc21-table1"], "numbers": {"gem_factor": [1, 2]}})";
  try {
    (void)read_runtime_fit(path);
    FAIL() << "expected a complaint";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("/numbers/gem_factor"), std::string::npos) << error.what();
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace foretoken::fit
