// Parameters that one GPU holds: the share of its stage, split over tensor ranks where the weights are split.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/job/layout.h"

namespace foretoken::step {

/// The weights that a count is of.
enum class Counted : std::uint8_t {
  kAll,
  kTrained,  ///< those with gradients and optimizer states
  kNarrow,   ///< those of fewer bytes than the job's weights
};

/// Parameters on one tensor rank of each block, wherever the blocks stand.
struct BlockParameters {
  BlockParameters() = default;
  BlockParameters(const job::Job& job, const model::DecoderOps& blocks, Counted counted);

  std::vector<double> layers;   ///< by kind, of one layer
  std::vector<double> experts;  ///< by kind, the part of it that are experts; empty: no layer has any
  double head_experts = 0;      ///< of the head: layers of multi-token prediction
  double embedding = 0, head = 0;
  double embedding_table = 0, head_table = 0;  ///< the model's token tables of the embedding and the head
  double embedding_copy = 0;                   ///< a trained copy of the embedding's

  /// Returns true when no block has any.
  [[nodiscard]] bool empty() const;
  friend bool operator==(const BlockParameters&, const BlockParameters&) = default;
};

/// Parameters on one tensor rank, counted once for a job, which must outlive this object. Matrices and the biases of
/// column-parallel linears are split. Norms and the biases of row-parallel linears are whole on every rank. Tied
/// embeddings of several stages stand on the first and the last. The vocabulary is padded.
class LocalParameters {
 public:
  explicit LocalParameters(const job::Job& job, Counted counted = Counted::kAll);
  /// The same of blocks that are counted already.
  LocalParameters(const job::Job& job, BlockParameters blocks);

  /// Parameters of one layer of a kind.
  [[nodiscard]] double of_layer(int kind) const { return blocks_.layers[static_cast<std::size_t>(kind)]; }
  /// Parameters of all these layers.
  [[nodiscard]] double of_layers(const std::vector<model::LayerCount>& layers) const;
  /// Parameters of a chunk, with embedding and head where they stand. `contents`, here and below, are the layout's.
  [[nodiscard]] double of_chunk(Stage stage, Chunk chunk) const;
  [[nodiscard]] double of_chunk(Stage stage, const job::ChunkContents& contents) const;
  /// Parameters of all chunks of a stage.
  [[nodiscard]] double of_stage(Stage stage) const;
  [[nodiscard]] double of_stage(Stage stage, const job::StageContents& contents) const;
  /// Parameters of experts among those of a chunk, and of all chunks of a stage.
  [[nodiscard]] double experts_of_chunk(const job::ChunkContents& contents) const;
  [[nodiscard]] double experts_of_stage(Stage stage) const {
    return has_experts() ? experts_of_stage(layout_.contents(stage)) : 0;
  }
  [[nodiscard]] double experts_of_stage(const job::StageContents& contents) const;
  [[nodiscard]] bool has_experts() const { return !blocks_.experts.empty(); }
  /// Parameters of each block of a chunk in forward order: embedding, layers, head.
  [[nodiscard]] std::vector<double> of_blocks(Stage stage, Chunk chunk) const;
  /// The same without experts.
  [[nodiscard]] std::vector<double> without_experts_of_blocks(Stage stage, Chunk chunk) const;
  /// The experts of each block alone; empty when the model has none.
  [[nodiscard]] std::vector<double> experts_of_blocks(Stage stage, Chunk chunk) const;

 private:
  /// Adds the tables and the ends of a chunk to the parameters of its layers.
  [[nodiscard]] double with_ends(double parameters, Stage stage, job::ModelEnds ends) const;
  [[nodiscard]] bool holds_decoder_table(Stage stage) const { return decoder_table_ == stage; }

  const job::Job& job_;
  job::Layout layout_;
  BlockParameters blocks_;
  double head_ = 0;  // with its own table
  std::optional<Stage> decoder_table_;
};

/// Parameters of the token table on one tensor rank: its rows times hidden. Two stages share the tied table.
[[nodiscard]] double local_token_table(const job::Job& job);

/// Parameters of one gradient bucket over `ranks` replicas: 40 million, or 1 million per rank if that is more
/// (Megatron-LM@d98e8a6, megatron/core/distributed/distributed_data_parallel.py).
[[nodiscard]] double gradient_bucket_parameters(int ranks);

}  // namespace foretoken::step
