// Reads the DeepSpeed configuration of Megatron-DeepSpeed.
#include "sim/io/import/launch/megatron/deepspeed_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/deepspeed/generated_config.h"
#include "sim/io/import/launch/deepspeed/read_deepspeed.h"
#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/near_file.h"
#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::launch::megatron {
namespace {

// Other JSON files of a script, such as the facts of its run, hold no key of DeepSpeed: deepspeed/runtime/constants.py.
bool holds_key_of_deepspeed(const Json& config) {
  constexpr const char* kKeys[] = {"train_batch_size",
                                   "train_micro_batch_size_per_gpu",
                                   "gradient_accumulation_steps",
                                   "gradient_clipping",
                                   "zero_optimization",
                                   "zero_allow_untested_optimizer",
                                   "fp16",
                                   "bf16",
                                   "data_types",
                                   "communication_data_type",
                                   "steps_per_print",
                                   "wall_clock_breakdown"};
  return std::ranges::any_of(kKeys, [&](const char* key) { return config.contains(key); });
}

// The only DeepSpeed file among those that the script writes, under whatever name; nothing where there are several.
std::optional<Json> only_config_of(const shell::Script& script) {
  std::optional<Json> only;
  for (const auto& [name, text] : script.documents) {
    auto config = deepspeed::parse_generated_config(text);
    if (!config || !holds_key_of_deepspeed(*config)) continue;
    if (only) return std::nullopt;
    only = std::move(config);
  }
  return only;
}

}  // namespace

std::optional<Json> deepspeed_config_of(const shell::Script& script, const std::vector<Argument>& arguments,
                                        const std::string& folder) {
  const auto found = std::ranges::find_if(
      arguments, [](const Argument& one) { return one.name == "deepspeed-config" && !one.values.empty(); });
  if (found == arguments.end()) return std::nullopt;
  const std::string& name = found->values.front();
  if (const auto text = text_of_named(script, name, folder)) return deepspeed::parse_generated_config(*text);
  return script.unread_by(name) == nullptr ? only_config_of(script) : std::nullopt;
}

std::string why_written_config_is_wrong(const shell::Script& script, const std::vector<Argument>& arguments) {
  const auto text = text_written(script, value_of(arguments, "deepspeed-config"));
  std::string why = text ? deepspeed::why_no_config(*text) : "";
  if (why.empty()) return "";
  if (constexpr std::string_view kSame = "not JSON: "; why.starts_with(kSame)) why.erase(0, kSame.size());
  return fmt::format(
      "the DeepSpeed configuration that the script writes is no JSON: {}; go on with --set "
      "optimizer.zero_stage=N",
      printable(why, 160));
}

namespace {

// DeepSpeed stops unless its three numbers of the batch make up the data ranks: deepspeed/runtime/config.py,
// _batch_assertion.
void map_ranks_of_config(const Settings& settings, Report& report) {
  std::int64_t replica = 1;
  for (const char* key : {"parallelism.tensor", "parallelism.pipeline", "parallelism.context"}) {
    const bool open = report.asks(key);
    const std::int64_t degree = report.whole(key).value_or(1);
    if (open || degree < 1 || degree > kMostCount / replica) return;
    replica *= degree;
  }
  if (!report.has("gpus"))
    map_ranks_of_batch({.micro = settings.whole({"train_micro_batch_size_per_gpu"}),
                        .accumulation = settings.whole({"gradient_accumulation_steps"}),
                        .global = settings.whole({"train_batch_size"})},
                       replica, report);
}

// Flags decide. The configuration states the rest.
void fill_from_config(const Settings& settings, Report& report) {
  for (const auto& [name, key] :
       {std::pair("train_micro_batch_size_per_gpu", "batch.micro"), std::pair("train_batch_size", "batch.global")})
    if (const auto value = settings.whole({name}); value && *value > 0 && !report.has(key))
      report.map(key, *value, std::string(name) + " of the DeepSpeed configuration");
  const Names kSteps = {"gradient_accumulation_steps"};
  if (const auto steps = settings.whole(kSteps);
      steps && *steps > 1 && !report.has("batch.global") && !report.asks("batch.global"))
    report.accumulation = *steps;
  map_ranks_of_config(settings, report);
  const bool half = settings.on({"fp16.enabled"}), brain = settings.on({"bf16.enabled"});
  if (report.at("precision") == "fp32" && half != brain)
    report.map("precision", half ? "fp16" : "bf16",
               half ? "fp16.enabled of the DeepSpeed configuration" : "bf16.enabled of the DeepSpeed configuration");
}

void map_known_config(const Json& config, Report& report) {
  Report own;
  const Settings settings(config, own);
  fill_from_config(settings, report);
  deepspeed::map_kept_gradients(settings, report);
  deepspeed::map_deepspeed(settings, own);
  const bool half = settings.on({"fp16.enabled"}), brain = settings.on({"bf16.enabled"});
  const Json stated = report.at("precision");
  if ((half && !brain && stated == "bf16") || (brain && !half && stated == "fp16"))
    report.refuse(half ? "fp16.enabled" : "bf16.enabled",
                  fmt::format("the DeepSpeed configuration says {}, the flags say {}; state one of them",
                              half ? "fp16" : "bf16", stated.get<std::string>()));
  if (settings.has({"zero_optimization.stage"}) || settings.on({"zero_optimization"}))
    report.map("optimizer.zero_stage", own.at("optimizer.zero_stage"),
               "zero_optimization of the DeepSpeed configuration");
  else if (report.has("optimizer.zero_stage"))
    report.approximate("--zero-stage", "the DeepSpeed configuration states no zero_optimization");
  // A pipeline reduces its gradients behind the last pass.
  const bool decides = settings.has({"zero_optimization.overlap_comm"}) || own.whole("optimizer.zero_stage") == 3;
  if (decides && report.whole("parallelism.pipeline").value_or(1) == 1)
    report.map("overlap.grad_reduce", own.at("overlap.grad_reduce"),
               "zero_optimization.overlap_comm of the DeepSpeed configuration, on by default for stage 3, ignored by "
               "stage 1");
  if (own.has("overlap.param_gather"))
    report.map("overlap.param_gather", own.at("overlap.param_gather"),
               "zero_optimization.overlap_comm of the DeepSpeed configuration, on by default for stage 3");
  if (report.has("offload.optimizer") && !own.has("offload.optimizer"))
    report.refuse("--cpu-optimizer",
                  "the DeepSpeed configuration keeps optimizer states on the GPU, where DeepSpeedCPUAdam stops; state "
                  "offload_optimizer there");
  for (const char* part : {"offload.optimizer", "offload.parameters"})
    if (own.has(part)) report.map(part, own.at(part), "zero_optimization of the DeepSpeed configuration");
  if (own.has("offload")) report.assume("runtime", own.at("runtime"), "the runtime that moves states to the host");
  for (Refused& one : own.refused)
    if (!one.setting.starts_with("precision")) report.refused.push_back(std::move(one));
  for (Ignored& one : own.ignored) report.ignored.push_back(std::move(one));
  for (Assumed& one : own.assumed)
    if (one.value.empty()) report.assumed.push_back(std::move(one));
}

/// A key whose value may be open. Answers differ between its `values`, and the first is the default of the file.
/// `answer` is the key of the scenario that it decides about.
struct Deciding {
  const char *key, *answer;
  std::array<const char*, 4> values{};
};
constexpr Deciding kDeciding[] = {
    {"zero_optimization", "optimizer.zero_stage", {"false", "true"}},
    {"zero_optimization.stage", "optimizer.zero_stage", {"0", "1", "2", "3"}},
    {"zero_optimization.overlap_comm", "overlap.grad_reduce", {"false", "true"}},
    {"zero_optimization.stage3_prefetch_bucket_size", "overlap.param_gather", {"1", "0"}},
    {"zero_optimization.offload_optimizer.device", "offload.optimizer", {"none", "cpu"}},
    {"zero_optimization.offload_optimizer.ratio", "offload.optimizer", {"1", "0.5"}},
    {"zero_optimization.cpu_offload", "offload.optimizer", {"false", "true"}},
    {"zero_optimization.offload_param.device", "offload.parameters", {"none", "cpu"}},
    {"zero_optimization.cpu_offload_params", "offload.parameters", {"false", "true"}},
    {"data_types.grad_accum_dtype", "precision_recipe.gradients", {"", "fp32", "bf16", "fp16"}},
    {"fp16.enabled", "precision", {"false", "true"}},
    {"bf16.enabled", "precision", {"false", "true"}},
    {"bfloat16.enabled", "precision", {"false", "true"}},
    {"amp.enabled", "precision", {"false", "true"}},
    {"optimizer.type", "optimizer.name", {"Adam", "OneBitAdam"}},
    {"train_micro_batch_size_per_gpu", "batch.micro", {"", "1"}},
    {"train_batch_size", "batch.global", {"", "1"}},
    {"gradient_accumulation_steps", "batch.global", {"", "2"}}};

Json::json_pointer pointer_of(std::string key) {
  std::ranges::replace(key, '.', '/');
  return Json::json_pointer("/" + key);
}

/// Returns the keys of the scenario that differ between two readings of a file; `answer` where one of them alone
/// refuses something.
std::vector<std::string> differing_keys(const Report& one, const Report& other, const char* answer) {
  std::set<std::string> keys;
  for (const Deciding& deciding : kDeciding)
    if (one.at(deciding.answer) != other.at(deciding.answer)) keys.insert(deciding.answer);
  if (one.refused.size() != other.refused.size() || one.accumulation != other.accumulation) keys.insert(answer);
  return {keys.begin(), keys.end()};
}

}  // namespace

// Reads the file with each value that may stand there, and asks for the keys that differ.
void map_deepspeed_config(const Json& config, Report& report) {
  Json known = config;
  std::vector<std::pair<const Deciding*, std::string>> open;  // with the reasons
  for (const Deciding& deciding : kDeciding) {
    const auto place = pointer_of(deciding.key);
    const Json value = config.contains(place) ? config.at(place) : Json();
    if (!value.is_string() || !shell::is_unknown(value.get<std::string>())) continue;
    open.emplace_back(&deciding, shell::why_unknown(value.get<std::string>()));
    known[place] = deciding.values.front();
  }
  const Report before = open.empty() ? Report() : report;
  map_known_config(known, report);
  const Report first = open.empty() ? Report() : report;
  for (const auto& [deciding, reason] : open) {
    for (const char* value : deciding->values) {
      if (value == nullptr) continue;
      Json tried = known;
      tried[pointer_of(deciding->key)] = value;
      Report other = before;
      map_known_config(tried, other);
      for (const std::string& key : differing_keys(first, other, deciding->answer)) {
        report.forget(key);
        report.ask(key, fmt::format("{} of the DeepSpeed configuration: its value is {}; state it {}", deciding->key,
                                    printable(reason, 120), way_to_state(reason)));
      }
    }
  }
}

namespace {

void map_missing_config(const std::vector<Argument>& arguments, Report& report) {
  const std::string file = value_of(arguments, "deepspeed-config"), stage = value_of(arguments, "zero-stage");
  const bool known = !file.empty() && !shell::is_unknown(file);
  const std::string shown = known ? "the file " + in_quotes(file) : std::string("its file");
  if (whole_of(stage)) {
    if (whole_of(stage) == 0 && report.at("precision") == "bf16") {
      report.assume("optimizer.zero_stage", 1, deepspeed::kBrainWithoutZero);
      report.assume("precision_recipe.gradients", "fp32", deepspeed::kSumsOfBrain);
    }
    return report.approximate("--deepspeed-config", shown + " is not there; ZeRO is that of --zero-stage");
  }
  const Json runtime = report.at("runtime");
  report.forget("optimizer.zero_stage");
  if (!known || !map_named_zero(file, report))
    report.ask("optimizer.zero_stage", shown + " decides about ZeRO; it is not there, and its name says no stage");
  if (!report.has("offload")) report.assume("runtime", runtime, "the flags belong to this generation of the code");
}

}  // namespace

std::function<void(Report&)> take_deepspeed_config(const shell::Script& script, const std::string& folder,
                                                   std::vector<Argument>& arguments) {
  const Argument* const stated = last_of(arguments, "deepspeed-config");
  if (stated == nullptr) return [](Report&) {};
  const std::string from = fmt::format("--deepspeed-config ({})", stated->place);
  const auto config = deepspeed_config_of(script, arguments, folder);
  const std::string wrong = config ? "" : why_written_config_is_wrong(script, arguments);
  const std::vector<Argument> all = arguments;
  std::erase_if(arguments, [](const Argument& one) { return one.name == "deepspeed-config"; });
  if (config) return [config](Report& report) { map_deepspeed_config(*config, report); };
  if (wrong.empty()) return [all](Report& report) { map_missing_config(all, report); };
  return
      [wrong, from](Report& report) { report.refuse_until("optimizer.zero_stage", "--deepspeed-config", wrong, from); };
}

}  // namespace foretoken::io::launch::megatron
