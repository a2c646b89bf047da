// The rules between the fields of a question, by family. Each says what was expected, what was found and what works.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/job/rules/draft.h"

namespace foretoken::job {

// Software (software.cpp): what the runtime does where nothing is stated.

/// Precision recipe, attention, shards, price and stragglers, with their assumptions.
void settle_software(Draft& draft);
/// The overlaps; those that the other choices do not allow are complaints or warnings.
void settle_overlap(Draft& draft);

// GPUs (gpus.cpp).

/// The job has the GPUs of all its pools.
[[nodiscard]] bool pools_make_up_gpus(Draft& draft);
/// Takes the data-parallel degree from the GPUs; false, and a complaint, unless the degrees make them up.
[[nodiscard]] bool degrees_fit(Draft& draft);
/// Jobs fill whole nodes, and several nodes need NICs. Pools are checked one by one where they are read.
void check_nodes(Draft& draft);
/// Deals the stages out to the pools: every stage stands on nodes of one kind.
[[nodiscard]] bool stages_stand_on_one_kind(Draft& draft);

// Shards of a layer (shards.cpp).

[[nodiscard]] bool tensor_divides(const model::Transformer& model, std::int64_t tensor);
/// True when `degree` ranks of the axis can share the sequences of the question; of any other axis, always.
[[nodiscard]] bool sequence_fits(const Question& question, Axis axis, std::int64_t degree);
[[nodiscard]] bool sequence_divides(std::int64_t sequence, std::int64_t context, std::int64_t tensor);
[[nodiscard]] bool pipeline_allows(int zero_stage, std::int64_t pipeline);
void check_shards(Draft& draft);
void check_sequence(Draft& draft);
/// Ranks that share a sequence exchange keys and values with fused attention only.
void check_attention(Draft& draft);
void check_positions(Draft& draft);
/// ZeRO-2 and 3 reduce every micro-batch's gradients at once, which a pipeline in flight cannot wait for: DeepSpeed
/// refuses the combination (deepspeed/runtime/pipe/engine.py), and FSDP has no pipeline of its own.
void check_sharding(Draft& draft);

// Layers (layers.cpp).

/// The kinds of layers of a model that names them are as many as its layers.
void check_stack(Draft& draft);
[[nodiscard]] bool layers_split(Draft& draft);
/// Precondition: the layers split.
void check_recomputed_layers(Draft& draft);

// Schedule and batch (schedule.cpp).

/// Takes the schedule that is stated, or the default; false, and a complaint, unless it interleaves exactly when stages
/// hold several chunks.
[[nodiscard]] bool settle_schedule(Draft& draft);
[[nodiscard]] bool batch_divides(Draft& draft);
/// The schedule's own conditions, and a bound on what can be simulated. Precondition: the batch divides.
void check_schedule(Draft& draft);

// Hardware (hardware.cpp).

/// Precision, profile and placement against the machines: complaints, and warnings of what is allowed but slow.
void check_hardware(Draft& draft);

/// "1024" or "1016 or 1024": the multiples of `unit` around `value`, for what to try.
[[nodiscard]] std::string multiples_near(std::int64_t value, std::int64_t unit);

/// Why `gpus` on this cluster are neither a part of one node nor whole nodes; nothing when they are.
[[nodiscard]] std::optional<std::string> why_not_whole_nodes(const net::Cluster& cluster, int gpus);

}  // namespace foretoken::job
