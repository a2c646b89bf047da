// Maps a job to the flags of Megatron-LM.
#include "sim/io/export/launch/megatron_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/model/stacks/kinds.h"

namespace foretoken::io {
namespace {

using job::Job;
using model::Activation;
using model::Norm;
using model::Positions;
using model::RecomputeGranularity;

// Collects flags.
class Flags {
 public:
  void on(const char* flag, bool condition = true) {
    if (condition) flags_.emplace_back(flag);
  }
  template <class T>
  void set(const char* flag, const T& value) {
    flags_.push_back(fmt::format("{} {}", flag, value));
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(flags_); }

 private:
  std::vector<std::string> flags_;
};

// Both halves of a T5 have layers and lengths of their own (pretrain_t5.py).
void add_layers(const Job& job, Flags& flags) {
  const std::int64_t layers = job.model.layers;
  if (!job.model.encoder_decoder) return flags.set("--num-layers", layers);
  const std::int64_t encoder = job.model.encoder_decoder->encoder_layers;
  flags.set("--encoder-num-layers", encoder);
  flags.set("--decoder-num-layers", layers - encoder);
}

/// Tokens that stand for a masked span of a T5's input (arXiv:1910.10683, section 2.4; pretrain_t5.py needs them).
constexpr int kSentinels = 100;

void add_lengths(const Job& job, Flags& flags) {
  const std::int64_t length = job.batch.sequence_length;
  if (!job.model.encoder_decoder) return flags.set("--seq-length", length);
  flags.set("--encoder-seq-length", length);
  flags.set("--decoder-seq-length", job.batch.decoder_sequence_length.value_or(length));
  flags.set("--vocab-extra-ids", kSentinels);
}

void add_positions(const Job& job, Flags& flags) {
  const model::Transformer& m = job.model;
  flags.set("--max-position-embeddings", std::max(m.max_positions, job.batch.sequence_length));
  if (m.positions == Positions::kRotary) flags.set("--position-embedding-type", "rope");
  if (m.positions != Positions::kNone) return;
  const std::int64_t buckets = m.encoder_decoder ? m.encoder_decoder->position_buckets : 0;
  flags.set("--position-embedding-type", buckets > 0 ? "relative" : "none");
  if (buckets > 0) flags.set("--relative-attention-num-buckets", buckets);
}

void add_model(const Job& job, Flags& flags) {
  const model::Transformer& m = job.model;
  add_layers(job, flags);
  flags.set("--hidden-size", m.hidden);
  flags.set("--num-attention-heads", m.heads);
  flags.set("--ffn-hidden-size", m.ffn_hidden);
  if (!m.latent && m.heads * m.head_dim != m.hidden) flags.set("--kv-channels", m.head_dim);
  if (m.kv_heads != m.heads) {
    flags.on("--group-query-attention");
    flags.set("--num-query-groups", m.kv_heads);
  }
  flags.on("--tokenizer-type NullTokenizer");
  flags.set("--vocab-size", m.vocabulary);
  add_lengths(job, flags);
  add_positions(job, flags);
  flags.on("--bert-no-binary-head", m.encoder && m.encoder->sequence_classes != 2);
  if (m.norm == Norm::kRmsNorm) flags.set("--normalization", "RMSNorm");
  flags.on("--swiglu", m.activation == Activation::kSwiGlu);
  flags.on("--quick-geglu", m.activation == Activation::kGeGlu);
  flags.on("--squared-relu", m.activation == Activation::kSquaredRelu);
  flags.on("--untie-embeddings-and-output-weights", !m.tied_embeddings);
  flags.on("--qk-l2-norm", m.qk_norm == model::QkNorm::kPlainHead);
  flags.on("--qk-layernorm", m.qk_norm == model::QkNorm::kHead || m.latent.has_value());
  flags.on("--disable-bias-linear", !m.linear_bias);
  flags.on("--add-qkv-bias", !m.linear_bias && m.qkv_bias);
  flags.set("--hidden-dropout", m.hidden_dropout);
  flags.set("--attention-dropout", m.attention_dropout);
}

// One digit a layer as a Python list: 1 where it has experts.
std::string layers_with_experts(const model::Transformer& m) {
  std::vector<std::string> runs;
  const model::StackPlan plan = model::plan_of(m);
  for (const model::KindRun& run : plan.runs)
    runs.push_back(fmt::format("[{}]*{}", plan.kinds[static_cast<std::size_t>(run.kind)].experts ? 1 : 0, run.count));
  return fmt::format("({})", fmt::join(runs, "+"));
}

void add_experts(const Job& job, Flags& flags) {
  if (!job.model.experts) return;
  const model::Experts& experts = *job.model.experts;
  flags.set("--num-experts", experts.count);
  flags.set("--moe-router-topk", experts.per_token);
  flags.set("--moe-ffn-hidden-size", experts.width);
  if (experts.dense_first > 0 || experts.every > 1)
    flags.set("--moe-layer-freq", fmt::format("\"{}\"", layers_with_experts(job.model)));
  if (experts.shared_width > 0) flags.set("--moe-shared-expert-intermediate-size", experts.shared_width);
  flags.on("--moe-shared-expert-overlap", job.routing.shared_expert_overlap);
  flags.on("--overlap-moe-expert-parallel-comm", job.overlap.exchanges);
  flags.on("--moe-router-enable-expert-bias", experts.router_bias);
  if (experts.router_bias) flags.set("--moe-router-score-function", "sigmoid");  // Megatron-Core takes it with no other
  flags.on("--moe-grouped-gemm");
  flags.set("--expert-model-parallel-size", job.parallelism.expert);
  flags.set("--expert-tensor-parallel-size", job.parallelism.expert_tensor);
  const model::Dispatcher dispatcher = job.routing.dispatcher;
  const bool flexible = model::is_flexible(dispatcher);
  const char* plain = dispatcher == model::Dispatcher::kAllGather ? "allgather" : "alltoall";
  flags.set("--moe-token-dispatcher-type", flexible ? "flex" : plain);
  if (flexible) flags.set("--moe-flex-dispatcher-backend", model::name_of(dispatcher));
  flags.on("--moe-router-force-load-balancing", job.routing.imbalance == 1.0);
  if (!job.routing.capacity_factor) return;
  flags.set("--moe-expert-capacity-factor", *job.routing.capacity_factor);
  flags.on("--moe-pad-expert-input-to-capacity");
}

void add_latents(const Job& job, Flags& flags) {
  if (job.model.prediction_layers > 0) flags.set("--mtp-num-layers", job.model.prediction_layers);
  if (!job.model.latent) return;
  const model::LatentAttention& latent = *job.model.latent;
  flags.on("--multi-latent-attention");
  if (latent.query_rank > 0) flags.set("--q-lora-rank", latent.query_rank);
  flags.set("--kv-lora-rank", latent.kv_rank);
  flags.set("--qk-head-dim", latent.nope_dim);
  flags.set("--qk-pos-emb-head-dim", latent.rope_dim);
  flags.set("--v-head-dim", latent.value_dim);
}

// The layers of every virtual stage as Megatron-LM's layout: E the embedding, t a layer, m a predicted token, L the
// loss (Megatron-LM@d98e8a6, megatron/core/transformer/pipeline_parallel_layer_layout.py). "E|t*2|L" has three,
// the first and the last of which hold no layer.
std::string layout_of(const Job& job) {
  const int stages = job.parallelism.pipeline, chunks = job.parallelism.virtual_pipeline;
  std::string layout = "E";
  for (const Chunk chunk : ids<Chunk>(chunks))
    for (const Stage stage : ids<Stage>(stages)) {
      if (chunk.number() + stage.number() > 0) layout += '|';
      if (const int layers = job.layers_in(stage, chunk); layers > 0) layout += fmt::format("t*{}", layers);
    }
  if (job.model.prediction_layers > 0) layout += fmt::format("m*{}", job.model.prediction_layers);
  return layout + "L";
}

void add_parallelism(const Job& job, Flags& flags) {
  const job::Parallelism& p = job.parallelism;
  flags.set("--tensor-model-parallel-size", p.tensor);
  flags.on("--sequence-parallel", p.sequence_parallel);
  flags.set("--pipeline-model-parallel-size", p.pipeline);
  if (const int of_encoder = job::encoder_stages(p); of_encoder > 0)
    flags.set("--pipeline-model-parallel-split-rank", of_encoder);
  const bool stated =
      !p.layers_per_stage.empty() && p.pipeline > 1 && !job.schedule.place && !job.model.encoder_decoder;
  if (stated) flags.set("--pipeline-model-parallel-layout", fmt::format("\"{}\"", layout_of(job)));
  if (p.virtual_pipeline > 1) {
    if (!stated) flags.set("--num-virtual-stages-per-pipeline-rank", p.virtual_pipeline);
    if (job.batch.microbatch_group)
      flags.set("--microbatch-group-size-per-virtual-pipeline-stage", *job.batch.microbatch_group);
    flags.on("--no-overlap-p2p-communication", !job.overlap.p2p);
  }
  flags.on("--account-for-embedding-in-pipeline-split", p.embedding_and_head_as_layers);
  flags.on("--account-for-loss-in-pipeline-split", p.embedding_and_head_as_layers);
  if (p.context > 1) flags.set("--context-parallel-size", p.context);
  if (p.context > 1 && p.exchange != model::ContextExchange::kRing)
    flags.set("--cp-comm-type", p.exchange == model::ContextExchange::kAllGather ? "all_gather" : "a2a");
  flags.on("--use-distributed-optimizer", job.optimizer.zero_stage == 1);
  if (job.optimizer.zero_stage > 1) {
    flags.on("--use-megatron-fsdp");
    flags.set("--data-parallel-sharding-strategy",
              job.optimizer.zero_stage == 2 ? "optim_grads" : "optim_grads_params");
  }
  flags.on("--overlap-grad-reduce", job.overlap.grad_reduce);
  flags.on("--overlap-param-gather", job.overlap.param_gather);
  flags.on("--tp-comm-overlap", job.overlap.tensor_parallel);
}

// Returns the format of an optimizer state of that many bytes.
const char* state_format(double bytes, const char* of_two) {
  if (bytes == 1) return "fp8";
  return bytes == 2 ? of_two : "fp32";
}

// States of the optimizer in fewer than 4 bytes.
void add_narrow_states(const Job& job, Flags& flags) {
  const job::PrecisionRecipe& recipe = job.recipe;
  if (recipe.moment_bytes >= 8 && recipe.master_bytes != 2) return;
  if (job.optimizer.zero_stage != 1) return;  // the distributed optimizer's
  flags.on("--use-precision-aware-optimizer");
  if (recipe.gradient_bytes < 4) flags.set("--main-grads-dtype", "bf16");
  if (recipe.master_bytes == 2) flags.set("--main-params-dtype", "fp16");
  if (recipe.moment_bytes >= 8) return;
  flags.set("--exp-avg-dtype", state_format(recipe.moment_bytes / 2, "bf16"));
  flags.set("--exp-avg-sq-dtype", state_format(recipe.moment_bytes / 2, "bf16"));
}

// Tensors that stand in the host's memory. The optimizer there is a precision-aware one.
void add_offloading(const Job& job, Flags& flags) {
  const job::Offloaded &optimizer = job.offload.optimizer, &activations = job.offload.activations;
  if (optimizer.any()) {
    flags.on("--optimizer-cpu-offload");
    if (optimizer.fraction < 1) flags.set("--optimizer-offload-fraction", optimizer.fraction);
    flags.on("--use-precision-aware-optimizer", job.recipe.moment_bytes >= 8 && job.recipe.master_bytes != 2);
  }
  if (activations.any() && activations.layers) {
    flags.on("--cpu-offloading");
    flags.set("--cpu-offloading-num-layers", *activations.layers);
  }
}

// fp16 reduces gradients in 16 bits and bf16 in 32 unless a flag says otherwise.
void add_precision(const Job& job, Flags& flags) {
  const bool fp16 = job.precision == Precision::kFp16;
  const bool reduces_16_bits = job.recipe.reduce_bytes == 2 && (fp16 || job.recipe.gradient_bytes == 2);
  if (is_wide(job.precision)) return;  // without a flag
  flags.on(fp16 ? "--fp16" : "--bf16");
  flags.on("--accumulate-allreduce-grads-in-fp32", fp16 && !reduces_16_bits);
  flags.on("--grad-reduce-in-bf16", !fp16 && reduces_16_bits);
  add_narrow_states(job, flags);
  if (job.precision == Precision::kNvfp4) flags.set("--fp4-format", "e2m1");
  if (job.precision != Precision::kFp8) return;
  flags.on("--fp8-param-gather", job.recipe.weight_bytes == 1);
  flags.set("--fp8-format", "hybrid");
  flags.set("--fp8-recipe", model::name_of(job.recipe.fp8));
}

void add_training(const Job& job, Flags& flags) {
  flags.set("--micro-batch-size", job.batch.micro);
  flags.set("--global-batch-size", job.batch.global);
  if (job.run)
    flags.set("--train-samples",
              static_cast<std::int64_t>(job.run->tokens / static_cast<double>(job.batch.sequence_length)));
  add_precision(job, flags);
  add_offloading(job, flags);
  flags.set("--attention-backend", job.attention == model::AttentionKind::kFlash ? "flash" : "unfused");
  const job::Recompute& recompute = job.recompute;
  if (recompute.granularity == RecomputeGranularity::kFull) {
    flags.set("--recompute-granularity", "full");
    flags.set("--recompute-method", recompute.block ? "block" : "uniform");
    flags.set("--recompute-num-layers", recompute.layers);
  } else if (recompute.granularity == RecomputeGranularity::kSelective) {
    std::vector<std::string_view> modules;
    for (const model::ModuleName& module : model::kModules)
      if (recompute.modules.*module.on && module.megatron) modules.push_back(module.key);
    if (!modules.empty()) flags.set("--recompute-granularity", "selective");
    if (!modules.empty() && (modules.size() != 1 || !recompute.modules.core_attention))
      flags.set("--recompute-modules", fmt::format("{}", fmt::join(modules, " ")));
  }
  if (job.cuda_graphs == job::CudaGraphs::kLayer) flags.set("--cuda-graph-impl", "transformer_engine");
  if (job.cuda_graphs == job::CudaGraphs::kFull) {
    flags.set("--cuda-graph-impl", "local");
    flags.set("--cuda-graph-scope", "full_iteration");
    flags.on("--no-check-for-nan-in-loss-and-grad");
  }
  flags.set("--optimizer", "adam");
}

// Pre-training of BERT: masked tokens, and with the binary head two classes for the next sentence.
bool has_binary_head(const model::Transformer& m) { return m.encoder && m.encoder->sequence_classes == 2; }
bool is_bert(const model::Transformer& m) {
  if (!m.encoder || !m.encoder->masked_head || m.encoder->token_classes != 0) return false;
  return has_binary_head(m) || (m.encoder->sequence_classes == 0 && !m.encoder->pooler);
}

// Collects remarks.
class Remarks {
 public:
  void operator()(bool condition, std::string remark) {
    if (condition) remarks_.push_back(std::move(remark));
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(remarks_); }

 private:
  std::vector<std::string> remarks_;
};

}  // namespace

const char* megatron_program(const model::Transformer& model) {
  if (model.encoder_decoder) return "pretrain_t5.py";
  return model.encoder ? "pretrain_bert.py" : "pretrain_gpt.py";
}

namespace {

void add_model_remarks(const Job& job, Remarks& add) {
  const model::Transformer& m = job.model;
  const std::string program = megatron_program(m);
  add(!job.groups.empty(), "nodes of several kinds: the ranks of the first stages start on the first kind");
  add(m.positions == Positions::kAlibi, "Megatron-LM has no ALiBi positions");
  add(m.parallel_residual, "Megatron-LM has no parallel residual");
  add(m.encoder && !is_bert(m),
      "pretrain_bert.py trains masked tokens and the next sentence; other heads of encoders are not written here");
  add(m.encoder && job.batch.masked_fraction.value_or(1) < 1,
      "pretrain_bert.py computes the logits of every token: batch.masked_fraction is not written here");
  add(m.encoder_decoder && m.encoder_decoder->decoder_positions, "pretrain_t5.py has one table of positions");
  add(m.activation_dropout > 0, "Megatron-LM has no dropout between activation and second product");
  add(job.optimizer.name == "adafactor", "Adafactor is not an optimizer of Megatron-LM");
  add(job.optimizer.name == "lamb", "LAMB is not an optimizer of Megatron-LM");
  add(m.tuning.freezes(), program + " trains every weight: frozen weights and adapters are not written here");
  add(job.offload.parameters.any(), "Megatron-LM keeps parameters on the GPU: offload.parameters is not written here");
  add(job.offload.activations.any() && !job.offload.activations.layers,
      "Megatron-LM offloads whole layers of activations, or modules: a fraction is not written here");
  add(job.batch.packed.has_value(), "packed sequences are the data set's affair, not a flag of " + program);
  add(m.normed_behind() && !is_bert(m), "norms behind attention and MLP are not a flag of " + program);
  add(m.qk_norm == model::QkNorm::kAllHeads, "norms over all heads together are not a flag of " + program);
  add(m.local.window > 0, "windows and sinks of attention are not written here");
  add(m.activation == Activation::kGeGlu, "--quick-geglu approximates GeGLU's GELU; its kernels cost the same");
  add(m.activation == Activation::kRelu, "ReLU is not a flag of " + program);
}

}  // namespace

std::vector<std::string> megatron_command(const Job& job) {
  const int per_node = std::min(job.gpus, job.cluster.gpus_per_node);
  Flags flags;
  flags.on(fmt::format("torchrun --nproc-per-node {} --nnodes {} {}", per_node, (job.gpus + per_node - 1) / per_node,
                       megatron_program(job.model))
               .c_str());
  add_model(job, flags);
  add_experts(job, flags);
  add_latents(job, flags);
  add_parallelism(job, flags);
  add_training(job, flags);
  return flags.take();
}

std::vector<std::string> megatron_remarks(const Job& job) {
  Remarks add;
  add(job.schedule.name != "1f1b" && job.schedule.name != "interleaved-1f1b",
      fmt::format("Megatron-LM has no schedule {}", job.schedule.name));
  add(job.overlap.param_gather && !job.overlap.grad_reduce && job.optimizer.zero_stage == 1,
      "Megatron-LM takes --overlap-param-gather only with --overlap-grad-reduce");
  add(job.overlap.tensor_parallel && !job.parallelism.sequence_parallel,
      "Megatron-LM takes --tp-comm-overlap only with --sequence-parallel");
  for (const model::ModuleName& module : model::kModules)
    add(job.recompute.modules.*module.on && !module.megatron,
        fmt::format("Megatron-LM has no recompute module {}: it is not written here", module.key));
  add(job.recipe.fp8_attention, "attention in fp8 is a switch of Transformer Engine's recipe, not written here");
  add(job.precision == Precision::kTf32, "tf32 is a switch of PyTorch, not of Megatron-LM");
  add(job.recipe.master_bytes == 0 && !is_wide(job.precision), "Megatron-LM keeps master weights");
  add(job.recipe.moment_bytes != 8 && job.recipe.moment_bytes != 4 && job.recipe.moment_bytes != 2,
      "Megatron-LM keeps moments in fp32, bf16 or fp8");
  add(job.precision != Precision::kFp16 &&
          (job.recipe.reduce_bytes != job.recipe.gradient_bytes || job.recipe.extra_gradient_bytes > 0),
      "Megatron-LM reduces gradients as it keeps them, and keeps one copy");
  add(job.cuda_graphs != job::CudaGraphs::kNone && job.recompute.granularity == RecomputeGranularity::kFull,
      "Megatron-LM takes CUDA graphs only without full recomputation");
  add(job.recipe.moment_bytes < 8 && job.optimizer.zero_stage != 1,
      "Megatron-LM shortens moments only with --use-distributed-optimizer");
  add(job.compile, "Megatron-LM compiles no layers: compile is not written here");
  add(job.overlap.exchanges && job.parallelism.pipeline > 1 && job.parallelism.virtual_pipeline == 1,
      "Megatron-LM hides exchanges of experts in pipelines of several chunks a stage only");
  add(job.routing.imbalance_in_times() > 1, "moe.imbalance is what the router is expected to do, not a flag");
  add_model_remarks(job, add);
  return add.take();
}

}  // namespace foretoken::io
