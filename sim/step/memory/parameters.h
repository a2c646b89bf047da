// Parameters that one GPU holds: its stage's share, split over tensor ranks where the weights are split.
#pragma once

#include <vector>

#include "sim/job/job.h"

namespace foretoken::step {

/// Parameters of one layer on one tensor rank: matrices and the biases of column-parallel linears are split, norms and
/// the biases of row-parallel linears are whole on every rank.
[[nodiscard]] double local_layer_parameters(const job::Job& job);

/// Parameters of `chunk` of `stage` on one tensor rank, with embedding and head where they sit. Tied embeddings with
/// more than one stage stand on the first and the last. The vocabulary is padded.
[[nodiscard]] double local_chunk_parameters(const job::Job& job, int stage, int chunk);

/// All chunks of `stage`.
[[nodiscard]] double local_stage_parameters(const job::Job& job, int stage);

/// The same for each block of a chunk in forward order: embedding, layers, head.
[[nodiscard]] std::vector<double> block_parameters(const job::Job& job, int stage, int chunk);

/// Parameters of one gradient bucket over `ranks` replicas: 40 million, or 1 million per rank if that is more
/// (Megatron-LM@d98e8a6, megatron/core/distributed/distributed_data_parallel.py).
[[nodiscard]] double gradient_bucket_parameters(int ranks);

/// Rows of the token table on one tensor rank, times hidden: the tied weights that two stages share.
[[nodiscard]] double local_token_table(const job::Job& job);

}  // namespace foretoken::step
