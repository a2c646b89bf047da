// Tests what links and placements add to exchanges inside passes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "sim/study/predict/predict.h"
#include "sim/study/tests/small_job.h"

namespace foretoken::study {
namespace {

TEST(Imperfections, TimeThatLinksAddToAPassIsCommunication) {
  const std::string text = a100_with("") + R"(, "gpus": 16, "parallelism": {"tensor": 16},
      "batch": {"micro": 1, "global": 2, "sequence_length": 1024})";
  const std::string slow = R"(, "imperfections": {"slow_nics": [{"node": 0, "nic": 5, "rate_factor": 0.5}]})";
  for (const auto fidelity : {step::Fidelity::kStage, step::Fidelity::kKernel}) {
    const Prediction equal = predict(small_job(text), How{.fidelity = fidelity, .unfolded = true});
    const Prediction uneven = predict(small_job(text + slow), How{.fidelity = fidelity, .unfolded = true});
    const observe::StageSplit &usual = equal.observations.busiest, &longer = uneven.observations.busiest;
    EXPECT_NEAR(static_cast<double>((longer.comm[Axis::kTensor] - usual.comm[Axis::kTensor]).ps),
                static_cast<double>(uneven.run.makespan.ps - equal.run.makespan.ps), 10);
    EXPECT_NEAR(static_cast<double>(longer.host.ps), static_cast<double>(usual.host.ps), 10);
    EXPECT_EQ(longer.compute.ps, usual.compute.ps);
  }
}

constexpr const char* kTorn =
    R"(, "imperfections": {"placement": [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15]})";

TEST(Imperfections, GroupsThatAPlacementMovesCostWhatTheyCostThere) {
  const std::string text = a100_with("") + R"(, "gpus": 16, "parallelism": {"tensor": 2, "data": 8},
      "batch": {"micro": 1, "global": 8, "sequence_length": 1024})";
  const Prediction usual = predict(small_job(text), How{.unfolded = true});
  const Prediction torn_groups = predict(small_job(text + kTorn));
  const auto on_shape = [&](step::Communication row, GroupShape shape) {
    row.site.group = shape;
    return step::cost_of(row, usual.job);
  };
  const auto in_order = [&](const step::Communication& row) { return step::cost_of(row, usual.job); };
  // Every tensor group has a GPU on each node. The GPUs of a node reduce gradients.
  double expected = tensor_sum_ps(usual, [&](const auto& row) { return on_shape(row, {2, 2, 1, 8}) - in_order(row); });
  for (const step::Communication& row : usual.step.workload.communications)
    if (row.purpose == step::Purpose::kGradients)
      expected += 1e12 * (on_shape(row, {8, 1, 8, 1}) - in_order(row)).value();
  EXPECT_NEAR(static_cast<double>(torn_groups.run.makespan.ps - usual.run.makespan.ps), expected,
              1e-6 * std::abs(expected));
}

TEST(Imperfections, AFasterNvlinkNeverLengthensAStep) {
  struct Case {
    const char* name;
    std::string more;
  };
  const std::string failed =
      R"(, "imperfections": {"failed_links": [{"between": ["node 0 gpu 5", "node 0 nvswitch 0"]}]})";
  const auto layout = [](const std::string& degrees) {
    return R"(, "gpus": 16, "parallelism": {)" + degrees +
           R"(}, "batch": {"micro": 1, "global": 16, "sequence_length": 256})";
  };
  const Case cases[] = {
      {"a placement over two nodes tears every tensor group", layout(R"("tensor": 8, "data": 2)") + kTorn},
      {"gradients are reduced where tensor groups were", layout(R"("tensor": 2, "data": 8)") + kTorn},
      {"messages cross nodes by placement", layout(R"("tensor": 4, "pipeline": 2, "data": 2)") + kTorn},
      {"a tensor group goes over PCIe", layout(R"("tensor": 8, "data": 2)") + failed},
      {"messages go over PCIe", layout(R"("tensor": 1, "pipeline": 8, "data": 2)") + failed}};
  for (const auto& [name, more] : cases)
    for (const auto fidelity : {step::Fidelity::kStage, step::Fidelity::kKernel}) {
      SCOPED_TRACE(name);
      std::int64_t before = std::numeric_limits<std::int64_t>::max();
      for (const int rate : {150, 300, 1200, 4800}) {
        const std::string links = R"(, "node": {"nvlink": {"gb_per_s_per_gpu": )" + std::to_string(rate) + "}}";
        const Prediction prediction =
            predict(small_job(a100_with(links) + more), How{.fidelity = fidelity, .unfolded = true});
        EXPECT_LE(prediction.run.makespan.ps, before) << rate << " GB/s";
        before = prediction.run.makespan.ps;
      }
    }
}

TEST(Imperfections, PlacementMovesRanksBetweenNodes) {
  const auto text = [](const char* placement) {
    return a100_with("") + R"(, "gpus": 16, "parallelism": {"tensor": 8, "pipeline": 2},
      "batch": {"micro": 1, "global": 1, "sequence_length": 1024})" +
           placement;
  };
  const Prediction usual = predict(small_job(text("")), How{.unfolded = true});
  const Prediction swapped = predict(
      small_job(text(R"(, "imperfections": {"placement": [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7]})")));
  EXPECT_EQ(usual.run.makespan.ps, swapped.run.makespan.ps) << "the nodes are alike";
}

TEST(Imperfections, TimeThatLinksAddIsWorkOfItsStage) {
  const std::string failed = R"(, "gpus": 16, "parallelism": {"tensor": 8, "pipeline": 2},
      "batch": {"micro": 1, "global": 8, "sequence_length": 1024},
      "imperfections": {"failed_links": [{"between": ["node 1 gpu 5", "node 1 nvswitch 0"]}]})";
  const Prediction prediction = predict(small_job(a100_with("") + failed), How{.unfolded = true});
  const observe::Observations& seen = prediction.observations;
  EXPECT_EQ(seen.busiest_stage, Stage{1}) << "the stage with the failed link";
  EXPECT_GT(seen.stages[Stage{1}].busy.ps, seen.stages[Stage{0}].busy.ps);
  // The pipeline waits for the slow stage alone: it fills and empties once, and works through eight micro-batches.
  const double bubble = prediction.metrics.bubble_fraction;
  EXPECT_GT(bubble, 0);
  EXPECT_LT(bubble, 1.0 / 8);
}

}  // namespace
}  // namespace foretoken::study
