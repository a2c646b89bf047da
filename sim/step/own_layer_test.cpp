// Defines a kind of layer that only this test knows, mixes it with dense layers, and counts, times and stores it.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/model/blocks/blocks.h"
#include "sim/model/counts/flop.h"
#include "sim/model/counts/parameters.h"
#include "sim/model/counts/saved_bytes.h"
#include "sim/model/cut.h"
#include "sim/model/op_writer.h"
#include "sim/step/lower.h"
#include "sim/step/memory/memory.h"
#include "sim/step/passes/passes.h"
#include "sim/step/test_job.h"

namespace foretoken::step {
namespace {

using schedule::OpKind;

constexpr std::int64_t kHidden = 1024, kWidth = 3072;

model::Weight matrix(std::string_view name, std::int64_t rows, std::int64_t columns, model::Split split) {
  return {.name = name, .kind = model::WeightKind::kMatrix, .rows = rows, .columns = columns, .split = split};
}

model::Op product(std::string_view name, model::Product work, model::WeightId weight, model::TensorId from,
                  model::TensorId to) {
  return {.name = name,
          .role = model::OpRole::kLinear,
          .work = work,
          .weights = {weight},
          .reads = {from},
          .writes = {to},
          .saves = {from}};
}

// Mixes neighbours: reads and writes `bytes` each.
model::OwnKernels convolution(double bytes) {
  using model::OpRole;
  return {.forward = [bytes](model::OpWriter& ops) { ops.memory("mix", OpRole::kElementwise, 2 * bytes); },
          .backward =
              [bytes](model::OpWriter& ops) {
                ops.memory("mix for input", OpRole::kElementwise, 2 * bytes);
                ops.memory("mix for taps", OpRole::kElementwise, bytes, model::BackwardPart::kWeight);
              },
          .forward_flop_per_token = 8.0 * kWidth};
}

// A layer without norms. One product widens, a convolution mixes neighbours, and one product narrows again.
model::BlockOps convolution_layer(const model::LayerContext& context) {
  using model::ProductKind, model::Split, model::Tensor;
  const model::Cut cut(context);
  model::BlockOps block;
  block.input = block.add(Tensor{.name = "input", .bytes = cut.residual_bytes(kHidden)});
  const double bytes = cut.whole_bytes(kWidth) / context.tensor;
  const model::TensorId wide = block.add(Tensor{.name = "widened", .bytes = bytes});
  const model::TensorId mixed = block.add(Tensor{.name = "mixed", .bytes = bytes});
  const model::TensorId output = block.add(Tensor{.name = "output", .bytes = block[block.input].bytes});
  const model::WeightId widen = block.add(matrix("widen", kWidth, kHidden, Split::kRows));
  const model::WeightId taps = block.add(model::Weight{.name = "taps", .rows = 4, .columns = kHidden});
  const model::WeightId narrow = block.add(matrix("narrow", kHidden, kWidth, Split::kColumns));
  block.add(product("widen", {ProductKind::kColumn, "widen for input", "widen for weight"}, widen, block.input, wide));
  block.add(model::Op{.name = "mix",
                      .work = convolution(bytes),
                      .weights = {taps},
                      .reads = {wide},
                      .writes = {mixed},
                      .saves = {wide}});
  block.add(product("narrow", {ProductKind::kRow, "narrow for input", "narrow for weight"}, narrow, mixed, output));
  return block;
}

// Returns a job of two stages: three dense layers, four of the test's own, one dense.
job::Job mixed_job() {
  job::Job job = test_job(8, kHidden);
  const model::Transformer dense = job.model;
  const model::Block dense_block{
      "dense", [dense](const model::LayerContext& context) { return model::dense_layer(dense, context); }};
  job.model.stack = {{dense_block, 3}, {{"convolution", convolution_layer}, 4}, {dense_block, 1}};
  job.gpus = 4;
  job.parallelism.tensor = job.parallelism.pipeline = 2;
  job.batch = {.micro = 1, .global = 4, .sequence_length = kHidden};
  return job;
}

TEST(OwnLayer, ParametersAndOperationsFollowFromItsTensors) {
  const job::Job mixed = mixed_job(), dense = test_job(8, kHidden);
  const double h = kHidden, w = kWidth, s = kHidden;
  const double own = 2 * h * w + 4 * h;
  EXPECT_EQ(model::total_parameters(mixed.model),
            model::total_parameters(dense.model) + 4 * (own - model::layer_parameters(dense.model)));
  const double attention = 4 * s * s * h, matrices = 2 * s * 12 * h * h;
  const double own_flop = 2 * s * 2 * h * w + s * 8 * w;
  EXPECT_EQ(model::model_flop_per_sequence(mixed.model, kHidden).value(),
            model::model_flop_per_sequence(dense.model, kHidden).value() + 4 * 3 * (own_flop - matrices - attention));
  EXPECT_EQ(model::find_mistake(convolution_layer({})), std::nullopt);
}

TEST(OwnLayer, MemoryOfAStageIsTheSumOfItsKindsOfLayers) {
  const job::Job mixed = mixed_job();
  const LocalParameters parameters(mixed);
  EXPECT_EQ(parameters.of_layer(1), 2.0 * kHidden * kWidth / 2 + 4 * kHidden);
  EXPECT_EQ(parameters.of_blocks(Stage{1}, Chunk{}).size(), 5U) << "three of its own, one dense, head";
  job::Job dense = mixed;
  dense.model.stack.reset();
  const auto layers = [](const job::Job& job) { return LocalParameters(job).of_stage(Stage{1}); };
  EXPECT_EQ(layers(mixed) - layers(dense), 3 * (parameters.of_layer(1) - parameters.of_layer(0)));

  const double tokens = kHidden, own = 2 * tokens * kHidden + 2 * (2 * tokens * kWidth / 2);
  const double difference = JobMemory(mixed).of_pass(Stage{0}, Chunk{}).stash.value() -
                            JobMemory(dense).of_pass(Stage{0}, Chunk{}).stash.value();
  const double dense_layer =
      model::saved_bytes(model::dense_layer(dense.model, dense.layer_context()), model::RecomputeGranularity::kNone)
          .value();
  EXPECT_EQ(difference, own - dense_layer) << "one of the first stage's four layers";
}

TEST(OwnLayer, PassesRunEveryKindAndSplitInTwoParts) {
  const job::Job mixed = mixed_job();
  const Passes passes(mixed);
  EXPECT_EQ(passes.blocks(Stage{0}, Chunk{0}, OpKind::kForward).size(), 5U) << "embedding, three dense, one of its own";
  const PassBlocks& last = passes.blocks(Stage{1}, Chunk{0}, OpKind::kForward);
  EXPECT_EQ(last[0]->front().name, "widen");
  EXPECT_EQ(last[3]->front().name, "norm 1");
  const PassBlocks& back = passes.blocks(Stage{1}, Chunk{0}, OpKind::kBackward);
  const auto widens = [](const TimedOp& op) { return op.name == "widen for weight"; };
  EXPECT_EQ(std::count_if(back[2]->begin(), back[2]->end(), widens), 1);
  EXPECT_EQ(std::count_if(back[1]->begin(), back[1]->end(), widens), 0) << "the last layer is dense";

  const LayerBlocks blocks = time_blocks(mixed);
  const TimedBackward& own = blocks.layers[1].backward;
  EXPECT_EQ(own.for_input.size() + own.for_weight.size(), own.whole.size());
  EXPECT_EQ(own.for_weight.front().name, "narrow for weight");
  const des::Duration whole = time_pass({&own.whole}).total;
  EXPECT_LE(whole, time_pass({&own.for_input}).total + time_pass({&own.for_weight}).total);
}

TEST(OwnLayer, AStepOfMixedLayersRuns) {
  const LoweredStep step = lower(mixed_job(), Fidelity::kKernel);
  EXPECT_GT(step.workload.graph.tasks(), 100U);
}

}  // namespace
}  // namespace foretoken::step
