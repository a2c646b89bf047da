// Settles the defaults of the runtime: recipe, attention, shards, overlaps. Each default is noted as an assumption.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.h"
#include "sim/base/text.h"
#include "sim/job/make.h"
#include "sim/job/rules/precision_recipe.h"
#include "sim/job/rules/rules.h"
#include "sim/model/cut.h"

namespace foretoken::job {

namespace {

// More than 4 bytes are a main gradient in fp32 and a 16-bit copy beside it (2 + 4). One gradient is reduced as it is
// kept. Of two, the runtime says which is.
void take_gradients(PrecisionRecipe& recipe, const AskedRecipe& stated) {
  const double main = std::min(*stated.gradient_bytes, 4.0);
  recipe.gradient_bytes = main;
  recipe.extra_gradient_bytes = stated.extra_gradient_bytes.value_or(*stated.gradient_bytes - main);
  if (recipe.extra_gradient_bytes == 0) recipe.reduce_bytes = main;
}

}  // namespace

PrecisionRecipe recipe_of(const Question& question) {
  PrecisionRecipe recipe = default_recipe(question.choices.precision.value_or(Precision::kBf16), question.runtime);
  if (question.optimizer == "adafactor") recipe.moment_bytes = 0;  // rows and columns of a matrix, counted in step
  if (!question.choices.recipe) return recipe;
  const AskedRecipe& stated = *question.choices.recipe;
  recipe.weight_bytes = stated.weight_bytes.value_or(recipe.weight_bytes);
  if (stated.gradient_bytes) take_gradients(recipe, stated);
  recipe.reduce_bytes = stated.reduce_bytes.value_or(recipe.reduce_bytes);
  recipe.master_bytes = stated.master_bytes.value_or(recipe.master_bytes);
  recipe.moment_bytes = stated.moment_bytes.value_or(recipe.moment_bytes);
  recipe.fp8 = stated.fp8.value_or(recipe.fp8);
  recipe.fp8_attention = stated.fp8_attention.value_or(recipe.fp8_attention);
  return recipe;
}

namespace {

std::string recipe_words(const Question& question, const PrecisionRecipe& r) {
  const char* source = " (Megatron-LM's mixed-precision recipes)";
  if (is_wide(question.choices.precision.value_or(Precision::kBf16))) source = " (no copies of other widths)";
  if (question.runtime.fully_sharded)
    source = " (FSDP: 16-bit weights exist while gathered, the fp32 shards are the master weights)";
  if (question.choices.recipe) source = " (as stated)";
  const bool factored = question.optimizer == "adafactor";
  return fmt::format(
      "{} bytes per parameter before sharding: weights {}, gradients {}, master weights {}, {} moments {}{}{}",
      bytes_per_parameter(r), r.weight_bytes, r.gradient_bytes + r.extra_gradient_bytes, r.master_bytes,
      factored ? "first" : "Adam's", r.moment_bytes, factored ? ", and a row and a column for each matrix" : "",
      source);
}

void settle_recipe(Draft& draft) {
  const Question& question = draft.question;
  const std::optional<AskedRecipe>& stated = question.choices.recipe;
  if (stated && stated->fp8 && question.choices.precision.value_or(Precision::kFp8) != Precision::kFp8)
    draft.complain("/precision_recipe/fp8_recipe", "expected only with precision \"fp8\"");
  draft.notes.assumptions.push_back(recipe_words(question, recipe_of(question)));
}

void settle_price(Draft& draft) {
  std::optional<TrainingRun>& run = draft.job.run;
  const net::Cluster& cluster = draft.job.cluster;
  if (!run || run->price_per_gpu_hour || !cluster.price_per_gpu_hour) return;
  run->price_per_gpu_hour = price_of(draft.question);
  if (!run->price_per_gpu_hour) return;
  draft.notes.assumptions.push_back(
      fmt::format("price {} {} per GPU hour: from cluster {}", *run->price_per_gpu_hour, run->currency, cluster.name));
}

// Returns the first profile without laws of FlashAttention-2.
const cost::Profile* without_flash2(const Question& question) {
  for (const AskedPool& pool : question.pools)
    if (pool.profile.attention.flash2.empty()) return &pool.profile;
  return question.pools.empty() && question.profile.attention.flash2.empty() ? &question.profile : nullptr;
}

// PyTorch's attention prefers cuDNN's kernel on Blackwell, and has no FlashAttention-2 before Ampere: pytorch/pytorch,
// aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, check_prefer_cudnn_attention and
// check_flash_attention_hardware_support. A runtime that calls another package has the kernel of that package only.
AttentionChoice usual_attention(Draft& draft) {
  const AttentionChoice usual = draft.question.runtime.default_attention;
  const bool older = usual.kind == model::AttentionKind::kFlash && usual.kernel != FlashKernel::kFastest;
  const bool may_change = older && draft.question.runtime.pytorch_attention;
  const cost::Profile* const without = may_change ? without_flash2(draft.question) : nullptr;
  if (draft.question.attention || without == nullptr || !draft.sound.profile) return usual;
  draft.notes.assumptions.push_back(
      fmt::format("attention flash in the place of the runtime's {}: profile {} has no laws of FlashAttention-2, and "
                  "PyTorch takes another kernel on this GPU",
                  model::name_of(usual.kind, usual.kernel), in_quotes(without->name)));
  return {.kind = model::AttentionKind::kFlash};
}

// Fused kernels do not add relative positions to scores.
AttentionChoice attention_of(Draft& draft) {
  const Question& question = draft.question;
  const AttentionChoice usual = question.runtime.default_attention;
  const Precision precision = question.choices.precision.value_or(Precision::kBf16);
  if (is_wide(precision) && !question.attention && usual.kind == model::AttentionKind::kFlash) {
    draft.notes.assumptions.push_back(
        fmt::format("attention unfused: FlashAttention has no kernels for {}", foretoken::name_of(precision)));
    return {.kind = model::AttentionKind::kUnfused};
  }
  const auto& halves = question.model.encoder_decoder;
  if (question.attention || !halves || !halves->relative() || usual.kind == model::AttentionKind::kUnfused)
    return question.attention ? *question.attention : usual_attention(draft);
  draft.notes.assumptions.push_back(
      "attention unfused: fused kernels do not read the relative positions that the model adds to its scores");
  return {.kind = model::AttentionKind::kUnfused};
}

std::string in_words(const Stragglers& how) {
  std::string words = fmt::format("stragglers: kernels vary by {:.3g} % between GPUs", 100 * how.gpu_spread);
  if (how.jitter > 0) words += fmt::format(" and by {:.3g} % from pass to pass", 100 * how.jitter);
  if (how.slow_nodes > 0)
    words +=
        fmt::format(", {:.3g} % of the nodes take {:.3g} times as long", 100 * how.slow_nodes, how.slow_node_factor);
  return words + fmt::format("; drawn with seed {} (docs/operator/stragglers.md)", how.seed);
}

}  // namespace

std::optional<double> price_of(const Question& question) {
  expects(question.run.has_value(), "only a run has a price");
  if (question.run->price_per_gpu_hour) return question.run->price_per_gpu_hour;
  return question.run->currency == "USD" ? question.cluster.price_per_gpu_hour
                                         : std::nullopt;  // list prices are in USD
}

void settle_software(Draft& draft) {
  const Question& question = draft.question;
  Job& job = draft.job;
  settle_recipe(draft);
  const AttentionChoice attention = attention_of(draft);
  job.attention = attention.kind;
  job.flash_kernel = attention.kernel;
  if (question.dropout) {
    job.model.hidden_dropout = job.model.attention_dropout = *question.dropout;
    if (job.model.activation_dropout > 0) job.model.activation_dropout = *question.dropout;
  }
  const std::optional<double> masked = question.choices.batch.masked_fraction;
  if (job.model.encoder && masked) job.model.encoder->predicted_share = *masked;
  settle_price(draft);
  if (question.stragglers.on) draft.notes.assumptions.push_back(in_words(question.stragglers));
}

namespace {

void check_tensor_overlap(Draft& draft) {
  using enum model::TensorOverlap;
  const Runtime& runtime = draft.question.runtime;
  const Job& job = draft.job;
  const char* pointer = "/overlap/tensor_parallel";
  if (!job.overlap.tensor_parallel) return;
  if (runtime.tensor_overlap == kNone)
    draft.complain(pointer, fmt::format("expected false with runtime {}, found true: it overlaps no tensor-parallel "
                                        "collectives (tensor_overlap of the runtime); try overlap.tensor_parallel "
                                        "false, or runtime torchtitan-compiled",
                                        in_quotes(runtime.name)));
  if (runtime.tensor_overlap == kUserbuffers && !runtime.userbuffers_gain)
    draft.notes.assumptions.push_back(
        fmt::format("overlap.tensor_parallel saves nothing under runtime {}: its smaller products cost what it hides "
                    "(docs/modeller/layer.md)",
                    runtime.name));
  if (runtime.tensor_overlap != kMicroPipeline || job.parallelism.tensor == 1) return;
  if (!job.parallelism.sequence_parallel)
    draft.complain(pointer,
                   "expected false without sequence parallelism, found true: PyTorch fuses products with gathers and "
                   "reduce-scatters, not with all-reduces; try parallelism.sequence_parallel true");
  const model::LayerContext context{.precision = job.precision, .fp8_recipe = job.recipe.fp8};
  if (const model::Cut cut(context); cut.quantises() && !cut.scales_tensors())
    draft.notes.assumptions.push_back(
        fmt::format("overlap.tensor_parallel saves nothing with precision {} and scales for blocks: PyTorch's compiler "
                    "does not fuse such products with their collectives",
                    job.precision_name()));
}

}  // namespace

void settle_overlap(Draft& draft) {
  const Runtime& runtime = draft.question.runtime;
  const AskedOverlap& asked = draft.question.choices.overlap;
  const bool sharded = draft.job.optimizer.zero_stage >= 1;
  const bool interleaves = draft.job.parallelism.virtual_pipeline > 1;
  Overlap& overlap = draft.job.overlap;
  overlap.grad_reduce = asked.grad_reduce.value_or(runtime.overlap_grad_reduce);
  overlap.param_gather = asked.param_gather.value_or(runtime.overlap_param_gather && sharded);
  overlap.p2p = asked.p2p.value_or(runtime.overlap_p2p && interleaves);
  overlap.tensor_parallel = asked.tensor_parallel.value_or(false);
  overlap.exchanges = asked.exchanges.value_or(false);
  check_tensor_overlap(draft);
  if (overlap.param_gather && !sharded)
    draft.complain("/overlap/param_gather",
                   "expected false: parameters are gathered only with optimizer.zero_stage 1 to 3");
  if (overlap.p2p && !interleaves) {
    overlap.p2p = false;
    draft.notes.warnings.push_back(
        "overlap.p2p is ignored: only interleaved schedules (virtual_pipeline > 1) overlap it");
  }
  if (draft.question.stragglers.on)
    draft.notes.warnings.push_back(
        "stragglers: a runtime's numbers were fitted on whole steps with the stragglers that they had, so drawing them "
        "may count them twice; no validated run had them on, and the interval is that of runs without them");
}

}  // namespace foretoken::job
