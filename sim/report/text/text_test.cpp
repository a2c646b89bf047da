// Tests the text report, word for word on a small prediction.
#include "sim/report/text/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "sim/report/example_test_data.h"

namespace foretoken::report {
namespace {

using testing::HasSubstr;
using testing::Not;

job::Job example_scenario() {
  job::Job s;
  s.name = "toy on 16 A100";
  s.model.name = "toy";
  s.model.layers = 23;
  s.model.hidden = 64;
  s.model.heads = 4;
  s.model.kv_heads = 2;
  s.model.head_dim = 16;
  s.model.ffn_hidden = 256;
  s.model.vocabulary = 1000;
  s.cluster.name = "dgx-toy";
  s.cluster.gpu.name = "a100-sxm4-80gb";
  s.cluster.links.nvlink_per_gpu = gigabytes_per_second(300);
  s.cluster.links.nic = gigabytes_per_second(12.5);
  s.cluster.links.nics = 4;
  s.gpus = 16;
  s.profile.name = "a100-sxm4-80gb";
  s.runtime.name = "megatron-core";
  s.parallelism.tensor = 4;
  s.parallelism.pipeline = 2;
  s.parallelism.data = 2;
  s.batch = {.micro = 1, .global = 32, .sequence_length = 2048};
  return s;
}

job::Notes example_notes() {
  return {.assumptions = {}, .warnings = {}, .defaulted = {"/profile", "/parallelism/virtual_pipeline", "/optimizer"}};
}

constexpr const char* kHeadline =
    "toy on 16 A100\n"
    "  step          10.00 s                 32 sequences of 2,048 tokens\n"
    "  throughput    6,554 tokens/s          409.6 tokens/s per GPU\n"
    "  MFU           41.2 %                  of 312 dense bf16 TFLOP/s: 128.5 model TFLOP/s per GPU\n"
    "  HFU           45.0 %                  140.2 TFLOP/s per GPU, with recomputed operations\n"
    "  Megatron log  120.1 TFLOP/s/GPU       as current versions print it: causal attention counted half\n"
    "  memory        49.0 of 79.0 GiB        fits on the fullest GPU, stage 0; allocator's peak 47.0\n"
    "  whole run     1.45 years              for 300 billion tokens, 203,450 GPU hours\n"
    "  cost          508,626 USD\n";

TEST(Text, HeadlineSaysTheDenominator) {
  EXPECT_EQ(headline_text(example_scenario(), example_metrics(), Paint(false)), kHeadline);
}

TEST(Text, AnIntervalStandsBelowTheStep) {
  Metrics metrics = example_metrics();
  metrics.interval = {
      .level = 0.9, .low = Seconds(9.5), .high = Seconds(11), .cases = 3, .outside = false, .words = "3 cases: error"};
  EXPECT_THAT(headline_text(example_scenario(), metrics, Paint(false)),
              HasSubstr("32 sequences of 2,048 tokens\n"
                        "  interval      9.500 s to 11.00 s      90 %: 3 cases: error\n"
                        "  throughput"));
}

TEST(Text, ConfigurationMarksDefaults) {
  EXPECT_EQ(configuration_text(example_scenario(), example_notes(), Paint(false)),
            "\nConfiguration  as resolved; * marks a default\n"
            "  model         toy: 1.118 million parameters, 23 layers, hidden 64, 4 heads (2 for keys and\n"
            "                values), feed-forward 256, vocabulary 1,000\n"
            "  cluster       dgx-toy: 16 GPUs a100-sxm4-80gb, 2 nodes of 8; NVLink 300 GB/s a GPU; 4 NICs of\n"
            "                12.5 GB/s a node (each direction)\n"
            "  costs         profile a100-sxm4-80gb*, runtime megatron-core\n"
            "  parallelism   tensor 4, context 1, pipeline 2, virtual pipeline 1*, data 2, sequence parallel no\n"
            "  schedule      1f1b\n"
            "  batch         micro 1, global 32, sequence 2,048; 16 micro-batches a step and replica\n"
            "  precision     bf16, attention flash, recompute none\n"
            "  optimizer     adam*, ZeRO stage 0*\n"
            "  overlap       gradient reduction no, parameter gathering no, pipeline messages no\n");
}

TEST(Text, ConfigurationSaysHowExpertsAreCut) {
  job::Job job = example_scenario();
  job.model.experts = model::Experts{.count = 64, .per_token = 6, .width = 32};
  job.parallelism.expert = 8;
  job.routing.dispatcher = model::Dispatcher::kDeepEp;
  job.routing.imbalance = 1.5;
  EXPECT_THAT(
      configuration_text(job, example_notes(), Paint(false)),
      HasSubstr("  experts       6 of 64 a token, expert 8, expert_tensor 1, dispatcher deepep, exchanges beside\n"
                "                another micro-batch no, imbalance 1.5\n"));
}

TEST(Text, WhereTheTimeGoesNamesTheGpuWhereAllAreSimulated) {
  Metrics metrics = example_metrics();
  metrics.shown_gpus = PerStage<Gpu>(std::vector{Gpu{3}, Gpu{11}});
  EXPECT_THAT(time_split_text(Stage{1}, metrics, Paint(false)),
              HasSubstr("Where the time goes  stage 1 (GPU 11), the busiest; every instant counted once\n"));
}

TEST(Text, OneIsNoPlural) {
  job::Job job = example_scenario();
  job.batch = {.micro = 1, .global = 1, .sequence_length = 1};
  EXPECT_THAT(headline_text(job, example_metrics(), Paint(false)), HasSubstr(" 1 sequence of 1 token\n"));
  job.gpus = 1;
  job.model.layers = job.model.heads = job.model.kv_heads = 1;
  job.cluster.links.nics = 1;
  job.parallelism = {};
  job.imperfections.slow_gpus = {{.gpu = Gpu{0}, .slowdown = 2}, {.gpu = Gpu{1}, .slowdown = 0.5}};
  const std::string text = configuration_text(job, example_notes(), Paint(false));
  for (const char* words : {" 1 layer,", " 1 head,", " 1 GPU a100", " 1 node of", " 1 NIC of", " 1 micro-batch a step",
                            " 1 slow GPU, 1 fast GPU"})
    EXPECT_THAT(text, HasSubstr(words));
}

TEST(Text, BarsShowWhereTheTimeGoes) {
  EXPECT_EQ(time_split_text(Stage{1}, example_metrics(), Paint(false)),
            "\nWhere the time goes  stage 1, the busiest; every instant counted once\n"
            "  compute                              6.000 s  60.0 %  ████████████████████████████████████████\n"
            "  tensor-parallel communication        2.000 s  20.0 %  █████████████▍\n"
            "  data-parallel communication         500.0 ms   5.0 %  ███▍\n"
            "  bubble (waiting for another stage)   1.500 s  15.0 %  ██████████\n"
            "  step                                 10.00 s\n");
}

TEST(Text, MemoryOfEveryStage) {
  EXPECT_EQ(memory_text(example_metrics().memory, Paint(false)),
            "\nMemory of one GPU of each stage  GiB (2^30 bytes), at the stage's peak\n"
            "  stage  layers  weights  gradients  optimizer  activations  other  peak\n"
            "      0      12      4.0        8.0       24.0         10.0    1.0  47.0  "
            "█▓▓▓▒▒▒▒▒▒▒░░░▞·········|\n"
            "      1      11      3.0        6.0       18.0         10.0    1.0  38.0  "
            "█▓▓▒▒▒▒▒░░░▚············|\n"
            "  █ weights  ▓ gradients  ▒ optimizer  ░ activations  ▚ other  ▞ outside  · free  | capacity\n"
            "  Fits: 47.0 GiB at the peak and 2.0 outside the allocator (CUDA context, NCCL) of 79.0 GiB; 30.0\n"
            "  free. Most of it is optimizer states.\n"
            "  Whole model: 10.6 TB (9.64 TiB) of weights, gradients and optimizer state; layer-boundary\n"
            "               activations of the whole batch at once 16.9 TB (15.4 TiB), of one micro-batch 8.80 GB\n"
            "               (8.20 GiB).\n");
}

TEST(Text, SaysWhatWouldFit) {
  Metrics m = example_metrics();
  m.memory.capacity = Bytes(40.0 * 1024 * 1024 * 1024);
  m.memory.fits = false;
  m.memory.advice = "recompute \"selective\": 36.0 GiB, step time +2.1 %";
  const std::string text = to_text(example_scenario(), example_notes(), {}, m, Paint(false));
  EXPECT_THAT(text, HasSubstr("does not fit on the fullest GPU, stage 0;"));
  EXPECT_THAT(text, HasSubstr("  does not fit: 49.0 of 40.0 GiB on the fullest GPU\n"));
  EXPECT_THAT(text, HasSubstr("foretoken search"));
  EXPECT_THAT(text, HasSubstr("9.0 too much."));
  EXPECT_THAT(text, HasSubstr("To make it fit: recompute \"selective\": 36.0 GiB, step time +2.1 %"));
}

TEST(Text, MemoryHasOneOfThreeVerdicts) {
  Metrics m = example_metrics();
  for (const auto& [capacity, words] : {std::pair{60.0, "fits on"}, std::pair{50.0, "tight on"}}) {
    m.memory.capacity = Bytes(capacity * 1024 * 1024 * 1024);
    EXPECT_THAT(headline_text(example_scenario(), m, Paint(false)), HasSubstr(words));
  }
  EXPECT_EQ(m.memory.fit(), Fit::kTight);
  EXPECT_THAT(headline_text(example_scenario(), m, Paint(false)), HasSubstr("98.0 % full: try it"));
}

TEST(Text, WhatDoesNotFitIsNotPrintedInBold) {
  Metrics m = example_metrics();
  const std::string bold = Paint(true)(Ink::kBold, "10.00 s");
  EXPECT_THAT(headline_text(example_scenario(), m, Paint(true)), HasSubstr(bold));
  m.memory.fits = false;
  EXPECT_THAT(headline_text(example_scenario(), m, Paint(true)), testing::Not(HasSubstr(bold)));
}

TEST(Text, ManyStagesAreSummarised) {
  Metrics m = example_metrics();
  m.memory.per_stage = PerStage<StageMemory>(64, example_stage(3, 2));
  m.memory.per_stage[Stage{20}] = example_stage(4, 2);
  m.memory.per_stage[Stage{21}] = example_stage(1, 2);
  m.memory.fullest = Stage{20};
  const std::string text = memory_text(m.memory, Paint(false));
  EXPECT_THAT(text, HasSubstr("\n      0 "));
  EXPECT_THAT(text, HasSubstr("\n     20 "));
  EXPECT_THAT(text, HasSubstr("\n     63 "));
  EXPECT_THAT(text, Not(HasSubstr("\n     21 ")));
  EXPECT_THAT(text, HasSubstr("the other 60 stages: peaks of 20.0 to 38.0"));
}

TEST(Text, FitsTheColumnsAndColoursOnlyWhenAsked) {
  job::Job job = example_scenario();
  job.run = job::TrainingRun{.tokens = 1e12, .price_per_gpu_hour = {}};
  Metrics m = example_metrics();
  m.assumptions = {std::string(30, 'x') + " " + std::string(400, ' ') +
                   "word by word by word by word by word by word "
                   "by word by word by word by word by word by word"};
  const std::string text = to_text(job, example_notes(), {}, m, Paint(false));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), kPageColumns) << line;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(to_text(job, example_notes(), {}, m, Paint(true)).find('\x1b'), std::string::npos);
  EXPECT_EQ(text, to_text(job, example_notes(), {}, m, Paint(false)));
}

TEST(Text, SlowHardwareInOneLineEach) {
  const Seconds step(10);
  EXPECT_EQ(
      delay_words({.what = "GPU 37 (node 4) is 10 % slower", .on_critical_path = Seconds(9), .without = Seconds(8)},
                  step),
      "GPU 37 (node 4) is 10 % slower: on the critical path for 9.000 s; the step waits 2.000 s (+25.00 %), 8.000 "
      "s without it");
  EXPECT_EQ(delay_words({.what = "GPU 1 (node 0) is 5 % faster", .without = Seconds(12.5)}, step),
            "GPU 1 (node 0) is 5 % faster: the step gains 2.500 s (-20.00 %), 12.50 s without it");
}

}  // namespace
}  // namespace foretoken::report
