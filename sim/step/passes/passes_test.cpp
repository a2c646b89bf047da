// Tests a pass on its own streams: collectives beside kernels, a slow host, and the split of its time.
#include "sim/step/passes/passes.h"

#include <gtest/gtest.h>

#include "sim/des/engine.h"

namespace foretoken::step {
namespace {

using des::Duration;

TimedOp kernel(std::int64_t ps, std::int64_t host_ps = 0) {
  return {.name = "kernel", .duration = {ps}, .host = {host_ps}};
}

TimedOp collective(std::int64_t ps, bool beside_next) {
  return {.name = "collective",
          .role = model::OpRole::kComm,
          .axis = Axis::kTensor,
          .duration = {ps},
          .host = {},
          .beside_next = beside_next};
}

struct PassCase {
  const char* name;
  TimedOps ops;
  std::int64_t total, compute, tensor_comm, host;
};

const PassCase kCases[] = {
    {"kernels run one after the other", {kernel(10), kernel(20)}, 30, 30, 0, 0},
    {"a blocking collective holds up the next kernel", {kernel(10), collective(5, false), kernel(20)}, 35, 30, 5, 0},
    {"a shorter collective beside a kernel costs nothing",
     {kernel(10), collective(5, true), kernel(20), kernel(1)},
     31,
     31,
     0,
     0},
    {"a longer one is exposed by the difference",
     {kernel(10), collective(25, true), kernel(20), kernel(1)},
     36,
     31,
     5,
     0},
    {"two collectives beside one kernel share the stream",
     {kernel(10), collective(15, true), collective(15, true), kernel(20), kernel(1)},
     41,
     31,
     10,
     0},
    {"a collective at the end counts", {kernel(10), collective(5, false)}, 15, 10, 5, 0},
    {"a host that keeps ahead delays only the first kernel",
     {kernel(10, 4), kernel(10, 4), kernel(10, 4)},
     34,
     30,
     0,
     4},
    {"a slow host sets the pace", {kernel(2, 10), kernel(2, 10), kernel(2, 10)}, 32, 6, 0, 26},
};

TEST(Passes, TimesOfSmallPasses) {
  for (const PassCase& c : kCases) {
    SCOPED_TRACE(c.name);
    const PassTiming timing = time_pass({&c.ops});
    EXPECT_EQ(timing.total.ps, c.total);
    EXPECT_EQ(timing.compute.ps, c.compute);
    EXPECT_EQ(timing.comm[Axis::kTensor].ps, c.tensor_comm);
    EXPECT_EQ(timing.host.ps, c.host);
  }
}

TEST(Passes, BlocksEndWhereTheirLastOpEnds) {
  const TimedOps first{kernel(10), collective(5, false)}, second{kernel(7)};
  const PassTiming timing = time_pass({&first, &second, &second});
  ASSERT_EQ(timing.block_ends.size(), 3U);
  EXPECT_EQ(timing.block_ends[0].ps, 15);
  EXPECT_EQ(timing.block_ends[1].ps, 22);
  EXPECT_EQ(timing.block_ends[2], timing.total);
}

TEST(Passes, ABlockEndsWithTheLongerOfAKernelAndTheCollectiveBesideIt) {
  for (const auto& [comm, end] : {std::pair{5, 30}, {25, 35}}) {
    const TimedOps block{kernel(10), collective(comm, true), kernel(20)}, next{kernel(7)};
    const PassTiming timing = time_pass({&block, &next});
    EXPECT_EQ(timing.block_ends[0].ps, end);
    EXPECT_EQ(timing.total.ps, end + 7);
    EXPECT_EQ(timing.compute.ps, 37);
    des::TaskGraph graph;
    const PassStreams streams = add_pass_streams(graph, Axis::kTensor);
    const EmittedPass pass = emit_kernels(graph, streams, {&block}, {});
    const des::RunResult run = des::run(graph);
    EXPECT_EQ(des::end_of(pass.last, graph, run).ps, end);
  }
}

TimedOp for_weight(TimedOp op) {
  op.part = model::BackwardPart::kWeight;
  return op;
}

TEST(Passes, TheTwoPartsOfABackwardPassHoldEveryOpOnce) {
  const TimedOps backward{for_weight(collective(3, true)), kernel(10), collective(5, true), for_weight(kernel(20)),
                          kernel(7)};
  const TimedOps input = part_of(backward, model::BackwardPart::kInput);
  const TimedOps weight = part_of(backward, model::BackwardPart::kWeight);
  EXPECT_EQ(time_pass({&backward}).total.ps, 37);
  // Without the kernels beside them, both collectives are waited for.
  EXPECT_EQ(time_pass({&input}).total.ps, 10 + 5 + 7);
  EXPECT_EQ(time_pass({&weight}).total.ps, 3 + 20);
}

TEST(Passes, AGateHoldsUpItsBlockOnly) {
  const TimedOps block{kernel(10)};
  des::TaskGraph graph;
  const PassStreams streams = add_pass_streams(graph, {});
  const des::TaskId parameters = graph.add_delay({25});
  const std::vector<std::vector<des::TaskId>> gates{{}, {parameters}};
  std::vector<des::TaskId> ends;
  (void)emit_kernels(graph, streams, {&block, &block}, {}, {.gates = &gates, .ends = &ends});
  const des::RunResult run = des::run(graph);
  EXPECT_EQ(run.end[ends[0].value].ps, 10);
  EXPECT_EQ(run.end[ends[1].value].ps, 35);
}

}  // namespace
}  // namespace foretoken::step
