// Tests jobs with experts with every GPU: they give the folded step, on both grids of ranks.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "sim/io/scenario/read_scenario.h"
#include "sim/study/tests/with_delays.h"

namespace foretoken::study {
namespace {

constexpr const char* kMixtral = R"({
  "model": {"base": "mixtral-8x7b", "num_hidden_layers": 8}, "cluster": "dgx-h100-ndr", "gpus": 16,
  "runtime": "megatron-core", "precision": "bf16", "parallelism": {"expert": 8, "sequence_parallel": true},
  "optimizer": {"zero_stage": 1}, "batch": {"micro": 1, "global": 128, "sequence_length": 2048}})";

struct ExpertLayout {
  const char *name, *patch;  ///< merged over Mixtral
  bool by_kernel = false;    ///< also compared kernel by kernel
};

/// Prints the name of a layout in the name of its test.
void PrintTo(const ExpertLayout& layout, std::ostream* to) { *to << layout.name; }

// The first three layers of DeepSeek-V3 are dense.
const ExpertLayout kLayouts[] = {
    {"two expert ranks in a node", R"({"gpus": 8, "parallelism": {"expert": 2}})", true},
    {"a group a node, reductions beside passes", R"({"overlap": {"grad_reduce": true, "param_gather": true}})"},
    {"tensor ranks that share experts", R"({"gpus": 32, "optimizer": {"zero_stage": 0},
        "parallelism": {"tensor": 2, "expert": 4, "expert_tensor": 2, "pipeline": 2}})",
     true},
    {"tensor ranks with experts of their own: a group spans two replicas",
     R"({"parallelism": {"tensor": 2, "expert": 4, "expert_tensor": 1, "pipeline": 2}})", true},
    {"tensor groups wider than expert groups", R"({"parallelism": {"tensor": 4, "expert": 2, "expert_tensor": 1}})"},
    {"context ranks in an expert group", R"({"gpus": 32, "optimizer": {"zero_stage": 0},
        "parallelism": {"tensor": 2, "context": 2, "expert": 4, "expert_tensor": 1, "pipeline": 2}})",
     true},
    {"parameters gathered by two groups of ranks", R"({"runtime": "torchtitan", "optimizer": {"zero_stage": 3},
        "parallelism": {"expert": 4}})",
     true},
    {"gradients in buckets of two groups of ranks", R"({"gpus": 32, "optimizer": {"zero_stage": 2},
        "parallelism": {"tensor": 2, "expert": 4, "expert_tensor": 1}})"},
    {"interleaved stages", R"({"gpus": 32, "parallelism": {"expert": 4, "pipeline": 4, "virtual_pipeline": 2},
        "overlap": {"grad_reduce": true, "p2p": true}})"},
    {"tokens gathered", R"({"gpus": 32, "moe": {"dispatcher": "all-gather"},
        "parallelism": {"tensor": 2, "expert": 8, "expert_tensor": 2}})"},
    {"exchanges beside another micro-batch", R"({"moe": {"overlap": true}, "parallelism": {"pipeline": 2}})"},
    {"an expert group over two nodes", R"({"model": {"base": "deepseek-v3", "num_hidden_layers": 4},
        "parallelism": {"expert": 16}, "moe": {"dispatcher": "all-to-all"}})",
     true},
    {"a copy a node, dense layers first", R"({"model": {"base": "deepseek-v3", "num_hidden_layers": 8}, "gpus": 64,
        "parallelism": {"expert": 32, "pipeline": 2}, "moe": {"dispatcher": "deepep"}, "recompute": "full"})"},
    {"a stage without experts", R"({"model": {"base": "deepseek-v3", "num_hidden_layers": 6}, "gpus": 32,
        "parallelism": {"expert": 16, "pipeline": 2}, "moe": {"dispatcher": "deepep"}})",
     true},
    {"shared experts beside exchanges", R"({"model": {"base": "deepseek-v3", "num_hidden_layers": 4},
        "moe": {"shared_expert_overlap": true}})",
     true},
    {"64 expert ranks in a rack", R"({"model": {"base": "deepseek-v3", "num_hidden_layers": 4}, "gpus": 64,
        "cluster": "gb200-nvl72", "parallelism": {"expert": 64}, "moe": {"dispatcher": "hybridep"}})"},
    {"64 expert ranks on eight nodes", R"({"model": {"base": "deepseek-v3", "num_hidden_layers": 8}, "gpus": 256,
        "parallelism": {"expert": 64, "pipeline": 4}, "batch": {"global": 512}})"}};

job::Job job_of(const ExpertLayout& layout) {
  nlohmann::json scenario = nlohmann::json::parse(kMixtral);
  scenario.merge_patch(nlohmann::json::parse(layout.patch));
  return io::read_scenario_text(scenario.dump(), "test", {}).job;
}

class UnfoldExperts : public testing::TestWithParam<ExpertLayout> {};

TEST_P(UnfoldExperts, EveryGpuGivesTheFoldedStepTickForTick) {
  SCOPED_TRACE(GetParam().name);
  const job::Job job = job_of(GetParam());
  for (const auto fidelity : {step::Fidelity::kStage, step::Fidelity::kKernel}) {
    if (fidelity == step::Fidelity::kKernel && !GetParam().by_kernel) continue;
    const Prediction folded = predict(job, How{.fidelity = fidelity});
    const Prediction unfolded =
        predict(job, How{.fidelity = fidelity, .unfolded = true, .traffic = ranks::Traffic::kAnalytic});
    EXPECT_EQ(folded.run.makespan.ps, unfolded.run.makespan.ps);
    EXPECT_TRUE(folded.run.end == unfolded.run.end) << "and so does every task";
  }
}

TEST_P(UnfoldExperts, FlowsOnASoundFabricTakeTheSameTimeWithinTwoPercent) {
  SCOPED_TRACE(GetParam().name);
  const job::Job job = job_of(GetParam());
  for (const auto fidelity : {step::Fidelity::kStage, step::Fidelity::kKernel}) {
    if (fidelity == step::Fidelity::kKernel && !GetParam().by_kernel) continue;
    const Prediction folded = predict(job, How{.fidelity = fidelity});
    const Prediction flows =
        predict(job, How{.fidelity = fidelity, .unfolded = true, .traffic = ranks::Traffic::kFlows});
    const double ratio = static_cast<double>(flows.run.makespan.ps) / static_cast<double>(folded.run.makespan.ps);
    EXPECT_NEAR(ratio, 1, 0.02);
  }
}

/// An expert group over two nodes, and nothing else that needs the network in a pass.
job::Job two_nodes(const char* patch) {
  nlohmann::json scenario = nlohmann::json::parse(kMixtral);
  scenario.merge_patch(nlohmann::json::parse(R"({"cluster": {"base": "dgx-h100-ndr", "fabric": {"rail_optimized": false,
      "switch_radix": 16}}, "batch": {"global": 16}, "model": {"base": "deepseek-v3", "num_hidden_layers": 4},
      "parallelism": {"expert": 16}})"));
  scenario.merge_patch(nlohmann::json::parse(patch));
  return io::read_scenario_text(scenario.dump(), "test", {}).job;
}

// Returns the time of exchanges in all passes of a step of one stage.
double exchanged_ps(const Prediction& run) {
  double time = 0;
  for (const auto kind : {schedule::OpKind::kForward, schedule::OpKind::kBackward})
    time += static_cast<double>(run.step.passes->timing(Stage{0}, Chunk{0}, kind).comm[Axis::kExpert].ps);
  return time;
}

// Every rank sends half of its rows to the other node. At half the rate of one NIC this takes twice as long.
TEST(UnfoldedExchanges, ASlowNicHoldsUpEveryExchange) {
  const How flows{.unfolded = true, .traffic = ranks::Traffic::kFlows};
  const Prediction sound = predict(two_nodes("{}"), flows);
  const Prediction slow =
      with_delays(two_nodes(R"({"imperfections": {"slow_nics": [{"node": 1, "nic": 3, "rate_factor": 0.5}]}})"), flows);
  const double passes = exchanged_ps(sound);
  ASSERT_GT(passes, 0);
  const auto added = static_cast<double>(slow.run.makespan.ps - sound.run.makespan.ps);
  EXPECT_GE(added, 0.98 * passes);  // gradient reductions take longer, too
  ASSERT_EQ(slow.metrics.delays->size(), 1U);
  EXPECT_GE(1e12 * slow.metrics.delays->front().on_critical_path->value(), 2 * 0.98 * passes);
}

TEST(UnfoldedExchanges, ASlowGpuHoldsUpItsExpertGroupAndNoOther) {
  const job::Job uneven = job_of({"two groups, one slow GPU", R"({"gpus": 16, "parallelism": {"expert": 8},
      "imperfections": {"slow_gpus": [{"gpu": 9, "slowdown": 1.5}]}})"});
  const step::LoweredStep step = step::lower(uneven, step::Fidelity::kStage);
  const ranks::UnfoldedStep every = ranks::unfold(step, uneven, ranks::Traffic::kAnalytic);
  const auto of_slow = ranks::stretch_seen_by(StageRank{9}, every),
             beside = ranks::stretch_seen_by(StageRank{15}, every), other = ranks::stretch_seen_by(StageRank{7}, every);
  for (const step::PassTasks& pass : step.workload.passes[Stage{0}]) {
    EXPECT_GT(of_slow[pass.first.value].ps, 0);
    EXPECT_EQ(beside[pass.first.value], of_slow[pass.first.value]);
    EXPECT_EQ(other[pass.first.value].ps, 0);
  }
}

TEST(UnfoldedExchanges, AThinFabricSlowsExchangesThatCrossIt) {
  const How flows{.unfolded = true, .traffic = ranks::Traffic::kFlows};
  const char* thin = R"({"gpus": 128, "parallelism": {"expert": 128}, "batch": {"global": 128},
      "cluster": {"fabric": {"oversubscription": 4}}})";
  const char* full = R"({"gpus": 128, "parallelism": {"expert": 128}, "batch": {"global": 128}})";
  const Prediction sound = predict(two_nodes(full), flows), narrow = predict(two_nodes(thin), flows);
  const auto added = static_cast<double>(narrow.run.makespan.ps - sound.run.makespan.ps);
  EXPECT_GT(added, exchanged_ps(sound)) << "they take more than twice as long";
}

INSTANTIATE_TEST_SUITE_P(Layouts, UnfoldExperts, testing::ValuesIn(kLayouts));

}  // namespace
}  // namespace foretoken::study
