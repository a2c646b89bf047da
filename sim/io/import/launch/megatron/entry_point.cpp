// Tells training of a GPT, a BERT or a T5 from other programs of Megatron-LM.
#include "sim/io/import/launch/megatron/entry_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/base/text.h"
#include "sim/io/import/launch/tuning/other_methods.h"

namespace foretoken::io::launch::megatron {
namespace {

struct Kind {
  std::string_view word, because;
};
/// Parts of the name of a program. Source: the programs at the root of NVIDIA/Megatron-LM, tools/ and examples/.
constexpr Kind kPrograms[] = {{"_ict", "a retriever, not a language model"},
                              {"vision", "a vision model"},
                              {"vlm", "a multimodal model"},
                              {"multimodal", "a multimodal model"},
                              {"mimo", "a multimodal model"},
                              {"sora", "a model of images or video"},
                              {"diffusion", "a model of images or video"},
                              {"retro", "RETRO retrieves neighbours"},
                              {"mamba", "a hybrid of state-space and attention layers"},
                              {"hybrid", "a hybrid of state-space and attention layers"},
                              {"train_rl", "reinforcement learning"},
                              {"grpo", "reinforcement learning"},
                              {"text_generation", "not a training entry point: it generates text"},
                              {"inference", "not a training entry point: inference"},
                              {"evaluate", "not a training entry point: evaluation"},
                              {"eval", "not a training entry point: evaluation"},
                              {"convert", "not a training entry point: it converts checkpoints"},
                              {"quantize", "not a training entry point: it quantises"},
                              {"preprocess", "not a training entry point: it prepares data"}};
/// Parts of the folders of functional tests, and of their MODE and TEST_TYPE.
constexpr Kind kTests[] = {{"/hybrid/", "a hybrid of state-space and attention layers"},
                           {"/multimodal", "a multimodal model"},
                           {"/mimo/", "a multimodal model"},
                           {"inference", "an inference test, not a training run"},
                           {"grpo", "reinforcement learning"},
                           {"/rl/", "reinforcement learning"}};

// tasks/math/sft.py of another repository trains; tasks/main.py of Megatron-LM does not pre-train.
bool names_training(std::string_view program) {
  return std::ranges::any_of(words_of_name(program), [](const std::string& word) {
    return word == "sft" || word == "train" || word == "pretrain" || word == "finetune";
  });
}

// Models whose layers differ from those of a GPT in activation, norm and positions.
bool is_called_after_model(const std::string& file) {
  constexpr std::string_view kModels[] = {"llama",    "qwen",     "mistral", "mixtral", "gemma",  "baichuan",
                                          "deepseek", "internlm", "chatglm", "aquila",  "falcon", "codellama"};
  return std::ranges::any_of(words_of_name(file), [&](const std::string& word) {
    const std::string_view plain = std::string_view(word).substr(0, word.find_last_not_of("0123456789") + 1);
    return std::ranges::find(kModels, plain) != std::end(kModels);
  });
}

// Programs around Megatron-LM of other methods, and programs that only generate: dpo_training.py. A module counts by
// its last part, megatron.training.dpo by "dpo".
std::string why_not_plain(const std::string& program, bool module) {
  const std::string name = module ? program.substr(program.rfind('.') + 1) : program;
  if (const std::string method = tuning::other_method_of(name); !method.empty())
    return fmt::format("\"{}\" in its name: preferences, rewards or distillation, not plain training", method);
  return tuning::only_generates(name) ? "not a training entry point: it generates, by its name" : "";
}

}  // namespace

Program program_of(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (!word.ends_with(".py")) continue;
    const std::string program = std::filesystem::path(word).filename().string();
    if (program.find("bert") != std::string::npos) return Program::kBert;
    return program.find("_t5") != std::string::npos ? Program::kT5 : Program::kOther;
  }
  return Program::kUnknown;
}

Program program_of_test(const std::string& path) {
  if (path.find("/bert/") != std::string::npos) return Program::kBert;
  return path.find("/t5/") != std::string::npos ? Program::kT5 : Program::kUnknown;
}

void refuse_entry_point(const std::vector<std::string>& words, const std::string& place, Report& report) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool module = i > 0 && words[i - 1] == "-m" && !word.starts_with("torch.distributed");
    if (!word.ends_with(".py") && !module) continue;
    const std::string program = std::filesystem::path(word).filename().string();
    const std::string shown = printable(program, 80);
    const bool bert = program.find("bert") != program.npos;
    for (const Kind& kind : kPrograms)
      if (!bert && program.find(kind.word) != program.npos)
        return report.refuse(shown, std::string(kind.because), place);
    if (const std::string why = why_not_plain(program, module && !word.ends_with(".py")); !why.empty())
      return report.refuse(shown, why, place);
    if (bert) return;
    if (word.find("multimodal") != word.npos || word.find("mimo") != word.npos)
      return report.refuse(shown, "a multimodal model", place);
    if (word.find("tasks/") != word.npos && !names_training(program))
      return report.refuse(shown, "a downstream task, not pre-training", place);
    return;
  }
}

void ask_for_layers_of_program(const std::vector<std::string>& words, Report& report) {
  const auto assumed = [&](std::string_view key) {
    return std::ranges::any_of(report.assumed, [&](const Assumed& one) { return one.key == key; });
  };
  constexpr const char* kParts[] = {"model.activation", "model.normalization", "model.position_embedding_type",
                                    "model.add_bias_linear", "model.untie_embeddings_and_output_weights"};
  for (const char* const part : {kParts[0], kParts[1], kParts[2]})
    if (!assumed(part)) return;
  const auto program = std::ranges::find_if(words, [](const std::string& word) { return word.ends_with(".py"); });
  if (program == words.end()) return;
  const std::string file = std::filesystem::path(*program).filename().string();
  if (!is_called_after_model(file)) return;
  for (const char* const part : kParts) {
    if (!assumed(part)) continue;
    report.forget(part);
    report.ask(part, printable(file, 60) + " may build its layers in its code, and no flag states this part");
  }
}

// alibaba/Pai-Megatron-Patch: the MLP of megatron_patch/model/glm130b/transformer.py (ParallelMLP) has its own width,
// whatever the flags say. Its data set cuts the prompt by --generation-length (megatron_patch/data/glm.py).
void settle_program_of_glm(const std::vector<std::string>& words, Report& report) {
  const auto program = std::ranges::find_if(words, [](const std::string& word) { return word.ends_with(".py"); });
  if (program == words.end() || !program->ends_with("pretrain_megatron_glm130b.py")) return;
  if (const auto hidden = report.whole("model.hidden_size"); hidden && *hidden > 0)
    report.assume("model.ffn_hidden_size", 4 * *hidden * 2 / 3,
                  "two thirds of four times the hidden size in Pai-Megatron-Patch's GLM-130B, without rounding");
  const auto is_length = [](const Refused& one) { return one.setting == "--generation-length"; };
  for (const Refused& one : report.refused)
    if (is_length(one)) report.ignore(one.setting, one.from);
  std::erase_if(report.refused, is_length);
}

void refuse_test_kind(const nlohmann::ordered_json& document, const std::string& path, Report& report) {
  for (const char* key : {"MODE", "TEST_TYPE"})
    if (const auto mode = document.find(key); mode != document.end() && mode->is_string())
      for (const Kind& kind : kTests)
        if (mode->get<std::string>().find(kind.word) != std::string::npos)
          return report.refuse(key, std::string(kind.because), key);
  if (program_of_test(path) == Program::kBert) return;
  for (const Kind& kind : kTests)
    if (path.find(kind.word) != path.npos)
      return report.refuse("the kind of the test", std::string(kind.because), printable(path, 200));
}

}  // namespace foretoken::io::launch::megatron
