// The layers on every model chunk, and the places of embedding and head.
//
// The chunks of all stages form a line with the model's layers in forward order, or a line for each copy of the model.
// The placement of the job's schedule defines these lines. The embedding stands before the first layer, on the first
// chunk of the line. The head stands after the last layer, on the last chunk.
#pragma once

#include <optional>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/table.h"
#include "sim/job/job.h"
#include "sim/model/stacks/decoder.h"

namespace foretoken::job {

/// Layers dealt out to the chunks of all stages. Where a pipeline holds several copies of the model, every copy is
/// dealt out the same way along its own line.
class Dealing {
 public:
  /// Counts the layers of one chunk, where virtual stage k p + r is chunk k of stage r.
  [[nodiscard]] int layers(Stage stage, Chunk chunk) const;
  /// Counts the layers on the chunks before one, where virtual stage k p + r is chunk k of stage r.
  [[nodiscard]] std::int64_t before(Stage stage, Chunk chunk) const;
  /// Counts the layers of one chunk of `stage`. It is virtual stage `at` and holds `ends` ends of the model (embedding,
  /// head).
  [[nodiscard]] int layers(Stage stage, int at, int ends) const;
  /// Counts the layers of the largest chunk.
  [[nodiscard]] int largest() const;

 private:
  friend std::optional<Dealing> deal_layers(std::int64_t layers, const Parallelism& parallelism);
  Dealing(std::int64_t layers, const Parallelism& parallelism);
  [[nodiscard]] bool works(std::int64_t layers) const;
  void deal_halves(std::int64_t layers, const Parallelism& parallelism);
  [[nodiscard]] int chunks() const { return stages_ * chunks_a_stage_; }
  [[nodiscard]] bool states_chunks() const {
    return chunks_a_stage_ > 1 && static_cast<int>(stated_.size()) == chunks();
  }

  int stages_, chunks_a_stage_;  // chunks of one copy of the model
  std::int64_t extra_;           // layers that embedding and head count for, each
  std::int64_t share_;           // layers of a chunk in the middle, unless the user states them
  std::vector<int> stated_;      // layers of each stage, or of each virtual stage
  bool whole_copies_;            // every copy has as many chunks a stage
  bool halves_fit_ = true;       // encoder and decoder split evenly over their stages
};

/// Returns true when a list of layers leaves a chunk with nothing at all: embedding and head fill the ends of a list
/// that has a number for each chunk. A number of another list is shared by `chunks` chunks.
[[nodiscard]] bool leaves_chunk_empty(const std::vector<int>& layers, int chunks);

/// Deals out the layers. Returns std::nullopt when that is not possible: not as stated, or not evenly with at least one
/// layer for each chunk. The chunks of embedding and head may have none where a list states it, or where these count as
/// a layer.
[[nodiscard]] std::optional<Dealing> deal_layers(std::int64_t layers, const Parallelism& parallelism);

/// The contents of one model chunk, in forward order: embedding, layers, head.
struct ChunkContents {
  std::vector<model::LayerCount> layers;
  bool embedding = false, head = false;

  [[nodiscard]] int layer_count() const;
  friend bool operator==(const ChunkContents&, const ChunkContents&) = default;
};

/// The chunks of a stage, and the layers of all of them, each kind once.
struct StageContents {
  Table<Chunk, ChunkContents> chunks;
  std::vector<model::LayerCount> layers;
  friend bool operator==(const StageContents&, const StageContents&) = default;
};

/// The ends of the model on a chunk.
struct ModelEnds {
  bool embedding = false, head = false;
  [[nodiscard]] int count() const { return (embedding ? 1 : 0) + (head ? 1 : 0); }
};

/// The chunks of a job, whose layers are dealt out once: for those who ask about many chunks. The job must outlive it.
class Layout {
 public:
  explicit Layout(const Job& job);
  [[nodiscard]] ChunkContents contents(Stage stage, Chunk chunk) const;
  [[nodiscard]] StageContents contents(Stage stage) const;
  [[nodiscard]] int layers(Stage stage, Chunk chunk) const;  ///< counts those of a chunk
  [[nodiscard]] ModelEnds ends(Stage stage, Chunk chunk) const;

 private:
  [[nodiscard]] std::int64_t layers_before(schedule::Place at) const;
  [[nodiscard]] int place_in_line(schedule::Place at) const;

  const Job& job_;
  Dealing dealing_;
  std::optional<schedule::Placement> placement_;  // none: virtual stage k p + r is chunk k of stage r
};

[[nodiscard]] ChunkContents contents_of(const Job& job, Stage stage, Chunk chunk);

/// Returns the layers of all chunks of a stage, each kind once.
[[nodiscard]] std::vector<model::LayerCount> layers_of(const Job& job, Stage stage);

/// Counts the first layers of a chunk that the job's recomputation repeats.
[[nodiscard]] int recomputed_layers(const Job& job, int layers);

/// Returns the first `count` of some layers.
[[nodiscard]] std::vector<model::LayerCount> first_layers(const std::vector<model::LayerCount>& layers, int count);

[[nodiscard]] Stage stage_of_embedding(const Job& job);
[[nodiscard]] Stage stage_of_head(const Job& job);

/// Returns the stage with the first layer of a decoder behind an encoder, where that stage holds a copy of the
/// embedding's table for it alone. Nothing: the table stands there for the embedding or for a tied head, too.
[[nodiscard]] std::optional<Stage> stage_of_decoder_table(const Job& job);

/// Returns true when two stages hold the embedding's table and reduce its gradient: the stage of the head has a copy as
/// the head's weights (tied embeddings), or for layers of multi-token prediction.
[[nodiscard]] bool stages_share_embedding(const Job& job);

}  // namespace foretoken::job
