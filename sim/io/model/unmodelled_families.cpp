// Says which part of a known model is not modelled.
//
// Names: transformers, src/transformers/models/auto/configuration_auto.py and modeling_auto.py. Those of
// minimax_text_01, minimax_m1 and minicpmv come from the configs beside the models of MiniMaxAI and openbmb. Parts of
// laguna, afmoe and longcat_flash: their modular_*.py; of step3p5: vllm, vllm/model_executor/models/step3p5.py.
// step3p7 reads images and has the text model of step3p5 (vllm, step3p7.py). Parts of older models come from the
// modeling_*.py of transformers; those of phi3small, openelm, nomic_bert and nemotron-nas from the modeling_*.py beside
// microsoft/Phi-3-small-8k-instruct, apple/OpenELM-270M, nomic-ai/nomic-bert-2048 and
// nvidia/Llama-3_1-Nemotron-51B-Instruct.
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
                           kFixedPositions = "fixed positions", kBlockSparse = "block-sparse attention",
                           kLocalEncoder = "local attention in an encoder",
                           kRotaryEncoder = "rotary positions in an encoder",
                           kExpertHalves = "experts in an encoder-decoder",
                           kApproximate = "attention that is approximated",
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
                                        {"xglm", kFixedPositions},
                                        {"deberta", kDisentangled},
                                        {"deberta-v2", kDisentangled},
                                        {"umt5", "relative positions of each layer's own"},
                                        {"longt5", kLocalEncoder},
                                        {"albert", "layers that share their weights"},
                                        {"ctrl", kFixedPositions},
                                        {"openai-gpt", "norms of the sums with the residual in a decoder"},
                                        {"transfo-xl", "attention to the states of an earlier segment"},
                                        {"xlnet", "attention in two streams, with relative positions"},
                                        {"reformer", "attention by hashes, and reversible layers"},
                                        {"longformer", kLocalEncoder},
                                        {"led", kLocalEncoder},
                                        {"big_bird", kBlockSparse},
                                        {"bigbird_pegasus", kBlockSparse},
                                        {"phi3small", kBlockSparse},
                                        {"nystromformer", kApproximate},
                                        {"yoso", kApproximate},
                                        {"mra", kApproximate},
                                        {"fnet", "Fourier transforms in the place of attention"},
                                        {"funnel", "pooling between its layers"},
                                        {"convbert", kConvolution},
                                        {"squeezebert", kConvolution},
                                        {"mobilebert", "layers with bottlenecks and several MLPs"},
                                        {"mpnet", "relative positions in the scores of an encoder"},
                                        {"roformer", kRotaryEncoder},
                                        {"nomic_bert", kRotaryEncoder},
                                        {"esm", kRotaryEncoder},
                                        {"megatron-bert", "norms before the layers of an encoder"},
                                        {"rembert", "an output embedding of another width than the input's"},
                                        {"luke", "attention between words and entities"},
                                        {"xmod", "adapters of each language"},
                                        {"xlm", "embeddings of languages"},
                                        {"fsmt", "a vocabulary for each half"},
                                        {"prophetnet", "attention in several streams, one for each further token"},
                                        {"xlm-prophetnet", "attention in several streams, one for each further token"},
                                        {"switch_transformers", kExpertHalves},
                                        {"nllb-moe", kExpertHalves},
                                        {"t5gemma", "halves of Gemma's layers"},
                                        {"jetmoe", "experts in its attention"},
                                        {"diffllama", "differences of two attentions"},
                                        {"bitnet", "weights of three values"},
                                        {"openelm", "layers of different widths"},
                                        {"nemotron-nas", "layers of different widths"},
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
