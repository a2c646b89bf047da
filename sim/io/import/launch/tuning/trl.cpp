// Reads TRL's options of accelerate, and its defaults.
//
// Profiles: huggingface/trl, trl/accelerate_configs. Options: trl/cli.py and trl/scripts/utils.py. Defaults:
// trl/trainer/sft_config.py and, since 1.0, trl/trainer/base_config.py. Versions by the notes of its releases: 0.16
// renames max_seq_length to max_length, and 0.20 drops the old name; bf16 is the default since 0.19, recomputing since
// 0.22; 0.23 renames torch_dtype to dtype and has losses by name.
#include "sim/io/import/launch/tuning/trl.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>

#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/tuning/other_programs.h"
#include "sim/io/import/launch/tuning/read_tuning.h"

namespace foretoken::io::launch::tuning {
namespace {

struct Profile {
  std::string_view name, option, stage;  ///< `stage` is of ZeRO
  std::int64_t processes;
};
constexpr Profile kProfiles[] = {{"single_gpu", "", "", 1},          {"multi_gpu", "multi-gpu", "", 8},
                                 {"fsdp1", "use-fsdp", "", 8},       {"fsdp2", "use-fsdp", "", 8},
                                 {"zero1", "use-deepspeed", "1", 8}, {"zero2", "use-deepspeed", "2", 8},
                                 {"zero3", "use-deepspeed", "3", 8}};

std::string take(const char* key, Json& document) {
  const auto found = document.find(key);
  if (found == document.end() || !found->is_string()) return "";
  std::string value = found->get<std::string>();
  document.erase(key);
  return value;
}

// Keys that other programs with the Trainer's arguments lack.
constexpr std::string_view kKeysOfTrl[] = {"assistant_only_loss", "chat_template_path", "completion_only_loss",
                                           "dataset_text_field",  "eval_packing",       "packing_strategy"};

bool states_any(const Json& document, std::initializer_list<const char*> keys) {
  return std::ranges::any_of(keys, [&](const char* key) { return document.contains(key); });
}

bool is_since_0_22(const Json& document) { return states_any(document, {"dtype", "loss_type"}); }

bool is_before_0_20(const Json& document) {
  return states_any(document, {"max_seq_length", "num_of_sequences", "chars_per_token", "dataset_batch_size"});
}

// Returns true where nothing says whether the version recomputes by default.
bool add_recompute(const Json& stated, bool recent, const std::function<void(const char*, const char*)>& usual) {
  if (states_any(stated, {"gradient_checkpointing"})) return false;
  if (recent) usual("gradient_checkpointing", "true");
  return !recent && !is_before_0_20(stated);
}

}  // namespace

bool is_document_of_trl(const Json& document) {
  const bool factory = states_any(document, {"finetuning_type", "stage", "template", "cutoff_len"});
  return !factory && document.is_object() &&
         std::ranges::any_of(kKeysOfTrl, [&](std::string_view key) { return document.contains(key); });
}

void read_arguments_of_trl(Json document, std::optional<std::int64_t> gpus, const Json* deepspeed, Report& report) {
  const Json stated = document;
  Origins origins;
  origins.program = "TRL";
  const auto usual = [&](const char* key, const char* value) {
    if (document.contains(key)) return;
    document[key] = value;
    origins.defaults.push_back({{key, {value}, ""}, ""});
  };
  const bool recent = is_since_0_22(stated);
  const bool open = add_recompute(stated, recent, usual);
  if (recent && !Settings(stated, report).on({"fp16"})) usual("bf16", "true");
  if (!states_any(stated, {"max_length", "max_seq_length"})) usual("max_length", "1024");
  if (const auto type = document.find("dtype"); type != document.end() && !document.contains("torch_dtype")) {
    document["torch_dtype"] = *type;
    document.erase("dtype");
    origins.names.emplace_back("torch_dtype", "dtype");
  }
  read_trainer(document, gpus, report, deepspeed);
  if (open) {
    report.forget("recompute");
    report.ask("recompute.granularity",
               "TRL recomputes by default since version 0.22, and no argument tells the version; state --set "
               "recompute.granularity=full or none");
  }
  name_origins(origins, report);
}

// `trl sft ...`: a folder may be called trl, too.
bool is_trl(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 1 < words.size() && !words[i].ends_with(".py"); ++i)
    if (std::filesystem::path(words[i]).filename() == "trl" && !words[i + 1].starts_with('-')) return true;
  return false;
}

bool is_program_of_trl(const std::vector<std::string>& program) {
  return is_trl(program) || program.front().ends_with("examples/scripts/sft.py") ||
         program.front().ends_with("trl/scripts/sft.py");
}

void take_options_of_trl(const shell::Command& command, Json& document, LaunchedProgram& launched,
                         std::optional<std::int64_t>& gpus) {
  const std::string count = take("num_processes", document), name = take("accelerate_config", document);
  (void)take("num_machines", document);
  if (!gpus) gpus = whole_of(count);
  if (name.empty()) return;
  const auto add = [&](std::string_view option, std::vector<std::string> values) {
    launched.options.push_back({std::string(option), std::move(values), command.place()});
  };
  const auto* const profile = std::ranges::find(kProfiles, std::string_view(name), &Profile::name);
  if (profile == std::end(kProfiles)) return add("config-file", {name});
  // The option may have a value that nobody knows.
  const bool counted =
      std::ranges::any_of(command.words, [](const std::string& word) { return word.starts_with("--num_processes"); });
  if (!gpus && !counted) gpus = profile->processes;
  add("mixed-precision", {"bf16"});
  if (!profile->option.empty()) add(profile->option, {});
  if (!profile->stage.empty()) add("zero-stage", {std::string(profile->stage)});
}

}  // namespace foretoken::io::launch::tuning
