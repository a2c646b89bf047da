// Tests folding: a simulation of every GPU gives exactly the step of one GPU a stage.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/io/scenario/read_scenario.h"
#include "sim/ranks/transfers.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

struct Layout {
  int gpus, tensor, pipeline, virtual_pipeline, context;
  int micro, global;
  const char* also;
};

std::string text_of(const Layout& job) {
  std::string text =
      R"({"model": {"base": "gpt2-medium"}, "cluster": "dgx-a100-80gb-hdr", "runtime": "megatron-core",)";
  text += "\"gpus\": " + std::to_string(job.gpus) + ", \"parallelism\": {\"tensor\": " + std::to_string(job.tensor) +
          ", \"pipeline\": " + std::to_string(job.pipeline) +
          ", \"virtual_pipeline\": " + std::to_string(job.virtual_pipeline) +
          ", \"context\": " + std::to_string(job.context) + "}, \"batch\": {\"micro\": " + std::to_string(job.micro) +
          ", \"global\": " + std::to_string(job.global) + ", \"sequence_length\": 1024}" + job.also + "}";
  return text;
}

constexpr const char* kPlain = "";
constexpr const char* kGpipe = R"(, "schedule": "gpipe")";
constexpr const char* kSharded =
    R"(, "optimizer": {"zero_stage": 1}, "overlap": {"grad_reduce": true, "param_gather": true})";
constexpr const char* kWaits = R"(, "overlap": {"p2p": false}, "recompute": "full")";

const std::vector<Layout> kJobs = {
    {1, 1, 1, 1, 1, 1, 4, kPlain},     {2, 1, 1, 1, 1, 1, 8, kPlain},     {2, 2, 1, 1, 1, 1, 4, kPlain},
    {2, 1, 2, 1, 1, 1, 6, kPlain},     {2, 1, 1, 1, 2, 1, 4, kPlain},     {4, 2, 2, 1, 1, 1, 8, kPlain},
    {4, 2, 1, 1, 1, 2, 8, kSharded},   {4, 1, 4, 1, 1, 1, 8, kGpipe},     {4, 1, 4, 2, 1, 1, 8, kPlain},
    {4, 1, 2, 3, 1, 1, 8, kWaits},     {8, 8, 1, 1, 1, 4, 8, kPlain},     {8, 4, 2, 1, 1, 1, 8, kSharded},
    {8, 2, 2, 1, 2, 1, 8, kPlain},     {8, 2, 2, 2, 1, 1, 16, kSharded},  {8, 1, 8, 3, 1, 1, 16, kPlain},
    {8, 1, 2, 1, 2, 1, 16, kWaits},    {16, 8, 2, 1, 1, 1, 8, kPlain},    {16, 4, 4, 1, 1, 1, 16, kGpipe},
    {16, 2, 4, 3, 1, 1, 16, kPlain},   {16, 2, 2, 1, 1, 1, 32, kSharded}, {16, 16, 1, 1, 1, 1, 4, kPlain},
    {16, 1, 4, 2, 2, 1, 16, kSharded}, {16, 4, 2, 4, 2, 1, 8, kPlain},    {32, 8, 4, 1, 1, 1, 16, kPlain},
    {32, 4, 4, 3, 1, 1, 16, kSharded}, {32, 2, 4, 1, 1, 2, 64, kWaits},   {32, 8, 1, 1, 1, 1, 32, kSharded},
    {64, 8, 8, 1, 1, 1, 32, kPlain},   {64, 8, 4, 2, 1, 1, 32, kSharded}, {64, 4, 4, 1, 2, 1, 32, kPlain},
    {64, 2, 8, 3, 1, 1, 64, kPlain},   {64, 4, 8, 1, 1, 1, 64, kGpipe},   {64, 1, 8, 3, 1, 1, 64, kSharded},
};

TEST(Unfold, EveryGpuGivesTheFoldedStepTickForTick) {
  for (const Layout& job : kJobs) {
    SCOPED_TRACE(text_of(job));
    const job::Job scenario = io::read_scenario_text(text_of(job), "test", {}).job;
    const Prediction folded = predict(scenario);
    const Prediction unfolded = predict(scenario, How{.unfolded = true, .traffic = ranks::Traffic::kAnalytic});
    EXPECT_EQ(folded.run.makespan.ps, unfolded.run.makespan.ps);
    EXPECT_TRUE(folded.run.end == unfolded.run.end) << "and so does every task";
  }
}

TEST(Unfold, FlowsOnAnUncontendedFabricTakeTheSameTimeWithinOnePercent) {
  for (const Layout& job : kJobs) {
    SCOPED_TRACE(text_of(job));
    const job::Job scenario = io::read_scenario_text(text_of(job), "test", {}).job;
    const Prediction folded = predict(scenario);
    const Prediction flows = predict(scenario, How{.unfolded = true, .traffic = ranks::Traffic::kFlows});
    const double ratio = static_cast<double>(flows.run.makespan.ps) / static_cast<double>(folded.run.makespan.ps);
    EXPECT_GE(ratio, 0.99);
    // Gradients reduced beside pipeline messages share their NICs, so that fabric has contention.
    EXPECT_LE(ratio, scenario.overlap.grad_reduce && scenario.parallelism.pipeline > 1 ? 1.03 : 1.01);
  }
}

TEST(Unfold, TasksThatMoveBytesAreKnownBeforeTheirRoutes) {
  for (const Layout& layout : kJobs) {
    SCOPED_TRACE(text_of(layout));
    const job::Job job = io::read_scenario_text(text_of(layout), "test", {}).job;
    const step::LoweredStep step = step::lower(job, step::Fidelity::kStage);
    des::TaskGraph links;
    ranks::Transfers transfers(job, step.workload, links);
    const ranks::StageRanks ranks(job.grid());
    for (std::uint32_t task = 0; task < step.workload.graph.tasks(); ++task) {
      const step::Meaning& meaning = step.workload.meaning[task];
      const auto members = ranks.teams(ranks::together(meaning, step)).members({0});
      const des::Duration duration = step.workload.graph.duration({task});
      const auto found = transfers.transfers_of(meaning, duration, duration, *step.passes, members);
      EXPECT_EQ(ranks::Transfers::moves(meaning, step.workload, *step.passes, members.size()), !found.empty());
      for (const ranks::Transfer& transfer : found) EXPECT_FALSE(transfer.legs->empty());
    }
  }
}

// Data-parallel groups beside tensor or context ranks cross the sockets of a PCIe node at once.
TEST(Unfold, GroupsShareTheSocketsOfANodeFoldedToo) {
  for (const char* degrees : {R"("tensor": 1)", R"("tensor": 2)", R"("tensor": 4)", R"("context": 2)"}) {
    const std::string text = R"({"model": "gpt2-medium", "cluster": "fire-flyer-2", "gpus": 8, "parallelism": {)" +
                             std::string(degrees) + R"(}, "batch": {"global": 16, "sequence_length": 1024}})";
    const job::Job scenario = io::read_scenario_text(text, "test", {}).job;
    const auto folded = static_cast<double>(predict(scenario).run.makespan.ps);
    const auto flows = static_cast<double>(predict(scenario, How{.unfolded = true}).run.makespan.ps);
    EXPECT_NEAR(flows / folded, 1, 0.01) << degrees;
  }
}

// Eight nodes of Perlmutter hang on two routers of a dragonfly.
TEST(Unfold, ADragonflyWithAdaptiveRoutesHasRoomForEveryNicOfAGroup) {
  const auto ratio = [](const std::string& routing) {
    const std::string text = R"({"model": {"base": "gpt2-medium"}, "cluster": {"base": "perlmutter", "fabric":
      {"routing": ")" + routing +
                             R"("}}, "gpus": 32, "parallelism": {"tensor": 4},
      "batch": {"global": 16, "sequence_length": 1024}})";
    const job::Job scenario = io::read_scenario_text(text, "test", {}).job;
    const auto folded = predict(scenario).run.makespan.ps;
    return static_cast<double>(predict(scenario, How{.unfolded = true}).run.makespan.ps) / static_cast<double>(folded);
  };
  EXPECT_NEAR(ratio("adaptive"), 1, 0.01);
  EXPECT_GT(ratio("ecmp"), 1.5) << "minimal routes: one cable for sixteen NICs";
}

TEST(Unfold, HoldsKernelByKernel) {
  for (const Layout& job : {kJobs[5], kJobs[12], kJobs[13], kJobs[20]}) {
    SCOPED_TRACE(text_of(job));
    const job::Job scenario = io::read_scenario_text(text_of(job), "test", {}).job;
    const auto kernel = step::Fidelity::kKernel;
    const Prediction folded = predict(scenario, How{.fidelity = kernel});
    const Prediction unfolded =
        predict(scenario, How{.fidelity = kernel, .unfolded = true, .traffic = ranks::Traffic::kAnalytic});
    EXPECT_TRUE(folded.run.end == unfolded.run.end);
    const Prediction flows = predict(scenario, How{.fidelity = kernel, .unfolded = true});
    const double ratio = static_cast<double>(flows.run.makespan.ps) / static_cast<double>(folded.run.makespan.ps);
    EXPECT_GE(ratio, 0.99);
    EXPECT_LE(ratio, scenario.overlap.grad_reduce && scenario.parallelism.pipeline > 1 ? 1.03 : 1.01);
  }
}

}  // namespace
}  // namespace foretoken::study
