// Makes a BERT of the flags of pretrain_bert.py.
#include "sim/io/import/launch/megatron/rules.h"

namespace foretoken::io::launch::megatron {
namespace {

constexpr const char* kNoNextSentence = "bert-no-binary-head";

}  // namespace

// pretrain_bert.py alone reads the flag: NVIDIA/Megatron-LM@core_v0.14.0, megatron/training/arguments.py and
// pretrain_bert.py (args.bert_binary_head).
bool is_bert(const Flags& flags, Program program) {
  return program == Program::kBert || (program == Program::kUnknown && flags.on(kNoNextSentence));
}

// BERT has the sizes of the flags, an encoder's layers, and the heads of its pre-training. Its layers differ from the
// published ones by the place of the norms, which costs nothing.
void become_bert(const Flags& flags) {
  Report& report = flags.report();
  const bool masked_only = flags.on(kNoNextSentence);
  const Json model = report.at("model");
  Json bert = {{"model_type", "bert"}, {"architectures", {masked_only ? "BertForMaskedLM" : "BertForPreTraining"}}};
  constexpr std::pair<const char*, const char*> kNames[] = {{"num_layers", "num_hidden_layers"},
                                                            {"hidden_size", "hidden_size"},
                                                            {"num_attention_heads", "num_attention_heads"},
                                                            {"ffn_hidden_size", "intermediate_size"},
                                                            {"vocab_size", "vocab_size"},
                                                            {"max_position_embeddings", "max_position_embeddings"},
                                                            {"hidden_dropout", "hidden_dropout_prob"},
                                                            {"attention_dropout", "attention_probs_dropout_prob"}};
  for (const auto& [flag, key] : kNames)
    if (model.contains(flag)) bert[key] = model.at(flag);
  report.map("model", std::move(bert), "the launch trains BERT");
  // A decoder's causal mask leaves the tokens before; an encoder's window has two sides.
  if (model.contains("window_size"))
    report.refuse("--window-size", "an encoder sees a window on both sides of a token, which is not modelled");
  if (masked_only)
    report.approximate("--bert-no-binary-head",
                       "the table of token types stays: it changes the model by less than 0.1 %");
}

}  // namespace foretoken::io::launch::megatron
