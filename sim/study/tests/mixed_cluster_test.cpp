// Tests A100 and H100 in one pipeline against hand calculations from the times of each GPU by itself.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "sim/base/error.h"
#include "sim/cost/costs.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/step/duration.h"
#include "sim/study/otherwise/sensitivity.h"
#include "sim/study/predict/interval.h"
#include "sim/study/predict/predict.h"
#include "sim/study/tests/with_delays.h"

namespace foretoken::study {
namespace {

using schedule::OpKind;

constexpr const char* kA100 = "\"dgx-a100-80gb-hdr\"";
constexpr const char* kH100 = "\"dgx-h100-ndr\"";

std::string mixed(const char* first, const char* second, int gpus_of_each = 1) {
  return fmt::format(
      R"({{"name": "mixed", "groups": [{{"cluster": {0}, "gpus": {2}}}, {{"cluster": {1}, "gpus": {2}}}]}})", first,
      second, gpus_of_each);
}

// Makes two stages with the given layers. This runtime has no pause between passes.
job::Job job(const std::string& cluster, int first_layers, int microbatches, const std::string& more = "",
             int gpus = 2) {
  return io::read_scenario_text(
             fmt::format(
                 R"({{"model": {{"base": "gpt2-medium", "tie_word_embeddings": false}}, "cluster": {}, "gpus": {},
          "runtime": "megatron-2021",
          "parallelism": {{"pipeline": 2, "layers_per_stage": [{}, {}]}},
          "batch": {{"micro": 1, "global": {}, "sequence_length": 1024}}{}}})",
                 cluster, gpus, first_layers, 24 - first_layers, microbatches * gpus / 2, more),
             "test")
      .job;
}

std::int64_t pass(const Prediction& run, Stage stage, OpKind kind) {
  return run.step.passes->timing(stage, Chunk{0}, kind).total.ps;
}

// Returns the time of a message of one GPU to another node of this kind.
std::int64_t message_ps(const job::Job& alike, Bytes payload) {
  const PointToPointShape shape{.payload = payload, .crosses_nodes = true};
  return step::duration_of(alike.runtime.p2p_overhead +
                           cost::point_to_point_time(shape, alike.cluster.links, alike.profile))
      .ps;
}

std::int64_t message_ps(const job::Job& alike) { return message_ps(alike, step::message_bytes(alike)); }

// The times of the passes of each stage on its kind of GPU, and of the message between the kinds.
struct ByHand {
  std::int64_t f0, b0, f1, b1, c;
};

ByHand by_hand(const char* first, const char* second, int first_layers) {
  const Prediction a = predict(job(first, first_layers, 1)), b = predict(job(second, first_layers, 1));
  return {pass(a, Stage{0}, OpKind::kForward), pass(a, Stage{0}, OpKind::kBackward),
          pass(b, Stage{1}, OpKind::kForward), pass(b, Stage{1}, OpKind::kBackward),
          std::max(message_ps(a.job), message_ps(b.job))};
}

std::int64_t last_backward(const Prediction& run) { return run.observations.stages.front().last_backward_end.ps; }

TEST(MixedCluster, ABusySecondStageSetsThePaceByHand) {
  for (const auto& [first, second] : {std::pair{kA100, kH100}, std::pair{kH100, kA100}})
    for (const int m : {1, 2, 5, 8}) {
      SCOPED_TRACE(std::string(first) + " " + std::to_string(m));
      const ByHand t = by_hand(first, second, 2);
      ASSERT_LT(t.f0 + t.b0, t.f1 + t.b1);
      const Prediction run = predict(job(mixed(first, second), 2, m));
      // One forward pass, then every micro-batch on the second stage after an exchange, then one backward pass.
      EXPECT_EQ(last_backward(run), t.f0 + t.c + m * (t.f1 + t.b1) + (m - 1) * t.c + t.c + t.b0);
    }
}

TEST(MixedCluster, ABusyFirstStageSetsThePaceByHand) {
  const ByHand t = by_hand(kA100, kH100, 23);
  ASSERT_LT(t.f1 + t.b1, t.f0);
  for (const int m : {2, 5, 8}) {
    SCOPED_TRACE(m);
    const Prediction run = predict(job(mixed(kA100, kH100), 23, m));
    // The first forward pass and its message, then m - 1 times forward, exchange, backward. The last backward pass
    // waits for its message, which is posted after the backward pass before it.
    EXPECT_EQ(last_backward(run), t.f0 + t.c + (m - 1) * (t.f0 + t.c + t.b0) + t.c + t.b0);
  }
}

TEST(MixedCluster, MoreLayersOnTheFasterGpuBalanceThePipeline) {
  const auto step = [](const std::string& cluster, int first_layers) {
    return predict(job(cluster, first_layers, 32)).metrics.step_time.value();
  };
  const auto best = [&](const std::string& cluster) {
    int layers = 1;
    for (int tried = 2; tried < 24; ++tried)
      if (step(cluster, tried) < step(cluster, layers)) layers = tried;
    return layers;
  };
  const int a100_first = best(mixed(kA100, kH100)), h100_first = best(mixed(kH100, kA100));
  EXPECT_LT(a100_first, best(kA100)) << "the A100 has fewer layers than beside another A100";
  EXPECT_GT(h100_first, best(kH100));
  EXPECT_LT(step(mixed(kA100, kH100), a100_first), step(mixed(kA100, kH100), 12));
  EXPECT_LT(step(mixed(kA100, kH100), a100_first), step(kA100, best(kA100)));
  EXPECT_GT(step(mixed(kA100, kH100), a100_first), step(kH100, best(kH100)));
}

TEST(MixedCluster, TwiceTheSameKindIsOneKindAcrossNodes) {
  const std::string more =
      R"(, "optimizer": {"zero_stage": 1}, "overlap": {"grad_reduce": true, "param_gather": true})";
  const Prediction twice = predict(job(mixed(kA100, kA100, 8), 12, 8, more, 16));
  const Prediction once = predict(job(kA100, 12, 8, more, 16));
  EXPECT_EQ(twice.run.makespan.ps, once.run.makespan.ps);
  EXPECT_TRUE(twice.run.end == once.run.end);
  EXPECT_EQ(twice.metrics.mfu, once.metrics.mfu);
  EXPECT_EQ(twice.metrics.memory.peak.value(), once.metrics.memory.peak.value());
  const Prediction every = predict(job(mixed(kA100, kH100, 8), 12, 8, more, 16),
                                   How{.unfolded = true, .traffic = ranks::Traffic::kAnalytic});
  EXPECT_TRUE(every.run.end == predict(job(mixed(kA100, kH100, 8), 12, 8, more, 16)).run.end) << "unfolded or not";
}

// Allows for rounding each flow's end to whole picoseconds, over a chain of flows.
constexpr std::int64_t kRounding = 1000;
constexpr How kAsFlows{.unfolded = true, .traffic = ranks::Traffic::kFlows};

struct SoundRow {
  std::vector<std::pair<const char*, int>> groups;  // clusters and GPUs
  const char *parallelism, *more = "";
  step::Fidelity fidelity = step::Fidelity::kStage;
};

std::vector<SoundRow> sound_rows() {
  const std::vector<std::pair<const char*, int>> two = {{"dgx-a100-80gb-hdr", 16}, {"dgx-h100-ndr", 16}},
                                                 turned = {two[1], two[0]},
                                                 three = {{"dgx-a100-80gb-hdr", 8},
                                                          {"dgx-h100-ndr", 8},
                                                          {"dgx-b200-ndr", 32}},
                                                 rack = {{"gb200-nvl72", 72}, {"dgx-h100-ndr", 72}},
                                                 many_nics = {{"aws-p5", 16}, {"dgx-a100-80gb-hdr", 16}};
  return {
      {two, R"("pipeline": 4, "tensor": 2, "sequence_parallel": true)"},
      {two, R"("pipeline": 4, "context": 2)"},
      {two, R"("pipeline": 4, "tensor": 8)", R"("optimizer": {"zero_stage": 1},)"},
      {turned, R"("pipeline": 4, "virtual_pipeline": 3, "tensor": 4)", R"("schedule": "interleaved-1f1b",)"},
      {turned, R"("pipeline": 2, "tensor": 16)"},
      {three, R"("pipeline": 6, "tensor": 2)"},
      {three, R"("pipeline": 6, "tensor": 8)", "", step::Fidelity::kKernel},
      {rack, R"("pipeline": 2, "tensor": 8)"},
      {many_nics, R"("pipeline": 4, "tensor": 2)"},
  };
}

job::Job job_of(const SoundRow& row, bool tied) {
  std::string groups;
  int gpus = 0;
  for (const auto& [cluster, count] : row.groups) {
    groups += fmt::format(R"({}{{"cluster": "{}", "gpus": {}}})", groups.empty() ? "" : ", ", cluster, count);
    gpus += count;
  }
  return io::read_scenario_text(fmt::format(R"({{"model": {{"base": "gpt2-medium", "tie_word_embeddings": {}}},
              "cluster": {{"name": "several", "groups": [{}]}}, "gpus": {}, "parallelism": {{{}}}, {}
              "batch": {{"micro": 1, "global": 72, "sequence_length": 1024}}}})",
                                            tied, groups, gpus, row.parallelism, row.more),
                                "test")
      .job;
}

TEST(MixedCluster, FlowsTakeTheTimeOfTheCostOnSoundLinks) {
  for (const SoundRow& row : sound_rows())
    for (const bool tied : {true, false}) {
      SCOPED_TRACE(fmt::format("{} GPUs first, {} {}", row.groups.front().second, row.parallelism, tied));
      const job::Job scenario = job_of(row, tied);
      How how = kAsFlows;
      how.fidelity = row.fidelity;
      const std::int64_t folded = predict(scenario, {.fidelity = row.fidelity}).run.makespan.ps;
      EXPECT_LE(std::abs(predict(scenario, how).run.makespan.ps - folded), kRounding);
    }
}

TEST(MixedCluster, ASlowNicSlowsMessagesBetweenTheKindsByHand) {
  const auto nic = [](int node, double rate_factor) {
    return fmt::format(R"(, "imperfections": {{"slow_nics": [{{"node": {}, "nic": 0, "rate_factor": {}}}]}})", node,
                       rate_factor);
  };
  constexpr int kMicrobatches = 5;
  for (const bool a100_first : {true, false}) {
    const char *first = a100_first ? kA100 : kH100, *second = a100_first ? kH100 : kA100;
    const ByHand t = by_hand(first, second, 2);
    const std::int64_t moves = t.c - message_ps(job(kA100, 2, 1), Bytes(0));
    const auto with = [&](const std::string& more) {
      return last_backward(predict(job(mixed(first, second), 2, kMicrobatches, more), kAsFlows));
    };
    const std::int64_t sound = t.f0 + t.c + kMicrobatches * (t.f1 + t.b1 + t.c) + t.b0;
    const std::int64_t slow = sound + (kMicrobatches + 1) * moves;
    EXPECT_LE(std::abs(with("") - sound), kRounding);
    // The NIC of the A100 has half the rate of the other.
    const int a100 = a100_first ? 0 : 1;
    EXPECT_LE(std::abs(with(nic(1 - a100, 0.5)) - sound), kRounding);
    EXPECT_LE(std::abs(with(nic(a100, 0.5)) - slow), kRounding);
    EXPECT_LE(std::abs(with(nic(1 - a100, 0.25)) - slow), kRounding);
    EXPECT_EQ(with(R"(, "imperfections": {"failed_nics": [{"node": 1, "nic": 0}]})"), with("")) << "another takes over";
  }
}

TEST(MixedCluster, WhatAllKindsWarnOfIsSaidOnce) {
  const std::vector<std::string> warnings =
      io::read_scenario_text(fmt::format(R"({{"model": "gpt2-medium", "cluster": {}, "gpus": 32, "parallelism":
          {{"tensor": 16, "pipeline": 2}}, "batch": {{"micro": 1, "global": 4, "sequence_length": 1024}}}})",
                                         mixed(kA100, kH100, 16)),
                             "test")
          .notes.warnings;
  EXPECT_EQ(std::count_if(warnings.begin(), warnings.end(),
                          [](const std::string& each) { return each.starts_with("tensor 16 is wider"); }),
            1);
}

TEST(MixedCluster, EveryStageHasItsOwnCapacity) {
  constexpr const char* kSmall = "\"dgx-a100-40gb-hdr\"";
  const auto run = [&](const std::string& cluster, int layers) {
    const std::string model = R"({"model": {"base": "llama-2-7b"}, "cluster": )" + cluster +
                              fmt::format(R"(, "gpus": 16, "parallelism": {{"tensor": 8, "pipeline": 2, )"
                                          R"("sequence_parallel": true, "layers_per_stage": [{}, {}]}},
          "batch": {{"micro": 16, "global": 128, "sequence_length": 4096}}, "recompute": "none"}})",
                                          layers, 32 - layers);
    return predict(io::read_scenario_text(model, "test"));
  };
  const Prediction halves = run(mixed(kSmall, kH100, 8), 16), shifted = run(mixed(kSmall, kH100, 8), 8);
  const report::Memory &tight = halves.metrics.memory, &loose = shifted.metrics.memory;
  EXPECT_EQ(tight.per_stage.front().capacity.value(), halves.job.groups[0].cluster.gpu.memory.value());
  EXPECT_EQ(tight.per_stage.back().capacity.value(), halves.job.groups[1].cluster.gpu.memory.value());
  EXPECT_FALSE(tight.fits);
  EXPECT_EQ(tight.fullest, Stage{0});
  EXPECT_EQ(tight.capacity.value(), tight.per_stage.front().capacity.value());
  EXPECT_TRUE(loose.fits) << "fewer layers on the small GPUs";
}

TEST(MixedCluster, PeakAndPlaceAreThoseOfAllGpus) {
  const Prediction run = predict(job(mixed(kA100, kH100), 8, 4));
  EXPECT_DOUBLE_EQ(run.metrics.mfu_peak_tflops, (312 + 989) / 2.0);
  EXPECT_EQ(run.job.gpu_names(), "a100-sxm4-80gb and h100-sxm5-80gb");
  EXPECT_EQ(place_of(run.job).gpu, "a100+h100") << "no validated case is of this kind";
  for (const Sensitivity& each : sensitivities(run.job, 0.1))
    if (each.name == "GPU arithmetic rate") {
      EXPECT_LT(each.larger, run.metrics.step_time);
    }
}

TEST(MixedCluster, ASlowGpuIsNamedWithItsNode) {
  const Prediction run =
      with_delays(job(mixed(kA100, kH100), 12, 4, R"(, "imperfections": {"slow_gpus": [{"gpu": 1, "slowdown": 2}]})"));
  ASSERT_EQ(run.metrics.delays->size(), 1U);
  EXPECT_EQ((*run.metrics.delays)[0].what, "GPU 1 (node 1) is 2 times slower");
}

std::string complaint_of(const std::string& cluster, int gpus, const std::string& more = "", const How& how = {}) {
  try {
    (void)predict(job(cluster, 12, 4, more, gpus), how);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(MixedCluster, WhatCannotBeIsRefusedInOneLine) {
  EXPECT_EQ(complaint_of(mixed(kA100, kH100), 4),
            "test: /gpus: expected 2, the GPUs of all groups of cluster \"mixed\", found 4");
  EXPECT_EQ(
      complaint_of(
          R"({"name": "uneven", "groups": [{"cluster": "dgx-a100-80gb-hdr", "gpus": 1}, {"cluster": "dgx-h100-ndr", "gpus": 3}]})",
          4),
      "test: /parallelism/pipeline: expected stages on nodes of one kind: 4 GPUs / pipeline 2 = 2 a stage do not "
      "divide the 1 GPU of \"dgx-a100-80gb-hdr\"");
  EXPECT_EQ(complaint_of(mixed(kA100, kH100), 2, R"(, "profile": "a100-sxm4-80gb")"),
            "test: /profile: expected none: every group of nodes takes the profile of its GPU");
  EXPECT_EQ(complaint_of(R"({"groups": [{"cluster": "dgx-h100-ndr", "gpus": 2}]})", 2),
            "test: /cluster/groups: expected at least two kinds of nodes; one needs no groups");
  EXPECT_EQ(
      complaint_of(mixed(kA100, kH100), 2, R"(, "imperfections": {"placement": [1, 0]})"),
      "test: /imperfections/placement: expected none on nodes of several kinds; state the groups in another order");
  std::string all;
  for (int nic = 0; nic < 8; ++nic) all += fmt::format(R"({}{{"node": 1, "nic": {}}})", nic == 0 ? "" : ", ", nic);
  EXPECT_EQ(
      complaint_of(mixed(kA100, kH100), 2, R"(, "imperfections": {"failed_nics": [)" + all + "]}"),
      "/imperfections: expected a way from every GPU to the network, found none from GPU 1 (node 1): too many NICs or "
      "links have failed");
  try {
    (void)io::read_open_scenario_text(R"({"model": "gpt2", "cluster": )" + mixed(kA100, kH100) + R"(, "gpus": 2,
        "batch": {"global": 4, "sequence_length": 1024}})",
                                      "test");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "test: /cluster: expected nodes of one kind: a search does not split stages over groups of nodes");
  }
}

}  // namespace
}  // namespace foretoken::study
