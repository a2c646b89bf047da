// Checks fine-tuning and packed sequences.
#include <fmt/format.h>

#include "sim/base/text.h"
#include "sim/job/rules/rules.h"

namespace foretoken::job {
namespace {

/// Returns true where latent attention has one of the targets: it has no keys and values of their own.
bool has_latent_product(const model::Transformer& model) {
  const model::LoraTargets& targets = model.tuning.targets;
  const bool narrow = model.latent->query_rank > 0;
  return targets.projection || targets.key_value_down || targets.key_value_up ||
         (narrow ? targets.query_down || targets.query_up : targets.queries);
}

/// Products of an MLP stand in dense layers and shared experts, and with `experts` in every routed expert.
void check_targets_of_experts(Draft& draft) {
  const job::Job& job = draft.job;
  const model::Experts& experts = *job.model.experts;
  const model::LoraTargets& targets = job.model.tuning.targets;
  const bool others = experts.dense_first > 0 || experts.every > 1 || experts.shared_width > 0;
  if (targets.of_mlp() && !targets.experts && !others)
    draft.complain("/training/targets",
                   fmt::format("expected \"attention\", or \"experts\" in the list: every MLP of {} "
                               "is a routed expert",
                               in_quotes(job.model.name)));
  if (targets.fused_fc1)
    draft.complain("/training/targets", fmt::format("expected gate_proj and up_proj: {} has experts, and no adapter of "
                                                    "both is modelled there",
                                                    in_quotes(job.model.name)));
  const bool narrow = job.model.tuning.holds_narrow();
  if ((targets.experts || narrow) && job.parallelism.expert > 1)
    draft.complain("/parallelism/expert",
                   fmt::format("expected 1 with {}, found {}: no expert ranks are modelled there",
                               narrow ? "experts of few bits" : "LoRA beside routed experts", job.parallelism.expert));
  if ((targets.of_mlp() || narrow) && experts.shared_width > 0 && job.layer_context().experts.shared_overlap)
    draft.complain(
        "/moe/shared_expert_overlap",
        "expected false: products of shared experts beside an exchange have no adapter and no narrow weights");
}

void check_targets(Draft& draft) {
  const model::Transformer& model = draft.job.model;
  const model::LoraTargets& targets = model.tuning.targets;
  if (model.stack)
    draft.complain("/training/method", fmt::format("expected \"full\" for model {}, whose layers are of its own kinds",
                                                   in_quotes(model.name)));
  if (model.latent && targets.of_attention() && !has_latent_product(model) && !targets.of_mlp())
    draft.complain("/training/targets", fmt::format("expected a product of latent attention, as {} has: \"attention\", "
                                                    "\"kv_b_proj\" or \"o_proj\"",
                                                    in_quotes(model.name)));
  const bool plain = targets.queries || targets.keys || targets.values || targets.fused_qkv || targets.projection;
  if (!model.latent && targets.of_latent() && !plain && !targets.of_mlp())
    draft.complain("/training/targets",
                   fmt::format("expected a product that {} has: it has no latent attention", in_quotes(model.name)));
  if (model.experts) check_targets_of_experts(draft);
  if (!model.experts && targets.experts)
    draft.complain("/training/targets",
                   fmt::format("expected no \"experts\": {} has none; try \"mlp\"", in_quotes(model.name)));
  const bool whole = targets.experts || (model.latent && targets.of_attention());
  if (whole && draft.job.parallelism.tensor > 1)
    draft.complain("/parallelism/tensor", fmt::format("expected 1 with LoRA beside latent attention or routed experts, "
                                                      "found {}: no tensor ranks are modelled there",
                                                      draft.job.parallelism.tensor));
  if (targets.gate && !model.gated() && !targets.up)
    draft.complain(
        "/training/targets",
        fmt::format("expected no \"gate_proj\": the MLP of {} has no gate; try \"up_proj\"", in_quotes(model.name)));
  if (model.tuning.rank > model.hidden)
    draft.complain("/training/rank", fmt::format("expected at most {}, the hidden size of model {}, found {}",
                                                 model.hidden, in_quotes(model.name), model.tuning.rank));
}

/// Parts that train whole, and their frozen originals, are those of one table of tokens and one head.
void check_whole(Draft& draft) {
  const model::Transformer& model = draft.job.model;
  const auto refuse = [&](std::string_view why) {
    draft.complain("/training/whole", fmt::format("expected none for {}, {}", in_quotes(model.name), why));
  };
  if (model.encoder) return refuse("an encoder: no head of it trains whole beside LoRA");
  if (model.encoder_decoder) return refuse("whose two halves share a table of tokens");
  if (model.prediction_layers > 0) return refuse("whose layers of multi-token prediction share the head");
  draft.notes.assumptions.emplace_back(
      "training.whole: a copy of each part trains, and the frozen original stays in memory, as with PEFT's "
      "modules_to_save; copies have gradients and states of the same types as adapters");
  if (model.tied_embeddings)
    draft.notes.assumptions.push_back(
        fmt::format("training.whole: embedding and head of {} are one table; each part named trains a copy of its own, "
                    "which is tied to nothing, as PEFT makes it",
                    in_quotes(model.name)));
}

void check_prompts(Draft& draft) {
  const std::int64_t tokens = draft.job.model.tuning.virtual_tokens, sequence = draft.job.batch.sequence_length;
  if (tokens >= sequence)
    draft.complain(
        "/training/virtual_tokens",
        fmt::format("expected fewer than the {} tokens of batch.sequence_length, which counts virtual tokens, "
                    "found {}",
                    sequence, tokens));
  draft.notes.assumptions.push_back(fmt::format(
      "batch.sequence_length counts the {} virtual tokens of every sequence, as NeMo's max_seq_length does", tokens));
}

/// States that fine-tuning leaves without a measurement or a model.
void check_frozen(Draft& draft) {
  const Job& job = draft.job;
  const bool four = job.model.tuning.method == model::TuningMethod::kQlora;
  if (job.model.tuning.holds_narrow() && !four && (job.model.experts || job.model.latent))
    draft.complain("/training/method", fmt::format("expected \"lora\" for {}: no experts or latent attention in 8 bit "
                                                   "are modelled",
                                                   in_quotes(job.model.name)));
  if (four && job.model.experts)
    draft.notes.assumptions.push_back(
        "training qlora: routed experts stand in 4 bit, as modules of their own do; bitsandbytes leaves stacked "
        "weights "
        "(transformers 5) in 16 bit");
  const bool narrow = job.precision == Precision::kFp8 || job.precision == Precision::kNvfp4;
  if (job.model.tuning.holds_narrow() && narrow)
    draft.complain("/training/method",
                   fmt::format("expected \"lora\" with precision {}: products of {} weights run in {}",
                               in_quotes(std::string(job.precision_name())), four ? "NF4" : "int8",
                               four ? "16 bit" : "int8 and 16 bit"));
  // "Cannot flatten integer dtype tensors": pytorch/pytorch, torch/distributed/fsdp/_flat_param.py.
  const bool eight = job.model.tuning.method == model::TuningMethod::kInt8Lora;
  if (eight && job.optimizer.zero_stage >= 3)
    draft.complain(
        "/optimizer/zero_stage",
        fmt::format("expected at most 2 with training.method \"lora-int8\": FSDP shards no integers, found {}",
                    job.optimizer.zero_stage));
  if (eight && !job.layer_context().int8_products)
    draft.notes.assumptions.push_back(
        "training lora-int8: the profile has no law of int8 products, so they take as long as in 16 bit; the kernels "
        "that quantise and dequantise are counted beside them");
  draft.notes.assumptions.push_back(
      fmt::format("training {}: the model's own weights are frozen, with no gradients and no optimizer states",
                  name_of(job.model.tuning.method)));
}

}  // namespace

void check_tuning(Draft& draft) {
  const model::FineTuning& tuning = draft.job.model.tuning;
  if (!tuning.freezes()) return;
  check_targets(draft);
  if (tuning.whole.any()) check_whole(draft);
  if (tuning.has_prompts()) check_prompts(draft);
  check_frozen(draft);
}

void check_packing(Draft& draft) {
  const Batch& batch = draft.job.batch;
  if (!batch.packed) return;
  if (*batch.packed > batch.sequence_length)
    draft.complain("/batch/packed", fmt::format("expected at most {}, the tokens that sequences are packed to "
                                                "(batch.sequence_length), found {}",
                                                batch.sequence_length, *batch.packed));
  if (draft.job.attention == model::AttentionKind::kUnfused)
    draft.complain("/batch/packed",
                   "expected fused attention: unfused scores of packed sequences are not modelled; try "
                   "--set attention=flash");
  if (draft.job.parallelism.context > 1)
    draft.complain("/batch/packed", fmt::format("expected parallelism.context 1: ranks that share packed sequences are "
                                                "not modelled, found {}",
                                                draft.job.parallelism.context));
  draft.notes.assumptions.push_back(fmt::format(
      "packed sequences all have the mean length of {} tokens; longer ones beside shorter ones attend to more",
      *batch.packed));
}

}  // namespace foretoken::job
