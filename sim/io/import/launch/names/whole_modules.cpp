// PEFT compares a name with the end of a module's name: huggingface/peft 012c0d5, src/peft/utils/other.py,
// _set_trainable.
#include "sim/io/import/launch/names/whole_modules.h"

#include <algorithm>
#include <string_view>

#include "sim/base/text.h"
#include "sim/io/import/launch/names/adapter_products.h"

namespace foretoken::io::launch {
namespace {

/// A module by its name in small letters, and the part of a scenario that it is.
struct ModuleName {
  std::string_view name, part;
};

// huggingface/transformers, src/transformers/models: llama and most others (embed_tokens, lm_head), gpt2 and bloom
// (wte, word_embeddings), gpt_neox (embed_in, embed_out), bert (embeddings). The code beside the weights of InternLM2
// (tok_embeddings, output) and of ChatGLM (embedding, output_layer). ms-swift v2 has EMBEDDING for the table of any
// family: modelscope/ms-swift, swift/llm/utils/argument.py (lora_m2s_use_embedding).
constexpr ModuleName kModuleNames[] = {
    {"embed_tokens", "embedding"}, {"wte", "embedding"},       {"word_embeddings", "embedding"},
    {"embeddings", "embedding"},   {"embedding", "embedding"}, {"tok_embeddings", "embedding"},
    {"embed_in", "embedding"},     {"lm_head", "head"},        {"output", "head"},
    {"output_layer", "head"},      {"embed_out", "head"}};

constexpr std::string_view kClassifiers[] = {"score", "classifier", "classification_head", "qa_outputs"};

}  // namespace

void map_whole_modules(const std::string& text, const std::string& from, Report& report) {
  Json parts = Json::array();
  for (std::size_t at = text.find_first_not_of(kBetweenNames); at != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(kBetweenNames, at), text.size());
    const std::string stated = text.substr(at, end - at), name = lower_case(stated.substr(stated.rfind('.') + 1));
    at = text.find_first_not_of(kBetweenNames, end);
    const auto* const found = std::ranges::find(kModuleNames, std::string_view(name), &ModuleName::name);
    if (found != std::end(kModuleNames)) {
      if (std::ranges::find(parts, Json(std::string(found->part))) == parts.end())
        parts.push_back(std::string(found->part));
    } else if (std::ranges::find(kClassifiers, name) != std::end(kClassifiers)) {
      report.refuse(from + " " + printable(stated, 40), "a classification head, not a language model's", from);
    } else {
      report.refuse(from + " " + printable(stated, 40),
                    "weights that train whole beside the adapter: only the embedding and the head are modelled", from);
    }
  }
  if (parts.empty()) return;
  report.map("training.whole", std::move(parts), from);
  report.approximate(from, "trained copies have the types of the adapters; PEFT gives them the type of the model");
}

}  // namespace foretoken::io::launch
