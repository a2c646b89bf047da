// Source of the families: huggingface/transformers, docs/source/en/_toctree.yml, its text, audio, vision and multimodal
// models.
#include "sim/io/model/model_purpose.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>

#include "sim/base/text.h"

namespace foretoken::io {
namespace {

// Parts of words: codellama, distilbert, mt5.
constexpr std::string_view kLanguageFamilies[] = {
    "llama",   "bert",    "gpt2",   "gptj",      "gptneo",  "gpt",      "mistral", "mixtral",  "qwen",
    "gemma",   "vicuna",  "falcon", "bloom",     "pythia",  "deepseek", "glm",     "baichuan", "smollm",
    "olmo",    "granite", "xlnet",  "starcoder", "codegen", "internlm", "electra", "t5",       "bart",
    "pegasus", "minicpm", "zephyr", "opt",       "phi",     "yi",       "mpt",     "aya",      "cohere"};
constexpr std::string_view kSpeechFamilies[] = {"whisper",  "wav2vec", "hubert",  "wavlm",    "speecht5", "audio",
                                                "musicgen", "speech",  "voxtral", "seamless", "flamingo"};
constexpr std::string_view kImageFamilies[] = {
    "llava",   "vlm",       "internvl", "qwenvl",     "blip",   "clip", "siglip", "vit",       "swin",
    "deit",    "dino",      "dinov2",   "dinov3",     "resnet", "sdxl", "flux",   "unet",      "vl",
    "vision",  "pixtral",   "idefics",  "convnext",   "omni",   "vilt", "cogvlm", "diffusion", "vqgan",
    "minigpt", "paligemma", "mllama",   "multimodal", "video",  "ocr"};

// Words of English, which stand in others: supervision, revision, audiobook.
constexpr std::string_view kEnglishWords = " audio vision speech video seamless ";

// A family of up to `whole` letters, or a word of English, is a whole word, or stands before a number: phi3, but not
// philosophy.
bool stands_in(const std::string& word, std::string_view family, std::size_t whole) {
  if (family.size() > whole && kEnglishWords.find(family) == kEnglishWords.npos) return word.find(family) != word.npos;
  const bool ends = family == "t5" || family == "vlm";  // mt5, codet5, smolvlm
  if (ends && word.ends_with(family)) return true;
  if (!word.starts_with(family)) return false;
  return word.size() == family.size() || (word[family.size()] >= '0' && word[family.size()] <= '9');
}

bool has_family(std::string_view name, std::span<const std::string_view> families, std::size_t whole) {
  // A folder's name ends with a slash.
  while (name.ends_with('/')) name.remove_suffix(1);
  const auto words = words_of_name(std::filesystem::path(name).filename().string());
  return std::ranges::any_of(words, [&](const std::string& word) {
    return std::ranges::any_of(families, [&](std::string_view family) { return stands_in(word, family, whole); });
  });
}

}  // namespace

std::string_view other_purpose_of(std::string_view name) {
  if (has_family(name, kSpeechFamilies, 4)) return "speech";
  return has_family(name, kImageFamilies, 4) ? "multimodal" : "";
}

bool names_language_model(std::string_view name) {
  return other_purpose_of(name).empty() && has_family(name, kLanguageFamilies, 3);
}

}  // namespace foretoken::io
