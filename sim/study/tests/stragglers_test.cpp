// Tests stragglers: they follow their law, a seed gives the same GPUs, and the slowest one sets the step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/delays.h"
#include "sim/study/predict/predict.h"
#include "sim/study/tests/with_delays.h"

namespace foretoken::study {
namespace {

using nlohmann::json;
using schedule::OpKind;

job::Job straggling_job(const json& parallelism, int gpus, const json& stragglers) {
  const int data = parallelism.value("data", 1);
  return io::read_scenario_text(json{{"model", {{"base", "gpt-1.7b"}, {"tie_word_embeddings", false}}},
                                     {"cluster", "dgx-a100-80gb-hdr"},
                                     {"gpus", gpus},
                                     {"runtime", "megatron-2022"},
                                     {"parallelism", parallelism},
                                     {"batch", {{"micro", 1}, {"global", 4 * data}, {"sequence_length", 2048}}},
                                     {"stragglers", stragglers}}
                                    .dump(),
                                "job.json")
      .job;
}

double step(const job::Job& job) { return step_time(job, {}).value(); }

// Returns the expected maximum of n standard normals, from the integral of its distribution.
double expected_maximum(int n) {
  double sum = 0;
  constexpr double kStep = 1e-3;
  for (double x = -8; x < 8; x += kStep) {
    const double below = 0.5 * std::erfc(-x / std::numbers::sqrt2);
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    sum += x * n * density * std::pow(below, n - 1) * kStep;
  }
  return sum;
}

double slowest(const job::Stragglers& how, int first, int gpus) {
  double most = 0;
  for (int gpu = first; gpu < first + gpus; ++gpu)
    most = std::max(most, job::slowness(how, id_of<Gpu>(gpu), id_of<HostId>(gpu / 8)));
  return most;
}

TEST(Stragglers, AreOffUnlessAskedFor) {
  const json parallelism = {{"tensor", 2}, {"pipeline", 4}};
  EXPECT_EQ(step(straggling_job(parallelism, 8, nullptr)), step(straggling_job(parallelism, 8, false)));
  EXPECT_EQ(step(straggling_job(parallelism, 8, false)), step(straggling_job(parallelism, 8, {{"gpu_spread", 0}})));
  EXPECT_GT(step(straggling_job(parallelism, 8, true)), step(straggling_job(parallelism, 8, false)));
}

TEST(Stragglers, ASeedIsAlwaysTheSameGpus) {
  const json parallelism = {{"tensor", 2}, {"pipeline", 4}};
  const double seven = step(straggling_job(parallelism, 8, {{"seed", 7}, {"jitter", 0.01}}));
  EXPECT_EQ(seven, step(straggling_job(parallelism, 8, {{"seed", 7}, {"jitter", 0.01}})));
  EXPECT_NE(seven, step(straggling_job(parallelism, 8, {{"seed", 8}, {"jitter", 0.01}})));
}

TEST(Stragglers, TheSlowestOfManyIsTheExpectedMaximum) {
  constexpr int kSeeds = 2000;
  for (const int gpus : {1, 8, 64, 512}) {
    SCOPED_TRACE(gpus);
    job::Stragglers how{.on = true, .gpu_spread = 0.01};
    double sum = 0;
    for (how.seed = 0; how.seed < kSeeds; ++how.seed) sum += slowest(how, 0, gpus) - 1;
    // The maximum deviates at most as much as one GPU; the test allows four standard errors.
    EXPECT_NEAR(sum / kSeeds, how.gpu_spread * expected_maximum(gpus), 4 * how.gpu_spread / std::sqrt(kSeeds));
  }
}

// The default spread comes from clocks of 1950 to 1980 MHz of a job that probably had 32 ranks (stragglers.h).
TEST(Stragglers, TheDefaultSpreadGivesTheRangeOfClocksThatItWasMadeFrom) {
  constexpr int kRanks = 32;
  EXPECT_NEAR(2 * expected_maximum(kRanks) * job::Stragglers{}.gpu_spread, (1980.0 - 1950) / 1965, 0.0005);
}

TEST(Stragglers, SlowNodesAreAsManyAsStated) {
  const job::Stragglers how{.on = true, .gpu_spread = 0, .slow_nodes = 0.1, .slow_node_factor = 1.5};
  int slow = 0;
  constexpr int kNodes = 2000;
  for (const HostId host : ids<HostId>(kNodes)) {
    const Gpu gpu{8 * host.value};
    const double first = job::slowness(how, gpu, host);
    EXPECT_EQ(first, job::slowness(how, Gpu{gpu.value + 7}, host)) << "a node is slow as a whole";
    if (first > 1.2) ++slow;
  }
  EXPECT_NEAR(slow, 200, 4 * std::sqrt(200 * 0.9));
}

TEST(Stragglers, TheStepIsThatOfTheSlowestReplicaByHand) {
  const json parallelism = {{"data", 8}};
  const Prediction alike = predict(straggling_job(parallelism, 8, false));
  const Prediction noisy = predict(straggling_job(parallelism, 8, {{"gpu_spread", 0.03}}));
  const double worst = slowest(noisy.job.stragglers, 0, 8);
  // Four micro-batches of a replica, then the reduction of all replicas, then the optimizer of each GPU.
  double seconds = 0;
  for (const OpKind kind : {OpKind::kForward, OpKind::kBackward})
    seconds += 4 * des::to_seconds(alike.step.passes->timing(Stage{0}, Chunk{0}, kind).compute).value();
  const auto& workload = alike.step.workload;
  for (std::uint32_t task = 0; task < workload.meaning.size(); ++task)
    if (workload.meaning[task].kind == step::TaskMeaning::kOptimizer)
      seconds += des::to_seconds(workload.graph.duration({task})).value();
  EXPECT_NEAR(noisy.metrics.step_time.value() - alike.metrics.step_time.value(), (worst - 1) * seconds, 1e-11);
}

TEST(Stragglers, AGrowingJobWaitsLonger) {
  double last = 0;
  for (const int data : {1, 4, 16, 64}) {
    const json parallelism = {{"tensor", 8}, {"data", data}};
    job::Job noisy = straggling_job(parallelism, 8 * data, true);
    const double alike = step(straggling_job(parallelism, 8 * data, false));
    double waits = 0;
    for (noisy.stragglers.seed = 0; noisy.stragglers.seed < 50; ++noisy.stragglers.seed) waits += step(noisy) - alike;
    EXPECT_GT(waits, last);
    last = waits;
  }
}

TEST(Stragglers, JitterAveragesOutOnOneGpuAndAddsUpWhereRanksWait) {
  const json jitter = {{"gpu_spread", 0}, {"jitter", 0.03}};
  const auto cost = [&](const json& parallelism, int gpus) {
    job::Job noisy = straggling_job(parallelism, gpus, jitter);
    double sum = 0;
    constexpr int kSeeds = 50;
    for (noisy.stragglers.seed = 0; noisy.stragglers.seed < kSeeds; ++noisy.stragglers.seed) sum += step(noisy);
    return sum / kSeeds / step(straggling_job(parallelism, gpus, false)) - 1;
  };
  // Nine draws of 3 % (eight passes and the optimizer), 50 times.
  const double one_gpu = cost({{"tensor", 1}}, 1);
  EXPECT_NEAR(one_gpu, 0, 4 * 0.03 / std::sqrt(50 * 4));
  // In a tensor group every pass lasts as long as on the slowest of eight.
  const double together = cost({{"tensor", 8}}, 8);
  EXPECT_GT(together, one_gpu + 0.01);
  EXPECT_LT(together, 0.03 * expected_maximum(8)) << "communication does not stretch";
}

TEST(Stragglers, AreTheSameKernelByKernel) {
  const job::Job noisy =
      straggling_job({{"tensor", 2}, {"pipeline", 2}, {"data", 2}}, 8, {{"gpu_spread", 0.03}, {"jitter", 0.02}});
  const double passes = step(noisy);
  const double kernels = step_time(noisy, How{.fidelity = step::Fidelity::kKernel}).value();
  EXPECT_NEAR(kernels / passes, 1, 1e-3);
}

TEST(Stragglers, ThePartsThatTheStepWaitsForAreNamed) {
  const Prediction noisy = with_delays(straggling_job({{"tensor", 2}, {"data", 4}}, 8, {{"gpu_spread", 0.03}}));
  ASSERT_EQ(noisy.metrics.delays->size(), 2U) << "the slowest GPU, and all that was drawn";
  const job::Stragglers& how = noisy.job.stragglers;
  Gpu worst;
  for (const Gpu gpu : ids<Gpu>(8))
    if (job::slowness(how, gpu, {}) > job::slowness(how, worst, {})) worst = gpu;
  const report::Delay& slow = noisy.metrics.delays->front();
  EXPECT_EQ(slow.gpu, worst);
  EXPECT_LT(slow.without, noisy.metrics.step_time);
  EXPECT_GT(*slow.on_critical_path, 0.5 * noisy.metrics.step_time);
  EXPECT_EQ(noisy.metrics.delays->back().without.value(), step(repaired(noisy.job)));
}

TEST(Stragglers, ASlowHostIsNamedAndRepairedAsAWhole) {
  const json parallelism = {{"tensor", 4}, {"data", 8}};
  const json spread = {{"gpu_spread", 0.001}, {"slow_nodes", 0.3}, {"slow_node_factor", 1.5}};
  job::Job job = straggling_job(parallelism, 32, spread);
  const auto slow_hosts = [&] {
    std::vector<int> slow;
    for (int host = 0; host < 4; ++host)
      if (job::slowness(job.stragglers, id_of<Gpu>(8 * host), id_of<HostId>(host)) > 1.2) slow.push_back(host);
    return slow;
  };
  while (slow_hosts().size() != 1) ++job.stragglers.seed;
  const int host = slow_hosts().front();
  const Prediction noisy = with_delays(job);
  const report::Delay& slow = noisy.metrics.delays->front();
  EXPECT_EQ(slow.what, "the host of GPUs " + std::to_string(8 * host) + " to " + std::to_string(8 * host + 7) +
                           " (node " + std::to_string(host) + ") is 50 % slower, as drawn");
  EXPECT_EQ(slow.node, id_of<NodeId>(host));
  EXPECT_GT(*slow.on_critical_path, 0.5 * noisy.metrics.step_time);
  job.stragglers.slow_nodes = 0;
  EXPECT_NEAR(slow.without.value(), step(job), 1e-9);
  for (std::size_t i = 1; i < noisy.metrics.delays->size(); ++i)
    EXPECT_FALSE((*noisy.metrics.delays)[i].gpu) << "repairing one GPU of a slow host gains nothing";
}

}  // namespace
}  // namespace foretoken::study
