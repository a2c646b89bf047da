// Checks encoder-decoders in a pipeline: messages of both lengths, tables of the decoder, memory, Adafactor's moments.
#include <gtest/gtest.h>

#include "sim/job/layout.h"
#include "sim/model/counts/parameters.h"
#include "sim/step/memory/test_memory.h"
#include "sim/step/messages.h"
#include "sim/step/replicas/optimizer_traffic.h"
#include "sim/step/test_job.h"

namespace foretoken::step {
namespace {

constexpr double kWidthOfHalves = 1024, kMicro = 4, kEncoderTokens = 512 * kMicro, kDecoderTokens = 128 * kMicro;

/// 8 + 8 layers on `pipeline` stages, of which `encoder` hold the encoder.
job::Job two_halves(int pipeline, std::optional<int> encoder) {
  job::Job job = test_job(16, 1024);
  job.model.encoder_decoder = model::EncoderDecoder{.encoder_layers = 8};
  job.attention = model::AttentionKind::kUnfused;
  job.batch = {.micro = 4, .global = 64, .sequence_length = 512, .decoder_sequence_length = 128};
  job.parallelism.encoder_layers = 8;
  job.parallelism.pipeline = pipeline;
  job.parallelism.encoder_pipeline = encoder;
  job.gpus = pipeline;
  return job;
}

double sent(const job::Job& job, int from, int to, Purpose purpose) {
  const job::Parts parts(job);
  return message_between(job, parts, id_of<Stage>(from), id_of<Stage>(to), purpose).payload.value();
}

// Between stages of the decoder its own tokens travel beside the encoder's output. The first of them needs no tokens of
// the decoder: it embeds them itself.
TEST(EncoderDecoderPipeline, MessagesCarryTheEncodersOutput) {
  const job::Job job = two_halves(4, 2);
  const double encoder = 2 * kEncoderTokens * kWidthOfHalves, decoder = 2 * kDecoderTokens * kWidthOfHalves;
  for (const Purpose purpose : {Purpose::kActivations, Purpose::kActivationGradients}) {
    const bool forward = purpose == Purpose::kActivations;
    const auto hop = [&](int stage) {
      return sent(job, forward ? stage : stage + 1, forward ? stage + 1 : stage, purpose);
    };
    EXPECT_EQ(hop(0), encoder);
    EXPECT_EQ(hop(1), encoder);
    EXPECT_EQ(hop(2), encoder + decoder);
  }
  EXPECT_EQ(sent(two_halves(2, 1), 0, 1, Purpose::kActivations), encoder);
  EXPECT_EQ(sent(two_halves(2, 1), 1, 0, Purpose::kActivationGradients), encoder);
}

TEST(EncoderDecoderPipeline, HalvesAreDealtOutApart) {
  const job::Job job = two_halves(5, 1);
  for (const auto& [stage, layers] : {std::pair{0, 8}, std::pair{1, 2}, std::pair{4, 2}})
    EXPECT_EQ(job.layers_in(id_of<Stage>(stage), Chunk{0}), layers);
  EXPECT_EQ(two_halves(4, std::nullopt).layers_in(id_of<Stage>(2), Chunk{0}), 4) << "half of the stages";
  EXPECT_FALSE(job::deal_layers(16, two_halves(5, 3).parallelism)) << "8 layers on three stages";
  EXPECT_FALSE(job::deal_layers(16, two_halves(4, 4).parallelism)) << "no stage for the decoder";
}

// The decoder's first layer looks tokens up, too: its stage has a table unless one stands there.
TEST(EncoderDecoderPipeline, TheDecoderHoldsATable) {
  job::Job job = two_halves(4, 2);
  EXPECT_EQ(job::stage_of_decoder_table(job), id_of<Stage>(2));
  const LocalParameters parameters(job);
  const double table = 51200 * kWidthOfHalves, layers = parameters.of_layers(job::layers_of(job, id_of<Stage>(2)));
  EXPECT_EQ(parameters.of_stage(id_of<Stage>(2)), layers + table);
  EXPECT_EQ(parameters.of_stage(id_of<Stage>(1)), parameters.of_layers(job::layers_of(job, id_of<Stage>(1))));
  double blocks = 0;
  for (const double block : parameters.of_blocks(id_of<Stage>(2), Chunk{0})) blocks += block;
  EXPECT_EQ(blocks, layers + table);
  job.parallelism.encoder_pipeline = 3;
  job.model.encoder_decoder->encoder_layers = job.parallelism.encoder_layers = 12;
  EXPECT_EQ(job::stage_of_decoder_table(job), std::nullopt) << "the tied head's table stands there";
  job.model.tied_embeddings = false;
  EXPECT_EQ(job::stage_of_decoder_table(job), id_of<Stage>(3));
  EXPECT_EQ(job::stage_of_decoder_table(two_halves(1, std::nullopt)), std::nullopt);
}

TEST(EncoderDecoderMemory, AChunkKeepsTheEncodersOutputOnce) {
  job::Job job = two_halves(4, 2);
  job.recompute.granularity = model::RecomputeGranularity::kFull;
  const double ids = 8 * kDecoderTokens, input = 2 * kDecoderTokens * kWidthOfHalves,
               output = 2 * kEncoderTokens * kWidthOfHalves;
  EXPECT_EQ(pass_memory(job, id_of<Stage>(1), Chunk{0}).stash.value(), 4 * 2 * kEncoderTokens * kWidthOfHalves);
  EXPECT_GE(pass_memory(job, id_of<Stage>(2), Chunk{0}).stash.value(), 3 * input + ids + output);
  EXPECT_LE(pass_memory(job, id_of<Stage>(2), Chunk{0}).stash.value(), 4 * input + output);
}

// Without first moments, and with a row and a column for each matrix: a small part of Adam's 8 bytes a parameter.
TEST(EncoderDecoderMemory, AdafactorKeepsRowsAndColumns) {
  job::Job job = two_halves(1, std::nullopt);
  const double adam = static_memory(job, Stage{}).optimizer.value();
  job.optimizer.name = "adafactor";
  job.recipe.moment_bytes = 0;
  const double parameters = local_stage_parameters(job, Stage{});
  double numbers = 0;
  const model::DecoderOps blocks = model::decoder_ops(job.model, job.layer_context());
  for (const model::LayerRunOps& run : blocks.layers)
    numbers += static_cast<double>(run.count) * model::factored_moments(run.ops, job.layer_context());
  for (const model::BlockOps& end : {blocks.embedding, blocks.head})
    numbers += model::factored_moments(end, job.layer_context());
  EXPECT_DOUBLE_EQ(static_memory(job, Stage{}).optimizer.value(), 4 * parameters + 4 * numbers);
  EXPECT_LT(static_memory(job, Stage{}).optimizer.value(), 0.36 * adam);
}

// Three more reads in fp32: the gradient twice, the weights once. Both of Adam's moments are gone: 16 bytes.
TEST(EncoderDecoderMemory, AdafactorMovesFewerBytesThanAdam) {
  job::Job job = two_halves(1, std::nullopt);
  const double adam = optimizer_traffic(job, 1).value();
  job.optimizer.name = "adafactor";
  job.recipe.moment_bytes = 0;
  EXPECT_DOUBLE_EQ(optimizer_traffic(job, 1).value(), adam - 16 + 12);
}

}  // namespace
}  // namespace foretoken::step
