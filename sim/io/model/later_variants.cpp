// Reads families whose layers are llama's but for a few settings, as llama_variants.cpp does: ministral3, Yi, xverse,
// orion, internlm, hunyuan_v1_dense, mimo and jais2.
//
// Names and defaults of ministral3, hunyuan_v1_dense and jais2 come from transformers, src/transformers/models/*/
// configuration_*.py; the weights come from the modular_*.py beside them. Those of the others come from the
// configuration_*.py beside the models (01-ai/Yi-6B, xverse/XVERSE-13B, OrionStarAI/Orion-14B-Base,
// internlm/internlm-7b, XiaomiMiMo/MiMo-7B-Base) and from vllm, vllm/model_executor/models/{registry,llama,orion,mimo,
// mimo_mtp}.py. Its registry runs xverse and internlm as llama.
#include <vector>

#include "sim/io/model/family_parts.h"
#include "sim/io/model/llama_variants.h"

namespace foretoken::io {
namespace {

using model::Norm;
using model::QkNorm;
using model::Transformer;

// Ministral 3 multiplies queries by a factor of their position, which costs less than the time of one small kernel.
// Yi of 2023 has llama's layers under its own name.
void read_plain_llama(const Node& node, Transformer& model) { read_llama(node, model); }

void read_orion(const Node& node, Transformer& model) {
  read_unbiased(node, model);
  model.norm = Norm::kLayerNorm;
}

// InternLM of 2023: `bias` holds for q, k, v and the projection; the MLP has none
void read_internlm(const Node& node, Transformer& model) {
  read_unbiased(node, model);
  read_attention_biases(node, "bias", true, model);
}

void read_hunyuan(const Node& node, Transformer& model) {
  constexpr const char *kWidthOfHead = "attention_head_dim", *kExpertCount = "num_experts";
  read_hunyuan_layer(node, model);
  if (node.has(kWidthOfHead) && node.has("head_dim")) (void)name_of_size(node, "head_dim", kWidthOfHead);
  if (node.whole_or(kExpertCount, 1, {.low = 0}) > 1)
    node.complain(kExpertCount, "expected 1: models with experts are hunyuan_v1_moe");
}

// Qwen 2 with layers that predict further tokens
void read_mimo(const Node& node, Transformer& model) {
  read_unbiased(node, model);
  model.qkv_bias = true;
  require_switch(node, "attention_bias", true, "q, k and v of MiMo have biases");
  require_switch(node, "mlp_bias", false, "no published MiMo has biases in the MLP");
  model.prediction_layers = node.whole_or("num_nextn_predict_layers", 0, {.low = 0, .high = 16});
}

// The MLP of Nemotron in a layer of llama with layer norms. Biases are on unless stated.
void read_jais2(const Node& node, Transformer& model) {
  read_llama_sizes(node, model);
  model.norm = Norm::kLayerNorm;
  read_plain_activation(node, "hidden_act", "relu2", model);
  read_llama_biases(node, true, model);
}

}  // namespace

void read_hunyuan_layer(const Node& node, Transformer& model) {
  read_unbiased(node, model);
  read_attention_biases(node, "attention_bias", false, model);
  model.qk_norm = QkNorm::kHead;
  require_switch(node, "use_qk_norm", true, "transformers has no HunYuan without norms of queries and keys");
  require_switch(node, "use_cla", false, "layers that share keys and values are not supported");
  require_switch(node, "mlp_bias", false, "transformers has no HunYuan with biases in MLPs or experts");
}

std::span<const ModelFamily> later_variants() {
  using Keys = std::vector<std::string_view>;
  static const Keys kInternlm = with_llama_keys({"bias"}),
                    kHunyuan = with_llama_keys(
                        {"use_qk_norm", "use_cla", "cla_share_factor", "attention_head_dim", "num_experts"}),
                    kMimo = with_llama_keys({"num_nextn_predict_layers"});
  static const ModelFamily kLaterVariants[] = {{"ministral3", kLlamaKeys, read_plain_llama},
                                               {"Yi", kLlamaKeys, read_plain_llama},
                                               {"xverse", kLlamaKeys, read_plain_llama},
                                               {"orion", kLlamaKeys, read_orion},
                                               {"internlm", kInternlm, read_internlm},
                                               {"hunyuan_v1_dense", kHunyuan, read_hunyuan},
                                               {"mimo", kMimo, read_mimo},
                                               {"jais2", kLlamaKeys, read_jais2}};
  return kLaterVariants;
}

}  // namespace foretoken::io
