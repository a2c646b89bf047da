// The rules between the fields of a question, by family. A complaint states what was expected, what was found and what
// works.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/job/rules/draft.h"

namespace foretoken::job {

// Software (software.cpp): the runtime's defaults.

/// Returns the bytes of parameters: the stated ones, else the runtime's.
[[nodiscard]] PrecisionRecipe recipe_of(const Question& question);
/// Settles attention, price and stragglers. Notes their assumptions and the one of the precision recipe.
void settle_software(Draft& draft);
/// Settles the overlaps. An overlap that the other choices do not allow is a complaint or a warning.
void settle_overlap(Draft& draft);

// GPUs (gpus.cpp).

/// Checks that the job has the GPUs of all its pools.
[[nodiscard]] bool pools_make_up_gpus(Draft& draft);
/// Takes the data-parallel degree from the GPUs. Returns false, with a complaint, unless the degrees make up the GPUs.
[[nodiscard]] bool degrees_fit(Draft& draft);
/// Checks that jobs fill whole nodes, and that several nodes have NICs. Pools are checked one by one where they are
/// read.
void check_nodes(Draft& draft);
/// Deals the stages out to the pools. Every stage stands on nodes of one kind.
[[nodiscard]] bool stages_stand_on_one_kind(Draft& draft);

// Shards of a layer (shards.cpp).

[[nodiscard]] bool tensor_divides(const model::Transformer& model, std::int64_t tensor);
/// Returns true when `degree` ranks of the axis can share the sequences of the question. It is true for every other
/// axis.
[[nodiscard]] bool sequence_fits(const Question& question, Axis axis, std::int64_t degree);
[[nodiscard]] bool sequence_divides(std::int64_t sequence, std::int64_t context, std::int64_t tensor);
[[nodiscard]] bool pipeline_allows(int zero_stage, std::int64_t pipeline);
void check_shards(Draft& draft);
void check_sequence(Draft& draft);
/// Refuses unfused attention for ranks that share a sequence. They exchange keys and values with fused attention only.
void check_attention(Draft& draft);
void check_positions(Draft& draft);
/// Refuses ZeRO-2 and 3 with a pipeline. They reduce every micro-batch's gradients at once, and a pipeline in flight
/// cannot wait for that. DeepSpeed refuses the combination (deepspeed/runtime/pipe/engine.py), and FSDP has no
/// pipeline.
void check_sharding(Draft& draft);

// Experts (experts.cpp).

/// Returns true when some layer has an MLP, whose width tensor ranks share.
[[nodiscard]] bool has_mlp(const model::Transformer& model);
/// Takes the degrees of experts. Leaves them 1, with complaints, where the model has no experts, or where they do not
/// fit its experts or the ranks of a stage. Precondition: the other degrees fit the GPUs.
void settle_experts(Draft& draft);

// Offloading (offload.cpp).

/// Checks offloading against runtime, shards and machines. FSDP's optimizer states follow its parameters. `split` means
/// that the layers split over the stages.
void settle_offload(Draft& draft, bool split);

// Encoders (encoders.cpp).

/// Checks that an encoder has a head to train, and that only masked heads have a fraction of masked tokens.
void check_heads(Draft& draft);

// Fine-tuning (tuning.cpp).

/// Checks that a method has what it needs and nothing else, and that the model has the parts that it changes.
void check_tuning(Draft& draft);
/// Checks that fused attention runs over packed sequences, which one GPU holds whole.
void check_packing(Draft& draft);

// Encoder-decoders (halves.cpp).

/// Checks lengths, pipeline and attention of an encoder-decoder, and that no other model has the keys of one.
void check_halves(Draft& draft);
/// Returns the reason why the two halves do not split over the stages, or nothing when they do.
[[nodiscard]] std::optional<std::string> why_halves_do_not_split(const Job& job);

// Layers (layers.cpp).

/// Checks that a model with named kinds of layers has as many of them as layers.
void check_stack(Draft& draft);
[[nodiscard]] bool layers_split(Draft& draft);
/// Precondition: the layers split.
void check_recomputed_layers(Draft& draft);

// Schedule and batch (schedule.cpp).

/// Takes the stated schedule, or the default. Returns false, with a complaint, unless it interleaves exactly when
/// stages hold several chunks.
[[nodiscard]] bool settle_schedule(Draft& draft);
[[nodiscard]] bool batch_divides(Draft& draft);
/// Checks the schedule's own conditions, and a bound on the size of a simulation. Precondition: the batch divides.
void check_schedule(Draft& draft);

// Hardware (hardware.cpp).

/// Checks precision, profile and placement against the machines. Allowed but slow choices give warnings.
void check_hardware(Draft& draft);

/// Returns the reason why `gpus` on this cluster are neither a part of one node nor whole nodes, or nothing when they
/// are.
[[nodiscard]] std::optional<std::string> why_not_whole_nodes(const net::Cluster& cluster, int gpus);

}  // namespace foretoken::job
