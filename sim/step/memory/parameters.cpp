// Counts the parameters that one GPU holds, over the blocks of its chunks.
#include "sim/step/memory/parameters.h"

#include <algorithm>
#include <utility>

#include "sim/model/blocks/blocks.h"
#include "sim/model/counts/parameters.h"

namespace foretoken::step {

BlockParameters::BlockParameters(const job::Job& job, const model::DecoderOps& blocks, Counted counted) {
  const model::LayerContext context = job.layer_context();
  const auto count = [&](const auto& of_block, const model::BlockOps& block) {
    if (counted == Counted::kAll) return of_block(block, context);
    return of_block(counted == Counted::kTrained ? model::trained_weights(block) : model::narrow_weights(block),
                    context);
  };
  for (const model::LayerRunOps& run : blocks.layers) layers.push_back(count(model::local_parameters, run.ops));
  if (job.model.experts) {
    for (const model::LayerRunOps& run : blocks.layers)
      experts.push_back(count(model::local_expert_parameters, run.ops));
    head_experts = count(model::local_expert_parameters, blocks.head);
  }
  embedding = count(model::local_parameters, blocks.embedding);
  head = count(model::local_parameters, blocks.head);
  embedding_table = count(model::local_table, blocks.embedding);
  head_table = count(model::local_table, blocks.head);
  embedding_copy = count(model::local_table_copy, blocks.embedding);
}

bool BlockParameters::empty() const {
  const auto none = [](double count) { return count == 0; };
  return std::ranges::all_of(layers, none) && std::ranges::all_of(experts, none) && head_experts == 0 &&
         embedding == 0 && head == 0 && embedding_table == 0 && head_table == 0 && embedding_copy == 0;
}

LocalParameters::LocalParameters(const job::Job& job, Counted counted)
    : LocalParameters(job, BlockParameters(job, model::decoder_ops(job.model, job.layer_context()), counted)) {}

LocalParameters::LocalParameters(const job::Job& job, BlockParameters blocks)
    : job_(job),
      layout_(job),
      blocks_(std::move(blocks)),
      head_(blocks_.head),
      decoder_table_(job::stage_of_decoder_table(job)) {
  // One copy serves a tied head and the lookups of predicted tokens.
  if (job::stages_share_embedding(job))
    head_ += job.model.tied_embeddings ? blocks_.head_table : blocks_.embedding_table;
}

double LocalParameters::of_layers(const std::vector<model::LayerCount>& layers) const {
  double parameters = 0;
  for (const model::LayerCount& run : layers) parameters += run.count * of_layer(run.kind);
  return parameters;
}

double LocalParameters::with_ends(double parameters, Stage stage, job::ModelEnds ends) const {
  if (holds_decoder_table(stage)) parameters += blocks_.embedding_table;
  if (ends.embedding) parameters += blocks_.embedding;
  if (ends.head) parameters += head_;
  return parameters;
}

double LocalParameters::of_chunk(Stage stage, const job::ChunkContents& contents) const {
  return with_ends(of_layers(contents.layers), stage, {.embedding = contents.embedding, .head = contents.head});
}

double LocalParameters::of_chunk(Stage stage, Chunk chunk) const {
  const double layers = job_.model.one_kind() ? layout_.layers(stage, chunk) * of_layer(0)
                                              : of_layers(layout_.contents(stage, chunk).layers);
  return with_ends(layers, stage, layout_.ends(stage, chunk));
}

double LocalParameters::of_stage(Stage stage) const {
  double parameters = 0;
  for (const Chunk chunk : ids<Chunk>(job_.parallelism.virtual_pipeline)) parameters += of_chunk(stage, chunk);
  return parameters;
}

double LocalParameters::of_stage(Stage stage, const job::StageContents& contents) const {
  double parameters = 0;
  for (const job::ChunkContents& chunk : contents.chunks) parameters += of_chunk(stage, chunk);
  return parameters;
}

double LocalParameters::experts_of_chunk(const job::ChunkContents& contents) const {
  if (!has_experts()) return 0;
  double experts = contents.head ? blocks_.head_experts : 0;
  for (const model::LayerCount& run : contents.layers)
    experts += run.count * blocks_.experts[static_cast<std::size_t>(run.kind)];
  return experts;
}

double LocalParameters::experts_of_stage(const job::StageContents& contents) const {
  double experts = 0;
  if (!has_experts()) return experts;
  for (const job::ChunkContents& chunk : contents.chunks) experts += experts_of_chunk(chunk);
  return experts;
}

// Counts blocks of a chunk. On a chunk with the whole model, positions and the embedding's norm count with the head.
std::vector<double> LocalParameters::of_blocks(Stage stage, Chunk chunk) const {
  const job::ChunkContents contents = layout_.contents(stage, chunk);
  const double table = holds_decoder_table(stage) ? blocks_.embedding_table : 0;
  const double ends = of_chunk(stage, contents) - of_layers(contents.layers) - table;
  const bool both = contents.embedding && contents.head;
  std::vector<double> blocks;
  const double tables = blocks_.embedding_table + blocks_.embedding_copy;
  if (contents.embedding) blocks.push_back(both ? tables : ends);
  for (const model::LayerCount& run : contents.layers)
    blocks.insert(blocks.end(), static_cast<std::size_t>(run.count), of_layer(run.kind));
  if (table > 0) blocks.front() += table;  // the decoder's first layer is the first of its stage
  if (contents.head) blocks.push_back(both ? ends - tables : ends);
  return blocks;
}

std::vector<double> LocalParameters::without_experts_of_blocks(Stage stage, Chunk chunk) const {
  std::vector<double> blocks = of_blocks(stage, chunk);
  const std::vector<double> experts = experts_of_blocks(stage, chunk);
  for (std::size_t block = 0; block < experts.size(); ++block) blocks[block] -= experts[block];
  return blocks;
}

std::vector<double> LocalParameters::experts_of_blocks(Stage stage, Chunk chunk) const {
  std::vector<double> blocks;
  if (!has_experts()) return blocks;
  const job::ChunkContents contents = layout_.contents(stage, chunk);
  if (contents.embedding) blocks.push_back(0);
  for (const model::LayerCount& run : contents.layers)
    blocks.insert(blocks.end(), static_cast<std::size_t>(run.count),
                  blocks_.experts[static_cast<std::size_t>(run.kind)]);
  if (contents.head) blocks.push_back(blocks_.head_experts);
  return blocks;
}

double local_token_table(const job::Job& job) {
  const model::LayerContext context = job.layer_context();
  return model::local_table(model::embedding_block(job.model, context), context);
}

double gradient_bucket_parameters(int ranks) { return std::max(40e6, 1e6 * ranks); }

}  // namespace foretoken::step
