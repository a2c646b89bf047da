// Reads commands a part of whose words is not known.
#include "sim/io/import/launch/megatron/open_flags.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/megatron/flag_table.h"
#include "sim/io/import/launch/megatron/rules.h"
#include "sim/io/import/launch/megatron/swift_command.h"
#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::launch::megatron {
namespace {

// Other programs share switches such as --fp16 and --deepspeed_config, but none of these.
bool states_a_shape(const shell::Command& command) {
  constexpr std::string_view kShapes[] = {"num-layers",          "hidden-size",
                                          "micro-batch-size",    "tensor-model-parallel-size",
                                          "model-parallel-size", "pipeline-model-parallel-size",
                                          "seq-length",          "encoder-seq-length",
                                          "encoder-num-layers",  "num-attention-heads",
                                          "use-checkpoint-args", "use-mcore-models"};
  return std::ranges::any_of(arguments_of(command.words, ""), [&](const Argument& argument) {
    return std::ranges::find(kShapes, argument.name) != std::end(kShapes);
  });
}

}  // namespace

std::ptrdiff_t known_flags(const shell::Command& command) {
  return std::ranges::count_if(arguments_of(command.words, ""), [](const Argument& argument) {
    const auto rule = rule_of(argument.name);
    return rule && rule->effect == Effect::kRead;
  });
}

bool shows_little(const shell::Command& command) {
  constexpr std::ptrdiff_t kFewest = 4;
  return !is_swift_command(command) && (known_flags(command) < kFewest || !states_a_shape(command));
}

bool leaves_flags_open(const shell::Command& command) {
  const bool open = !command.empties.empty() || known_flags(command) > 0 ||
                    std::ranges::any_of(
                        command.words, [](const std::string& word) { return word.empty() || shell::is_unknown(word); });
  return open && std::ranges::any_of(command.words, [](const std::string& word) {
           return std::filesystem::path(word).filename() == "pretrain_gpt.py";
         });
}

void ask_for_predictions(const std::string& because, Report& report) {
  if (report.has("model.mtp_num_layers")) return;
  const auto layouts = std::erase_if(
      report.refused, [](const Refused& one) { return one.because.find(kPredictionsOfLayout) != std::string::npos; });
  if (layouts > 0) report.ask("model.mtp_num_layers", because);
}

namespace {

// Takes the assumed keys of the model back, and returns them.
std::vector<std::string> forget_defaults_of_model(Report& report) {
  std::vector<std::string> keys;
  for (const Assumed& one : report.assumed)
    if (one.key.starts_with("model.") && !one.value.empty()) keys.push_back(one.key);
  for (const std::string& key : keys) report.forget(key);
  return keys;
}

}  // namespace

// NVIDIA/Megatron-LM core 0.14, megatron/training/checkpointing.py, load_args_from_checkpoint: sizes that no flag
// states come from the checkpoint, and its activation, norms, biases, positions and dropout even over flags.
void leave_model_to_checkpoint(const Flags& flags) {
  const char* const kFlag = "use-checkpoint-args";
  if (!flags.on(kFlag)) return;
  Report& report = flags.report();
  for (const std::string& key : forget_defaults_of_model(report))
    report.ask(key, "the checkpoint of --load decides (--use-checkpoint-args); state --model");
  report.approximate(flags.from(kFlag), "flags of the model count; some of the checkpoint's values win over them");
}

void ask_for_defaults(const std::string& because, Report& report) {
  (void)forget_defaults_of_model(report);
  for (const char* key : {"parallelism.tensor", "parallelism.pipeline", "parallelism.context", "parallelism.expert",
                          "precision", "recompute.granularity", "optimizer.zero_stage"}) {
    const auto assumed = std::ranges::find(report.assumed, key, &Assumed::key);
    if (assumed == report.assumed.end()) continue;
    const char* const kGradients = "precision_recipe.gradients";  // their width follows from the precision
    const bool with_gradients = std::string_view(key) == "precision" &&
                                std::ranges::find(report.assumed, kGradients, &Assumed::key) != report.assumed.end();
    report.forget(key);
    if (with_gradients) report.forget(kGradients);
    report.ask(key, because);
  }
  ask_for_predictions(because, report);
  // The flag stands in the command, and counts with the tensor ranks that are asked for.
  const bool stated = std::ranges::any_of(report.assumed, [](const Assumed& one) {
    return one.key == "parallelism.sequence_parallel" && one.because == kOffWithoutTensor;
  });
  if (stated && !report.has("parallelism.tensor"))
    report.map("parallelism.sequence_parallel", true, "--sequence-parallel");
}

void ask_for_open_flags(Report& report) {
  ask_for_defaults("words of the command that are not known may state it; state them with --env NAME=VALUE", report);
}

}  // namespace foretoken::io::launch::megatron
