// The rules that make a scenario of Megatron-LM's flags, one function for each part of a run.
#pragma once

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/megatron/entry_point.h"

namespace foretoken::io::launch::megatron {

/// The reason for a default.
inline constexpr const char* kDefault = "Megatron-LM's default (megatron/training/arguments.py)";

/// Ends the place of weights of 32 bits, and says what is counted beside them.
inline constexpr const char *kFp8Alone = " without --bf16",
                            *kWideBesideFp8 =
                                "without --bf16 what products leave and read has 32 bits; 16 bits are counted";

/// The reason why --sequence-parallel does not count.
inline constexpr const char* kOffWithoutTensor = "--sequence-parallel is off with one tensor rank";

/// The generation of the code, which decides defaults that no flag states.
enum class Era : std::uint8_t { k2021, k2022, kCore, kDeepSpeed, kMegatronFsdp, kTorchFsdp };

[[nodiscard]] Era era_of(const Flags& flags);

/// Returns the first of the names that the flags state; the first of all where they state none.
[[nodiscard]] std::string first_of(const Flags& flags, std::initializer_list<std::string_view> names);

/// Returns true for latent attention.
[[nodiscard]] bool is_latent(const Flags& flags);

/// Maps the heads of attention, whose sizes follow from the hidden size.
void map_heads(const Flags& flags);

/// Maps sizes, layers, experts and embeddings to `model`.
void map_model(const Flags& flags, Program program);

/// Maps windows of attention to `model`.
void map_windows(const Flags& flags);

/// Writes ([0]*3+[1]*58), [0, 1, 1] or 0 1 1 as one digit a layer; nothing for another text.
[[nodiscard]] std::optional<std::string> digits_of_layers(std::string_view text);

/// Maps degrees, pipeline chunks, layers of the stages and the batch. `fragment`: the flags are a part of a launch.
void map_parallelism(const Flags& flags, Era era, bool fragment);
void map_batch(const Flags& flags);

/// Rounds the vocabulary up by --make-vocab-size-divisible-by, or says in its question what the number must be.
void pad_vocabulary(const Flags& flags);

/// Returns true for a T5. Flags alone say so where they state a length of the decoder.
[[nodiscard]] bool has_two_halves(const Flags& flags, Program program);

/// Returns true for a BERT. Flags alone say so where no program is named and they leave out a head of BERT.
[[nodiscard]] bool is_bert(const Flags& flags, Program program);

/// Makes a BERT of a model of the flags.
void become_bert(const Flags& flags);

/// Maps the layers of a T5's halves.
void map_layers_of_halves(const Flags& flags);

/// Maps the decoder's length and the encoder's stages of a T5. Refuses stages of an encoder for another model.
void map_cut_of_halves(const Flags& flags, Program program);

/// Maps precision, gradients, recomputation, optimizer, overlap and kernels.
void map_precision(const Flags& flags, bool fragment);
void map_recompute(const Flags& flags);
void map_optimizer(const Flags& flags, Era era);
void map_overlap(const Flags& flags, Era era);
void map_attention(const Flags& flags, Era era);

/// Maps the optimizer and the layers of activations that stand on the host. Only Megatron-Core has them.
void map_offloading(const Flags& flags, Era era);

/// Maps LoRA of MindSpeed-LLM and ms-swift. Refuses stages that are no plain training.
void map_fine_tuning(const Flags& flags);

/// Refuses --spec with layers that are no GPT's.
void check_layers_of_code(const Flags& flags);

/// Maps the number of GPUs, where a launcher or a scheduler states it.
void map_gpus(const Flags& flags);

/// Returns the list of recompute.modules: "[core_attn,mlp]", "core_attn mlp" and "core_attn/mlp" have two.
[[nodiscard]] Json modules_of(std::string text);

/// Returns true for full recomputation of the first 0 layers of each chunk: NVIDIA/Megatron-LM,
/// megatron/core/transformer/transformer_block.py, _checkpointed_forward. "uniform" divides the layers by the number.
[[nodiscard]] inline bool recomputes_nothing(std::string_view method, std::optional<std::int64_t> layers) {
  return method == "block" && layers == 0;
}
inline constexpr const char* kNoBlock = "the method block recomputes the first 0 layers of each chunk, which are none";

/// Returns the exchange of context parallelism of a --cp-comm-type: "all-to-all" for a2a. Nothing for other words.
[[nodiscard]] std::optional<std::string_view> exchange_of_type(std::string_view type);

/// Returns the GPUs that the counts of a launch make up; nothing where they do not say, or say more than any cluster
/// has.
[[nodiscard]] std::optional<std::int64_t> gpus_of_counts(std::vector<Argument> counts);

/// Returns the GPUs of each machine that these counts state; nothing where they state none.
[[nodiscard]] std::optional<std::int64_t> gpus_of_machine(std::vector<Argument> counts);

/// Splits layers over stages by --pipeline-model-parallel-layout: "Et|(tt|)*6mL". Returns the layers of every virtual
/// stage; nothing for a text outside the grammar.
///
/// Grammar: NVIDIA/Megatron-LM core 0.14, megatron/core/transformer/pipeline_parallel_layer_layout.py.
[[nodiscard]] std::optional<std::vector<std::int64_t>> layers_of_layout(std::string_view layout);

/// Returns why the stages of a layout are not modelled; nothing where they are.
[[nodiscard]] std::optional<std::string> why_not_modelled(std::string_view layout);

/// Words of the reason for refusing a layout whose layers of multi-token prediction are not those of the model.
inline constexpr const char* kPredictionsOfLayout = "layers of multi-token prediction (m) stand in the layout";

/// Returns the layers of multi-token prediction (m) in a layout.
[[nodiscard]] std::int64_t predictions_of_layout(std::string_view layout);

}  // namespace foretoken::io::launch::megatron
