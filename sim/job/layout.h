// The layers on every model chunk, and the places of embedding and head.
//
// The chunks of all stages form a line, the model's layers in forward order: the placement of the job's schedule. The
// embedding stands before the first layer, on the first chunk of the line; the head behind the last, on the last chunk.
#pragma once

#include <optional>
#include <vector>

#include "sim/base/ids.h"
#include "sim/job/job.h"
#include "sim/model/stacks/decoder.h"

namespace foretoken::job {

/// Layers dealt out to the chunks of all stages.
class Dealing {
 public:
  /// Layers of one chunk, where virtual stage k p + r is chunk k of stage r.
  [[nodiscard]] int layers(Stage stage, Chunk chunk) const;
  /// Layers of one chunk of `stage` on which so many ends of the model stand (embedding, head).
  [[nodiscard]] int layers(Stage stage, int ends) const;
  /// Layers of the largest chunk.
  [[nodiscard]] int largest() const;

 private:
  friend std::optional<Dealing> deal_layers(std::int64_t layers, const Parallelism& parallelism);
  Dealing(std::int64_t layers, const Parallelism& parallelism);
  [[nodiscard]] bool works(std::int64_t layers) const;
  [[nodiscard]] int chunks() const { return stages_ * chunks_a_stage_; }

  int stages_, chunks_a_stage_;
  std::int64_t extra_;       // places that embedding and head take, each
  std::int64_t share_;       // layers of a chunk in the middle, unless the user states them
  std::vector<int> stated_;  // layers of each stage
};

/// std::nullopt when layers cannot be dealt out: not as stated, or not evenly with at least one for each chunk.
[[nodiscard]] std::optional<Dealing> deal_layers(std::int64_t layers, const Parallelism& parallelism);

/// The contents of one model chunk, in forward order: embedding, layers, head.
struct ChunkContents {
  std::vector<model::LayerCount> layers;
  bool embedding = false, head = false;

  [[nodiscard]] int layer_count() const;
};

[[nodiscard]] ChunkContents contents_of(const Job& job, Stage stage, Chunk chunk);

/// The layers of all chunks of a stage, each kind once.
[[nodiscard]] std::vector<model::LayerCount> layers_of(const Job& job, Stage stage);

/// The first layers of a chunk: as many as recomputation of the job repeats there.
[[nodiscard]] int recomputed_layers(const Job& job, int layers);

/// The first `count` of some layers.
[[nodiscard]] std::vector<model::LayerCount> first_layers(const std::vector<model::LayerCount>& layers, int count);

[[nodiscard]] Stage stage_of_embedding(const Job& job);
[[nodiscard]] Stage stage_of_head(const Job& job);

/// True when the head needs a table of its own: its weights are not the embedding's, or they stand on another stage.
[[nodiscard]] bool head_has_own_table(const Job& job);

}  // namespace foretoken::job
