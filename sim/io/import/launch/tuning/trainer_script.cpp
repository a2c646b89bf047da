// Reads the flags of a command as arguments of Hugging Face's Trainer.
#include "sim/io/import/launch/tuning/trainer_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "sim/base/text.h"
#include "sim/io/import/launch/branch_keys.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/deepspeed/read_deepspeed.h"
#include "sim/io/import/launch/hosts.h"
#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/megatron/deepspeed_config.h"
#include "sim/io/import/launch/megatron/rules.h"
#include "sim/io/import/launch/named_words.h"
#include "sim/io/import/launch/near_file.h"
#include "sim/io/import/launch/other_devices.h"
#include "sim/io/import/launch/shell/unknown.h"
#include "sim/io/import/launch/tuning/bare_program.h"
#include "sim/io/import/launch/tuning/beside_accelerate.h"
#include "sim/io/import/launch/tuning/lora_file.h"
#include "sim/io/import/launch/tuning/other_methods.h"
#include "sim/io/import/launch/tuning/other_programs.h"
#include "sim/io/import/launch/tuning/own_programs.h"
#include "sim/io/import/launch/tuning/read_tuning.h"
#include "sim/io/import/launch/tuning/shared_process.h"
#include "sim/io/import/launch/tuning/staged_program.h"
#include "sim/io/import/launch/tuning/swift.h"
#include "sim/io/import/launch/tuning/trl.h"
#include "sim/io/import/launch/tuning/variable_behind.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch::tuning {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBatch = "per-device-train-batch-size";

/// Arguments without which a default counts.
constexpr Decisive kDecisive[] = {{"deepspeed", "optimizer.zero_stage"},
                                  {"fsdp", "optimizer.zero_stage"},
                                  {"gradient-checkpointing", "recompute.granularity"},
                                  {"gradient-accumulation-steps", "batch.global"},
                                  {"use-lora", "training.method"},
                                  {"use-peft", "training.method"},
                                  {"use-peft-lora", "training.method"},
                                  {"load-in-4bit", "training.method"}};

bool is_programs(std::string_view flag) { return flag == kBatch || flag == "model-name-or-path"; }

/// Returns true for a training whose batch is the Trainer's default.
bool has_default_batch(const std::vector<Argument>& arguments) {
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(arguments, [&](const Argument& one) { return one.name == name; });
  };
  const bool batch = std::ranges::any_of(arguments, [](const Argument& one) {
    return (one.name.find("batch") != one.name.npos && one.name.find("eval") == one.name.npos) || one.name == "bsz";
  });
  const bool trains = has("deepspeed") || has("do-train") || has("num-train-epochs") || has("learning-rate");
  return !batch && trains && has("model-name-or-path") && has("output-dir");
}

}  // namespace

bool trains(const shell::Command& command) {
  if (place_of_factory_file(command.words)) return false;  // the file decides, and flags are laid over it
  const auto arguments = arguments_of(command.words, "");
  const auto program = launched_program(command.words, "", is_programs).program;
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(arguments, [&](const Argument& one) { return one.name == name; });
  };
  if (only_evaluates(program)) return false;
  return is_swift(command) || is_staged_program(command) ||
         ((has(kBatch) || is_other_program(program, arguments) || has_default_batch(arguments)) && !has("num-layers"));
}

namespace {

bool starts_with_word(const shell::Command& command, std::string_view word) {
  return std::ranges::any_of(command.words,
                             [&](const std::string& one) { return fs::path(one).filename().string() == word; });
}

/// Returns the flag of a key as the user writes it: "--grad_accum" for gradient_accumulation_steps.
std::string flag_as_written(const std::string& key, const Origins& origins) {
  const auto key_of = [](std::string name) {
    std::ranges::replace(name, '-', '_');
    return name;
  };
  const auto own = std::ranges::find(origins.names, key, [&](const auto& one) { return key_of(one.first); });
  return "--" + (own == origins.names.end() ? key : key_of(own->second));
}

/// Returns the arguments as the keys of a file: per_device_train_batch_size. Values that nobody knows are left out.
/// `text` is the script, which may name the variable behind a flag.
Json document_of(const std::vector<Argument>& arguments, const Origins& origins, std::string_view text,
                 Report& report) {
  Json document = Json::object();
  for (const Argument& argument : arguments) {
    std::string key = argument.name;
    std::ranges::replace(key, '-', '_');
    // DeepSpeed-Chat's name of the length.
    if (key == "max_seq_len") key = "max_seq_length";
    const std::string value = joined_values(argument);
    constexpr std::string_view kNeedValues[] = {"per_device_train_batch_size",
                                                "gradient_accumulation_steps",
                                                "max_seq_length",
                                                "model_max_length",
                                                "block_size",
                                                "model_name_or_path"};
    const bool needs = std::ranges::find(kNeedValues, key) != std::end(kNeedValues);
    if (value.empty() && key == "gradient_accumulation_steps") {
      const std::string flag = flag_as_written(key, origins), variable = variable_behind(flag, text);
      report.ask("batch.global", fmt::format("{} has no value{}; state it with --env {}=VALUE, or --global-batch N",
                                             flag, variable.empty() ? "" : ": nothing sets " + variable,
                                             variable.empty() ? "NAME" : variable));
      document[key] = "auto";  // it is not the default
    } else if (shell::is_unknown(value) && key == "gradient_accumulation_steps") {
      const std::string why = shell::why_unknown(value);
      report.ask("batch.global", flag_as_written(key, origins) + " depends on " + printable(why, 120) + "; state it " +
                                     way_to_state(why) + ", or --global-batch N");
      document[key] = "auto";
    } else if (shell::is_unknown(value) && key == "deepspeed")
      document[key] = shell::shown_unknown(value);  // a file that decides, under any name
    else if (shell::is_unknown(value))
      report.approximate("--" + printable(argument.name, 80),
                         "its value is " + printable(shell::why_unknown(value), 120) + ", and taken as not stated");
    else if (value.empty() && needs)
      report.approximate("--" + argument.name, "it has no value; the script may expect a variable of the environment");
    else
      document[key] = argument.values.empty() ? "true" : value;
  }
  return document;
}

/// Takes --deepspeed FILE out of the arguments. Returns the file's content, where it can be read. A bare --deepspeed
/// with --zero_stage becomes a name that says the stage, as the Trainer's files have it.
std::optional<Json> take_deepspeed(const shell::Script& script, const std::string& folder,
                                   std::vector<Argument>& arguments, Report& report) {
  for (const char* name : {"deepspeed-config", "ds-file", "ds-config", "ds-config-file", "deepspeed-config-file",
                           "deepspeed-config-path", "deepspeed-file", "deepspeed-path", "zero-config", "deepspeed"}) {
    const Argument* const stated = last_of(arguments, name);
    if (stated == nullptr || stated->values.empty()) continue;
    const std::vector<Argument> file = {{"deepspeed-config", stated->values, stated->place}};
    const auto config = megatron::deepspeed_config_of(script, file, folder);
    if (const std::string wrong = config ? "" : megatron::why_written_config_is_wrong(script, file); !wrong.empty())
      report.refuse_until("optimizer.zero_stage", std::string("--") + name, wrong, stated->place);
    if (config) std::erase_if(arguments, [&](const Argument& one) { return one.name == name; });
    if (std::string_view(name) != "deepspeed")  // a switch beside the file
      std::erase_if(arguments, [](const Argument& one) { return one.name == "deepspeed" && one.values.empty(); });
    for (Argument& argument : arguments)  // its name may say the stage
      if (argument.name == name) argument.name = "deepspeed";
    if (config) settle_stage(*config, arguments, report);
    if (!config) take_stage_beside_file(arguments, report);
    return config;
  }
  if (last_of(arguments, "deepspeed") == nullptr) return std::nullopt;
  const Argument* const stage = last_of(arguments, "zero-stage");
  const std::string said = (stage == nullptr ? "0" : joined_values(*stage));
  if (shell::is_unknown(said))
    report.ask("optimizer.zero_stage", "--zero_stage is " + printable(shell::why_unknown(said), 120));
  else if (!whole_of(said))
    report.ask("optimizer.zero_stage", "--zero_stage is " + in_quotes(printable(said, 40)) +
                                           ", expected 0 to 3; state --set optimizer.zero_stage=N");
  const std::string offload = last_of(arguments, "adam-offload") != nullptr ? "_offload_optimizer"
                              : last_of(arguments, "offload") != nullptr    ? "_offload"
                                                                            : "";
  std::erase_if(arguments, [](const Argument& one) {
    return one.name == "deepspeed" || one.name == "zero-stage" || one.name == "offload" || one.name == "adam-offload";
  });
  arguments.push_back({"deepspeed", {"zero" + said + offload}, ""});
  return std::nullopt;
}

/// DeepSpeed-Chat trains in fp16 unless --dtype says otherwise: training/utils/ds_utils.py. Programs with its flags
/// are taken as made after it. Returns true where the type is this default.
bool add_type_of_chat(const Origins& origins, std::vector<Argument>& arguments) {
  const bool typed = std::ranges::any_of(std::array{"dtype", "bf16", "fp16"},
                                         [&](const char* name) { return last_of(arguments, name) != nullptr; });
  const Argument* const bare = last_of(arguments, "deepspeed");
  const bool chat = bare != nullptr && bare->values.empty() && last_of(arguments, "zero-stage") != nullptr;
  if (typed || !chat || !origins.defaults_known) return false;
  arguments.push_back({"dtype", {"fp16"}, ""});
  return true;
}

/// Takes activation checkpointing out of the file of --fsdp_config, as the Trainer does. Asks where it is not there.
void add_fsdp_config(const shell::Script& script, const std::string& folder, Json& document, Report& report) {
  const std::string name = document.value("fsdp_config", "");
  if (name.empty()) return;
  const auto text = text_of_named(script, name, folder);
  Findings unread;
  const auto config = text ? parse_json(*text, name, unread) : std::nullopt;
  if (!config || !config->is_object())
    return report.ask("recompute", "the file of --fsdp_config, " + printable(name, 100) + ", is not there");
  if (Settings(as_texts(Json(*config)), report).on({"activation_checkpointing"}))
    document["gradient_checkpointing"] = "true";
}

/// Takes the question about a key off the report. Returns its reason; empty where nothing asks.
std::string take_question(Report& report, std::string_view key) {
  const auto found = std::ranges::find(report.asked, key, &Asked::key);
  if (found == report.asked.end()) return "";
  std::string because = std::move(found->because);
  std::erase_if(report.asked, [&](const Asked& one) { return one.key == key; });
  return because;
}

/// A command with what its script says beside it.
struct Started {
  const shell::Script& script;
  const shell::Command& command;
  const LaunchedProgram& launched;
  const std::string& folder;
  bool has_defaults_of_trl = false;
};

/// Reads arguments beside the files of accelerate and FSDP that a command names.
void read_with_accelerate(const Started& launch, const std::optional<Json>& deepspeed, Json document,
                          std::optional<std::int64_t> gpus, Defaults defaults, Report& report) {
  Report accelerate;
  LaunchedProgram launched = launch.launched;
  const bool by_trl = is_trl(launch.command.words);
  if (by_trl) take_options_of_trl(launch.command, document, launched, gpus);
  if (by_trl || starts_with_word(launch.command, "accelerate"))
    accelerate = add_accelerate(launch.script, launched, launch.folder, deepspeed.has_value(), document, report);
  const std::string missing = gpus == 1 ? take_question(report, "optimizer.zero_stage") : "";
  add_fsdp_config(launch.script, launch.folder, document, report);
  take_lora_file(launch.script, launch.folder, document, report);
  // The option wins over accelerate's file, also where nobody knows its value.
  const Argument* const processes = last_of(launch.launched.options, "num-processes");
  const bool open_count = !gpus && processes != nullptr && !whole_of(joined_values(*processes));
  if (!gpus && !open_count) gpus = accelerate.whole("gpus");
  if (defaults == Defaults::kUnknown && launch.launched.has("multi-gpu")) document["multi_gpu"] = "true";
  const Json* const config = deepspeed ? &*deepspeed : nullptr;
  if (launch.has_defaults_of_trl)
    read_arguments_of_trl(std::move(document), gpus, config, report);
  else
    read_trainer(document, gpus, report, config, defaults);
  // Nobody knows what a missing file decides, whatever the defaults are.
  for (const char* key : {"optimizer.zero_stage", "recompute"})
    if (report.asks(key)) report.forget(key);
  if (missing.find("offload") != missing.npos) {
    report.forget("optimizer.zero_stage");
    report.ask("optimizer.zero_stage", missing);  // one GPU, too, has states to move
  } else if (!missing.empty() && report.whole("optimizer.zero_stage").value_or(0) == 0) {
    report.forget("optimizer.zero_stage");
    report.assume("optimizer.zero_stage", 0, missing + "; one process has nothing to shard");
  }
  for (const char* part : {"offload.optimizer", "offload.parameters"})
    if (accelerate.has(part)) report.map(part, accelerate.at(part), "accelerate's file");
  if (open_count) {
    std::erase_if(report.asked, [](const Asked& one) { return one.key == "gpus"; });
    const std::string why = shell::why_unknown(joined_values(*processes));
    report.ask("gpus",
               fmt::format("--num_processes {}; state it {}, or --gpus N",
                           why.empty() ? "has no value" : "depends on " + printable(why, 120), way_to_state(why)));
  }
  if (accelerate.has("offload") && accelerate.has("runtime"))
    report.assume("runtime", accelerate.at("runtime"), "the runtime that moves states to the host");
  const auto machines = whole_of(value_of(launch.launched.options, "num-machines"));
  if (gpus && machines && *machines > 0 && *gpus % *machines == 0) report.gpus_of_machine = *gpus / *machines;
  if (!report.gpus_of_machine) report.gpus_of_machine = accelerate.gpus_of_machine;
  for (Refused& one : accelerate.refused) report.refused.push_back(std::move(one));
}

// DeepSpeed's launcher starts programs that make its engine. Where no flag names its file, the program may hold it.
void ask_for_stage_of_launcher(const shell::Command& command, std::optional<std::int64_t> gpus, Report& report) {
  const bool nothing = std::ranges::any_of(report.mapped, [](const Mapped& one) {
    return one.key == "optimizer.zero_stage" && one.from.starts_with("no fsdp and no deepspeed");
  });
  if (!nothing || gpus == 1 || !starts_with_word(command, "deepspeed")) return;
  report.forget("optimizer.zero_stage");
  report.ask("optimizer.zero_stage",
             "deepspeed starts the program, and no flag names a file of DeepSpeed: the program may hold one; state "
             "--set optimizer.zero_stage=N, with 0 where every rank holds everything");
}

/// Reads one command with the flags behind --. `gpus` are those that the user states.
void read_command(const shell::Script& script, const shell::Command& command, const std::string& folder,
                  const std::vector<std::string>& flags, std::optional<std::int64_t> gpus, Report& report) {
  const std::string place = command.place();
  const LaunchedProgram launched = launched_program(command.words, place, is_programs);
  std::vector<Argument> arguments = arguments_of(launched.program, place);
  for (Argument& argument : arguments_of(flags, "the command line")) arguments.push_back(std::move(argument));
  refuse_other_methods(launched.program, report);
  Origins origins = take_names_of_trainer(launched.program, arguments, report);
  if (is_staged_program(command)) take_staged_names({arguments, origins}, report);
  if (is_bare_program(script, command, folder)) origins.defaults_known = false;
  const bool by_accelerate = add_deepspeed_of_accelerate(script, launched, folder, arguments);
  const std::string text = text_of_named(script, command.file, folder).value_or("");
  // A variable that nobody sets names the file. Without quotes it vanishes. Its own name may say the stage.
  const std::string variable = variable_behind("--deepspeed", text);
  const bool vanishes = !command.empties.empty() || !variable.empty();
  for (Argument& argument : arguments)
    if (argument.name == "deepspeed" && joined_values(argument).empty() && (!argument.values.empty() || vanishes) &&
        last_of(arguments, "zero-stage") == nullptr)
      argument.values = {variable.empty() ? "<...>" : "$" + variable};
  const bool type_of_chat = add_type_of_chat(origins, arguments);
  // DeepSpeed's own flag (deepspeed.add_config_arguments). The Trainer's is --deepspeed FILE.
  const bool by_deepspeed = last_of(arguments, "deepspeed-config") != nullptr;
  const auto deepspeed = take_deepspeed(script, folder, arguments, report);
  if (deepspeed && by_accelerate)
    take_settings_beside_accelerate(*deepspeed, arguments, origins, report);
  else if (deepspeed && (by_deepspeed || !origins.defaults_known))
    take_settings_of_deepspeed(*deepspeed, arguments, origins);
  else if (deepspeed)
    take_precision_of_deepspeed(*deepspeed, arguments, origins);
  const bool stated = gpus.has_value();
  std::vector<Argument> counts = counts_of(command, launched);
  if (const std::string why = take_hosts(script, command, launched, folder, counts); !why.empty())
    report.refuse("--hostfile", why, place);
  if (!stated) gpus = megatron::gpus_of_counts(counts);
  report.gpus_of_machine = megatron::gpus_of_machine(counts);
  const bool shared = !stated && refuse_shared_process(command, counts, report);
  if (shared) gpus = 1;
  Json document = document_of(arguments, origins, text, report);
  if (!is_swift(command) && has_default_batch(arguments)) {
    document["per_device_train_batch_size"] = "8";
    report.approximate("per_device_train_batch_size", "8 is the Trainer's default (training_args.py)");
  }
  std::vector<OwnName> swift_names;
  if (is_swift(command)) swift_names = become_trainer(command, gpus, document, report);
  if (shared) gpus.reset();
  const bool of_trl = !launched.program.empty() && is_program_of_trl(launched.program);
  const Defaults defaults = origins.defaults_known ? Defaults::kTrainer : Defaults::kUnknown;
  read_with_accelerate({script, command, launched, folder, of_trl && origins.defaults_known}, deepspeed,
                       std::move(document), gpus, defaults, report);
  if (!deepspeed) ask_for_stage_of_launcher(command, gpus, report);
  if (!stated) ask_for_open_counts(counts, report);
  ask_for_method_in_name(launched.program, arguments, report);
  if (const Argument* const strategy = last_of(arguments, "strategy");
      strategy != nullptr && joined_values(*strategy).starts_with("colossalai"))
    report.refuse("strategy", "ColossalAI, which no reader here knows", joined_values(*strategy));
  if (type_of_chat && report.at("precision") == "fp16")
    report.assume("precision", "fp16", "DeepSpeed-Chat's default (training/utils/ds_utils.py)");
  ask_open_flags(script, launched.program, kDecisive, report);
  cite_own_names(swift_names, report);
  name_origins(origins, report);
  for (Mapped& one : report.mapped)
    if (one.key == "gpus" && !stated) one.from = "the launcher (" + place + ")";
  for (const std::string& option : launched.others) report.ignore(printable(option, 80), place);
}

}  // namespace

bool is_trainer_script(const shell::Script& script) { return std::ranges::any_of(script.commands, trains); }

void read_trainer_script(const shell::Script& script, const std::string& folder, const std::string& row,
                         const std::vector<std::string>& flags, std::optional<std::int64_t> gpus, Report& report) {
  std::vector<const shell::Command*> trainings;
  for (const shell::Command& command : script.commands)
    if (trains(command)) trainings.push_back(&command);
  const auto all = static_cast<std::int64_t>(trainings.size());
  const std::int64_t number = row.empty() ? fullest_row(trainings) : whole_of(row).value_or(0);
  if (number < 1 || number > all) return ask_for_row(all, report);
  if (row.empty()) note_left_out(number, all, report);
  read_trainer_command(script, *trainings[static_cast<std::size_t>(number - 1)], folder, flags, gpus, report);
}

void read_trainer_command(const shell::Script& script, const shell::Command& command, const std::string& folder,
                          const std::vector<std::string>& flags, std::optional<std::int64_t> gpus, Report& report) {
  refuse_other_backend(command, report);
  const Report before = report;
  read_command(script, command, folder, flags, gpus, report);
  const auto read = [&](const shell::Command& one) {
    Report own = before;
    read_command(script, one, folder, flags, gpus, own);
    return own;
  };
  ask_for_keys_of_branches(script, command, read, report);
  note_empty_words(command, report);
}

bool starts_by_accelerate(const shell::Command& command) {
  return starts_with_word(command, "accelerate") || is_trl(command.words);
}

void read_trainer_file(const shell::Script& script, const shell::Command& command, const std::string& folder,
                       Json document, std::optional<std::int64_t> gpus, Report& report) {
  const LaunchedProgram launched =
      launched_program(command.words, command.place(), [](std::string_view) { return false; });
  deepspeed::open_deepspeed_file(folder, document);
  auto deepspeed = deepspeed::take_deepspeed_object(document);
  std::vector<Argument> named;
  if (!deepspeed && !document.contains("deepspeed") && add_deepspeed_of_accelerate(script, launched, folder, named)) {
    deepspeed = megatron::deepspeed_config_of(script, {{"deepspeed-config", named.front().values, ""}}, folder);
    if (!deepspeed) document["deepspeed"] = named.front().values.front();
  }
  const bool of_trl = is_trl(command.words) || is_document_of_trl(document);
  read_with_accelerate({script, command, launched, folder, of_trl}, deepspeed, std::move(document), gpus,
                       Defaults::kTrainer, report);
}

}  // namespace foretoken::io::launch::tuning
