// Tells programs that do not train plainly by their names and their switches.
#include "sim/io/import/launch/tuning/other_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"

namespace foretoken::io::launch::tuning {
namespace {

// Examples for GLUE and the like train a head for a few classes: run_glue.py, train_classifier.py.
std::string classes_of(const std::string& program) {
  constexpr std::string_view kClasses = " glue ner squad swag classification classifier classify cls regression ";
  for (const std::string& word : words_of_name(std::filesystem::path(program).stem().string()))
    if (program.ends_with(".py") && holds_word(kClasses, word)) return word;
  return "";
}

// Source: transformers, examples/pytorch, flax and legacy, whose programs take --do_train. Programs with other names
// may train without it.
bool is_example(const std::string& word) {
  constexpr std::string_view kNames[] = {"run_clm",
                                         "run_clm_flax",
                                         "run_mlm",
                                         "run_mlm_flax",
                                         "run_mlm_wwm",
                                         "run_plm",
                                         "run_fim",
                                         "run_t5_mlm_flax",
                                         "run_bart_dlm_flax",
                                         "run_language_modeling",
                                         "run_glue",
                                         "run_flax_glue",
                                         "run_classification",
                                         "run_ner",
                                         "run_flax_ner",
                                         "run_tf_ner",
                                         "run_qa",
                                         "run_qa_beam_search",
                                         "run_seq2seq_qa",
                                         "run_squad",
                                         "run_summarization",
                                         "run_summarization_flax",
                                         "run_translation",
                                         "run_swag",
                                         "run_multiple_choice",
                                         "run_xnli",
                                         "run_image_classification",
                                         "run_mae",
                                         "run_mim",
                                         "run_audio_classification",
                                         "run_speech_recognition_ctc",
                                         "run_speech_recognition_seq2seq"};
  const std::filesystem::path path(word);
  return path.extension() == ".py" && std::ranges::find(kNames, path.stem().string()) != std::end(kNames);
}

}  // namespace

bool only_generates(const std::string& program) {
  constexpr std::string_view kGenerates = " generate generation infer inference predict ";
  const auto words = words_of_name(std::filesystem::path(program).stem().string());
  const auto among = [&](std::string_view names) {
    return std::ranges::any_of(words, [&](const std::string& word) { return holds_word(names, word); });
  };
  return program.ends_with(".py") && among(kGenerates) &&
         !among(" train training trainer finetune finetuning tune sft pretrain lora qlora fine ft ");
}

std::string other_method_of(const std::string& program) {
  constexpr std::string_view kOthers =
      " dpo kto orpo simpo cpo ipo grpo gspo ppo rlhf rloo reinforce reward rm prm distill distillation kd gkd ";
  const std::string name = std::filesystem::path(program).stem().string();
  const std::string file = program.ends_with(".py") ? name : std::filesystem::path(program).filename().string();
  for (const std::string& word : words_of_name(file))
    if (holds_word(kOthers, word)) return word;
  return "";
}

// Source: transformers, examples/pytorch/language-modeling/run_clm.py, which trains with --do_train only. Other
// programs may train without it, but not with --do_train False.
bool only_evaluates(const std::vector<std::string>& program) {
  const auto arguments = arguments_of(program, "");
  const auto on = [&](std::string_view name) {
    const Argument* const found = last_of(arguments, name);
    return found != nullptr && (found->values.empty() || switch_of(found->values.front()).value_or(true));
  };
  const bool example = std::ranges::any_of(program, is_example);
  const bool untrained = last_of(arguments, "do-train") != nullptr && !on("do-train");
  return untrained || (example && !on("do-train") && (on("do-eval") || on("do-predict")));
}

std::optional<Untrained> untrained(const shell::Command& command) {
  if (only_evaluates(command.words)) return Untrained{"do_eval", kOnlyEvaluates};
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    const std::string& word = command.words[i];
    const bool program = word.ends_with(".py") || (i > 0 && command.words[i - 1] == "-m");
    if (const std::string method = program ? other_method_of(word) : ""; !method.empty())
      return Untrained{method, "the script starts " + printable(word, 80) +
                                   ": preferences, rewards or distillation, not plain training"};
  }
  return std::nullopt;
}

void refuse_other_methods(const std::vector<std::string>& program, Report& report) {
  if (program.empty()) return;
  if (only_generates(program.front()))
    report.refuse(printable(program.front(), 80), "not a training: it generates, by its name");
  if (const std::string word = classes_of(program.front()); !word.empty())
    report.refuse(word, "a head for classes by the name of the program, " + printable(program.front(), 80) +
                            "; allowed, it is counted as a head for the vocabulary");
  if (only_evaluates(program) && !report.names("do_eval")) report.refuse("do_eval", kOnlyEvaluates);
  const std::string method = other_method_of(program.front());
  if (!method.empty() && !report.names(method))
    report.refuse(method, "preferences, rewards or distillation by the name of the program, " +
                              printable(program.front(), 80) + ": not plain training");
}

void ask_for_method_in_name(const std::vector<std::string>& program, const std::vector<Argument>& arguments,
                            Report& report) {
  if (program.empty() || report.has("training.method")) return;
  const std::string file = std::filesystem::path(program.front()).filename().string();
  const auto words = words_of_name(std::filesystem::path(file).stem().string());
  const bool named = std::ranges::any_of(
      words, [](const std::string& word) { return lower_case(word) == "lora" || lower_case(word) == "qlora"; });
  const bool stated = std::ranges::any_of(arguments, [](const Argument& one) {
    return one.name.find("lora") != one.name.npos || one.name.find("peft") != one.name.npos ||
           one.name.find("full-f") != one.name.npos;
  });
  if (named && !stated)
    report.ask("training.method",
               fmt::format("{} is named after LoRA, and no flag states its rank; state --set "
                           "training.method=lora --set training.rank=N, or --set training.method=full",
                           printable(file, 60)));
}

// LLaMA-Factory hands such a file to Megatron-Core where USE_MCA is set: src/llamafactory/train/mca/workflow.py;
// alibaba/ROLL, mcore_adapter/src/mcore_adapter/training_args.py.
void refuse_megatron(const Settings& settings, Report& report) {
  const Names keys = {"tensor_model_parallel_size",
                      "pipeline_model_parallel_size",
                      "virtual_pipeline_model_parallel_size",
                      "expert_model_parallel_size",
                      "sequence_parallel",
                      "use_distributed_optimizer",
                      "overlap_grad_reduce",
                      "overlap_param_gather",
                      "moe_token_dispatcher_type",
                      "moe_grouped_gemm",
                      "moe_shared_expert_overlap",
                      "recompute_granularity",
                      "recompute_method",
                      "recompute_num_layers",
                      "bias_activation_fusion",
                      "apply_rope_fusion"};
  const bool factory = settings.has({"finetuning_type"});
  if (const std::string key = factory ? settings.from(keys) : ""; !key.empty())
    report.refuse(key,
                  "LLaMA-Factory trains a file with keys of Megatron-Core through mcore_adapter, which is not read");
}

}  // namespace foretoken::io::launch::tuning
