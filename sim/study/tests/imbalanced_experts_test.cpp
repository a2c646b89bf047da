// Tests an expert group with an imbalance of its own, with jobs for hand calculation.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "sim/cost/costs.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/ranks/unfold.h"
#include "sim/step/duration.h"
#include "sim/study/tests/with_delays.h"

namespace foretoken::study {
namespace {

constexpr How kAnalytic{.unfolded = true, .traffic = ranks::Traffic::kAnalytic};

// Mixtral with a layer a stage. One grouped kernel has the products of all experts of a rank.
job::Job mixtral(const std::string& more) {
  return io::read_scenario_text(R"({"model": {"base": "mixtral-8x7b", "num_hidden_layers": 2},
             "cluster": "dgx-h100-ndr", "runtime": "megatron-core-2026", "precision": "bf16", )" +
                                    more + "}",
                                "test", {})
      .job;
}

std::string with(const std::string& imperfections) {
  return R"(, "imperfections": {"imbalanced_experts": [)" + imperfections + "]}";
}

/// The kernels and exchanges of one layer whose sizes depend on the imbalance x of its experts, by hand. N tokens of a
/// rank meet k of E experts each. A rank gets N k x rows, and each of its E/e experts e/E of them.
class HandExperts {
 public:
  HandExperts(const job::Job& job, double tokens, double imbalance)
      : job_(job),
        model_(*job.model.experts),
        tokens_(tokens),
        rows_(tokens * static_cast<double>(model_.per_token) * imbalance),
        of_rank_(model_.count / job.parallelism.expert) {}

  [[nodiscard]] std::int64_t forward() const {
    return exchange() + kernel(4 * rows_ * hidden()) + product(2 * model_.width, job_.model.hidden) +
           kernel(6 * rows_ * width()) + product(job_.model.hidden, model_.width) + kernel(4 * rows_ * hidden()) +
           exchange() + kernel(2 * (tokens_ + rows_) * hidden());
  }
  [[nodiscard]] std::int64_t backward() const {
    return kernel(2 * (tokens_ + rows_) * hidden()) + exchange() + kernel(4 * rows_ * hidden()) +
           gradients(job_.model.hidden, model_.width) + kernel(10 * rows_ * width()) +
           gradients(2 * model_.width, job_.model.hidden) + kernel(4 * rows_ * hidden()) + exchange();
  }

 private:
  [[nodiscard]] double hidden() const { return static_cast<double>(job_.model.hidden); }
  [[nodiscard]] double width() const { return static_cast<double>(model_.width); }
  [[nodiscard]] std::int64_t of_expert() const {
    return static_cast<std::int64_t>(std::ceil(rows_ / static_cast<double>(of_rank_)));
  }
  [[nodiscard]] std::int64_t exchange() const {
    const int e = job_.parallelism.expert;
    const CollectiveShape shape{CollectiveKind::kAllToAll,
                                Bytes(2 * rows_ * hidden()),
                                {.ranks = e, .nodes = 1, .ranks_per_node = e, .groups_per_node = 1}};
    return step::duration_of(cost::collective_time(shape, job_.cluster.links, job_.profile)).ps;
  }
  [[nodiscard]] std::int64_t kernel(double bytes) const {
    return step::duration_of(cost::memory_bound_time({Bytes(bytes)}, job_.profile)).ps;
  }
  [[nodiscard]] std::int64_t gemm(GemmShape shape) const {
    shape.batch = of_rank_;
    shape.kind = BatchKind::kGrouped;
    return step::duration_of(cost::gemm_time(shape, job_.profile)).ps;
  }
  [[nodiscard]] std::int64_t product(std::int64_t n, std::int64_t k) const {
    return gemm({.m = of_expert(), .n = n, .k = k});
  }
  // Main gradients are fp32. The product of a weight gradient adds to them.
  [[nodiscard]] std::int64_t gradients(std::int64_t n, std::int64_t k) const {
    return gemm({.m = of_expert(), .n = k, .k = n, .pass = GemmPass::kInputGradient}) +
           gemm({.m = n, .n = k, .k = of_expert(), .pass = GemmPass::kWeightGradient, .adds_to_bytes = 4});
  }

  const job::Job& job_;
  const model::Experts& model_;
  double tokens_, rows_;
  std::int64_t of_rank_;
};

/// Two stages of four ranks, and one micro-batch. Ranks 0 and 1 of a stage are expert group 0, ranks 2 and 3 group 1.
const std::string kTwoGroups = R"("gpus": 8, "parallelism": {"pipeline": 2, "expert": 2},
    "batch": {"micro": 1, "global": 4, "sequence_length": 4096})";

// The passes of stage 0 begin and end the pipeline, so all of the group's time is added to the step.
TEST(ImbalancedExperts, OneGroupLengthensTheStepByItsOwnPasses) {
  const job::Job even = mixtral(kTwoGroups);
  const job::Job uneven = mixtral(kTwoGroups + with(R"({"stage": 0, "group": 1, "imbalance": 1.3})"));
  const HandExperts mean(even, 4096, 1), hot(even, 4096, 1.3);
  const std::int64_t added = hot.forward() - mean.forward() + hot.backward() - mean.backward();
  ASSERT_GT(added, 0);
  const Prediction all = predict(even, kAnalytic), one = predict(uneven, kAnalytic);
  EXPECT_EQ(one.run.makespan.ps - all.run.makespan.ps, added);
  EXPECT_EQ(predict(uneven, How{.fidelity = step::Fidelity::kKernel, .traffic = kAnalytic.traffic}).run.makespan.ps,
            one.run.makespan.ps);
}

TEST(ImbalancedExperts, OtherGroupsWaitOnlyWhereTheyReduceGradientsTogether) {
  const job::Job uneven = mixtral(kTwoGroups + with(R"({"stage": 0, "group": 1, "imbalance": 1.3})"));
  const step::LoweredStep step = step::lower(uneven, step::Fidelity::kStage);
  const des::RunResult folded = des::run(step.workload.graph);
  const ranks::UnfoldedStep every = ranks::unfold(step, uneven, ranks::Traffic::kAnalytic);
  const des::RunResult run = des::run(every.graph);
  const des::RunResult other = ranks::seen_by(StageRank{1}, every, run), hot = ranks::seen_by(StageRank{2}, every, run);
  bool reduced = false;
  for (std::uint32_t task = 0; task < step.workload.meaning.size(); ++task) {
    const step::Communication* row = step.workload.communication_of(step.workload.meaning[task]);
    reduced = reduced || (row != nullptr && row->purpose == step::Purpose::kGradients);
    EXPECT_EQ(other.end[task].ps, reduced ? hot.end[task].ps : folded.end[task].ps) << "task " << task;
  }
  EXPECT_TRUE(reduced);
}

// Four tensor ranks hold two expert groups. They meet in every layer, in each of two micro-batches.
TEST(ImbalancedExperts, RanksOfOneReplicaWaitForOneAnotherInEveryLayer) {
  const std::string text =
      R"("gpus": 4, "parallelism": {"tensor": 4, "expert": 2, "expert_tensor": 1, "sequence_parallel": true},
      "batch": {"micro": 1, "global": 2, "sequence_length": 4096})";
  const job::Job even = mixtral(text), uneven = mixtral(text + with(R"({"stage": 0, "group": 0, "imbalance": 1.3})"));
  const HandExperts mean(even, 1024, 1), hot(even, 1024, 1.3);
  const std::int64_t a_layer = hot.forward() - mean.forward() + hot.backward() - mean.backward();
  const Prediction all = predict(even, kAnalytic), one = predict(uneven, kAnalytic);
  EXPECT_EQ(one.run.makespan.ps - all.run.makespan.ps, 2 * 2 * a_layer);
}

// The pass lasts as long as on the group with more rows, or as on the slow GPU of the other, whichever is longer.
TEST(ImbalancedExperts, ASlowGpuOfAnotherGroupComputesItsOwnRows) {
  const std::string text =
      R"("gpus": 4, "parallelism": {"tensor": 4, "expert": 2, "expert_tensor": 1, "sequence_parallel": true},
      "batch": {"micro": 1, "global": 2, "sequence_length": 4096})";
  const auto stretch = [&](const std::string& imperfections) {
    const job::Job uneven = mixtral(text + R"(, "imperfections": {)" + imperfections + "}");
    const step::LoweredStep step = step::lower(uneven, step::Fidelity::kStage);
    const ranks::UnfoldedStep every = ranks::unfold(step, uneven, ranks::Traffic::kAnalytic);
    return ranks::stretch_seen_by(StageRank{0}, every)[step.workload.passes[Stage{0}].front().first.value].ps;
  };
  const std::string hot = R"("imbalanced_experts": [{"stage": 0, "group": 0, "imbalance": 1.3}])";
  const std::string little = R"("slow_gpus": [{"gpu": 3, "slowdown": 1.001}])";
  const std::string much = R"("slow_gpus": [{"gpu": 3, "slowdown": 3}])";
  EXPECT_LT(stretch(little), stretch(hot));
  EXPECT_EQ(stretch(hot + ", " + little), stretch(hot));
  EXPECT_EQ(stretch(hot + ", " + much), stretch(much));
}

TEST(ImbalancedExperts, EveryGroupTogetherIsTheImbalanceOfTheJob) {
  const std::string groups = R"({"stage": 0, "group": 0, "imbalance": 1.3}, {"stage": 0, "group": 1, "imbalance": 1.3},
      {"stage": 1, "group": 0, "imbalance": 1.3}, {"stage": 1, "group": 1, "imbalance": 1.3})";
  const std::string more = R"(, "moe": {"overlap": true}, "overlap": {"grad_reduce": true, "param_gather": true},
      "optimizer": {"zero_stage": 1})";
  const std::string whole = R"(, "moe": {"overlap": true, "imbalance": 1.3},
      "overlap": {"grad_reduce": true, "param_gather": true}, "optimizer": {"zero_stage": 1})";
  for (const auto fidelity : {step::Fidelity::kStage, step::Fidelity::kKernel}) {
    const How how{.fidelity = fidelity, .unfolded = true, .traffic = ranks::Traffic::kAnalytic};
    const Prediction stated = predict(mixtral(kTwoGroups + more + with(groups)), how);
    const Prediction folded = predict(mixtral(kTwoGroups + whole), How{.fidelity = fidelity});
    EXPECT_TRUE(stated.run.end == folded.run.end);
    EXPECT_EQ(stated.run.makespan.ps, folded.run.makespan.ps);
  }
}

TEST(ImbalancedExperts, TheGroupThatTheStepWaitsForIsNamed) {
  const job::Job uneven = mixtral(kTwoGroups + with(R"({"stage": 0, "group": 1, "imbalance": 1.3})"));
  const Prediction run = with_delays(uneven, kAnalytic);
  ASSERT_EQ(run.metrics.delays->size(), 1U);
  const report::Delay& delay = run.metrics.delays->front();
  EXPECT_EQ(delay.what, "expert group 1 of stage 0 has an imbalance of 1.3");
  EXPECT_EQ(delay.without.value(), predict(mixtral(kTwoGroups), kAnalytic).metrics.step_time.value());
  EXPECT_GT(*delay.on_critical_path, Seconds(0));
  EXPECT_EQ(run.metrics.shown_gpus.front().number(), 2) << "the first rank of the group";
}

TEST(ImbalancedExperts, AGroupMayBeMoreEvenThanTheJob) {
  const std::string hot = R"(, "moe": {"imbalance": 1.3})";
  const std::string groups = R"({"stage": 0, "group": 0, "imbalance": 1}, {"stage": 0, "group": 1, "imbalance": 1},
      {"stage": 1, "group": 0, "imbalance": 1.3})";
  const job::Job stated = mixtral(kTwoGroups + hot + with(groups));
  EXPECT_EQ(stated.imperfections.imbalanced_experts.size(), 2U) << "the third is like all others";
  const std::int64_t all = predict(mixtral(kTwoGroups + hot), kAnalytic).run.makespan.ps;
  const HandExperts mean(stated, 4096, 1), high(stated, 4096, 1.3);
  EXPECT_EQ(all - predict(stated, kAnalytic).run.makespan.ps,
            high.forward() - mean.forward() + high.backward() - mean.backward());
}

}  // namespace
}  // namespace foretoken::study
