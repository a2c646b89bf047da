// Tests offloading: bytes that are copied, the rates at which they move, memory, and agreement of both fidelities.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "sim/des/engine.h"
#include "sim/step/lower.h"
#include "sim/step/memory/test_memory.h"
#include "sim/step/offload/host_copies.h"
#include "sim/step/offload/shares.h"
#include "sim/step/test_job.h"

namespace foretoken::step {
namespace {

constexpr int kOffloadLayers = 6, kOffloadMicrobatches = 2;

job::Job offloading_job(int gpus, int zero_stage) {
  job::Job s = test_job(kOffloadLayers, 2048);
  s.gpus = s.parallelism.data = gpus;
  s.batch = {.micro = 1, .global = kOffloadMicrobatches * gpus, .sequence_length = 2048, .microbatch_group = {}};
  s.optimizer.zero_stage = zero_stage;
  s.overlap.grad_reduce = s.overlap.param_gather = true;
  s.cluster.host = net::Host{
      .memory = Bytes(1e12),
      .memory_bandwidth = gigabytes_per_second(400),
      .gpus_per_link = 2,
      .disks = net::Disks{.capacity = Bytes(1e13), .read = gigabytes_per_second(16), .write = gigabytes_per_second(8)}};
  s.runtime.offload = {.optimizer = true,
                       .parameters = true,
                       .activations = true,
                       .disks = true,
                       .delayed_update = true,
                       .streams_gradients = true,
                       .host_update_bytes = 100};
  return s;
}

job::Offloaded all_of_it(job::Tier to = job::Tier::kHost) { return {.fraction = 1, .layers = {}, .to = to}; }

struct Moved {
  double bytes = 0;
  Seconds time;
};

std::map<std::string, Moved> moved_by(const job::Job& s) {
  const LoweredStep step = lower(s, Fidelity::kStage);
  std::map<std::string, Moved> moved;
  for (std::uint32_t task = 0; task < step.workload.meaning.size(); ++task) {
    const Meaning& meaning = step.workload.meaning[task];
    Moved& one = moved[std::string(name_of(meaning, step.workload))];
    if (const Communication* row = step.workload.communication_of(meaning)) one.bytes += row->payload.value();
    one.time += des::to_seconds(step.workload.graph.duration({task}));
  }
  return moved;
}

Seconds step_of(const job::Job& s, Fidelity fidelity = Fidelity::kStage) {
  const LoweredStep step = lower(s, fidelity);
  const des::RunResult run = des::run(step.workload.graph);
  EXPECT_TRUE(run.stuck.empty());
  return des::to_seconds(run.makespan - des::Instant{});
}

TEST(Offload, GpusOfAHostShareItsLinksMemoryAndDisks) {
  job::Job s = offloading_job(8, 3);
  s.cluster.links.pcie_per_gpu = gigabytes_per_second(25);
  const auto rate = [&](HostPath path) { return host_rate(s, Stage{}, path).value() / 1e9; };
  EXPECT_DOUBLE_EQ(rate(HostPath::kToHost), 0.8 * 25 / 2);  // two GPUs on a link
  EXPECT_DOUBLE_EQ(rate(HostPath::kFromDisk), 16.0 / 8);
  EXPECT_DOUBLE_EQ(rate(HostPath::kToDisk), 8.0 / 8);
  s.gpus = 1;
  EXPECT_DOUBLE_EQ(rate(HostPath::kToHost), 0.8 * 25);
  EXPECT_DOUBLE_EQ(host_update_time(s, Stage{}, 4e9).value(), 4e9 * 100 / 400e9);
}

TEST(Offload, ParametersComeTwiceAMicroBatchAndGradientsLeaveOnce) {
  for (const int gpus : {1, 8}) {
    SCOPED_TRACE(gpus);
    job::Job s = offloading_job(gpus, 3);
    s.offload.parameters = s.offload.optimizer = all_of_it();
    const std::vector<double> blocks = LocalParameters(s).of_blocks(Stage{}, Chunk{});
    double layers = 0;
    for (int layer = 1; layer <= kOffloadLayers; ++layer) layers += blocks[static_cast<std::size_t>(layer)];
    const double root = blocks.front() + blocks.back(), all = layers + root;
    const auto moved = moved_by(s);
    // Embedding and head stay gathered from the forward to the backward pass.
    EXPECT_NEAR(moved.at("parameters from host").bytes, kOffloadMicrobatches * 2 * (2 * layers + root) / gpus, 1);
    EXPECT_NEAR(moved.at("gradients to host").bytes, kOffloadMicrobatches * s.recipe.reduce_bytes * all / gpus, 1);
    // Gradients of the first micro-batch come back to be added to the second one's.
    EXPECT_NEAR(moved.at("gradients from host").bytes, s.recipe.reduce_bytes * all / gpus, 1);
    EXPECT_NEAR(moved.at("update on the host").time.value(), all / gpus * 100 / (400e9 / gpus), 1e-9);
    EXPECT_EQ(moved.count("weights from host"), 0U);
  }
}

TEST(Offload, StatesOnDisksAreReadAndWrittenOnce) {
  job::Job s = offloading_job(8, 2);
  s.offload.optimizer = all_of_it(job::Tier::kDisk);
  const double updated = updated_on_host(s, LocalParameters(s, Counted::kTrained), Stage{});
  const auto moved = moved_by(s);
  EXPECT_NEAR(moved.at("states from disk").bytes, 12 * updated, 1);
  EXPECT_NEAR(moved.at("states to disk").bytes, 12 * updated, 1);
  EXPECT_NEAR(moved.at("weights from host").bytes, 2 * updated, 1);
}

TEST(Offload, BothFidelitiesAgree) {
  struct Case {
    const char* what;
    int gpus, zero_stage;
    job::Offload offload;
  };
  const Case cases[] = {
      {"an optimizer on the host, after the passes",
       8,
       1,
       {.optimizer = {.fraction = 0.5}, .parameters = {}, .activations = {}}},
      {"gradients that leave while they are made",
       8,
       2,
       {.optimizer = {.fraction = 1}, .parameters = {}, .activations = {}}},
      {"everything outside",
       8,
       3,
       {.optimizer = all_of_it(job::Tier::kDisk),
        .parameters = all_of_it(job::Tier::kDisk),
        .activations = all_of_it()}},
      {"a delayed update",
       8,
       2,
       {.optimizer = {.fraction = 1}, .parameters = {}, .activations = {}, .delayed_update = true}},
      {"activations of four layers", 1, 1, {.optimizer = {}, .parameters = {}, .activations = {.layers = 4}}}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    job::Job s = offloading_job(one.gpus, one.zero_stage);
    s.offload = one.offload;
    EXPECT_EQ(step_of(s), step_of(s, Fidelity::kKernel));
  }
}

TEST(Offload, ADelayedUpdateHidesBehindThePasses) {
  job::Job s = offloading_job(8, 2);
  s.offload.optimizer = all_of_it();
  const Seconds waits = step_of(s);
  s.offload.delayed_update = true;
  const Seconds delayed = step_of(s);
  EXPECT_LT(delayed, waits);
}

TEST(Offload, MemoryOfTheGpuGoesToItsHost) {
  job::Job stays = offloading_job(8, 3), moves = stays;
  moves.offload = {.optimizer = {.fraction = 1}, .parameters = {.fraction = 0.5}, .activations = {.layers = 3}};
  const StaticMemory before = JobMemory(stays).held(Stage{}), after = JobMemory(moves).held(Stage{});
  const OutsideMemory host = JobMemory(moves).outside(Stage{}).host;
  EXPECT_EQ(after.optimizer, Bytes(0));
  EXPECT_DOUBLE_EQ(host.optimizer.value(), before.optimizer.value());
  EXPECT_NEAR(host.parameters.value(), (before.weights - after.weights).value(), 1);
  const PassMemory all = pass_memory(stays, Stage{}, Chunk{}), less = pass_memory(moves, Stage{}, Chunk{});
  EXPECT_NEAR((all.stash - less.stash).value(), host.activations.value(), 1);
  // Two of the three layers are under way at most.
  EXPECT_NEAR((less.transient - all.transient).value(), host.activations.value() * 2 / 3, 1);
}

TEST(Offload, ActivationsCostNothingOnFastLinksAndTimeOnSlowOnes) {
  job::Job s = offloading_job(1, 1);
  const Seconds without = step_of(s);
  s.offload.activations = {.layers = 4};
  s.cluster.links.pcie_per_gpu = gigabytes_per_second(10'000);
  s.cluster.host->memory_bandwidth = gigabytes_per_second(10'000);
  EXPECT_LT(step_of(s) / without, 1.02);
  s.cluster.links.pcie_per_gpu = gigabytes_per_second(1);
  EXPECT_GT(step_of(s) / without, 1.5);
}

}  // namespace
}  // namespace foretoken::step
