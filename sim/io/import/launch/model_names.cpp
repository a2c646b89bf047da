// The sizes of models by their names.
//
// Sizes: the config.json of each on Hugging Face, of the organisations meta-llama, codellama, huggyllama, Qwen, google,
// microsoft, mistralai, lmsys, 01-ai, HuggingFaceTB, deepseek-ai, openlm-research and TinyLlama.
#include "sim/io/import/launch/model_names.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "sim/base/text.h"

namespace foretoken::io::launch {
namespace {

struct Shipped {
  std::string_view name, file;
  std::int64_t layers;
};
/// Models of models/NAME.json. Names have letters and digits only.
constexpr Shipped kShippedModels[] = {{"llama38b", "llama-3-8b", 32},
                                      {"llama318b", "llama-3-8b", 32},
                                      {"llama370b", "llama-3-70b", 80},
                                      {"llama3170b", "llama-3-70b", 80},
                                      {"llama3370b", "llama-3-70b", 80},
                                      {"llama31405b", "llama-3-405b", 126},
                                      {"llama3405b", "llama-3-405b", 126},
                                      {"llama27b", "llama-2-7b", 32},
                                      {"llama213b", "llama-2-13b", 40},
                                      {"llama270b", "llama-2-70b", 80},
                                      {"mistral7b", "mistral-7b", 32},
                                      {"mistral7bv01", "mistral-7b", 32},
                                      {"mixtral8x7b", "mixtral-8x7b", 32},
                                      {"mixtral8x7bv01", "mixtral-8x7b", 32},
                                      {"qwen332b", "qwen3-32b", 64},
                                      {"qwen330ba3b", "qwen3-30b-a3b", 48},
                                      {"qwen3235ba22b", "qwen3-235b-a22b", 94},
                                      {"deepseekv3", "deepseek-v3", 61},
                                      {"deepseekv2", "deepseek-v2", 60},
                                      {"kimik2", "kimi-k2", 61},
                                      {"gptoss120b", "gpt-oss-120b", 36},
                                      {"nemotron415b", "nemotron-4-15b", 32},
                                      {"nemotron4340b", "nemotron-4-340b", 96},
                                      {"gpt3175b", "gpt3-175b", 96},
                                      {"gptneox20b", "gpt-neox-20b", 44},
                                      {"bloom", "bloom-176b", 70},
                                      {"mpt7b", "mpt-7b", 32},
                                      {"mpt30b", "mpt-30b", 48},
                                      {"gpt2", "gpt2", 12},
                                      {"gpt2medium", "gpt2-medium", 24},
                                      {"gpt2large", "gpt2-large", 36},
                                      {"gpt2xl", "gpt2-xl", 48},
                                      {"bertbaseuncased", "bert-base", 12},
                                      {"bertlargeuncased", "bert-large", 24}};

struct Sized {
  std::string_view name, type;
  std::int64_t layers, hidden, heads, groups, head_dim, width, vocabulary;
  bool tied = false;
};
constexpr Sized kSizedModels[] = {{"llama321b", "llama", 16, 2048, 32, 8, 64, 8192, 128256, true},
                                  {"llama323b", "llama", 28, 3072, 24, 8, 128, 8192, 128256, true},
                                  {"codellama7b", "llama", 32, 4096, 32, 32, 128, 11008, 32016},
                                  {"codellama13b", "llama", 40, 5120, 40, 40, 128, 13824, 32016},
                                  {"codellama34b", "llama", 48, 8192, 64, 8, 128, 22016, 32000},
                                  {"llama7b", "llama", 32, 4096, 32, 32, 128, 11008, 32000},
                                  {"llama13b", "llama", 40, 5120, 40, 40, 128, 13824, 32000},
                                  {"llama30b", "llama", 60, 6656, 52, 52, 128, 17920, 32000},
                                  {"llama65b", "llama", 80, 8192, 64, 64, 128, 22016, 32000},
                                  {"vicuna7bv15", "llama", 32, 4096, 32, 32, 128, 11008, 32000},
                                  {"vicuna13bv15", "llama", 40, 5120, 40, 40, 128, 13824, 32000},
                                  {"yi6b", "llama", 32, 4096, 32, 4, 128, 11008, 64000},
                                  {"yi34b", "llama", 60, 7168, 56, 8, 128, 20480, 64000},
                                  {"smollm135m", "llama", 30, 576, 9, 3, 64, 1536, 49152, true},
                                  {"smollm360m", "llama", 32, 960, 15, 5, 64, 2560, 49152, true},
                                  {"smollm17b", "llama", 24, 2048, 32, 32, 64, 8192, 49152, true},
                                  {"smollm2135m", "llama", 30, 576, 9, 3, 64, 1536, 49152, true},
                                  {"smollm2360m", "llama", 32, 960, 15, 5, 64, 2560, 49152, true},
                                  {"smollm217b", "llama", 24, 2048, 32, 32, 64, 8192, 49152, true},
                                  {"deepseekmath7b", "llama", 30, 4096, 32, 32, 128, 11008, 102400},
                                  {"deepseekmath7brl", "llama", 30, 4096, 32, 32, 128, 11008, 102400},
                                  {"deepseekcoder13b", "llama", 24, 2048, 16, 16, 128, 5504, 32256},
                                  {"deepseekcoder67b", "llama", 32, 4096, 32, 32, 128, 11008, 32256},
                                  {"deepseekcoder33b", "llama", 62, 7168, 56, 8, 128, 19200, 32256},
                                  {"openllama3b", "llama", 26, 3200, 32, 32, 100, 8640, 32000},
                                  {"openllama7b", "llama", 32, 4096, 32, 32, 128, 11008, 32000},
                                  {"openllama13b", "llama", 40, 5120, 40, 40, 128, 13824, 32000},
                                  {"yi156b", "llama", 32, 4096, 32, 4, 128, 11008, 64000},
                                  {"yi159b", "llama", 48, 4096, 32, 4, 128, 11008, 64000},
                                  {"yi1534b", "llama", 60, 7168, 56, 8, 128, 20480, 64000},
                                  {"deepseekllm7b", "llama", 30, 4096, 32, 32, 128, 11008, 102400},
                                  {"deepseekr1distillqwen7b", "qwen2", 28, 3584, 28, 4, 128, 18944, 152064},
                                  {"deepseekr1distillqwen14b", "qwen2", 48, 5120, 40, 8, 128, 13824, 152064},
                                  {"deepseekr1distillqwen32b", "qwen2", 64, 5120, 40, 8, 128, 27648, 152064},
                                  {"qwen1505b", "qwen2", 24, 1024, 16, 16, 64, 2816, 151936, true},
                                  {"qwen1518b", "qwen2", 24, 2048, 16, 16, 128, 5504, 151936},
                                  {"qwen154b", "qwen2", 40, 2560, 20, 20, 128, 6912, 151936},
                                  {"qwen157b", "qwen2", 32, 4096, 32, 32, 128, 11008, 151936},
                                  {"qwen1514b", "qwen2", 40, 5120, 40, 40, 128, 13696, 152064},
                                  {"qwen1572b", "qwen2", 80, 8192, 64, 64, 128, 24576, 152064},
                                  {"tinyllama11b", "llama", 22, 2048, 32, 4, 64, 5632, 32000},
                                  {"qwen205b", "qwen2", 24, 896, 14, 2, 64, 4864, 151936, true},
                                  {"qwen2505b", "qwen2", 24, 896, 14, 2, 64, 4864, 151936, true},
                                  {"qwen215b", "qwen2", 28, 1536, 12, 2, 128, 8960, 151936, true},
                                  {"qwen2515b", "qwen2", 28, 1536, 12, 2, 128, 8960, 151936, true},
                                  {"qwen253b", "qwen2", 36, 2048, 16, 2, 128, 11008, 151936, true},
                                  {"qwen25math15b", "qwen2", 28, 1536, 12, 2, 128, 8960, 151936, true},
                                  {"qwen25math7b", "qwen2", 28, 3584, 28, 4, 128, 18944, 152064},
                                  {"qwen25coder05b", "qwen2", 24, 896, 14, 2, 64, 4864, 151936, true},
                                  {"qwen25coder15b", "qwen2", 28, 1536, 12, 2, 128, 8960, 151936, true},
                                  {"qwen25coder3b", "qwen2", 36, 2048, 16, 2, 128, 11008, 151936, true},
                                  {"qwen25coder7b", "qwen2", 28, 3584, 28, 4, 128, 18944, 152064},
                                  {"qwen25coder14b", "qwen2", 48, 5120, 40, 8, 128, 13824, 152064},
                                  {"qwen25coder32b", "qwen2", 64, 5120, 40, 8, 128, 27648, 152064},
                                  {"qwen27b", "qwen2", 28, 3584, 28, 4, 128, 18944, 152064},
                                  {"qwen257b", "qwen2", 28, 3584, 28, 4, 128, 18944, 152064},
                                  {"qwen2514b", "qwen2", 48, 5120, 40, 8, 128, 13824, 152064},
                                  {"qwen2532b", "qwen2", 64, 5120, 40, 8, 128, 27648, 152064},
                                  {"qwen2572b", "qwen2", 80, 8192, 64, 8, 128, 29568, 152064},
                                  {"qwen272b", "qwen2", 80, 8192, 64, 8, 128, 29568, 152064},
                                  {"qwen306b", "qwen3", 28, 1024, 16, 8, 128, 3072, 151936, true},
                                  {"qwen317b", "qwen3", 28, 2048, 16, 8, 128, 6144, 151936, true},
                                  {"qwen34b", "qwen3", 36, 2560, 32, 8, 128, 9728, 151936, true},
                                  {"qwen38b", "qwen3", 36, 4096, 32, 8, 128, 12288, 151936},
                                  {"qwen314b", "qwen3", 40, 5120, 40, 8, 128, 17408, 151936},
                                  {"gemma22b", "gemma2", 26, 2304, 8, 4, 256, 9216, 256000, true},
                                  {"gemma29b", "gemma2", 42, 3584, 16, 8, 256, 14336, 256000, true},
                                  {"gemma227b", "gemma2", 46, 4608, 32, 16, 128, 36864, 256000, true},
                                  {"gemma2b", "gemma", 18, 2048, 8, 1, 256, 16384, 256000, true},
                                  {"gemma7b", "gemma", 28, 3072, 16, 16, 256, 24576, 256000, true},
                                  {"phi3mini", "phi3", 32, 3072, 32, 32, 96, 8192, 32064},
                                  {"phi3mini4k", "phi3", 32, 3072, 32, 32, 96, 8192, 32064},
                                  {"phi3mini128k", "phi3", 32, 3072, 32, 32, 96, 8192, 32064},
                                  {"phi35mini", "phi3", 32, 3072, 32, 32, 96, 8192, 32064},
                                  {"mistral7bv02", "mistral", 32, 4096, 32, 8, 128, 14336, 32000},
                                  {"mistral7bv03", "mistral", 32, 4096, 32, 8, 128, 14336, 32768},
                                  {"mixtral8x22b", "mixtral", 56, 6144, 48, 8, 128, 16384, 32768},
                                  {"mixtral8x22bv01", "mixtral", 56, 6144, 48, 8, 128, 16384, 32768}};

Json config_of_model(const Sized& model, std::string_view name) {
  Json config = {{"name", printable(name, 80)},        {"model_type", std::string(model.type)},
                 {"num_hidden_layers", model.layers},  {"hidden_size", model.hidden},
                 {"num_attention_heads", model.heads}, {"num_key_value_heads", model.groups},
                 {"intermediate_size", model.width},   {"vocab_size", model.vocabulary},
                 {"tie_word_embeddings", model.tied}};
  const bool states_head_dim = model.type == "qwen3" || model.type == "gemma" || model.type == "gemma2";
  if (states_head_dim) config["head_dim"] = model.head_dim;
  if (model.type == "mixtral") config.update(Json{{"num_local_experts", 8}, {"num_experts_per_tok", 2}});
  return config;
}

// "meta-llama/Meta-Llama-3.1-8B-Instruct" becomes "llama318b".
std::string plain_name(std::string_view name) {
  while (name.ends_with('/')) name.remove_suffix(1);
  name = name.substr(name.rfind('/') == name.npos ? 0 : name.rfind('/') + 1);
  std::string plain;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::string_view prefix : {"qlora", "lora", "meta"})
      if (plain.starts_with(prefix)) plain.erase(0, prefix.size()), changed = true;
    for (const std::string_view suffix :
         {"instruct", "chat", "base", "hf", "it", "mcore", "bnb4bit", "unsloth", "2507", "thinking"})
      if (plain.ends_with(suffix) && plain.size() > suffix.size())
        plain.erase(plain.size() - suffix.size()), changed = true;
  }
  // Mistral's versions stand behind the kind: "mistral7binstructv03".
  constexpr std::string_view kKind = "instruct";
  if (const std::size_t kind = plain.find(kKind); kind != plain.npos && plain.find('v', kind) == kind + kKind.size())
    plain.erase(kind, kKind.size());
  return plain;
}

}  // namespace

std::optional<NamedModel> model_of_name(std::string_view name) {
  const std::string plain = plain_name(name);
  for (const Shipped& model : kShippedModels)
    if (model.name == plain) return NamedModel{std::string(model.file), model.layers};
  for (const Sized& model : kSizedModels)
    if (model.name == plain) return NamedModel{config_of_model(model, name), model.layers};
  return std::nullopt;
}

void map_named_model(std::string_view name, const std::string& from, Report& report) {
  if (const auto known = model_of_name(name)) return report.map("model", known->model, from);
  report.ask("model", "the sizes of " + printable(name, 80) +
                          " are not known here; state --model with its config.json (" + from + ")");
}

}  // namespace foretoken::io::launch
