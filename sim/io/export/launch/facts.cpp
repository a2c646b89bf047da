// Lists the facts of a job.
#include "sim/io/export/launch/facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <concepts>
#include <string_view>
#include <utility>

namespace foretoken::io {
namespace {

using job::Job;

// Words as the models of launches and scenarios spell them.
std::string_view word_of(model::Norm norm) { return norm == model::Norm::kRmsNorm ? "RMSNorm" : "LayerNorm"; }

std::string_view word_of(model::Activation activation) {
  switch (activation) {
    case model::Activation::kGelu:
      return "gelu";
    case model::Activation::kSwiGlu:
      return "swiglu";
    case model::Activation::kGeGlu:
      return "geglu";
    case model::Activation::kSquaredRelu:
      return "squared_relu";
    case model::Activation::kRelu:
      return "relu";
  }
  return "";
}

std::string_view word_of(model::Positions positions) {
  switch (positions) {
    case model::Positions::kLearned:
      return "learned_absolute";
    case model::Positions::kRotary:
      return "rope";
    case model::Positions::kAlibi:
      return "alibi";
    case model::Positions::kNone:
      return "none";
  }
  return "";
}

std::string_view word_of(model::QkNorm norm) {
  switch (norm) {
    case model::QkNorm::kNone:
      return "none";
    case model::QkNorm::kHead:
      return "of each head";
    case model::QkNorm::kPlainHead:
      return "of each head without weights";
    case model::QkNorm::kAllHeads:
      return "of all heads";
  }
  return "";
}

std::string_view word_of(model::NormPlaces places) {
  switch (places) {
    case model::NormPlaces::kBefore:
      return "before each part";
    case model::NormPlaces::kBehind:
      return "behind each part";
    case model::NormPlaces::kBoth:
      return "before and behind each part";
    case model::NormPlaces::kSums:
      return "of the sums with the residual";
  }
  return "";
}

/// Collects facts as texts.
class Facts {
 public:
  void add(std::string key, std::string value) { facts_.emplace_back(std::move(key), std::move(value)); }
  void add(std::string key, std::string_view value) { add(std::move(key), std::string(value)); }
  void add(std::string key, const char* value) { add(std::move(key), std::string(value)); }
  template <class T>
  requires std::is_arithmetic_v<T>
  void add(std::string key, T value) { add(std::move(key), fmt::format("{}", value)); }

  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& all() const { return facts_; }

 private:
  std::vector<std::pair<std::string, std::string>> facts_;
};

void add_sizes(const model::Transformer& m, Facts& facts) {
  facts.add("model.layers", m.layers);
  facts.add("model.hidden", m.hidden);
  facts.add("model.heads", m.heads);
  facts.add("model.kv_heads", m.kv_heads);
  facts.add("model.head_dim", m.head_dim);
  facts.add("model.ffn_hidden", m.ffn_hidden);
  facts.add("model.vocabulary", m.vocabulary);
  facts.add("model.positions", word_of(m.positions));
  facts.add("model.max_positions", m.max_positions);
  facts.add("model.prediction_layers", m.prediction_layers);
}

void add_layer(const model::Transformer& m, Facts& facts) {
  facts.add("model.norm", word_of(m.norm));
  facts.add("model.activation", word_of(m.activation));
  facts.add("model.tied_embeddings", m.tied_embeddings);
  facts.add("model.linear_bias", m.linear_bias);
  facts.add("model.qkv_bias", m.qkv_bias);
  facts.add("model.embedding_norm", m.embedding_norm);
  facts.add("model.parallel_residual", m.parallel_residual);
  facts.add("model.shared_norm", m.shared_norm);
  facts.add("model.hidden_dropout", m.hidden_dropout);
  facts.add("model.attention_dropout", m.attention_dropout);
  facts.add("model.norm_bias", m.norm_bias && m.norm == model::Norm::kLayerNorm);
  facts.add("model.norm_scale", m.norm_scale);
  facts.add("model.projection_bias", m.projection_bias);
  facts.add("model.mlp_bias", m.mlp_bias);
  facts.add("model.head_bias", m.head_bias);
  facts.add("model.scaled_embedding", m.scaled_embedding);
  facts.add("model.qk_norm", word_of(m.qk_norm));
  facts.add("model.norm_places", word_of(m.norm_places));
  facts.add("model.local_window", m.local.window);
  if (m.local.window > 0) facts.add("model.local_every", m.local.every);
  facts.add("model.attention_sinks", m.attention_sinks);
  facts.add("model.stack", m.stack.has_value());
  facts.add("model.activation_dropout", m.activation_dropout);
}

void add_encoder(const model::Transformer& m, Facts& facts) {
  facts.add("model.encoder", m.encoder.has_value());
  if (!m.encoder) return;
  facts.add("model.token_types", m.encoder->token_types);
  facts.add("model.embedding_width", m.encoder->embedding_width);
  facts.add("model.masked_head", m.encoder->masked_head);
  facts.add("model.pooler", m.encoder->pooler);
  facts.add("model.sequence_classes", m.encoder->sequence_classes);
  facts.add("model.token_classes", m.encoder->token_classes);
}

void add_halves(const Job& job, Facts& facts) {
  if (!job.model.encoder_decoder) return;
  const model::EncoderDecoder& halves = *job.model.encoder_decoder;
  facts.add("model.encoder_layers", halves.encoder_layers);
  facts.add("model.position_buckets", halves.position_buckets);
  facts.add("model.decoder_positions", halves.decoder_positions);
  facts.add("model.final_norms", halves.final_norms);
  facts.add("batch.decoder_sequence_length", job.batch.decoder_sequence_length.value_or(job.batch.sequence_length));
}

void add_experts(const Job& job, Facts& facts) {
  const model::Transformer& m = job.model;
  const model::Experts experts = m.experts.value_or(model::Experts{.count = 0});
  facts.add("model.experts", experts.count);
  if (m.experts) {
    facts.add("model.experts_per_token", experts.per_token);
    facts.add("model.expert_width", experts.width);
    facts.add("model.shared_expert_width", experts.shared_width);
    facts.add("model.shared_expert_gate", experts.shared_gate);
    facts.add("model.router_bias", experts.router_bias);
    facts.add("model.dense_first", experts.dense_first);
    facts.add("model.experts_every", experts.every);
    facts.add("moe.dispatcher", model::name_of(job.routing.dispatcher));
    facts.add("moe.capacity_factor", job.routing.capacity_factor.value_or(0));
    facts.add("moe.imbalance", job.routing.imbalance ? fmt::format("{:g}", *job.routing.imbalance) : "unstated");
    facts.add("moe.shared_expert_overlap", job.routing.shared_expert_overlap);
    facts.add("moe.overlap", job.overlap.exchanges);
    for (const auto& [axis, degree] : job::kExpertDegrees)
      facts.add("parallelism." + std::string(name_of(axis)), job.parallelism.*degree);
  }
  facts.add("model.latent_attention", m.latent.has_value());
  if (!m.latent) return;
  facts.add("model.latent_ranks", fmt::format("{} {}", m.latent->query_rank, m.latent->kv_rank));
  facts.add("model.latent_dims", fmt::format("{} {} {}", m.latent->nope_dim, m.latent->rope_dim, m.latent->value_dim));
}

void add_parallelism(const Job& job, Facts& facts) {
  const job::Parallelism& p = job.parallelism;
  facts.add("gpus", job.gpus);
  for (const auto& [axis, degree] : job::kDegrees) facts.add("parallelism." + std::string(name_of(axis)), p.*degree);
  facts.add("parallelism.virtual_pipeline", p.virtual_pipeline);
  facts.add("parallelism.sequence_parallel", p.sequence_parallel && p.tensor > 1);
  if (p.context > 1) facts.add("parallelism.context_exchange", name_of(p.exchange));
  std::vector<int> layers;
  for (const Chunk chunk : ids<Chunk>(p.virtual_pipeline))
    for (const Stage stage : ids<Stage>(p.pipeline)) layers.push_back(job.layers_in(stage, chunk));
  facts.add("parallelism.layers_per_stage", fmt::format("{}", fmt::join(layers, " ")));
  facts.add("schedule", job.schedule.name);
  facts.add("batch.micro", job.batch.micro);
  facts.add("batch.global", job.batch.global);
  facts.add("batch.sequence_length", job.batch.sequence_length);
  facts.add("batch.microbatch_group", job.batch.microbatch_group.value_or(p.pipeline));
  facts.add("batch.masked_fraction", job.batch.masked_fraction.value_or(1));
  facts.add("batch.packed", job.batch.packed ? fmt::format("{}", *job.batch.packed) : "none");
}

void add_numbers(const Job& job, Facts& facts) {
  const job::PrecisionRecipe& recipe = job.recipe;
  facts.add("precision", job.precision_name());
  facts.add("precision_recipe.weights", recipe.weight_bytes);
  facts.add("precision_recipe.gradients", recipe.gradient_bytes + recipe.extra_gradient_bytes);
  facts.add("precision_recipe.reduce", recipe.reduce_bytes);
  facts.add("precision_recipe.master", recipe.master_bytes);
  facts.add("precision_recipe.moments", recipe.moment_bytes);
  if (job.precision == Precision::kFp8) facts.add("precision_recipe.fp8_recipe", model::name_of(recipe.fp8));
  facts.add("precision_recipe.attention", recipe.fp8_attention);
  facts.add("optimizer.name", job.optimizer.paged ? "paged-" + job.optimizer.name : job.optimizer.name);
  facts.add("optimizer.zero_stage", job.optimizer.zero_stage);
  facts.add("optimizer.post_validation", job.optimizer.post_validation);
}

void add_execution(const Job& job, Facts& facts) {
  const job::Recompute& recompute = job.recompute;
  facts.add("recompute.granularity", name_of(recompute.granularity));
  if (recompute.granularity == model::RecomputeGranularity::kFull)
    facts.add("recompute.method", fmt::format("{} {}", recompute.block ? "block" : "uniform", recompute.layers));
  if (recompute.granularity == model::RecomputeGranularity::kSelective)
    for (const model::ModuleName& module : model::kModules)
      facts.add("recompute.modules." + std::string(module.key), recompute.modules.*module.on);
  facts.add("attention", name_of(job.attention, job.flash_kernel));
  facts.add("cuda_graphs", name_of(job.cuda_graphs));
  facts.add("compile", job.compile);
  for (const auto& [name, member] : job::kOverlaps) facts.add("overlap." + std::string(name), job.overlap.*member);
}

std::string place_of(const job::Offloaded& part) {
  if (!part.any()) return "none";
  const std::string much = part.layers ? fmt::format("{} layers", *part.layers) : fmt::format("{}", part.fraction);
  return fmt::format("{} on {}", much, part.to == job::Tier::kDisk ? "nvme" : "cpu");
}

void add_offload(const Job& job, Facts& facts) {
  for (const auto& [name, member] : job::kOffloadedParts)
    facts.add("offload." + std::string(name), place_of(job.offload.*member));
  facts.add("offload.delayed_update", job.offload.delayed_update);
}

void add_training(const model::FineTuning& tuning, Facts& facts) {
  facts.add("training.method", name_of(tuning.method));
  if (!tuning.freezes()) return;
  facts.add("training.rank", tuning.rank);
  facts.add("training.whole", name_of(tuning.whole));
}

void add_machine(const Job& job, Facts& facts) {
  facts.add("cluster", job.cluster.name);
  facts.add("profile", job.profile.name);
  facts.add("groups", job.groups.size());
  facts.add("runtime", job.runtime.name);
  facts.add("run.tokens", job.run ? job.run->tokens : 0.0);
  facts.add("imperfections", job.imperfections.any());
  facts.add("stragglers", job.stragglers.on);
}

Facts facts_of(const Job& job) {
  Facts facts;
  add_sizes(job.model, facts);
  add_layer(job.model, facts);
  add_encoder(job.model, facts);
  add_halves(job, facts);
  add_experts(job, facts);
  add_parallelism(job, facts);
  add_numbers(job, facts);
  add_execution(job, facts);
  add_offload(job, facts);
  add_training(job.model.tuning, facts);
  add_machine(job, facts);
  return facts;
}

}  // namespace

std::vector<std::string> fact_keys() {
  Job whole;
  whole.model.local.window = 1;
  whole.model.encoder.emplace();
  whole.model.encoder_decoder.emplace();
  whole.model.experts.emplace();
  whole.model.latent.emplace();
  whole.model.tuning.method = model::TuningMethod::kLora;
  whole.parallelism.context = 2;
  whole.precision = Precision::kFp8;
  std::vector<std::string> keys;
  for (const auto granularity : {model::RecomputeGranularity::kFull, model::RecomputeGranularity::kSelective}) {
    whole.recompute.granularity = granularity;
    const Facts facts = facts_of(whole);
    for (const auto& [key, value] : facts.all())
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  }
  return keys;
}

std::vector<Difference> differences(const Job& before, const Job& after) {
  const Facts first = facts_of(before), second = facts_of(after);
  std::vector<Difference> found;
  const auto value_in = [](const Facts& facts, const std::string& key) {
    const auto at = std::ranges::find(facts.all(), key, &std::pair<std::string, std::string>::first);
    return at == facts.all().end() ? std::string() : at->second;
  };
  for (const auto& [key, value] : first.all())
    if (const std::string other = value_in(second, key); other != value)
      found.push_back({key, value, other.empty() ? "nothing" : other});
  for (const auto& [key, value] : second.all())
    if (value_in(first, key).empty() && !value.empty()) found.push_back({key, "nothing", value});
  return found;
}

}  // namespace foretoken::io
