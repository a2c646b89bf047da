// Names: settings of programs around the Trainer that train parts of a model, such as InternVL (use_llm_lora,
// unfreeze_lm_head), LLaVA (tune_mm_mlp_adapter), Qwen-VL's fine-tuning (tune_mm_llm) and mixtures whose router alone
// trains.
#include "sim/io/import/launch/trained_parts.h"

#include <algorithm>
#include <span>
#include <string>

#include "sim/base/text.h"

namespace foretoken::io::launch {
namespace {

constexpr std::string_view kTrainingVerbs[] = {"train", "training", "trainable", "tune", "tunable", "update"};
/// The parts that a program may train alone.
constexpr std::string_view kTrainedParts[] = {"adapter", "adapters", "aligner",    "backbone",   "connector", "decoder",
                                              "embed",   "encoder",  "embedding",  "embeddings", "gate",      "gates",
                                              "head",    "heads",    "llm",        "lm",         "merger",    "mlp",
                                              "module",  "modules",  "projector",  "resampler",  "router",    "routers",
                                              "tower",   "qformer",  "classifier", "experts"};
constexpr std::string_view kWordsOfParts[] = {"and",        "is",   "language", "mm",   "modal", "model", "multi",
                                              "multimodal", "name", "names",    "only", "the",   "use",   "vision"};

bool is_one_of(std::span<const std::string_view> words, const std::string& word) {
  return std::ranges::find(words, std::string_view(word)) != words.end();
}

}  // namespace

bool says_what_trains(std::string_view name) {
  const auto words = words_of_name(name);
  const auto has = [&](std::span<const std::string_view> known) {
    return std::ranges::any_of(words, [&](const std::string& word) { return is_one_of(known, word); });
  };
  const auto holds = [&](const char* word) { return std::ranges::find(words, word) != words.end(); };
  const bool part = has(kTrainedParts) || (holds("language") && holds("model"));
  const bool router_only = holds("router") && holds("only");  // encoder_only is a kind of model
  return part && (has(kTrainingVerbs) || router_only) && std::ranges::all_of(words, [&](const std::string& word) {
           return is_one_of(kTrainingVerbs, word) || is_one_of(kTrainedParts, word) || is_one_of(kWordsOfParts, word);
         });
}

}  // namespace foretoken::io::launch
