// Knows the second names of sizes, which a config may state beside the names that its family reads, or in their place.
//
// Source: attribute_map in transformers, src/transformers/models/{gpt2,gpt_bigcode,gptj,codegen,mpt,dbrx,distilbert,t5,
// bart,marian,blenderbot,mixtral,gpt_oss,deepseek_v3,glm4_moe,ernie4_5_moe}/configuration_*.py, which also serves a
// config without the family's own name: PretrainedConfig.__setattr__ in configuration_utils.py stores a second name
// under the first. FalconConfig reads n_embed so. Falcon's other second names are those of its own code of 2023
// (tiiuae/falcon-40b, configuration_RW.py), which its later config.json keeps; RefinedWeb maps the other way. phi-msft
// has GPT-2's map (microsoft/phi-2, configuration_phi.py of 2023). stabilityai/stablelm-2-1_6b states num_heads beside
// num_attention_heads.
#include "sim/io/model/second_names.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/io/model/family_parts.h"

namespace foretoken::io {
namespace {

struct SecondName {
  const char *second, *name;
};
using SecondNames = std::vector<SecondName>;

struct NamesOfFamilies {
  std::vector<std::string_view> types;
  SecondNames names;
  bool only_beside = false;  ///< no source says that the family's code reads a second name alone
};

const std::vector<NamesOfFamilies>& all_second_names() {
  static const std::vector<NamesOfFamilies> kAll = {
      {{"gpt", "gpt2", "gpt_bigcode", "gptj", "codegen", "phi-msft"},
       {{"num_hidden_layers", "n_layer"},
        {"hidden_size", "n_embd"},
        {"num_attention_heads", "n_head"},
        {"max_position_embeddings", "n_positions"}}},
      {{"mpt", "dbrx"},
       {{"num_hidden_layers", "n_layers"}, {"hidden_size", "d_model"}, {"num_attention_heads", "n_heads"}}},
      {{"dbrx"}, {{"max_position_embeddings", "max_seq_len"}}},
      {{"mpt"}, {{"max_position_embeddings", "max_seq_len"}}, true},
      {{"distilbert"}, {{"num_hidden_layers", "n_layers"}, {"hidden_size", "dim"}, {"num_attention_heads", "n_heads"}}},
      {{"t5", "mt5"},
       {{"num_hidden_layers", "num_layers"},
        {"hidden_size", "d_model"},
        {"num_attention_heads", "num_heads"},
        {"head_dim", "d_kv"}}},
      {{"bart", "mbart", "m2m_100", "pegasus", "marian", "plbart", "mvp", "blenderbot", "blenderbot-small"},
       {{"hidden_size", "d_model"}, {"num_attention_heads", "encoder_attention_heads"}}},
      {{"falcon"}, {{"n_embed", "hidden_size"}}},
      {{"falcon"},
       {{"n_layer", "num_hidden_layers"}, {"n_head", "num_attention_heads"}, {"n_head_kv", "num_kv_heads"}},
       true},
      {{"RefinedWeb", "RefinedWebModel"}, {{"num_hidden_layers", "n_layer"}, {"num_attention_heads", "n_head"}}},
      {{"RefinedWeb", "RefinedWebModel"}, {{"num_kv_heads", "n_head_kv"}}, true},
      {{"stablelm"}, {{"num_heads", "num_attention_heads"}}, true},
      {{"mixtral", "gpt_oss"}, {{"num_experts", "num_local_experts"}}},
      {{"minimax_m2"}, {{"num_experts", "num_local_experts"}}, true},
      {{"gpt_oss"}, {{"experts_per_token", "num_experts_per_tok"}}, true},
      {{"deepseek_v3", "glm4_moe", "glm4_moe_lite"}, {{"num_local_experts", "n_routed_experts"}}},
      {{"deepseek_v2", "kimi_k2"}, {{"num_local_experts", "n_routed_experts"}}, true},
      {{"ernie4_5_moe"}, {{"num_experts", "moe_num_experts"}, {"num_experts_per_tok", "moe_k"}}}};
  return kAll;
}

bool is_of(const NamesOfFamilies& group, const ModelFamily& family) {
  return std::ranges::find(group.types, family.type) != group.types.end();
}

}  // namespace

std::optional<nlohmann::json> with_names_of_family(const Node& node, const ModelFamily& family) {
  std::optional<nlohmann::json> renamed;
  for (const NamesOfFamilies& group : all_second_names()) {
    if (group.only_beside || !is_of(group, family)) continue;
    for (const auto& [second, name] : group.names) {
      if (node.has(name) || !node.has(second)) continue;
      if (!renamed) renamed = node.value();
      // A wrong value is complained about here, under the name that the config has. The 1 only keeps the reader silent.
      (*renamed)[name] = node.find_whole(second, kPositionsRange).value_or(1);
      renamed->erase(second);
    }
  }
  return renamed;
}

std::vector<std::string_view> keys_with_second_names(const Node& node, const ModelFamily& family) {
  std::vector<std::string_view> keys(family.keys.begin(), family.keys.end());
  for (const NamesOfFamilies& group : all_second_names()) {
    if (!is_of(group, family)) continue;
    for (const auto& [second, name] : group.names) {
      if (!node.has(name) || !node.has(second)) continue;
      (void)name_of_size(node, name, second);  // complains where they differ
      keys.emplace_back(second);
    }
  }
  return keys;
}

}  // namespace foretoken::io
