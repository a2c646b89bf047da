// Reads keys of FSDP about the order of its messages.
//
// Names: PyTorch, torch/distributed/fsdp/api.py (BackwardPrefetch) and fully_sharded_data_parallel.py; accelerate,
// utils/dataclasses.py (NO_PREFETCH); mosaicml/composer, composer/distributed/mosaic_parallelism.py (NONE).
#include "sim/io/import/launch/fsdp_keys.h"

#include <algorithm>
#include <initializer_list>
#include <sstream>

#include "sim/base/text.h"

namespace foretoken::io::launch {
namespace {

constexpr const char* kAsRuntime = "communication is arranged as the runtime does it";

void note_backward_prefetch(const Settings& settings, const Names& names) {
  const auto stated = settings.text(names);
  const std::string key = settings.from(names), policy = lower_case(stated.value_or(""));
  if (!stated) return;
  if (policy == "no_prefetch" || policy == "none")
    settings.report().approximate(
        key, "the next weights are gathered ahead in the backward pass, too; without it the pass takes longer");
  else if (policy == "backward_pre" || policy == "backward_post")
    settings.report().approximate(key, kAsRuntime);
  else
    settings.report().refuse(
        key, "expected BACKWARD_PRE, BACKWARD_POST or no prefetch, found " + in_quotes(printable(policy, 40)));
}

void note_limit(const Settings& settings, const Names& names) {
  if (!settings.has(names)) return;
  settings.report().approximate(settings.from(names),
                                settings.on(names)
                                    ? kAsRuntime
                                    : "two layers are gathered at a time; without the limit more memory may be taken");
}

}  // namespace

std::optional<std::int64_t> stage_of_strategy(const std::string& strategy) {
  const std::string lower = lower_case(strategy);
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, std::string_view(lower)) != names.end();
  };
  if (is_one_of({"1", "full_shard", "4", "hybrid_shard"})) return 3;
  if (is_one_of({"2", "shard_grad_op", "5", "hybrid_shard_zero2", "_hybrid_shard_zero2"})) return 2;
  if (is_one_of({"3", "no_shard"})) return 0;
  return std::nullopt;
}

// Source: transformers, training_args.py (_process_fsdp_args): these words win over the section.
FsdpWords fsdp_words(const std::string& text) {
  FsdpWords found;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (stage_of_strategy(word)) found.strategy = word;
    if (word == "offload") found.moves_parameters = true;
    if (word == "auto_wrap") found.wraps = true;
  }
  return found;
}

// The Trainer takes the policy of sizes where the number is above 0 (training_args.py, _process_fsdp_args). The policy
// makes units of modules that reach the number, which may be layers, parts of them, or the model alone:
// torch/distributed/fsdp/wrap.py, size_based_auto_wrap_policy. Without "auto_wrap" and in accelerate's files there is
// no policy by default: accelerate, utils/dataclasses.py, FullyShardedDataParallelPlugin (NO_WRAP).
void note_units(const Settings& settings, std::int64_t stage, const FsdpWords& words) {
  const Names kPolicy = {"fsdp_config.auto_wrap_policy", "fsdp_config.fsdp_auto_wrap_policy"};
  const Names kSize = {"fsdp_config.min_num_params", "fsdp_config.fsdp_min_num_params", "fsdp_min_num_params"};
  const auto policy = settings.text(kPolicy);
  const double size = settings.number(kSize).value_or(0);
  const std::string word = lower_case(policy.value_or(size > 0 ? "size_based_wrap" : "transformer_based_wrap"));
  Report& report = settings.report();
  if (stage == 0) return;
  if (word == "size_based_wrap")
    report.refuse(settings.from(size > 0 ? kSize : kPolicy),
                  "units of a size: weights are gathered by modules that have so many parameters, which need not be "
                  "layers; layers are modelled (TRANSFORMER_BASED_WRAP)");
  else if (word == "no_wrap")
    report.refuse(settings.from(kPolicy),
                  "NO_WRAP: the model is one unit, whose weights are gathered at once; layers are modelled "
                  "(TRANSFORMER_BASED_WRAP)");
  else if (policy)
    report.approximate(settings.from(kPolicy), "each layer is a unit, whose weights are gathered together");
  else if (!words.wraps)
    report.approximate("auto_wrap",
                       "each layer is taken as a unit; no policy is stated, and by default the whole model is one "
                       "unit, whose weights are gathered at once and take more memory");
}

void note_order_of_gathers(const Settings& settings) {
  // accelerate's older versions have fsdp_backward_prefetch_policy. Composer calls no prefetch "NONE", which text()
  // takes for nothing where it is written small.
  note_backward_prefetch(settings, {"fsdp_config.backward_prefetch", "fsdp_config.fsdp_backward_prefetch",
                                    "fsdp_config.fsdp_backward_prefetch_policy"});
  note_limit(settings, {"fsdp_config.limit_all_gathers", "fsdp_config.fsdp_limit_all_gathers"});
  for (const char* ahead : {"fsdp_config.forward_prefetch", "fsdp_config.fsdp_forward_prefetch"})
    if (settings.on({ahead})) settings.report().approximate(ahead, "weights are gathered a layer ahead in any case");
}

}  // namespace foretoken::io::launch
