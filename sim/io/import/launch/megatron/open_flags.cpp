// Reads commands a part of whose words is not known.
#include "sim/io/import/launch/megatron/open_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/launcher_words.h"
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

namespace {

// Returns true for a flag whose name is one of files, names, addresses, counts or rates, or of one choice among
// several. Such a flag takes a value, unless a verb begins its name: use-..., auto-detect-ckpt-format. A flag with
// another name may be a switch, and the word behind a switch may hold further flags. In the launch scripts of
// NVIDIA/Megatron-LM, alibaba/Pai-Megatron-Patch and yanring/Megatron-MoE-ModelZoo no flag with such a name stands
// without a value.
bool is_named_for_a_value(std::string_view flag) {
  constexpr std::string_view kAlone = " clip-grad load lr min-lr nnodes save split ";
  constexpr std::string_view kVerbs =
      " add allow apply auto check create disable distribute enable exit is keep log no overlap override overwrite pad "
      "record reset return save skip sync use ";
  constexpr std::string_view kEvenBehindVerbs = " interval level ";
  constexpr std::string_view kEnds =
      " addr address backend beta1 beta2 coeff decay dim dir dropout dtype endpoint entity epochs eps epsilon factor "
      "file format fraction freq gpus granularity heads id impl iters label layers len length method model modules "
      "name "
      "nodes path paths percent port prefix project rank rate ratio recipe samples scale seed size stage std steps "
      "style "
      "theta topk type url version ";
  if (holds_word(kAlone, flag)) return true;
  const std::string_view first = flag.substr(0, flag.find('-')), last = flag.substr(flag.rfind('-') + 1);
  if (first.size() == flag.size()) return holds_word(kEnds, flag);
  if (holds_word(kEvenBehindVerbs, last)) return true;
  return !holds_word(kVerbs, first) && (first == "num" || holds_word(kEnds, last));
}

// Flags of any number of values: --data-path 1 $(cat blend.txt).
bool takes_a_list(std::string_view flag) {
  return flag.ends_with("data-path") || flag.ends_with("data-paths") || flag.ends_with("prefixes");
}

}  // namespace

std::string why_flags_are_open(const std::vector<std::string>& program, const Report& report) {
  const auto takes_value = [&](const std::string& name) {
    return report.read_by_value.contains(name) || is_named_for_a_value(name);
  };
  std::string flag;  // the last one so far
  for (std::size_t i = 1; i < program.size(); ++i) {
    const std::string& word = program[i];
    std::string reason = is_open_word(word) ? shell::why_unknown(word) : "";
    const bool open =
        !reason.empty() && !shell::is_unstated_argument(reason) && !reason.starts_with(shell::kOpenCondition);
    const auto before = arguments_of({program[i - 1]}, "");
    const bool behind = !before.empty() && before.front().values.empty() && takes_value(before.front().name);
    if (open && !behind && !takes_a_list(flag)) return reason;
    if (const auto own = arguments_of({word}, ""); !own.empty()) flag = own.front().name;
  }
  return "";
}

void ask_for_predictions(const std::string& because, Report& report) {
  if (report.has("model.mtp_num_layers")) return;
  const auto layouts = std::erase_if(
      report.refused, [](const Refused& one) { return one.because.find(kPredictionsOfLayout) != std::string::npos; });
  if (layouts > 0) report.ask("model.mtp_num_layers", because);
}

namespace {

// Takes back the assumed keys of the model except `kept`, and returns them.
std::vector<std::string> forget_defaults_of_model(Report& report, std::string_view kept = "") {
  std::vector<std::string> keys;
  for (const Assumed& one : report.assumed)
    if (one.key.starts_with("model.") && !one.value.empty() && one.key != kept) keys.push_back(one.key);
  for (const std::string& key : keys) report.forget(key);
  return keys;
}

}  // namespace

// NVIDIA/Megatron-LM core 0.14, megatron/training/checkpointing.py, load_args_from_checkpoint: sizes that no flag
// states come from the checkpoint, and its activation, norms, biases, positions and dropout even over flags. Nearly all
// models have heads of the hidden size over their number.
void leave_model_to_checkpoint(const Flags& flags) {
  const char* const kFlag = "use-checkpoint-args";
  if (!flags.on(kFlag)) return;
  Report& report = flags.report();
  const char* const kHeads = "model.kv_channels";
  for (const std::string& key : forget_defaults_of_model(report, kHeads))
    report.ask(key, "the checkpoint of --load decides (--use-checkpoint-args); state --model");
  const auto width = report.whole(kHeads);
  const std::string heads =
      width && flags.find("kv-channels") == nullptr
          ? fmt::format("; heads of {}, the hidden size over their number, as nearly all checkpoints have", *width)
          : "";
  report.approximate(flags.from(kFlag),
                     "flags of the model count; some of the checkpoint's values win over them" + heads);
}

void ask_for_defaults(const std::string& because, Report& report) {
  // Beside stated layers the other defaults of the model stay, and are listed.
  if (!report.has("model.num_layers")) (void)forget_defaults_of_model(report);
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

namespace {

// Without bf16, which trainer_base.yaml sets, weights beside fp8 have 32 bits.
void ask_for_precision_beside_fp8(const std::string& because, Report& report) {
  const auto weights = std::ranges::find(report.mapped, "precision_recipe.weights", &Mapped::key);
  if (weights == report.mapped.end() || !weights->from.ends_with(kFp8Alone)) return;
  for (const char* key : {"precision_recipe.weights", "precision_recipe.master"}) report.forget(key);
  std::erase_if(report.assumed, [](const Assumed& one) { return one.because == kWideBesideFp8; });
  const std::string precision = report.at("precision").get<std::string>();
  report.remove("precision");
  std::erase_if(report.mapped, [](const Mapped& one) { return one.key == "precision"; });
  report.ask("precision",
             fmt::format("bf16 or fp16 beside fp8: {}; --set precision={} takes weights of 16 bits, as bf16 has them",
                         because, precision));
}

}  // namespace

// AMD-AGI/Primus, primus/configs/modules/megatron/trainer_base.yaml: beside degrees and precision it sets overlaps, the
// batch and the optimizer.
void ask_for_settings_of_files(const std::string& because, Report& report) {
  ask_for_defaults(because, report);
  ask_for_precision_beside_fp8(because, report);
  const auto may_split = [&](const char* axis) { return report.whole(axis).value_or(2) > 1; };
  const std::pair<const char*, bool> kSwitches[] = {{"parallelism.sequence_parallel", may_split("parallelism.tensor")},
                                                    {"parallelism.virtual_pipeline", may_split("parallelism.pipeline")},
                                                    {"overlap.grad_reduce", true},
                                                    {"overlap.param_gather", true},
                                                    {"optimizer.name", true}};
  for (const auto& [key, counts] : kSwitches) {
    const auto assumed = std::ranges::find(report.assumed, key, &Assumed::key);
    if (!counts || assumed == report.assumed.end()) continue;
    report.forget(key);
    report.ask(key, because);
  }
}

void ask_for_open_flags(const shell::Command& command, const std::vector<std::string>& program, Report& report) {
  const std::string why = why_flags_are_open(program, report);
  if (shows_little(command))
    ask_for_defaults("words of the command that are not known may state it; state them with --env NAME=VALUE", report);
  else if (!why.empty())
    ask_for_defaults(fmt::format("{} may state it, and is not known; state this key with --set", printable(why, 120)),
                     report);
}

}  // namespace foretoken::io::launch::megatron
