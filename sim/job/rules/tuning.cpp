// Checks fine-tuning and packed sequences.
#include <fmt/format.h>

#include "sim/base/text.h"
#include "sim/job/rules/rules.h"

namespace foretoken::job {
namespace {

void check_targets(Draft& draft) {
  const model::Transformer& model = draft.job.model;
  const model::LoraTargets& targets = model.tuning.targets;
  if (model.stack)
    draft.complain("/training/method", fmt::format("expected \"full\" for model {}, whose layers are of its own kinds",
                                                   in_quotes(model.name)));
  const bool of_layers = targets.of_attention() || targets.of_mlp();
  if (model.latent && model.experts && of_layers) {
    draft.complain("/training/method",
                   fmt::format("expected \"full\" for model {}: it has multi-head latent attention and experts, and no "
                               "LoRA is modelled beside either",
                               in_quotes(model.name)));
  } else if (model.latent && targets.of_attention()) {
    draft.complain("/training/targets", fmt::format("expected no product of attention: {} has multi-head latent "
                                                    "attention, beside which no LoRA is modelled; try \"mlp\"",
                                                    in_quotes(model.name)));
  } else if (model.experts && targets.of_mlp()) {
    draft.complain("/training/targets", fmt::format("expected no product of an MLP: {} has experts, beside which no "
                                                    "LoRA is modelled; try \"attention\"",
                                                    in_quotes(model.name)));
  }
  if (targets.gate && !model.gated() && !targets.up)
    draft.complain(
        "/training/targets",
        fmt::format("expected no \"gate_proj\": the MLP of {} has no gate; try \"up_proj\"", in_quotes(model.name)));
  if (model.tuning.rank > model.hidden)
    draft.complain("/training/rank", fmt::format("expected at most {}, the hidden size of model {}, found {}",
                                                 model.hidden, in_quotes(model.name), model.tuning.rank));
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
  const bool either = job.model.experts.has_value() != job.model.latent.has_value();  // check_targets refuses both
  const bool four = job.model.tuning.method == model::TuningMethod::kQlora;
  if (job.model.tuning.holds_narrow() && either)
    draft.complain("/training/method", fmt::format("expected \"lora\" for {}: no experts or latent attention in {} bit "
                                                   "are modelled",
                                                   in_quotes(job.model.name), four ? 4 : 8));
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
