// Tests the largest models on one V100 of 32 GB against published ones, and the verdict about a host without room.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/io/scenario/read_scenario.h"
#include "sim/job/make.h"
#include "sim/study/predict/predict.h"
#include "sim/study/search/searcher.h"

namespace foretoken::study {
namespace {

struct Model {
  int layers, hidden, heads;
};

report::Memory memory_of(const Model& model, const char* offload, const char* host = "{}") {
  const std::string text = fmt::format(
      R"({{"model": {{"base": "gpt2-xl", "name": "gpt", "n_layer": {}, "n_embd": {}, "n_inner": {}, "n_head": {},
                      "vocab_size": 50304}},
          "cluster": {{"base": "dgx-2-v100-32gb-edr", "node": {{"host": {}}}}}, "gpus": 1, "runtime": "deepspeed",
          "precision": "fp16", "recompute": "full", "attention": "unfused",
          "batch": {{"micro": 8, "global": 8, "sequence_length": 1024}},
          "optimizer": {{"zero_stage": 2}}, "offload": {}}})",
      model.layers, model.hidden, 4 * model.hidden, model.heads, host, offload);
  return predict(io::read_scenario_text(text, "test")).metrics.memory;
}

constexpr const char* kStatesOnHost = R"({"optimizer": "cpu"})";

// ZeRO-Offload trains 13 billion parameters, wide 4,096, on one V100 of 32 GB, and 1.4 billion is the most without it
// (arXiv:2101.06840, section 6.2.1).
TEST(OffloadSizes, OneV100HoldsAsManyParametersAsPublished) {
  constexpr Model kMinus15Percent{54, 4096, 32}, kPlus15Percent{73, 4096, 32};  // 11.1 and 14.9 billion
  EXPECT_TRUE(memory_of(kMinus15Percent, kStatesOnHost).fits);
  EXPECT_FALSE(memory_of(kPlus15Percent, kStatesOnHost).fits);
  constexpr Model kSmaller{22, 2048, 16}, kLarger{30, 2048, 16};  // 1.21 and 1.61 billion
  EXPECT_TRUE(memory_of(kSmaller, "null").fits);
  EXPECT_FALSE(memory_of(kLarger, "null").fits);
}

TEST(OffloadSizes, AHostWithoutRoomDoesNotFit) {
  constexpr Model kTenBillion{50, 4096, 32};
  const report::Memory small = memory_of(kTenBillion, kStatesOnHost, R"({"memory_bytes": 100e9})");
  ASSERT_TRUE(small.host.has_value());
  EXPECT_FALSE(small.fits);
  EXPECT_FALSE(small.host->memory.fits());
  EXPECT_LE(small.peak + small.outside_allocator, small.capacity);
  // Master weights, moments and fp32 gradients: 16 bytes a parameter.
  const double parameters = small.host->memory.used.value() / 16;
  EXPECT_NEAR(parameters, 10.3e9, 0.1e9);
}

// A search that may offload finds the configuration of the fastest of both. It predicts its answer again as `simulate`
// does, and both must be equal.
TEST(OffloadSizes, ASearchOffloadsWhatElseDoesNotFit) {
  const auto question = io::read_open_scenario_text(
      R"({"model": {"base": "gpt2-xl", "name": "gpt", "n_layer": 28, "n_embd": 4096, "n_inner": 16384, "n_head": 32},
          "cluster": "dgx-2-v100-32gb-edr", "gpus": 4, "runtime": "deepspeed", "precision": "fp16",
          "recompute": "full", "attention": "unfused", "parallelism": {"tensor": 1, "pipeline": 1, "context": 1},
          "batch": {"micro": 2, "global": 8, "sequence_length": 1024}, "optimizer": {"zero_stage": 2}})",
      "question");
  const auto best_of = [&](search::SpaceOptions options) {
    const search::Space space(question, std::move(options));
    return search::run_search(space, {.top = 1}).ranking.top();
  };
  EXPECT_TRUE(best_of({}).empty());
  const auto found = best_of({.requested = {job::Key::kOffloadOptimizer}});
  ASSERT_FALSE(found.empty());
  const search::Space space(question, {.requested = {job::Key::kOffloadOptimizer}});
  job::Maker maker(question.asked());
  const job::Job* const job =
      maker.make(space.patch_of(space.candidates()[found.front().candidate], found.front().overlap));
  ASSERT_NE(job, nullptr);
  EXPECT_TRUE(job->offload.optimizer.any());
  const Prediction again = predict(io::read_scenario_text(question.text_of(*job), "found"));
  EXPECT_EQ(again.metrics.simulated_step_time, des::to_seconds(found.front().step_time));
}

}  // namespace
}  // namespace foretoken::study
