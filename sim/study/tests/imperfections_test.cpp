// Tests slow GPUs, slow NICs, thin fabrics and tensor parallelism across nodes, with jobs for hand calculation.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/base/error.h"
#include "sim/cost/costs.h"
#include "sim/study/predict/delays.h"
#include "sim/study/predict/predict.h"
#include "sim/study/tests/small_job.h"
#include "sim/study/tests/with_delays.h"

namespace foretoken::study {
namespace {

using schedule::OpKind;

std::int64_t stretched(des::Duration duration, double compute, double slowdown) {
  return std::llround(static_cast<double>(duration.ps) * (1 + (slowdown - 1) * compute)) - duration.ps;
}

double compute_share(const step::PassTiming& timing) {
  return static_cast<double>(timing.compute.ps) / static_cast<double>(timing.total.ps);
}

// Returns the time of the bytes of a message, without latencies.
double transfer_ps(const job::Job& scenario) {
  const step::Communication message =
      step::message_between(scenario, job::Parts(scenario), Stage{0}, Stage{1}, step::Purpose::kActivations);
  return 1e12 * (step::cost_of(message, scenario) - step::latency_of(message, scenario)).value();
}

TEST(Imperfections, ASlowGpuHoldsUpItsReplicaAndAllWhoReduceWithIt) {
  const std::string text = a100_with("") + R"(, "gpus": 4, "parallelism": {"pipeline": 2},
      "batch": {"micro": 1, "global": 2, "sequence_length": 1024})";
  const Prediction equal = predict(small_job(text));
  const Prediction uneven =  // GPU 1 is stage 0 of the second replica
      predict(small_job(text + R"(, "imperfections": {"slow_gpus": [{"gpu": 1, "slowdown": 1.1}]})"));
  const auto& forward = equal.step.passes->timing(Stage{0}, Chunk{0}, OpKind::kForward);
  const auto& backward = equal.step.passes->timing(Stage{0}, Chunk{0}, OpKind::kBackward);
  std::int64_t optimizer = 0;
  const auto& workload = equal.step.workload;
  for (std::uint32_t task = 0; task < workload.meaning.size(); ++task)
    if (workload.meaning[task].kind == step::TaskMeaning::kOptimizer && workload.meaning[task].stage == Stage{0})
      optimizer = stretched(workload.graph.duration({task}), 1, 1.1);
  // A replica has one micro-batch. Forward and backward pass of stage 0 lie on the critical path, and its optimizer
  // ends last if stage 1 has no more to do.
  const std::int64_t passes =
      stretched(forward.total, compute_share(forward), 1.1) + stretched(backward.total, compute_share(backward), 1.1);
  ASSERT_GT(passes, 0);
  EXPECT_EQ(uneven.run.makespan.ps - equal.run.makespan.ps, passes + optimizer);
}

TEST(Imperfections, EveryPartThatTheStepWaitsForIsNamed) {
  const std::string text =
      a100_with("") + R"(, "gpus": 4, "batch": {"micro": 1, "global": 16, "sequence_length": 1024})";
  const Prediction equal = predict(small_job(text));
  const Prediction uneven =
      with_delays(small_job(text + R"(, "imperfections": {"slow_gpus": [{"gpu": 1, "slowdown": 1.5},
      {"gpu": 2, "slowdown": 1.01}]})"));
  ASSERT_EQ(uneven.metrics.delays->size(), 3U) << "two GPUs, and both";
  const report::Delay &slowest = (*uneven.metrics.delays)[0], &other = (*uneven.metrics.delays)[1],
                      &both = (*uneven.metrics.delays)[2];
  EXPECT_EQ(slowest.what, "GPU 1 (node 0) is 50 % slower");
  EXPECT_EQ(both.without.value(), equal.metrics.step_time.value());
  // The step waits for GPU 2 once GPU 1 is repaired.
  EXPECT_NEAR((slowest.without - both.without).value(), (uneven.metrics.step_time - both.without).value() / 50, 1e-10);
  EXPECT_EQ(other.without.value(), uneven.metrics.step_time.value());
  EXPECT_EQ(other.on_critical_path->value(), 0);
  // The passes of its four micro-batches and its optimizer.
  std::int64_t path = 0;
  for (const auto kind : {schedule::OpKind::kForward, schedule::OpKind::kBackward}) {
    const step::PassTiming& timing = equal.step.passes->timing(Stage{0}, Chunk{0}, kind);
    path += 4 * (timing.total.ps + stretched(timing.total, compute_share(timing), 1.5));
  }
  const auto& workload = equal.step.workload;
  for (std::uint32_t task = 0; task < workload.meaning.size(); ++task)
    if (workload.meaning[task].kind == step::TaskMeaning::kOptimizer)
      path += workload.graph.duration({task}).ps + stretched(workload.graph.duration({task}), 1, 1.5);
  EXPECT_EQ(slowest.on_critical_path->value(), des::to_seconds(des::Duration{path}).value());
}

TEST(Imperfections, TogetherTheyAreOneDelayThatIsTheLastOfEach) {
  const std::string text = a100_with("") + R"(, "gpus": 16, "batch": {"micro": 1, "global": 16, "sequence_length": 64},
      "imperfections": )";
  for (const char* slow : {R"({"slow_gpus": [{"gpu": 1, "slowdown": 1.5}]})",
                           R"({"slow_gpus": [{"gpu": 1, "slowdown": 1.5}],
                               "slow_nics": [{"node": 1, "nic": 3, "rate_factor": 0.5}]})",
                           R"({"failed_nics": [{"node": 1, "nic": 3}, {"node": 0, "nic": 2}]})",
                           R"({"slow_gpus": [{"gpu": 1, "slowdown": 1.5}]}, "stragglers": {"seed": 1})",
                           R"({}, "stragglers": {"seed": 1})"}) {
    SCOPED_TRACE(slow);
    const job::Job job = small_job(text + slow);
    const Prediction together = predict(job, {.delays = Delays::kTogether}), each = with_delays(job);
    ASSERT_EQ(together.metrics.delays->size(), 1U);
    const report::Delay &only = together.metrics.delays->front(), &last = each.metrics.delays->back();
    EXPECT_EQ(only.what, last.what);
    EXPECT_EQ(only.without.value(), last.without.value());
    EXPECT_EQ(only.on_critical_path, last.on_critical_path);
    const Prediction sound = predict(repaired(job), together.how);
    EXPECT_EQ(only.without.value(), sound.metrics.step_time.value()) << "on a thread of its own or not";
  }
}

TEST(Imperfections, HowSlowIsSaidAsPeopleSayIt) {
  struct Said {
    const char* slowdown;
    const char* words;
  };
  for (const auto& [slowdown, words] :
       {Said{"1.1", "10 % slower"}, Said{"1.0049", "0.49 % slower"}, Said{"1.9999", "100 % slower"},
        Said{"2", "2 times slower"}, Said{"100", "100 times slower"}, Said{"1000", "1,000 times slower"},
        Said{"0.8", "25 % faster"}, Said{"0.5", "2 times faster"}, Said{"0.01", "100 times faster"}}) {
    const Prediction run =
        with_delays(small_job(a100_with("") + R"(, "gpus": 2, "batch": {"micro": 1, "global": 2, "sequence_length": 64},
        "imperfections": {"slow_gpus": [{"gpu": 1, "slowdown": )" +
                              slowdown + "}]}"));
    ASSERT_EQ(run.metrics.delays->size(), 1U);
    EXPECT_EQ((*run.metrics.delays)[0].what, std::string("GPU 1 (node 0) is ") + words);
  }
}

TEST(Imperfections, WhatIsStatedToBeSoundCountsAsNothing) {
  const job::Job sound = small_job(a100_with("") + R"(, "gpus": 16,
      "batch": {"micro": 1, "global": 16, "sequence_length": 64},
      "imperfections": {"slow_gpus": [{"gpu": 1, "slowdown": 1}], "slow_nics": [{"node": 0, "nic": 0, "rate_factor": 1}],
                        "slow_links": [{"between": ["node 1 gpu 3", "node 1 nvswitch 0"], "rate_factor": 1}]})");
  EXPECT_FALSE(sound.imperfections.any());
  const Prediction run = with_delays(sound, How{.unfolded = true, .traffic = ranks::Traffic::kAnalytic});
  EXPECT_TRUE(run.metrics.delays->empty());
}

TEST(Imperfections, WhatASlowGpuTakesLongerIsComputing) {
  const std::string text = a100_with("") + R"(, "gpus": 2,
      "batch": {"micro": 1, "global": 8, "sequence_length": 1024})";
  const Prediction equal = predict(small_job(text));
  const Prediction uneven =
      predict(small_job(text + R"(, "imperfections": {"slow_gpus": [{"gpu": 1, "slowdown": 1.5}]})"));
  const observe::StageSplit &before = equal.observations.busiest, &after = uneven.observations.busiest;
  EXPECT_NEAR(static_cast<double>(after.compute.ps), 1.5 * static_cast<double>(before.compute.ps), 16);
  EXPECT_EQ(after.host, before.host);
  EXPECT_EQ(after.bubble.ps, 0) << "the slow one waits for nobody";
}

TEST(Imperfections, ANicAtHalfRateDoublesTheTransfersThroughIt) {
  const std::string text = a100_with("") + R"(, "gpus": 16, "parallelism": {"tensor": 8, "pipeline": 2},
      "batch": {"micro": 1, "global": 1, "sequence_length": 1024})";
  const job::Job scenario = small_job(text);
  const Prediction equal = predict(scenario, How{.unfolded = true});
  const Prediction uneven =
      predict(small_job(text + R"(, "imperfections": {"slow_nics": [{"node": 1, "nic": 3, "rate_factor": 0.5}]})"));
  const Prediction named = with_delays(uneven.job);
  ASSERT_EQ(named.metrics.delays->size(), 1U);
  EXPECT_EQ((*named.metrics.delays)[0].what, "NIC 3 of node 1 has 50 % of its rate");
  EXPECT_EQ((*named.metrics.delays)[0].without.value(), equal.metrics.step_time.value());
  EXPECT_GE((*named.metrics.delays)[0].on_critical_path->value(), (1 - 1e-9) * 4e-12 * transfer_ps(scenario))
      << "two, twice as long";
  // One message goes there and one comes back, over the receiver's and the sender's half-speed NIC.
  EXPECT_NEAR(static_cast<double>(uneven.run.makespan.ps - equal.run.makespan.ps), 2 * transfer_ps(scenario), 4);
}

// Makes two nodes and one micro-batch: one message goes there and one comes back.
std::string two_nodes(const std::string& fabric = "") {
  return a100_with(fabric) + R"(, "gpus": 16, "parallelism": {"tensor": 8, "pipeline": 2},
      "batch": {"micro": 1, "global": 1, "sequence_length": 1024})";
}

std::string imperfect(const std::string& text, const std::string& imperfections) {
  return text + R"(, "imperfections": {)" + imperfections + "}";
}

double longer_ps(const Prediction& uneven, const Prediction& equal) {
  return static_cast<double>(uneven.run.makespan.ps - equal.run.makespan.ps);
}

TEST(Imperfections, AFailedNicGivesItsTrafficToTheNextOne) {
  const job::Job scenario = small_job(two_nodes());
  const Prediction equal = predict(scenario, How{.unfolded = true});
  const Prediction uneven = with_delays(small_job(imperfect(two_nodes(), R"("failed_nics": [{"node": 1, "nic": 3}])")));
  // GPU 11 shares NIC 4 with GPU 12, so both take twice as long, there and back.
  EXPECT_NEAR(longer_ps(uneven, equal), 2 * transfer_ps(scenario), 4);
  ASSERT_EQ(uneven.metrics.delays->size(), 1U);
  EXPECT_EQ((*uneven.metrics.delays)[0].what, "NIC 3 of node 1 has failed");
  EXPECT_EQ((*uneven.metrics.delays)[0].without.value(), equal.metrics.step_time.value());
  EXPECT_FALSE((*uneven.metrics.delays)[0].on_critical_path) << "nothing passes through it";
}

// With four NICs a GPU (aws-p5) a collective takes the same time, whichever node lost a NIC.
TEST(Imperfections, AFailedNicCostsTheSameOnEveryNode) {
  const auto step_ps = [](int node, int nic) {
    const std::string failed = node < 0 ? ""
                                        : R"(, "imperfections": {"failed_nics": [{"node": )" + std::to_string(node) +
                                              R"(, "nic": )" + std::to_string(nic) + "}]}";
    const Prediction run =
        predict(small_job(R"("cluster": "aws-p5", "profile": "h100-sxm5-80gb", "gpus": 16, "parallelism": {"data": 16},
        "batch": {"micro": 1, "global": 16, "sequence_length": 64})" +
                          failed),
                How{.unfolded = true});
    return static_cast<double>(run.run.makespan.ps);
  };
  const double sound = step_ps(-1, 0), longer = step_ps(0, 0) - sound;
  EXPECT_GT(longer, 0);
  EXPECT_NEAR(step_ps(1, 0) - sound, longer, 1e-3 * longer);
  EXPECT_NEAR(step_ps(0, 9) - sound, longer, 1e-3 * longer);
}

TEST(Imperfections, AFailedNicIsNotLostAmongManySlowOnes) {
  std::string slow;
  for (int nic = 0; nic < 8; ++nic)
    slow += std::string(slow.empty() ? "" : ", ") + R"({"node": 0, "nic": )" + std::to_string(nic) +
            R"(, "rate_factor": 0.99})";
  const Prediction uneven = with_delays(
      small_job(imperfect(two_nodes(), R"("slow_nics": [)" + slow + R"(], "failed_nics": [{"node": 1, "nic": 3}])")));
  const std::vector<report::Delay>& delays = *uneven.metrics.delays;
  ASSERT_EQ(delays.size(), 10U) << "eight, the rest, and everything";
  EXPECT_EQ(delays[0].what, "NIC 3 of node 1 has failed");
  for (std::size_t i = 1; i < 8; ++i) EXPECT_LE(delays[0].without, delays[i].without);
  EXPECT_LT(delays[0].without, delays[1].without);
  EXPECT_EQ(delays[8].what, "1 more that is slow or failed");
  EXPECT_EQ(delays[9].what, "everything that is slow");
}

TEST(Imperfections, TheLargerARunTheFewerPartsAreRepairedOneByOne) {
  std::string nics;
  for (int nic = 0; nic < 8; ++nic)
    nics += fmt::format(R"({}{{"node": 1, "nic": {}, "rate_factor": 0.5}})", nic == 0 ? "" : ", ", nic);
  const Prediction run = predict(small_job(
      imperfect(two_nodes(), fmt::format(R"("slow_nics": [{}], "failed_nics": [{{"node": 0, "nic": 0}}])", nics))));
  const auto delays = [&](std::size_t size) { return delays_of(run, {.which = Delays::kEach, .size = size}); };
  EXPECT_EQ(delays(100'000).size(), 10U) << "eight, the ninth, and everything";
  const std::vector<report::Delay> few = delays(900'000), none = delays(1'100'000);
  ASSERT_EQ(few.size(), 4U) << "two, the others, and everything";
  EXPECT_EQ(few[2].what, "7 more that are slow or failed");
  EXPECT_EQ(few[3].what, "everything that is slow");
  ASSERT_EQ(none.size(), 1U);
  EXPECT_EQ(none[0].what, few[3].what);
  EXPECT_EQ(none[0].without.value(), few[3].without.value());
  const Prediction two = predict(small_job(imperfect(two_nodes(), R"("failed_nics": [{"node": 0, "nic": 0},
      {"node": 1, "nic": 0}])")));
  EXPECT_EQ(delays_of(two, {.which = Delays::kEach, .size = 9'000'000}).size(), 3U) << "two are always named";
}

TEST(Imperfections, ManyFailuresLeavePlacesForWhatIsWaitedFor) {
  std::string failed;  // seven GPUs of each node reach the network through the eighth
  for (const std::string node : {"node 0 ", "node 1 "})
    for (int i = 0; i < 7; ++i) {
      const std::string gpu = std::to_string(i);
      failed += std::string(failed.empty() ? "" : ", ") + R"({"between": [")" + node + "gpu " + gpu + R"(", ")" + node +
                "pcie " + gpu + R"("]})";
    }
  const Prediction uneven = with_delays(small_job(
      imperfect(two_nodes(), R"("slow_gpus": [{"gpu": 5, "slowdown": 1.5}], "failed_links": [)" + failed + "]")));
  const std::vector<report::Delay>& delays = *uneven.metrics.delays;
  ASSERT_EQ(delays.size(), 10U);
  EXPECT_TRUE(std::any_of(delays.begin(), delays.end(), [](const auto& each) { return each.gpu == Gpu{5}; }));
  EXPECT_EQ(delays[8].what, "7 more that are slow or failed");
}

TEST(Imperfections, PartsThatShareALinkAreNamedEach) {
  const Prediction uneven = with_delays(small_job(imperfect(two_nodes(), R"(
      "slow_nics": [{"node": 1, "nic": 3, "rate_factor": 0.5}],
      "slow_links": [{"between": ["node 1 nic 3", "leaf 3"], "rate_factor": 0.5}])")));
  ASSERT_EQ(uneven.metrics.delays->size(), 3U);
  const report::Delay &nic = (*uneven.metrics.delays)[0], &link = (*uneven.metrics.delays)[1];
  EXPECT_GT(nic.on_critical_path->value(), 0);
  EXPECT_EQ(nic.on_critical_path->value(), link.on_critical_path->value());
  EXPECT_EQ(nic.without.value(), link.without.value()) << "half of the rate is left without either";
}

TEST(Imperfections, AGpuWithoutPcieSendsThroughItsNeighboursNic) {
  const char* cut = R"("failed_links": [{"between": ["node 0 gpu 0", "node 0 pcie 0"]},
      {"between": ["node 0 pcie 0", "node 0 host 0"]}])";
  const job::Job scenario = small_job(two_nodes());
  const Prediction equal = predict(scenario, How{.unfolded = true});
  const Prediction uneven = predict(small_job(imperfect(two_nodes(), cut)));
  EXPECT_NEAR(longer_ps(uneven, equal), 2 * transfer_ps(scenario), 4) << "two GPUs share NIC 1, there and back";
}

TEST(Imperfections, ASlowCableOfALeafHalvesWhatCrossesIt) {
  const std::string fabric = R"(, "fabric": {"rail_optimized": false, "switch_radix": 16})";  // one node a leaf
  const job::Job scenario = small_job(two_nodes(fabric));
  const Prediction equal = predict(scenario, How{.unfolded = true});
  const Prediction uneven = predict(small_job(
      imperfect(two_nodes(fabric), R"("slow_links": [{"between": ["spine 0", "leaf 1"], "rate_factor": 0.5}])")));
  EXPECT_NEAR(longer_ps(uneven, equal), 2 * transfer_ps(scenario), 4);
}

TEST(Imperfections, InsideANodeASlowNvlinkHalvesAndAFailedOneLeavesPcie) {
  const std::string text = a100_with("") + R"(, "gpus": 2, "parallelism": {"pipeline": 2},
      "batch": {"micro": 1, "global": 1, "sequence_length": 1024})";
  const job::Job scenario = small_job(text);
  const Prediction equal = predict(scenario, How{.unfolded = true});
  const char* link = R"({"between": ["node 0 gpu 1", "node 0 nvswitch 0"])";
  const Prediction slow =
      predict(small_job(imperfect(text, std::string(R"("slow_links": [)") + link + R"(, "rate_factor": 0.5}])")));
  EXPECT_NEAR(longer_ps(slow, equal), 2 * transfer_ps(scenario), 4);
  const Prediction failed = predict(small_job(imperfect(text, std::string(R"("failed_links": [)") + link + "}]")));
  const NodeLinks& links = scenario.cluster.links;
  EXPECT_NEAR(longer_ps(failed, equal), 2 * (links.nvlink_per_gpu / links.pcie_per_gpu - 1) * transfer_ps(scenario), 4);
}

std::string complaint_of(const std::string& text, const How& how = {}) {
  try {
    (void)predict(small_job(text), how);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Imperfections, WhereNoWayIsLeftOneLineSaysSo) {
  std::string all;
  for (int nic = 0; nic < 8; ++nic)
    all += std::string(all.empty() ? "" : ", ") + R"({"node": 1, "nic": )" + std::to_string(nic) + "}";
  EXPECT_EQ(complaint_of(imperfect(two_nodes(), R"("failed_nics": [)" + all + "]")),
            "/imperfections: expected a way between all GPUs, found none from GPU 0 (node 0) to GPU 8 (node 1): too "
            "many NICs or links have failed");
  const std::string fabric = R"(, "fabric": {"rail_optimized": false, "switch_radix": 16})";
  EXPECT_EQ(complaint_of(imperfect(two_nodes(fabric), R"("failed_links": [{"between": ["leaf 0", "spine 0"]}])")),
            "/imperfections: expected a way between all GPUs, found none from GPU 0 (node 0) to GPU 8 (node 1): too "
            "many NICs or links have failed");
  EXPECT_EQ(complaint_of(imperfect(two_nodes(), R"("failed_nics": [{"node": 1, "nic": 3}])"),
                         How{.unfolded = true, .traffic = ranks::Traffic::kAnalytic}),
            "/imperfections: with one cost for each collective no link is simulated; expected --collectives flows, or "
            "no slow or failed NICs and links");
}

TEST(Imperfections, AnOversubscribedSpineHalvesTheRateOfAllWhoCrossIt) {
  const auto text = [](const char* fabric) {
    return a100_with(std::string(R"(, "fabric": {"rail_optimized": false, )") + fabric + "}") +
           R"(, "gpus": 16, "parallelism": {"tensor": 8, "pipeline": 2},
      "batch": {"micro": 1, "global": 1, "sequence_length": 1024})";
  };
  // One node a leaf: 8 ports down, and 8 or 4 up.
  const job::Job full = small_job(text(R"("switch_radix": 16, "oversubscription": 1)"));
  const Prediction wide = predict(full, How{.unfolded = true});
  const Prediction narrow =
      predict(small_job(text(R"("switch_radix": 12, "oversubscription": 2)")), How{.unfolded = true});
  EXPECT_NEAR(static_cast<double>(narrow.run.makespan.ps - wide.run.makespan.ps), 2 * transfer_ps(full), 6);
}

TEST(Imperfections, TensorParallelismAcrossNodesPaysTheNetworkInEveryLayer) {
  const job::Job scenario = small_job(a100_with("") + R"(, "gpus": 48, "parallelism": {"tensor": 16, "pipeline": 3},
      "batch": {"micro": 1, "global": 3, "sequence_length": 1024})");
  const Prediction prediction = predict(scenario, How{.unfolded = true});
  const GroupShape group = scenario.grid().shape(Axis::kTensor, 8);
  ASSERT_EQ(group.nodes, 2);
  const double activations = 2.0 * 1024 * static_cast<double>(scenario.model.hidden);
  const Seconds once = cost::collective_time({CollectiveKind::kAllReduce, Bytes(activations), group},
                                             scenario.cluster.links, scenario.profile);
  // The middle stage has 8 layers with two all-reduces each in the forward pass, none of them hidden.
  const auto& timing = prediction.step.passes->timing(Stage{1}, Chunk{0}, OpKind::kForward);
  EXPECT_NEAR(static_cast<double>(timing.comm[Axis::kTensor].ps),
              16e12 * once.value() * scenario.runtime.tensor_comm_factor, 16);
}

TEST(Imperfections, TensorGroupsAcrossNodesShareWhatTheirNicsHave) {
  const std::string text = a100_with("") + R"(, "gpus": 16, "parallelism": {"tensor": 16},
      "batch": {"micro": 1, "global": 1, "sequence_length": 1024})";
  const std::string slow = R"(, "imperfections": {"slow_nics": [{"node": 0, "nic": 5, "rate_factor": 0.5}]})";
  for (const auto fidelity : {step::Fidelity::kStage, step::Fidelity::kKernel}) {
    const Prediction folded = predict(small_job(text), {.fidelity = fidelity});
    const Prediction equal = predict(small_job(text), How{.fidelity = fidelity, .unfolded = true});
    const Prediction uneven = predict(small_job(text + slow), How{.fidelity = fidelity, .unfolded = true});
    const double moving = tensor_sum_ps(equal, [&](const auto& row) { return step::transfer_of(row, equal.job); });
    ASSERT_GT(moving, 0);
    EXPECT_NEAR(static_cast<double>(equal.run.makespan.ps - folded.run.makespan.ps), 0, 1e-6 * moving);
    // The bytes of every all-reduce take as long as on its slowest channel. Its latency stays.
    EXPECT_NEAR(static_cast<double>(uneven.run.makespan.ps - equal.run.makespan.ps), moving, 1e-6 * moving);
  }
}

}  // namespace
}  // namespace foretoken::study
