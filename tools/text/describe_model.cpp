// Describes transformers in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "sim/io/model/read_model.h"
#include "sim/model/counts/flop.h"
#include "sim/model/counts/parameters.h"
#include "sim/model/stacks/kinds.h"
#include "sim/model/transformer.h"
#include "sim/report/text/number.h"
#include "tools/text/describe.h"

namespace foretoken::tools {
namespace {

using model::Transformer;
using report::in_words;

std::string number(std::int64_t value) { return report::whole(static_cast<double>(value)); }

std::string_view activation_name(model::Activation activation) {
  switch (activation) {
    case model::Activation::kGelu:
      return "GeLU";
    case model::Activation::kSwiGlu:
      return "SwiGLU";
    case model::Activation::kGeGlu:
      return "GeGLU";
    case model::Activation::kSquaredRelu:
      return "squared ReLU";
    case model::Activation::kRelu:
      return "ReLU";
  }
  return "";
}

std::string_view positions_name(model::Positions positions) {
  switch (positions) {
    case model::Positions::kLearned:
      return "learned";
    case model::Positions::kRotary:
      return "rotary";
    case model::Positions::kAlibi:
      return "ALiBi";
    case model::Positions::kNone:
      return "none";
  }
  return "";
}

std::string_view output_embedding_name(const Transformer& model) {
  if (model.encoder && !model.encoder->masked_head) return "none";
  return model.tied_embeddings ? "tied" : "untied";
}

std::string_view output_embedding_in_words(const Transformer& model) {
  if (model.encoder && !model.encoder->masked_head) return "no output embedding";
  return model.tied_embeddings ? "tied to the embedding" : "not tied";
}

Transformer read(const io::Document& document, io::Findings& findings) {
  return io::read_model(document.root(findings), document.name);
}

std::vector<std::string> model_row(const io::Document& document, io::Findings& findings) {
  const Transformer m = read(document, findings);
  return {document.name,
          in_words(model::total_parameters(model::without_prediction(m))),
          number(m.layers),
          number(m.hidden),
          number(m.heads),
          m.kv_heads == m.heads ? "" : number(m.kv_heads),
          number(m.ffn_hidden),
          number(m.vocabulary),
          std::string(activation_name(m.activation)),
          std::string(output_embedding_name(m))};
}

std::string operations(const Transformer& m, const report::Paint& paint) {
  std::string text = "\n  Operations of training, forward and backward, per token, by sequence length\n";
  const bool short_ones = m.encoder || m.encoder_decoder;
  for (const std::int64_t sequence : short_ones ? std::vector{128, 384, 512} : std::vector{2048, 4096, 8192}) {
    if (m.max_positions > 0 && sequence > m.max_positions) continue;
    const auto s = static_cast<double>(sequence);
    const std::string all = in_words(model::model_flop_per_sequence(m, sequence).value() / s);
    text +=
        entry(paint, fmt::format("  at {}", number(sequence)),
              m.encoder ? fmt::format("{} FLOP with every head over all tokens", all)
                        : fmt::format("{} FLOP with the full s x s attention; {} with causal attention counted half",
                                      all, in_words(model::causal_model_flop_per_sequence(m, sequence).value() / s)));
  }
  return text;
}

std::string norm_in_words(const Transformer& m) {
  std::string text = m.norm == model::Norm::kLayerNorm ? "LayerNorm" : "RMSNorm";
  if (!m.norm_scale) text += " without weights";
  if (m.norm_places == model::NormPlaces::kBehind) text += ", behind attention and MLP";
  if (m.norm_places == model::NormPlaces::kSums) text += ", of the sums with the residual";
  if (m.norm_places == model::NormPlaces::kBoth) text += ", before and behind attention and MLP";
  if (m.qk_norm == model::QkNorm::kHead) text += "; queries and keys of each head";
  if (m.qk_norm == model::QkNorm::kAllHeads) text += "; queries and keys of all heads together";
  return text;
}

std::string expert_words(const model::Experts& experts) {
  std::string text =
      fmt::format("{} of {} a token, {} wide", number(experts.per_token), number(experts.count), number(experts.width));
  if (experts.shared_width > 0) text += fmt::format("; shared experts {} wide together", number(experts.shared_width));
  if (experts.dense_first > 0) text += fmt::format("; the first {} layers are dense", number(experts.dense_first));
  if (experts.every > 1) text += fmt::format("; in one of every {} layers", number(experts.every));
  return text;
}

std::string latent_words(const model::LatentAttention& latent) {
  const std::string queries = latent.query_rank > 0 ? number(latent.query_rank) : "no narrow vector";
  return fmt::format("queries from {}, keys and values from {}; heads of {} + {} for scores, {} for values", queries,
                     number(latent.kv_rank), number(latent.nope_dim), number(latent.rope_dim),
                     number(latent.value_dim));
}

std::string heads_in_words(const model::Encoder& encoder) {
  std::vector<std::string> heads;
  if (encoder.masked_head) heads.emplace_back("masked tokens");
  if (encoder.pooler) heads.emplace_back("pooler of the first token");
  if (encoder.sequence_classes > 0)
    heads.push_back(fmt::format("{} classes of sequences", number(encoder.sequence_classes)));
  if (encoder.token_classes > 0)
    heads.push_back(report::counted(static_cast<double>(encoder.token_classes), "number") + " a token");
  return heads.empty() ? "none: nothing to train" : fmt::format("{}", fmt::join(heads, ", "));
}

std::string encoder_words(const Transformer& m) {
  std::string text = "every token sees all tokens; heads: " + heads_in_words(*m.encoder);
  if (m.embedding_width() != m.hidden) text += fmt::format("; tables {} wide", number(m.embedding_width()));
  return text;
}

std::string halves_words(const Transformer& m) {
  const model::EncoderDecoder& halves = *m.encoder_decoder;
  std::string text = fmt::format("{} in the encoder, {} with cross-attention in the decoder",
                                 report::counted(static_cast<double>(halves.encoder_layers), "layer"),
                                 number(m.layers - halves.encoder_layers));
  if (halves.relative()) text += fmt::format("; relative positions in {} buckets", number(halves.position_buckets));
  return text;
}

// Describes the parts that only some models have.
std::string further_parts(const Transformer& whole, const report::Paint& paint) {
  const Transformer m = model::without_prediction(whole);
  std::string text;
  if (m.experts) {
    text += entry(paint, "experts", expert_words(*m.experts));
    text += entry(paint, "  active",
                  fmt::format("{} parameters a token ({})", in_words(model::active_parameters(m)),
                              report::whole(model::active_parameters(m))));
  }
  if (m.encoder) text += entry(paint, "encoder", encoder_words(m));
  if (m.encoder_decoder) text += entry(paint, "halves", halves_words(m));
  if (m.latent) text += entry(paint, "latents", latent_words(*m.latent));
  if (m.local.window > 0)
    text += entry(
        paint, "windows",
        fmt::format("{} tokens, but all in one of every {} layers", number(m.local.window), number(m.local.every)));
  if (whole.prediction_layers > 0)
    text += entry(paint, "predictions",
                  fmt::format("{} with {} parameters, which the counts leave out",
                              report::counted(static_cast<double>(whole.prediction_layers), "further layer"),
                              in_words(model::total_parameters(whole) - model::total_parameters(m))));
  return text;
}

/// Returns the parameters of a dense layer and of one with experts, as far as the model has them.
std::string layers_in_words(const Transformer& m, double total, const report::Paint& paint) {
  double dense = 0, routed = 0;
  const model::StackPlan plan = model::plan_of(m);
  for (const model::KindRun& run : plan.runs)
    (plan.kinds[static_cast<std::size_t>(run.kind)].experts ? routed : dense) += real(run.count);
  std::string text;
  if (dense > 0)
    text += entry(paint, routed > 0 ? "  dense layer" : "  one layer",
                  fmt::format("{}, of which {} in matrix products", report::whole(model::layer_parameters(m)),
                              report::whole(model::layer_matmul_parameters(m))));
  if (routed > 0) {
    const double ends = model::embedding_parameters(m) + model::head_parameters(model::without_prediction(m));
    text += entry(paint, "  with experts", report::whole((total - ends - dense * model::layer_parameters(m)) / routed));
  }
  return text;
}

std::string model_page(const io::Document& document, io::Findings& findings, const report::Paint& paint) {
  const Transformer m = read(document, findings);
  std::string text = paint(report::Ink::kBold, m.name) + '\n';
  const double total = model::total_parameters(model::without_prediction(m));
  text += entry(paint, "parameters", fmt::format("{} ({})", in_words(total), report::whole(total)));
  text += layers_in_words(m, total, paint);
  text += entry(
      paint, "  ends",
      fmt::format("embedding {}, final norm and head {} ({})", report::whole(model::embedding_parameters(m)),
                  report::whole(model::head_parameters(model::without_prediction(m))), output_embedding_in_words(m)));
  text += entry(paint, "layers", number(m.layers));
  text += entry(paint, "hidden", number(m.hidden));
  text += entry(paint, "attention",
                fmt::format("{} of {}, {} for keys and values{}", report::counted(static_cast<double>(m.heads), "head"),
                            number(m.head_dim), number(m.kv_heads), m.parallel_residual ? ", beside the MLP" : ""));
  text += entry(paint, "MLP",
                fmt::format("{} wide, {}{}", number(m.ffn_hidden), activation_name(m.activation),
                            m.gated() ? ", gated (three matrices)" : ""));
  text += further_parts(m, paint);
  text += entry(paint, "norm", norm_in_words(m));
  text += entry(
      paint, "positions",
      fmt::format("{}{}", positions_name(m.positions), m.max_positions > 0 ? ", " + number(m.max_positions) : ""));
  text += entry(paint, "vocabulary", number(m.vocabulary) + " (not padded)");
  text +=
      entry(paint, "biases", fmt::format("linears {}, query/key/value {}", yes_no(m.linear_bias), yes_no(m.qkv_bias)));
  text += entry(paint, "dropout", fmt::format("hidden {}, attention {}", m.hidden_dropout, m.attention_dropout));
  text += entry(paint, "source", m.source);
  for (const std::string& note : findings.notes.assumptions) text += entry(paint, "note", note);
  if (findings.complaints.empty()) text += operations(m, paint);
  return text;
}

}  // namespace

Described described_models() {
  using Align = report::Table::Align;
  return {.command = "models",
          .about = "List and show transformers (models/NAME.json)",
          .kind = io::kModels,
          .columns = {{"name", Align::kLeft},
                      {"parameters"},
                      {"layers"},
                      {"hidden"},
                      {"heads"},
                      {"kv"},
                      {"ffn"},
                      {"vocab"},
                      {"activation", Align::kLeft, 2},
                      {"head", Align::kLeft, 1}},
          .row = model_row,
          .page = model_page};
}

}  // namespace foretoken::tools
