// Tests that a search chooses the stages of the encoder as exhaustive trials would.
#include <gtest/gtest.h>

#include <set>

#include "sim/io/scenario/read_residuals.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/study/otherwise/whatif.h"
#include "sim/study/search/answer.h"
#include "sim/study/search/request.h"
#include "sim/study/search/searcher.h"

namespace foretoken::search {
namespace {

// The encoder reads sixteen times as many tokens as the decoder, so half of the stages are too few for it.
constexpr const char* kLongInputs = R"({
  "model": "nemo-t5-11b", "cluster": "dgx-a100-80gb-hdr", "gpus": 32, "runtime": "megatron-2022",
  "parallelism": {"tensor": 4, "pipeline": 4, "sequence_parallel": false}, "attention": "unfused", "recompute": "full",
  "batch": {"micro": 2, "global": 128, "sequence_length": 512, "decoder_sequence_length": 32},
  "precision": "bf16", "optimizer": {"zero_stage": 1}})";

TEST(EncoderStages, SearchFindsTheBestOfWhatIf) {
  const trust::Evidence evidence = io::read_shipped_residuals();
  const study::WhatIf whatif = study::what_if({.scenario = study::ScenarioSource(kLongInputs, "question"),
                                               .sets = {},
                                               .keys = {{"parallelism.encoder_pipeline", {"1", "2", "3"}}}},
                                              evidence);
  const io::OpenScenario question = io::read_open_scenario_text(kLongInputs, "question");
  const Space space(question, {});
  const SearchResult found = run_search(space, {.top = 10});
  const Outcome& winner = found.ranking.top().front();
  EXPECT_EQ(space.candidates()[winner.candidate].encoder_pipeline, 3);
  EXPECT_EQ(des::to_seconds(winner.step_time), whatif.rows[*whatif.best].metrics->step_time);

  study::SearchRequest request;
  request.question = question.question();
  const study::SearchAnswer answer = study::answer_of(request, space, found.ranking, true, {.evidence = evidence});
  EXPECT_EQ(answer.ranked.front().scenario.parallelism.encoder_pipeline, 3) << "the written scenario states it";
  EXPECT_NE(configuration_words(answer.ranked.front()).find("encoder on 3 stages"), std::string::npos);
}

std::set<int> stages_tried(const std::string& parallelism) {
  std::string text = kLongInputs;
  const std::string stated = R"("tensor": 4, "pipeline": 4)";
  text.replace(text.find(stated), stated.size(), parallelism);
  const io::OpenScenario question = io::read_open_scenario_text(text, "question");
  const Space space(question, {});
  std::set<int> stages;
  for (const Candidate& candidate : space.candidates()) stages.insert(candidate.encoder_pipeline);
  return stages;
}

TEST(EncoderStages, OnlySplitsOfWholeLayersAreTried) {
  EXPECT_EQ(stages_tried(R"("tensor": 4, "pipeline": 4)"), (std::set{1, 2, 3}));
  EXPECT_EQ(stages_tried(R"("tensor": 4, "pipeline": 8)"), (std::set{2, 4, 6})) << "5 stages do not divide 24 layers";
  EXPECT_EQ(stages_tried(R"("tensor": 4, "pipeline": 1)"), (std::set{0})) << "both halves share a stage";
  EXPECT_EQ(stages_tried(R"("tensor": 4, "pipeline": 4, "encoder_pipeline": 1)"), (std::set{0})) << "it is stated";
}

}  // namespace
}  // namespace foretoken::search
