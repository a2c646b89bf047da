// Says which part of a known model is not modelled.
//
// Names: transformers, src/transformers/models/auto/configuration_auto.py and modeling_auto.py. Those of
// minimax_text_01, minimax_m1 and minicpmv come from the configs beside the models of MiniMaxAI and openbmb. Parts of
// laguna, afmoe and longcat_flash: their modular_*.py; of step3p5: vllm, vllm/model_executor/models/step3p5.py.
// step3p7 reads images and has the text model of step3p5 (vllm, step3p7.py).
#include "sim/io/model/unmodelled_families.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/model/hybrid_names.h"
#include "sim/io/model/model_purpose.h"

namespace foretoken::io {
namespace {

/// A model whose configs are known, and the part of it that is not modelled.
struct NotModelled {
  std::string_view type, part;
};
constexpr std::string_view kLinear = "layers of linear attention",
                           kIndexed = "attention to tokens that an indexer chooses", kMamba = "state-space layers",
                           kFixedPositions = "an encoder-decoder's fixed positions",
                           kDisentangled = "scores of relative positions beside those of content",
                           kRecurrent = "recurrent layers", kConvolution = "layers of convolution",
                           kOfImages = "an encoder of images", kOfSound = "an encoder or a decoder of sound",
                           kBehindImages = "layers that read from an encoder of images",
                           kHybridLayers = "layers of state spaces, of linear attention or of convolution",
                           kUnevenHeads = "gates of attention heads, whose number differs from layer to layer";
constexpr NotModelled kNotModelled[] = {{"qwen3_next", kLinear},
                                        {"qwen3_5", kLinear},
                                        {"qwen3_5_text", kLinear},
                                        {"qwen3_5_moe", kLinear},
                                        {"qwen3_5_moe_text", kLinear},
                                        {"minimax", kLinear},
                                        {"minimax_text_01", kLinear},
                                        {"minimax_m1", kLinear},
                                        {"kimi_linear", kLinear},
                                        {"deepseek_v32", kIndexed},
                                        {"deepseek_v4", kIndexed},
                                        {"glm_moe_dsa", kIndexed},
                                        {"minimax_m3", kIndexed},
                                        {"nemotron_h", kMamba},
                                        {"jamba", kMamba},
                                        {"bamba", kMamba},
                                        {"granitemoehybrid", kMamba},
                                        {"mamba", kMamba},
                                        {"mamba2", kMamba},
                                        {"falcon_mamba", kMamba},
                                        {"falcon_h1", kMamba},
                                        {"zamba", kMamba},
                                        {"zamba2", kMamba},
                                        {"plamo2", kMamba},
                                        {"hymba", kMamba},
                                        {"recurrent_gemma", kRecurrent},
                                        {"rwkv", kRecurrent},
                                        {"xlstm", kRecurrent},
                                        {"lfm2", kConvolution},
                                        {"lfm2_moe", kConvolution},
                                        {"gpt_neo", "a window in every second layer"},
                                        {"apertus", "an activation of its own (xIELU)"},
                                        {"persimmon", "layer norms of queries and keys"},
                                        {"xglm", "fixed positions"},
                                        {"deberta", kDisentangled},
                                        {"deberta-v2", kDisentangled},
                                        {"umt5", "relative positions of each layer's own"},
                                        {"longt5", "local attention in an encoder"},
                                        {"marian", kFixedPositions},
                                        {"albert", "layers that share their weights"},
                                        {"modernbert", "encoder layers of two kinds, global and local"},
                                        {"laguna", kUnevenHeads},
                                        {"step3p5", kUnevenHeads},
                                        {"step3p7", kUnevenHeads},
                                        {"afmoe", "gates of the attention's output"},
                                        {"longcat_flash", "two attentions in a layer, and experts without weights"}};

/// Words of a `model_type` whose family reads images, where no word says so.
/// MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES.
constexpr std::string_view kFamiliesOfImages[] = {
    "aria",  "chameleon",  "emu3",         "florence2",  "fuyu",         "gemma3",   "gemma3n",  "git",      "glm46v",
    "glm4v", "got",        "instructblip", "janus",      "kosmos",       "llama4",   "minicpmo", "minicpmv", "mistral3",
    "ovis2", "perception", "phi4mm",       "pix2struct", "shieldgemma2", "t5gemma2", "udop"};

/// Words of a `model_type` that takes or makes sound. MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES.
constexpr std::string_view kFamiliesOfSound[] = {"bark", "csm", "dia", "moonshine", "moshi", "parakeet", "pop2piano"};

bool has_word(const std::vector<std::string>& words, std::span<const std::string_view> families) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return std::ranges::find(families, std::string_view(word)) != families.end();
  });
}

}  // namespace

std::optional<std::string_view> why_not_modelled(std::string_view type) {
  for (const NotModelled& known : kNotModelled)
    if (known.type == type) return known.part;
  const std::vector<std::string> words = words_of_name(type);
  const std::string_view purpose = other_purpose_of(type);
  if (purpose == "speech" || has_word(words, kFamiliesOfSound)) return kOfSound;
  if (!purpose.empty() || has_word(words, kFamiliesOfImages)) return words.back() == "text" ? kBehindImages : kOfImages;
  if (is_hybrid_name(type)) return kHybridLayers;
  return std::nullopt;
}

}  // namespace foretoken::io
