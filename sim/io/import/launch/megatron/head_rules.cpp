// Maps the heads of attention of Megatron-LM's flags: their number, groups of queries and latent attention.
//
// Defaults: NVIDIA/Megatron-LM core 0.12, megatron/training/arguments.py, validate_args() and _add_network_size_args().
#include "sim/base/text.h"
#include "sim/io/import/launch/megatron/rules.h"

namespace foretoken::io::launch::megatron {
namespace {

constexpr const char* kQueryGroups = "model.num_query_groups";

// MindSpeed-LLM has names of its own (mindspeed_llm/training/arguments.py, _add_mla_args).
std::string latent_flag(const Flags& flags) {
  return first_of(flags, {"multi-latent-attention", "multi-head-latent-attention"});
}

// BigCode's Megatron-LM names the kind of its heads. "multiquery" has one head of keys and values, which each tensor
// rank holds whole (alibaba/Pai-Megatron-Patch, which took it over: megatron_patch/model/starcoder/transformer.py).
constexpr const char* kTypeOfHeads = "attention-head-type";

void map_type_of_heads(const Flags& flags) {
  Report& report = flags.report();
  const auto type = flags.text(kTypeOfHeads, kQueryGroups);
  const auto heads = report.whole("model.num_attention_heads");
  if (!type) return;
  if (*type == "multiquery")
    report.map(kQueryGroups, 1, flags.from(kTypeOfHeads));
  else if (*type != "multihead")
    report.refuse(std::string("--") + kTypeOfHeads, "expected multihead or multiquery, found " + in_quotes(*type),
                  flags.from(kTypeOfHeads));
  else if (heads)
    report.map(kQueryGroups, *heads, flags.from(kTypeOfHeads));
}

// Megatron-LLM has as many heads of keys and values as of queries unless told otherwise. Its earlier versions had
// --use_multiquery_attn beside the number (epfLLM/Megatron-LLM, megatron/arguments.py at e6f8a83; falcon_model.py).
void map_groups(const Flags& flags) {
  Report& report = flags.report();
  const auto heads = report.whole("model.num_attention_heads");
  const std::string groups =
      first_of(flags, {"num-query-groups", "num-key-value-heads", "n-head-kv", "num-attention-heads-kv"});
  const bool grouped = flags.on("group-query-attention") || groups != "num-query-groups";
  if (grouped && flags.find(groups) != nullptr)
    flags.map_whole(groups, kQueryGroups);
  else if (flags.find(kTypeOfHeads) != nullptr)
    map_type_of_heads(flags);
  else if (flags.on("multi-query-attention"))
    report.map(kQueryGroups, 1, flags.from("multi-query-attention"));
  else if (flags.on("use-multiquery-attn"))
    report.ask(kQueryGroups, "--use_multiquery_attn does not tell how many; --num_attention_heads_kv does");
  else if (grouped)
    report.assume(kQueryGroups, 1, kDefault);
  else if (heads)
    report.assume(kQueryGroups, *heads, "no --group-query-attention: a group for every head");
}

void map_latent(const Flags& flags) {
  Report& report = flags.report();
  report.map("model.multi_latent_attention", true, flags.from(latent_flag(flags)));
  struct Part {
    const char *flag, *of_mindspeed, *key;
    std::int64_t fallback;
  };
  // megatron/core/transformer/transformer_config.py, MLATransformerConfig
  constexpr Part kParts[] = {{"kv-lora-rank", "kv-lora-rank", "model.kv_lora_rank", 512},
                             {"qk-head-dim", "qk-nope-head-dim", "model.qk_head_dim", 128},
                             {"qk-pos-emb-head-dim", "qk-rope-head-dim", "model.qk_pos_emb_head_dim", 64},
                             {"v-head-dim", "v-head-dim", "model.v_head_dim", 128}};
  for (const Part& part : kParts) {
    const std::string name = first_of(flags, {part.flag, part.of_mindspeed});
    if (flags.find(name) != nullptr)
      flags.map_whole(name, part.key);
    else
      report.assume(part.key, part.fallback, "default of MLATransformerConfig");
  }
  if (flags.find("q-lora-rank") != nullptr) flags.map_whole("q-lora-rank", "model.q_lora_rank");
}

}  // namespace

bool is_latent(const Flags& flags) { return flags.on(latent_flag(flags)); }

void map_heads(const Flags& flags) {
  Report& report = flags.report();
  flags.map_whole("num-attention-heads", "model.num_attention_heads");
  map_groups(flags);
  if (is_latent(flags)) return map_latent(flags);
  const auto hidden = report.whole("model.hidden_size"), heads = report.whole("model.num_attention_heads");
  if (flags.find("kv-channels") != nullptr)
    flags.map_whole("kv-channels", "model.kv_channels");
  else if (hidden && heads && *heads > 0)
    report.assume("model.kv_channels", *hidden / *heads, "the hidden size over the heads (validate_args)");
}

}  // namespace foretoken::io::launch::megatron
