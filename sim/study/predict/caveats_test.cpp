// Tests warnings about imperfections that a run ignores: given where they matter, and once.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

using ranks::Traffic;
using step::Fidelity;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kNic = R"("slow_nics": [{"node": 0, "nic": 0, "rate_factor": 0.5}])";
constexpr const char* kNvlink =
    R"("slow_links": [{"between": ["node 0 gpu 0", "node 0 nvswitch 0"], "rate_factor": 0.5}])";
constexpr const char* kPlacement = R"("placement": [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15])";
constexpr const char* kHidden = "communication that kernels hide keeps the cost of sound links";

// Makes a job of 16 GPUs on two nodes.
job::Job job(const std::string& parallelism, const std::string& imperfections) {
  return io::read_scenario_text(
             R"({"model": "gpt2-medium", "cluster": "dgx-h100-ndr", "gpus": 16, "parallelism": {)" + parallelism +
                 R"(}, "batch": {"micro": 1, "global": 16, "sequence_length": 64}, "imperfections": {)" +
                 imperfections + "}}",
             "test", {})
      .job;
}

// Returns the warnings about imperfections.
std::vector<std::string> warnings(const std::string& parallelism, const std::string& imperfections,
                                  const How& how = {}) {
  std::vector<std::string> all = predict(job(parallelism, imperfections), how).metrics.warnings;
  std::erase_if(all, [](const std::string& warning) { return !warning.starts_with("imperfections"); });
  return all;
}

TEST(Caveats, WholePassesLeaveOutWhatKernelsHide) {
  EXPECT_THAT(warnings(R"("tensor": 8)", kNic), IsEmpty()) << "no group uses a NIC";
  EXPECT_THAT(warnings(R"("tensor": 16)", kNic), ElementsAre(HasSubstr(kHidden)));
  EXPECT_THAT(warnings(R"("context": 16)", kNic), ElementsAre(HasSubstr(kHidden)));
  EXPECT_THAT(warnings(R"("tensor": 8)", kNvlink), ElementsAre(HasSubstr(kHidden)));
  EXPECT_THAT(warnings(R"("tensor": 8)", kNvlink), ElementsAre(HasSubstr("`foretoken simulate --fidelity kernel`")))
      << "other commands have no such option";
  EXPECT_THAT(warnings("", kNvlink), IsEmpty()) << "no group in a layer";
  EXPECT_THAT(warnings(R"("tensor": 8)", kPlacement), ElementsAre(HasSubstr(kHidden)));
}

TEST(Caveats, OnlyKindsOfNodesWithSlowHardwareCount) {
  const auto on = [](const char* first, const char* second, int node) {
    const job::Job scenario = io::read_scenario_text(fmt::format(R"({{"model": "gpt2-medium", "gpus": 16,
            "cluster": {{"name": "two", "groups": [{{"cluster": "{}", "gpus": 8}}, {{"cluster": "{}", "gpus": 8}}]}},
            "parallelism": {{"pipeline": 2, "tensor": 8}},
            "batch": {{"micro": 1, "global": 8, "sequence_length": 64}},
            "imperfections": {{"slow_nics": [{{"node": {}, "nic": 0, "rate_factor": 0.5}}]}}}})",
                                                                 first, second, node),
                                                     "test")
                                  .job;
    const std::vector<std::string> all = predict(scenario).metrics.warnings;
    return std::count_if(all.begin(), all.end(), [](const auto& each) { return each.find(kHidden) != each.npos; });
  };
  // Nodes of Perlmutter have four GPUs, so tensor groups of eight use its NICs.
  EXPECT_EQ(on("dgx-h100-ndr", "perlmutter", 0), 0);
  EXPECT_EQ(on("dgx-h100-ndr", "perlmutter", 2), 1);
  EXPECT_EQ(on("perlmutter", "dgx-h100-ndr", 1), 1);
  EXPECT_EQ(on("perlmutter", "dgx-h100-ndr", 2), 0);
}

TEST(Caveats, KernelByKernelNothingIsHidden) {
  EXPECT_THAT(warnings(R"("tensor": 8)", kNvlink, {.fidelity = Fidelity::kKernel}), IsEmpty());
}

TEST(Caveats, WithOneCostEachOnlyThatPlacementCountsForNothing) {
  for (const char* parallelism : {"", R"("tensor": 8)"}) {
    EXPECT_THAT(warnings(parallelism, kPlacement, {.traffic = Traffic::kAnalytic}),
                ElementsAre("imperfections.placement moves no message or collective: with --collectives analytic each "
                            "has one cost wherever its ranks sit; expected --collectives flows"));
  }
  EXPECT_THAT(warnings("", kPlacement, {.traffic = Traffic::kFlows}), IsEmpty());
}

TEST(Caveats, CopiesThroughTheHostAreABestCase) {
  const auto warnings_of = [](int gpus, const char* p2p) {
    const std::string text =
        fmt::format(R"({{"model": "gpt2-medium", "cluster": {{"base": "dgx-h100-ndr", "node": {{"p2p":
      {}}}}}, "gpus": {}, "batch": {{"micro": 1, "global": 16, "sequence_length": 64}}}})",
                    p2p, gpus);
    return fmt::format("{}", fmt::join(predict(io::read_scenario_text(text, "test", {}).job).metrics.warnings, " "));
  };
  EXPECT_THAT(warnings_of(8, "false"), HasSubstr("p2p false: exchanges have the rate of PCIe, a best case"));
  EXPECT_THAT(warnings_of(8, "true"), Not(HasSubstr("p2p")));
  EXPECT_THAT(warnings_of(1, "false"), Not(HasSubstr("p2p"))) << "one GPU exchanges nothing";
}

// The memory of a job with experts: it says whether the job fits, and holds the warnings.
struct Held {
  bool fits;
  std::string warnings;
};

Held held_by(int micro, const char* moe) {
  const std::string text =
      fmt::format(R"({{"model": "mixtral-8x7b", "cluster": "dgx-h100-ndr", "gpus": 64, "runtime": "megatron-core",
          "parallelism": {{"tensor": 2, "pipeline": 4, "expert": 4, "sequence_parallel": true}}, "precision": "bf16",
          "recompute": "none", "optimizer": {{"zero_stage": 1}}, "moe": {},
          "batch": {{"micro": {}, "global": 768, "sequence_length": 4096}}}})",
                  moe, micro);
  const report::Metrics metrics = predict(io::read_scenario_text(text, "test", {}).job).metrics;
  return {metrics.memory.fits, fmt::format("{}", fmt::join(metrics.warnings, " "))};
}

TEST(Caveats, MemoryThatHoldsEvenRoutingAlone) {
  const Held stated = held_by(3, R"({"imbalance": 1.02})");
  EXPECT_TRUE(stated.fits);
  EXPECT_THAT(stated.warnings, HasSubstr(" GiB at moe.imbalance 1.9; it fits at 1.02. ")) << "nearly even: not enough";
  EXPECT_THAT(held_by(1, "{}").warnings, Not(HasSubstr("moe.imbalance"))) << "there is room for uneven routing";
  EXPECT_THAT(held_by(3, R"({"capacity_factor": 1})").warnings, Not(HasSubstr("moe.imbalance")));
}

TEST(Caveats, MemoryThatFitsOnceRoutingIsSaidToBeEven) {
  const Held unstated = held_by(3, "{}");
  EXPECT_FALSE(unstated.fits);
  EXPECT_THAT(unstated.warnings,
              HasSubstr("is taken to hold 1.5 times the mean rows. With even routing the job fits: "));
  EXPECT_TRUE(held_by(3, R"({"imbalance": 1})").fits);
  EXPECT_THAT(held_by(12, "{}").warnings, Not(HasSubstr("even routing"))) << "it fits in no way";
}

// Returns all warnings about a scenario, in one text.
std::string all_warnings(const std::string& text) {
  return fmt::format("{}", fmt::join(predict(io::read_scenario_text(text, "test", {}).job).metrics.warnings, " "));
}

TEST(Caveats, FrozenWeightsWhoseInputsAreKeptTwiceAreNamed) {
  const auto with = [](const char* training, const char* recompute) {
    return all_warnings(fmt::format(
        R"({{"model": "llama-2-7b", "cluster": "dgx-a100-80gb-hdr", "gpus": 8, "runtime": "huggingface-trainer",
             "batch": {{"micro": 2, "global": 16, "sequence_length": 4096}}, "recompute": "{}",
             "optimizer": {{"zero_stage": 3}}{}}})",
        recompute, training));
  };
  constexpr const char* kLora = R"(, "training": {"method": "lora", "rank": 8})";
  const char* const words =
      "keeps the input of a recomputed layer 2 times: 2.00 GiB more than with all weights trained";
  EXPECT_THAT(with(kLora, "full"), HasSubstr(words)) << "32 layers, 2 x 4096 x 4096 numbers of 16 bits";
  EXPECT_THAT(with("", "full"), Not(HasSubstr("keeps the input")));
  EXPECT_THAT(with(kLora, "none"), Not(HasSubstr("keeps the input")));
}

TEST(Caveats, RecomputationThatSavesNothingIsNamed) {
  const auto with = [](const char* schedule, const char* recompute) {
    return all_warnings(fmt::format(
        R"({{"model": "mistral-7b", "cluster": "dgx-h100-ndr", "gpus": 32, "parallelism": {{"pipeline": 4}},
             "batch": {{"micro": 4, "global": 256, "sequence_length": 1024}}, "optimizer": {{"zero_stage": 1}},
             "runtime": "megatron-core-2024", "schedule": "{}", "recompute": "{}"}})",
        schedule, recompute));
  };
  EXPECT_THAT(with("zb-h2", "full"), HasSubstr("recompute full needs "));
  EXPECT_THAT(with("zb-h2", "selective"), Not(HasSubstr("recompute full")));
  EXPECT_THAT(with("1f1b", "full"), Not(HasSubstr("recompute full")));
}

TEST(Caveats, SlowSoftmaxOfUnfusedAttentionIsNamed) {
  const auto with = [](int micro, const char* attention) {
    return all_warnings(fmt::format(
        R"({{"model": "qwen2-7b", "cluster": "dgx-h100-ndr", "gpus": 2, "parallelism": {{"tensor": 2}},
             "batch": {{"micro": {}, "global": 4, "sequence_length": 2048}}, "attention": "{}"}})",
        micro, attention));
  };
  EXPECT_THAT(with(1, "unfused"), HasSubstr("takes a multiple of 4 score matrices, and a GPU has 14; slower "
                                            "kernels run unless batch.micro is a multiple of 2"));
  EXPECT_THAT(with(2, "unfused"), Not(HasSubstr("score matrices")));
  EXPECT_THAT(with(1, "flash"), Not(HasSubstr("score matrices")));
}

TEST(Caveats, NoStepIsFasterThanThePeakOfItsGpus) {
  const auto warned = [](const std::string& factor) {
    const job::Job job = io::read_scenario_text(R"({"model": "gpt2-medium", "cluster": "dgx-h100-ndr", "gpus": 1,
            "batch": {"micro": 8, "global": 8, "sequence_length": 1024},
            "profile": {"base": "h100-sxm5-80gb", "gemm": {"bf16": {"sustained_factor": )" +
                                                    factor + R"(}}, "attention": {"sustained_factor": )" + factor +
                                                    R"(}, "memory_bound": {"gb_per_s": 1e6}}})",
                                                "test", {})
                             .job;
    const auto warnings = predict(job).metrics.warnings;
    return std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
      return warning.find("TFLOP/s of a GPU with 989: no kernel is as fast") != warning.npos;
    });
  };
  EXPECT_FALSE(warned("1.14"));
  EXPECT_TRUE(warned("0.01"));
}

TEST(Caveats, MoreThanAllOfThePeakIsExplained) {
  const auto with = [](std::int64_t tokens) {
    return all_warnings(fmt::format(
        R"({{"model": "llama-2-7b", "cluster": "dgx-a100-80gb-hdr", "gpus": 8, "parallelism": {{"context": 8}},
             "batch": {{"micro": 1, "global": 1, "sequence_length": {}}}, "attention": "flash"}})",
        tokens));
  };
  EXPECT_THAT(with(1 << 22), HasSubstr("MFU counts the full s x s attention, of which causal kernels compute half"));
  EXPECT_THAT(with(8192), Not(HasSubstr("MFU")));
}

}  // namespace
}  // namespace foretoken::study
