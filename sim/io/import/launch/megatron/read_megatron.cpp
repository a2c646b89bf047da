// Makes a scenario of Megatron-LM's flags.
#include "sim/io/import/launch/megatron/read_megatron.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/base/text.h"
#include "sim/io/import/launch/branch_keys.h"
#include "sim/io/import/launch/hosts.h"
#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/masked_tokens.h"
#include "sim/io/import/launch/megatron/counts_by_name.h"
#include "sim/io/import/launch/megatron/dated_tree.h"
#include "sim/io/import/launch/megatron/deepspeed_config.h"
#include "sim/io/import/launch/megatron/entry_point.h"
#include "sim/io/import/launch/megatron/flag_table.h"
#include "sim/io/import/launch/megatron/open_flags.h"
#include "sim/io/import/launch/megatron/other_programs.h"
#include "sim/io/import/launch/megatron/rules.h"
#include "sim/io/import/launch/megatron/swift_command.h"
#include "sim/io/import/launch/model_names.h"
#include "sim/io/import/launch/other_devices.h"

namespace foretoken::io::launch::megatron {
namespace {

const char* runtime_of(Era era) {
  switch (era) {
    case Era::k2021:
      return "megatron-2021";
    case Era::k2022:
      return "megatron-2022";
    case Era::kDeepSpeed:
      return "megatron-deepspeed-2022";
    case Era::kMegatronFsdp:
      return "megatron-fsdp";
    case Era::kTorchFsdp:
      return "pytorch-fsdp";
    case Era::kCore:
      break;
  }
  return "megatron-core";
}

bool is_off(const Argument& argument) {
  return !argument.values.empty() && !switch_of(argument.values.front()).value_or(true);
}

// Lists every flag that no rule reads.
void sort_rest(const Flags& flags) {
  Report& report = flags.report();
  for (const Argument& argument : flags.all()) {
    if (shell::is_unknown(argument.name)) continue;  // is refused with its reason
    const auto rule = rule_of(argument.name);
    const std::string setting = "--" + printable(argument.name, 80), from = argument.place;
    if (!rule) {
      report.refuse(setting, std::string("an unknown flag") + kUnlessFree + printable(argument.name, 80), from);
    } else if ((is_of_tensor_ranks(argument.name) && report.whole("parallelism.tensor") == 1) ||
               (argument.name == kRankOrderFlag && report.whole("parallelism.pipeline") == 1) ||
               (rule->because == kMaskedModel && report.at("model.model_type") == "bert")) {
      report.ignore(setting, from);
    } else if (rule->effect == Effect::kIgnored || (rule->effect != Effect::kRead && is_off(argument))) {
      report.ignore(setting, from);
    } else if (rule->effect == Effect::kNoted) {
      report.approximate(setting, rule->because);
    } else if (rule->effect == Effect::kRefused) {
      report.refuse(setting, rule->because, from);
    } else if (!flags.was_asked(argument.name)) {
      report.ignore(setting, from);  // another flag decides
    } else if (from.find(':') != from.npos || from == kFromCommandLine) {
      report.read.push_back(setting);  // else the key that stands for the flag
    }
  }
}

void drop_repeated(Report& report) {
  const auto repeated = [](auto& list, auto same) {
    for (std::size_t i = 0; i < list.size(); ++i)
      for (std::size_t j = list.size(); j-- > i + 1;)
        if (same(list[i], list[j])) list.erase(list.begin() + static_cast<std::ptrdiff_t>(j));
  };
  repeated(report.refused, [](const Refused& a, const Refused& b) { return a.setting == b.setting; });
  repeated(report.assumed, [](const Assumed& a, const Assumed& b) { return a.key == b.key && a.because == b.because; });
  repeated(report.ignored, [](const Ignored& a, const Ignored& b) { return a.setting == b.setting; });
}

struct Chosen {
  const shell::Command* command = nullptr;
  int number = 0, all = 0;  ///< of the commands that start a training
};

// The command with the most flags that Megatron-LM reads, or the one with the number that is asked for.
Chosen launch_of(const shell::Script& script, std::int64_t asked = 0) {
  Chosen chosen;
  std::ptrdiff_t most = 0;
  std::set<std::vector<std::string>> counted;  // branches may hold the same command
  for (const shell::Command& command : script.commands) {
    if (!started_instead(command).empty()) continue;
    if (shows_little(command) && !leaves_flags_open(command)) continue;
    if (!counted.insert(command.words).second) continue;
    ++chosen.all;
    const std::ptrdiff_t known = is_branch_of_other_device(command) ? 0 : known_flags(command);
    if (asked > 0 ? chosen.all == asked : chosen.command == nullptr || known > most) {
      most = known;
      chosen.command = &command;
      chosen.number = chosen.all;
    }
  }
  return chosen;
}

// A flag without a value that anybody knows has no default: its key is asked for.
void drop_defaults_of_open_flags(Report& report) {
  for (const Asked& open : report.asked) {
    if (!open.flag_is_open) continue;
    const auto removed =
        std::erase_if(report.assumed, [&](const Assumed& one) { return one.key == open.key && !one.value.empty(); });
    if (removed > 0) report.remove(open.key);
    if (open.key == "parallelism.virtual_pipeline") report.forget("overlap.p2p");  // it follows from the chunks
  }
}

// A file that others source holds its flags in a variable.
std::vector<Argument> stored_arguments(const shell::Script& script) {
  std::vector<Argument> all;
  for (const auto& [name, values] : script.variables.values) {
    const std::string lower = lower_case(name);
    if (!lower.ends_with("args") && !lower.ends_with("options") && !lower.ends_with("params")) continue;
    std::vector<std::string> words;
    for (const std::string& value : values)
      for (std::string& word : words_of_text(value)) words.push_back(std::move(word));
    for (Argument& argument : arguments_of(words, name)) all.push_back(std::move(argument));
  }
  return all;
}

/// Degrees that a file without a command leaves in a variable, for the script that sources it.
constexpr std::pair<const char*, const char*> kDegreesByName[] = {
    {"TP", "tensor-model-parallel-size"},
    {"TP_SIZE", "tensor-model-parallel-size"},
    {"TENSOR_PARALLEL_SIZE", "tensor-model-parallel-size"},
    {"TENSOR_MODEL_PARALLEL_SIZE", "tensor-model-parallel-size"},
    {"PP", "pipeline-model-parallel-size"},
    {"PP_SIZE", "pipeline-model-parallel-size"},
    {"PIPELINE_PARALLEL_SIZE", "pipeline-model-parallel-size"},
    {"PIPELINE_MODEL_PARALLEL_SIZE", "pipeline-model-parallel-size"},
    {"CP", "context-parallel-size"},
    {"CP_SIZE", "context-parallel-size"},
    {"EP", "expert-model-parallel-size"},
    {"EP_SIZE", "expert-model-parallel-size"}};

void add_degrees_by_name(const shell::Script& script, std::vector<Argument>& stored) {
  for (const auto& [name, flag] : kDegreesByName)
    if (const shell::Texts* const value = script.variables.find(name);
        value != nullptr && value->size() == 1 && last_of(stored, flag) == nullptr)
      stored.push_back({flag, *value, name});
}

// Programs around Megatron-LM hold sizes by name: --model-name of Baidu's AIAK, --config-file configs/models/NAME.yaml
// of LoongForge.
void map_model_by_name(const std::vector<Argument>& arguments, Report& report) {
  const bool named = last_of(arguments, "model-name") != nullptr;
  std::string name = value_of(arguments, named ? "model-name" : "config-file");
  if (!named && name.find("models/") == std::string::npos) return;
  if (!named) name = std::filesystem::path(name).stem().string();
  if (name.empty() || shell::is_unknown(name)) return;
  if (last_of(arguments, "num-layers") != nullptr || last_of(arguments, "hidden-size") != nullptr) return;
  const auto of_model = [](const std::string& key) { return key == "model" || key.starts_with("model."); };
  report.forget("model");
  std::erase_if(report.asked, [&](const Asked& one) { return of_model(one.key); });
  map_named_model(name, named ? "--model-name" : "--config-file", report);
}

void note_unknown_words(const shell::Command& command, Report& report) {
  for (const std::string& word : command.words) {
    const std::string name = word.substr(0, word.find('='));
    if (word.starts_with("--") && shell::is_unknown(name))
      report.refuse("a flag",
                    fmt::format("its name depends on {}; state that {}", printable(shell::why_unknown(name), 120),
                                way_to_state(shell::why_unknown(name))));
  }
  note_empty_words(command, report);
}

/// Flags without which a default counts.
constexpr Decisive kDecisive[] = {{"recompute-granularity", "recompute.granularity"},
                                  {"recompute-activations", "recompute.granularity"},
                                  {"checkpoint-activations", "recompute.granularity"},
                                  {"activations-checkpoint-method", "recompute.granularity"},
                                  {"activations-checkpoint-granularity", "recompute.granularity"},
                                  {"use-distributed-optimizer", "optimizer.zero_stage"},
                                  {"zero-stage", "optimizer.zero_stage"},
                                  {"bf16", "precision"},
                                  {"fp16", "precision"},
                                  {"fp8-format", "precision"},
                                  {"sequence-parallel", "parallelism.sequence_parallel"},
                                  {"tensor-model-parallel-size", "parallelism.tensor"},
                                  {"pipeline-model-parallel-size", "parallelism.pipeline"},
                                  {"context-parallel-size", "parallelism.context"},
                                  {"expert-model-parallel-size", "parallelism.expert"},
                                  {"num-layers-per-virtual-pipeline-stage", "parallelism.virtual_pipeline"},
                                  {"num-virtual-stages-per-pipeline-rank", "parallelism.virtual_pipeline"},
                                  {"num-experts", "model.num_experts"},
                                  {"swiglu", "model.activation"},
                                  {"num-query-groups", "model.num_query_groups"},
                                  {"untie-embeddings-and-output-weights", "model.untie_embeddings_and_output_weights"},
                                  {"global-batch-size", "batch.global"}};

// Returns true behind a flag that has one value: --save $1.
bool is_value(const std::vector<std::string>& words, std::size_t at) {
  if (at == 0 || !words[at - 1].starts_with("--") || words[at - 1].find('=') != std::string::npos) return false;
  const std::vector<std::string> name = words_of_name(words[at - 1]);
  constexpr std::string_view kValued[] = {"path", "dir",  "file", "load",    "save", "model",   "iters", "interval",
                                          "name", "type", "size", "samples", "lr",   "project", "split", "seed"};
  return !name.empty() && std::ranges::find(kValued, name.back()) != std::end(kValued);
}

// Few train in fp32: words of the program that are not known more likely hold --bf16.
void refuse_doubtful_precision(const std::vector<std::string>& program, Report& report) {
  if (report.at("precision") != Json("fp32")) return;
  std::set<std::string> reasons;
  for (std::size_t i = 0; i < program.size(); ++i)
    if (is_open_word(program[i]) && !is_value(program, i)) reasons.insert(shell::why_unknown(program[i]));
  const bool waits = std::ranges::any_of(report.asked, [](const Asked& one) {
    return one.because.find("a variable of the environment") != std::string::npos;
  });
  if (reasons.empty() && waits) {
    report.remove("precision");
    return report.ask("precision",
                      "neither --bf16 nor --fp16 stands in the command; a variable of the environment may hold one");
  }
  if (reasons.empty()) return;
  report.refuse("precision", fmt::format("neither --bf16 nor --fp16 stands in the command, but words that depend on {} "
                                         "may hold one; state them with --env NAME=VALUE",
                                         printable(fmt::format("{}", fmt::join(reasons, "; ")), 200)));
}

}  // namespace

void read_arguments(std::vector<Argument> arguments, Report& report, bool fragment, Program program) {
  report.framework = "Megatron-LM";
  const Flags flags(std::move(arguments), report);
  const Era era = era_of(flags);
  check_layers_of_code(flags);
  map_model(flags, program);
  map_parallelism(flags, era, fragment);
  pad_vocabulary(flags);
  map_batch(flags);
  map_cut_of_halves(flags, program);
  map_gpus(flags);
  map_precision(flags, fragment);
  map_recompute(flags);
  map_optimizer(flags, era);
  map_offloading(flags, era);
  map_overlap(flags, era);
  map_attention(flags, era);
  if (is_bert(flags, program)) become_bert(flags);
  if (!report.has("offload") || !report.has("runtime"))  // else that of an optimizer on the host
    report.assume("runtime", runtime_of(era),
                  "the flags belong to this generation of the code; state another with --set runtime=NAME");
  leave_model_to_checkpoint(flags);
  map_fine_tuning(flags);
  sort_rest(flags);
  drop_defaults_of_open_flags(report);
  drop_repeated(report);
}

bool is_megatron_script(const shell::Script& script) {
  if (launch_of(script).command != nullptr) return true;
  if (gives_sizes_away(script)) return false;
  const std::vector<Argument> stored = stored_arguments(script);
  return std::ranges::any_of(stored, [](const Argument& argument) { return argument.name == "num-layers"; }) ||
         std::ranges::any_of(stored, [](const Argument& argument) { return argument.name == "hidden-size"; });
}

namespace {

std::vector<Argument> with_flags(std::vector<Argument> arguments, const std::vector<std::string>& flags) {
  for (Argument& argument : arguments_of(flags, "the command line")) arguments.push_back(std::move(argument));
  return arguments;
}

void read_command(const shell::Script& script, const shell::Command& command, const std::string& folder,
                  const std::vector<std::string>& flags, Report& report) {
  const std::string place = command.place();
  const LaunchedProgram launched = launched_program(command.words, place, [](std::string_view flag) {
    const auto rule = rule_of(flag);
    return rule && rule->effect == Effect::kRead;
  });
  std::vector<Argument> arguments = counts_of(command, launched);
  if (const std::string why = take_hosts(script, command, launched, folder, arguments); !why.empty())
    report.refuse("--hostfile", why, place);
  add_counts_by_name(script, command, arguments_of(launched.program, place), arguments);
  for (Argument& argument : arguments_of(launched.program, place)) arguments.push_back(std::move(argument));
  arguments = with_flags(std::move(arguments), flags);
  const bool swift = is_swift_command(command);
  const std::vector<Argument> stated = swift ? arguments : std::vector<Argument>();
  if (swift) become_megatron(arguments);
  const auto map_config = take_deepspeed_config(script, folder, arguments);
  const std::vector<Argument> named = arguments;
  read_arguments(std::move(arguments), report, false, program_of(command.words));
  map_model_by_name(named, report);
  settle_attention_of_tree(script, command, report);
  for (const std::string& option : launched.others) report.ignore(printable(option, 80), place);
  drop_repeated(report);
  map_config(report);
  if (swift) map_swift_model(command, stated, report);
  note_unknown_words(command, report);
  if (!command.empties.empty() || !script.missing.empty() || std::ranges::any_of(launched.program, is_open_word))
    ask_for_predictions("parts of the command are not known and may hold --mtp-num-layers", report);
  ask_open_flags(script, launched.program, kDecisive, report);
  ask_for_open_flags(command, launched.program, report);
  refuse_doubtful_precision(launched.program, report);
  refuse_entry_point(command.words, place, report);
  ask_for_layers_of_program(launched.program, report);
  settle_program_of_glm(launched.program, report);
}

}  // namespace

void read_launch_script(const shell::Script& script, const std::string& folder, const std::string& row,
                        const std::vector<std::string>& flags, Report& report) {
  const std::int64_t asked = whole_of(row).value_or(0);
  const Chosen chosen = launch_of(script, asked);
  if (!row.empty() && (asked < 1 || asked > chosen.all)) return ask_for_row(chosen.all, report);
  const shell::Command* const command = chosen.command;
  for (const std::string& missing : script.missing)
    report.approximate("a file that the script reads",
                       printable(missing, 120) + " is not there; its settings are unknown");
  if (command == nullptr) {
    // A program that is not there starts the training: the scheduler's counts are those of the job.
    shell::Command job;
    job.words = {"srun"};
    job.scheduler = script.scheduler;
    std::vector<Argument> stored = script.scheduler.empty() ? std::vector<Argument>() : counts_of(job, {});
    for (Argument& argument : stored_arguments(script)) stored.push_back(std::move(argument));
    add_degrees_by_name(script, stored);
    for (const shell::Command& other : script.commands)
      if (!other.words.empty() && std::filesystem::path(other.words.front()).filename() == "torchrun")
        refuse_entry_point(other.words, other.place(), report);
    const bool tensor = last_of(stored, "tensor-model-parallel-size") != nullptr ||
                        last_of(arguments_of(flags, ""), "tensor-model-parallel-size") != nullptr;
    stored = with_flags(std::move(stored), flags);
    const auto map_config = take_deepspeed_config(script, folder, stored);
    read_arguments(std::move(stored), report, true);
    map_config(report);
    if (!tensor && report.at("parallelism.sequence_parallel") == true) {
      report.forget("parallelism.tensor");
      report.ask("parallelism.tensor", "tensor ranks share the sequence, and another script states how many they are");
    }
    return;
  }
  if (asked == 0) note_left_out(chosen.number, chosen.all, report);
  refuse_other_backend(*command, report);
  const Report before = report;
  read_command(script, *command, folder, flags, report);
  const auto read = [&](const shell::Command& one) {
    Report own = before;
    read_command(script, one, folder, flags, own);
    return own;
  };
  ask_for_keys_of_branches(script, *command, read, report);
}

void read_functional_test(const nlohmann::ordered_json& document, const std::string& path, Report& report) {
  report.framework = "Megatron-LM";
  const auto found = document.find("MODEL_ARGS");
  std::vector<Argument> arguments;
  if (found != document.end() && found->is_object())
    for (const auto& [flag, value] : found->items()) {
      if (!flag.starts_with("--")) continue;
      const std::string text = value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
      const std::string place = fmt::format("MODEL_ARGS/{}", printable(flag, 60));
      Argument argument{flag.substr(2), {}, place};
      std::ranges::replace(argument.name, '_', '-');
      if (text == "false" || text == "False") continue;
      if (text != "true" && text != "True") {
        for (std::size_t at = text.find_first_not_of(' '); at != std::string::npos;) {
          const std::size_t end = std::min(text.find(' ', at), text.size());
          argument.values.push_back(text.substr(at, end - at));
          at = text.find_first_not_of(' ', end);
        }
      }
      arguments.push_back(std::move(argument));
    }
  if (arguments.empty())
    return report.refuse("MODEL_ARGS", "it has no --flags: settings of NeMo, or another layout", "MODEL_ARGS");
  read_arguments(std::move(arguments), report, false, program_of_test(path));
  refuse_test_kind(document, path, report);
}

}  // namespace foretoken::io::launch::megatron
