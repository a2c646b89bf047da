// The sizes of models by their names.
//
// Sizes: the config.json of each on Hugging Face, of the organisations meta-llama, codellama, huggyllama, Qwen, google,
// microsoft, mistralai, lmsys, 01-ai, HuggingFaceTB, deepseek-ai, openlm-research, TinyLlama, facebook, bigscience,
// EleutherAI, tiiuae, THUDM, zai-org, internlm and baichuan-inc. A test compares their published parameters.
#include "sim/io/import/launch/model_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/names/fine_tune_name.h"
#include "sim/io/import/launch/names/sized_model.h"
#include "sim/io/import/launch/names/stored_weights.h"

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
                                      {"deepseekv30324", "deepseek-v3", 61},
                                      {"deepseekr1", "deepseek-v3", 61},
                                      {"deepseekr10528", "deepseek-v3", 61},
                                      {"deepseekr1distillllama8b", "llama-3-8b", 32},
                                      {"deepseekr1distillllama70b", "llama-3-70b", 80},
                                      {"cogitov1previewllama8b", "llama-3-8b", 32},
                                      {"cogitov1previewllama70b", "llama-3-70b", 80},
                                      {"zephyr7bbeta", "mistral-7b", 32},
                                      {"deepseekv2", "deepseek-v2", 60},
                                      {"kimik2", "kimi-k2", 61},
                                      {"gptoss120b", "gpt-oss-120b", 36},
                                      {"gptoss20b", "gpt-oss-20b", 24},
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
                                      {"bertuncased", "bert-base", 12},  // "base" is left out
                                      {"bertlargeuncased", "bert-large", 24}};

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
                                  {"mixtral8x22bv01", "mixtral", 56, 6144, 48, 8, 128, 16384, 32768},
                                  {"mistralnemo", "mistral", 40, 5120, 32, 8, 128, 14336, 131072},
                                  {"mistralnemo2407", "mistral", 40, 5120, 32, 8, 128, 14336, 131072},
                                  {"mistralsmall24b2501", "mistral", 40, 5120, 32, 8, 128, 32768, 131072},
                                  {"phi3medium4k", "phi3", 40, 5120, 40, 10, 128, 17920, 32064},
                                  {"phi3medium128k", "phi3", 40, 5120, 40, 10, 128, 17920, 32064},
                                  {"phi4", "phi3", 40, 5120, 40, 10, 128, 17920, 100352},
                                  {"phi414b", "phi3", 40, 5120, 40, 10, 128, 17920, 100352},  // torchtune
                                  {"phi4mini", "phi3", 32, 3072, 24, 8, 128, 8192, 200064, true},
                                  {"smollm33b", "llama", 36, 2048, 16, 4, 128, 11008, 128256, true},
                                  {"deepseekr1distillqwen15b", "qwen2", 28, 1536, 12, 2, 128, 8960, 151936},
                                  {"qwq32b", "qwen2", 64, 5120, 40, 8, 128, 27648, 152064},
                                  {"qwq32bpreview", "qwen2", 64, 5120, 40, 8, 128, 27648, 152064},
                                  {"qwen18b", "qwen2", 24, 2048, 16, 16, 128, 5504, 151936},
                                  {"qwen7b", "qwen2", 32, 4096, 32, 32, 128, 11008, 151936},
                                  {"qwen14b", "qwen2", 40, 5120, 40, 40, 128, 13696, 152064},
                                  {"qwen72b", "qwen2", 80, 8192, 64, 64, 128, 24576, 152064},
                                  {"qwen1532b", "qwen2", 64, 5120, 40, 8, 128, 27392, 152064},
                                  {"qwen15110b", "qwen2", 80, 8192, 64, 8, 128, 49152, 152064},
                                  {"internlm27b", "llama", 32, 4096, 32, 8, 128, 14336, 92544},
                                  {"internlm257b", "llama", 32, 4096, 32, 8, 128, 14336, 92544},
                                  {"internlm220b", "llama", 48, 6144, 48, 8, 128, 16384, 92544},
                                  {"baichuan7b", "llama", 32, 4096, 32, 32, 128, 11008, 64000},
                                  {"baichuan27b", "llama", 32, 4096, 32, 32, 128, 11008, 125696},
                                  {"vicuna7b", "llama", 32, 4096, 32, 32, 128, 11008, 32000},
                                  {"vicuna13b", "llama", 40, 5120, 40, 40, 128, 13824, 32000},
                                  {"vicuna7bv13", "llama", 32, 4096, 32, 32, 128, 11008, 32000},
                                  {"vicuna13bv13", "llama", 40, 5120, 40, 40, 128, 13824, 32000},
                                  {"amber", "llama", 32, 4096, 32, 32, 128, 11008, 32000},
                                  {"amberchat", "llama", 32, 4096, 32, 32, 128, 11008, 32000},
                                  // Biases of q, k and v, and half of each head is rotated: Qwen2's operations.
                                  {"chatglm26b", "qwen2", 28, 4096, 32, 2, 128, 13696, 65024},
                                  {"chatglm36b", "qwen2", 28, 4096, 32, 2, 128, 13696, 65024},
                                  {"glm49b", "qwen2", 40, 4096, 32, 2, 128, 13696, 151552},
                                  {"opt125m", "opt", 12, 768, 12, 12, 64, 3072, 50272, true},
                                  {"opt27b", "opt", 32, 2560, 32, 32, 80, 10240, 50272, true},
                                  {"opt67b", "opt", 32, 4096, 32, 32, 128, 16384, 50272, true},
                                  {"opt13b", "opt", 40, 5120, 40, 40, 128, 20480, 50272, true},
                                  {"opt13b", "opt", 24, 2048, 32, 32, 64, 8192, 50272, true},  // 1.3 billion
                                  {"opt30b", "opt", 48, 7168, 56, 56, 128, 28672, 50272, true},
                                  {"opt66b", "opt", 64, 9216, 72, 72, 128, 36864, 50272, true},
                                  {"bloom560m", "bloom", 24, 1024, 16, 16, 64, 4096, 250880, true},
                                  {"bloom1b1", "bloom", 24, 1536, 16, 16, 96, 6144, 250880, true},
                                  {"bloom1b7", "bloom", 24, 2048, 16, 16, 128, 8192, 250880, true},
                                  {"bloom3b", "bloom", 30, 2560, 32, 32, 80, 10240, 250880, true},
                                  {"bloom7b1", "bloom", 30, 4096, 32, 32, 128, 16384, 250880, true},
                                  {"falcon7b", "falcon", 32, 4544, 71, 1, 64, 18176, 65024, true},
                                  {"falcon40b", "falcon", 60, 8192, 128, 8, 64, 32768, 65024, true},
                                  {"gptj6b", "gptj", 28, 4096, 16, 16, 256, 16384, 50400}};

Json config_of_model(const Sized& model, std::string_view name) {
  const bool bloom = model.type == "bloom", gptj = model.type == "gptj";
  Json config = {{"name", printable(name, 80)},
                 {"model_type", std::string(model.type)},
                 {bloom || gptj ? "n_layer" : "num_hidden_layers", model.layers},
                 {gptj ? "n_embd" : "hidden_size", model.hidden},
                 {bloom || gptj ? "n_head" : "num_attention_heads", model.heads}};
  const bool one_width = bloom || gptj || model.type == "falcon";  // four times the hidden size
  if (model.type == "opt")
    config.update(Json{{"ffn_dim", model.width}, {"max_position_embeddings", 2048}});
  else if (!one_width)
    config["intermediate_size"] = model.width;
  if (!one_width && model.type != "opt" && model.type != "gpt_neox") config["num_key_value_heads"] = model.groups;
  if (model.type == "falcon") {
    const bool grouped = model.groups > 1;
    config.update(Json{{"alibi", false}, {"bias", false}, {"parallel_attn", true}, {"multi_query", true}});
    config["new_decoder_architecture"] = grouped;
    if (grouped) config["num_kv_heads"] = model.groups;
  }
  config["vocab_size"] = model.vocabulary;
  config["tie_word_embeddings"] = model.tied;
  const bool states_head_dim = model.type == "qwen3" || model.type.starts_with("gemma") ||
                               (model.type == "mistral" && model.head_dim * model.heads != model.hidden);
  if (states_head_dim) config["head_dim"] = model.head_dim;
  if (model.type == "mixtral") config.update(Json{{"num_local_experts", 8}, {"num_experts_per_tok", 2}});
  return config;
}

// Models of one size for longer sequences, by the end of their name. GLM-4 has other key-value groups there.
bool is_of_length(const std::string& word, const std::string& name) {
  return word == "1m" && (name.starts_with("qwen") || name.starts_with("internlm"));
}

// "meta-llama/Meta-Llama-3.1-8B-Instruct" becomes "llama318b". So does "llama_hf_3.1_8b": the kind may stand inside.
std::string plain_name(std::string_view name) {
  std::string plain;
  const std::string_view last = model_in_path(name);  // "TinyLlama-1.1B-intermediate-step-240k-503b"
  for (const std::string& word : without_formats(words_of_name(last.substr(0, last.find("-intermediate-step")))))
    if (word != "hf" && word != "instruct" && word != "chat" && word != "base" && word != "deduped" &&
        !is_of_length(word, plain))
      plain += word;
  for (bool changed = true; changed;) {
    changed = false;
    // The last ones are organisations, in names of folders: "bigscience_bloom-3b".
    for (const std::string_view prefix :
         {"qlora", "lora", "meta", "bigscience", "eleutherai", "facebook", "mistralai", "tiiuae"})
      if (plain.starts_with(prefix)) plain.erase(0, prefix.size()), changed = true;
    for (const std::string_view suffix :
         {"fp16", "bf16", "instruct", "chat", "base", "hf", "it", "mcore", "unsloth", "2507", "thinking"})
      if (plain.ends_with(suffix) && plain.size() > suffix.size())
        plain.erase(plain.size() - suffix.size()), changed = true;
  }
  if (plain.starts_with("qwen3moe")) plain.erase(std::string_view("qwen3").size(), 3);                   // torchtune
  if (plain.starts_with("qwen1half")) plain.replace(0, std::string_view("qwen1half").size(), "qwen15");  // ms-swift
  if (plain.starts_with("bloomz")) plain.erase(std::string_view("bloom").size(), 1);  // the same sizes
  return plain;
}

// The sizes that a name may state, in billions: plain names lose the point, and "opt-13b" is another model than
// "opt-1.3b". A line stands for a point or behind a version: "opt-1-3b" has 1.3 or 3, "qwen3-8b" 3.8 or 8. Empty for a
// name without either.
std::vector<double> stated_sizes(std::string_view name) {
  name = model_in_path(name);
  const auto is = [&](std::size_t at, auto holds) {
    return at < name.size() && holds(static_cast<unsigned char>(name[at])) != 0;
  };
  const auto digit = [&](std::size_t at) { return is(at, [](int c) { return std::isdigit(c); }); };
  for (const char* marks : {".", "_-"})
    for (std::size_t at = name.find_first_of(marks); at != name.npos; at = name.find_first_of(marks, at + 1)) {
      std::size_t begin = at, end = at + 1;
      while (begin > 0 && digit(begin - 1)) --begin;
      while (digit(end)) ++end;
      const bool billions = end < name.size() && (name[end] == 'b' || name[end] == 'B');
      if (begin == at || end == at + 1 || !billions) continue;
      const std::string behind(name.substr(at + 1, end - at - 1)), before(name.substr(begin, at - begin));
      const double pointed = number_of_text(before + "." + behind).value_or(0);
      if (name[at] == '.') return {pointed};
      if (!is(end + 1, [](int c) { return std::isalnum(c); }))  // not 4bit
        return {pointed, number_of_text(behind).value_or(0)};
    }
  return {};
}

// Returns the billions of parameters, to a few per cent: embeddings, attention and MLP.
double billions_of(const Sized& model) {
  const bool gated = model.type != "starcoder2" && model.type != "opt" && model.type != "bloom" &&
                     model.type != "falcon" && model.type != "gptj" && model.type != "gpt_neox";
  const auto hidden = static_cast<double>(model.hidden), width = static_cast<double>(model.width);
  const auto heads = static_cast<double>(model.head_dim * (model.heads + model.groups));
  const double layer = 2 * hidden * heads + (gated ? 3 : 2) * hidden * width;
  const double tables = (model.tied ? 1 : 2) * hidden * static_cast<double>(model.vocabulary);
  return (static_cast<double>(model.layers) * layer + tables) / 1e9;
}

// Returns true where a size that a name states is within a half of the model's own: OLMo-2-0425-1B has 1.48.
bool fits_size(const Sized& model, const std::vector<double>& stated) {
  return stated.empty() || model.type == "mixtral" ||
         std::ranges::any_of(stated, [&](double size) { return std::abs(billions_of(model) / size - 1) < 0.5; });
}

// The shipped models of one name with a size have whole billions.
bool fits_size(const Shipped& model, const std::vector<double>& stated) {
  return stated.empty() || std::ranges::any_of(stated, [&](double size) {
           return model.file.find(fmt::format("-{:g}b", size)) != model.file.npos;
         });
}

// "tinyllama11bv10" becomes "tinyllama11b": versions of one size share their shape unless a row says otherwise.
std::string without_version(const std::string& plain) {
  const std::size_t mark = plain.find_last_not_of("0123456789");
  const std::size_t digits = plain.size() - 1 - mark;
  return mark != plain.npos && mark > 0 && plain[mark] == 'v' && digits > 0 && digits < 3 ? plain.substr(0, mark)
                                                                                          : plain;
}

std::optional<NamedModel> model_of_plain(const std::string& plain, std::string_view name) {
  const auto stated = stated_sizes(name);
  for (const Shipped& model : kShippedModels)
    if (model.name == plain && fits_size(model, stated)) return NamedModel{std::string(model.file), model.layers};
  for (const std::span<const Sized> rows : {std::span<const Sized>(kSizedModels), more_sized_models()})
    for (const Sized& model : rows)
      if (model.name == plain && fits_size(model, stated))
        return NamedModel{config_of_model(model, name), model.layers};
  for (const Configured& model : configured_models())
    if (model.name == plain) {
      Json config = {{"name", printable(name, 80)}};
      config.update(Json::parse(model.config));
      const char* const layers = config.contains("num_layers") ? "num_layers" : "num_hidden_layers";
      return NamedModel{config, config.at(layers).get<std::int64_t>()};
    }
  return std::nullopt;
}

}  // namespace

std::optional<NamedModel> model_of_name(std::string_view name) {
  if (name.find(' ') != name.npos) return std::nullopt;  // a place to fill in: "[your model, example: Qwen/Qwen3-8B]"
  const std::string plain = plain_name(name);
  if (auto known = model_of_plain(plain, name)) return known;
  const std::string shorter = without_version(plain);
  if (shorter != plain)
    if (auto known = model_of_plain(shorter, name)) return known;
  const std::string base(base_in_name(model_in_path(name)));
  auto known = base.empty() ? std::nullopt : model_of_plain(plain_name(base), base);
  if (known) known->base = base;
  return known;
}

void map_named_model(std::string_view name, const std::string& from, Report& report) {
  if (const std::string format = other_library_in(name); !format.empty())
    report.refuse(from, "base weights already quantised (" + format +
                            (format.ends_with("bit") ? "): the name says no library" : "): own kernels"));
  if (const auto known = model_of_name(name)) {
    report.map("model", known->model, from);
    if (!known->base.empty())
      report.approximate(
          from, printable(name, 80) + " has the sizes of " + printable(known->base, 40) + ", which its name states");
    return;
  }
  report.unknown_model = name;
  report.ask("model", "the sizes of " + printable(name, 80) +
                          " are not known here; state --model with its config.json (" + from + ")");
}

}  // namespace foretoken::io::launch
