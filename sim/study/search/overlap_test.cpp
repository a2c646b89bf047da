// Tests that a search chooses overlaps as exhaustive trials would: `whatif` over the same keys finds the same best.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "sim/base/test_sanitized.h"
#include "sim/fast/bounds.h"
#include "sim/io/scenario/read_residuals.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/job/make.h"
#include "sim/study/otherwise/whatif.h"
#include "sim/study/search/searcher.h"
#include "sim/study/search/test_questions.h"

namespace foretoken::search {
namespace {

// Makes a small job that states all but its overlaps, its shards and its chunks or sequence parallelism.
std::string question_of_overlaps(std::mt19937& random) {
  const auto pick = [&](std::initializer_list<const char*> words) {
    return std::string(*(words.begin() + static_cast<std::ptrdiff_t>(random() % words.size())));
  };
  const bool has_pipeline = random() % 4 != 0;
  return R"({"model": {"base": "llama-3-8b", "num_hidden_layers": 8}, "cluster": ")" +
         pick({"dgx-h100-ndr", "dgx-a100-80gb-hdr", "dgx-b200-ndr"}) + R"(", "gpus": )" + pick({"8", "16", "32"}) +
         R"(, "runtime": "megatron-core", "batch": {"micro": 1, "global": )" + pick({"32", "64"}) +
         R"(, "sequence_length": )" + pick({"2048", "4096"}) + R"(}, "recompute": ")" + pick({"none", "selective"}) +
         R"(", "parallelism": {"context": 1, "tensor": )" + pick({"1", "2", "4"}) +
         (has_pipeline ? R"(, "pipeline": 2)" : R"(, "pipeline": 1, "virtual_pipeline": 1)") + "}}";
}

std::vector<study::Varied> varied(const io::OpenScenario& question) {
  const std::vector<std::string> switches = {"false", "true"};
  std::vector<study::Varied> keys;
  for (const auto& [name, member] : job::kOverlaps) keys.push_back({"overlap." + std::string(name), switches});
  keys.push_back({"optimizer.zero_stage", {"0", "1"}});
  const job::AskedParallelism& asked = question.asked().choices.parallelism;
  if (!asked.virtual_pipeline) keys.push_back({"parallelism.virtual_pipeline", {"1", "2", "4"}});
  if (asked.degrees[Axis::kTensor] != 1) keys.push_back({"parallelism.sequence_parallel", switches});
  return keys;
}

TEST(Overlaps, SearchFindsTheBestOfWhatIf) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  const trust::Evidence evidence = io::read_shipped_residuals();
  std::mt19937 random(13);
  int overlapped = 0;
  for (int space_number = 0; space_number < 20; ++space_number) {
    const std::string text = question_of_overlaps(random);
    SCOPED_TRACE(text);
    const io::OpenScenario question = io::read_open_scenario_text(text, "question");
    const study::WhatIf whatif = study::what_if(
        {.scenario = study::ScenarioSource(text, "question"), .sets = {}, .keys = varied(question)}, evidence);
    const Space space(question, {});
    const SearchResult found = run_search(space, {.top = 1});
    ASSERT_TRUE(whatif.best.has_value());
    const report::Metrics& best = *whatif.rows[*whatif.best].metrics;
    ASSERT_EQ(best.memory.fits, !found.ranking.top().empty());
    if (!best.memory.fits) continue;
    const Outcome& winner = found.ranking.top().front();
    EXPECT_EQ(des::to_seconds(winner.step_time), best.step_time)
        << study::choice_text(whatif, whatif.rows[*whatif.best]);
    overlapped += winner.overlap.grad_reduce || winner.overlap.p2p || winner.overlap.tensor_parallel ? 1 : 0;
  }
  EXPECT_GE(overlapped, 10) << "overlap should pay";
}

// The outcome of a candidate is the fastest of its overlaps, which need the same memory.
TEST(Overlaps, AnOutcomeIsTheFastestOfItsCandidate) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  const io::OpenScenario question = io::read_open_scenario_text(
      R"({"model": {"base": "llama-3-8b", "num_hidden_layers": 8}, "cluster": "dgx-h100-ndr", "gpus": 8,
          "batch": {"global": 16, "sequence_length": 2048}, "recompute": "none"})",
      "question");
  const Space space(question, {});
  SearchHooks hooks;
  std::size_t compared = 0, several = 0;
  hooks.decided = [&](std::span<const Outcome> outcomes) {
    job::Maker maker(question.asked());
    for (const Outcome& outcome : outcomes) {
      if (outcome.verdict != Verdict::kReplayed) continue;
      const Candidate& candidate = space.candidates()[outcome.candidate];
      const std::vector<job::Overlap> overlaps = space.overlaps(candidate);
      des::Duration fastest{std::numeric_limits<std::int64_t>::max()};
      for (const job::Overlap& overlap : overlaps) {
        const job::Job* job = maker.make(space.patch_of(candidate, overlap));
        ASSERT_NE(job, nullptr);
        fast::Replayer replayer;
        std::vector<std::int64_t> scratch;
        fastest = std::min(fastest, replayer.step_time(*job, replayer.passes(*job), scratch));
        EXPECT_EQ(peak_memory(*job), outcome.peak) << "overlaps change no memory";
      }
      EXPECT_EQ(outcome.step_time, fastest);
      several += overlaps.size() > 4 ? 1 : 0;
      ++compared;
    }
  };
  (void)run_search(space, {.top = 3, .prune = false}, hooks);
  EXPECT_GT(compared, 50U);
  EXPECT_GT(several, 10U);
}

// The overlaps of a search are those that its runtime can switch, where they have an effect.
TEST(Overlaps, OnlyWhatTheRuntimeCanSwitchIsTried) {
  const auto most_overlaps = [](const char* runtime, const char* more) {
    const io::OpenScenario question = io::read_open_scenario_text(
        fmt::format(R"({{"model": {{"base": "llama-3-8b", "num_hidden_layers": 8}}, "cluster": "dgx-h100-ndr",
            "gpus": 16, "batch": {{"global": 16, "sequence_length": 2048}}, "runtime": "{}"{}}})",
                    runtime, more),
        "question");
    const Space space(question, {});
    std::size_t most = 0;
    for (const Candidate& candidate : space.candidates()) most = std::max(most, space.overlaps(candidate).size());
    return most;
  };
  EXPECT_EQ(most_overlaps("megatron-2022", ""), 1U);
  EXPECT_EQ(most_overlaps("pytorch-fsdp", ""), 1U) << "it always overlaps";
  EXPECT_EQ(most_overlaps("megatron-core", ""), 6U) << "messages, and gathers only beside reductions";
  EXPECT_EQ(most_overlaps("megatron-core", R"(, "overlap": {"grad_reduce": false})"), 2U);
}

// Groups of micro-batches are chosen where the usual ones do not fill.
TEST(Overlaps, AGroupIsChosenWhereTheUsualOneIsImpossible) {
  const io::OpenScenario question = io::read_open_scenario_text(
      R"({"model": {"base": "llama-3-8b", "num_hidden_layers": 8}, "cluster": "dgx-h100-ndr", "gpus": 8,
          "parallelism": {"tensor": 2, "pipeline": 4, "virtual_pipeline": 2}, "recompute": "none",
          "batch": {"micro": 1, "global": 6, "sequence_length": 2048}})",
      "question");
  const Space space(question, {});
  ASSERT_FALSE(space.candidates().empty());
  for (const Candidate& candidate : space.candidates()) EXPECT_EQ(candidate.microbatch_group, 6);
}

TEST(Precisions, AreSearchedOnRequestOnly) {
  const io::OpenScenario question = io::read_open_scenario_text(
      R"({"model": {"base": "llama-3-8b", "num_hidden_layers": 8}, "cluster": "dgx-h100-ndr", "gpus": 8,
          "batch": {"global": 16, "sequence_length": 2048}, "parallelism": {"tensor": 2, "pipeline": 1}})",
      "question");
  const Space usual(question, {});
  for (const Candidate& candidate : usual.candidates()) {
    EXPECT_FALSE(candidate.precision.has_value());
    EXPECT_FALSE(candidate.short_gradients);
  }
  const Space free(question, {.requested = {job::Key::kPrecision, job::Key::kGradients}});
  EXPECT_EQ(free.candidates().size(), 6 * usual.candidates().size()) << "bf16, fp16, fp8; gradients of 4 or 2 bytes";
  const SearchResult found = run_search(free, {.top = 1});
  ASSERT_FALSE(found.ranking.top().empty());
  const Candidate& best = free.candidates()[found.ranking.top().front().candidate];
  EXPECT_EQ(best.precision, Precision::kFp8);
  const job::Job job =
      job::make(job::with(question.asked(), free.patch_of(best, found.ranking.top().front().overlap))).job;
  EXPECT_EQ(job.precision, Precision::kFp8);
  const job::Job again = io::read_scenario_text(question.text_of(job), "found").job;
  EXPECT_EQ(again.precision, job.precision);
  EXPECT_EQ(again.recipe.gradient_bytes, job.recipe.gradient_bytes);
  EXPECT_EQ(again.overlap.tensor_parallel, job.overlap.tensor_parallel);
}

}  // namespace
}  // namespace foretoken::search
