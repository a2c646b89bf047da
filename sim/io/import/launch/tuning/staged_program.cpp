// Reads the degrees of programs around DeepSpeed's pipeline engine.
//
// Names: HuangLK/transpeeder at 41520ce, train.py (DeepspeedArguments): pipe_parallel_size and model_parallel_size. The
// model comes from a checkpoint, the batch from DeepSpeed's file, and recomputation from the program's code.
#include "sim/io/import/launch/tuning/staged_program.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "sim/base/text.h"
#include "sim/io/import/launch/megatron/other_programs.h"
#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::launch::tuning {
namespace {

constexpr const char* kMark = "pipeline_engine";  // for map_stages() and ask_beside_stages()
struct Degree {
  std::string_view flag;
  const char *name, *key;
};
constexpr Degree kDegrees[] = {{"pipe-parallel-size", "pipe_parallel_size", "parallelism.pipeline"},
                               {"pipeline-parallel-size", "pipeline_parallel_size", "parallelism.pipeline"},
                               {"model-parallel-size", "model_parallel_size", "parallelism.tensor"}};

}  // namespace

bool is_staged_program(const shell::Command& command) {
  const bool launched = std::ranges::any_of(command.words, [](const std::string& word) {
    return std::filesystem::path(word).filename().string() == "deepspeed";
  });
  const auto arguments = arguments_of(command.words, "");
  const auto has = [&](std::string_view name) { return last_of(arguments, name) != nullptr; };
  constexpr std::string_view kMegatrons[] = {"num-layers", "hidden-size", "num-attention-heads"};
  return launched && megatron::started_instead(command).empty() &&
         std::ranges::any_of(kDegrees, [&](const Degree& one) { return has(one.flag); }) &&
         std::ranges::none_of(kMegatrons, has);
}

void take_staged_names(const Taken& taken, Report& report) {
  std::vector<Argument>& arguments = taken.arguments;
  taken.origins.defaults_known = false;
  for (const auto& [flag, name, key] : kDegrees) {
    const Argument* const stated = last_of(arguments, flag);
    if (stated == nullptr) continue;
    const std::string value = joined_values(*stated), why = shell::why_unknown(value);
    if (whole_of(value).value_or(0) > 0) continue;
    report.ask(key, "--" + std::string(name) +
                        (why.empty() ? " states no number" : " depends on " + printable(why, 120)) + "; state --set " +
                        key + "=N");
    std::erase_if(arguments, [&flag = flag](const Argument& argument) { return argument.name == flag; });
  }
  for (const auto& [flag, because] :
       {std::pair{"init-ckpt", ""}, std::pair{"ntk", "rotary positions are scaled, which takes no time"}}) {
    if (last_of(arguments, flag) == nullptr) continue;
    if (*because == 0)
      report.ignore("init_ckpt", "");
    else
      report.approximate(flag, because);
    std::erase_if(arguments, [&flag = flag](const Argument& argument) { return argument.name == flag; });
  }
  arguments.push_back({kMark, {"true"}, ""});
}

std::int64_t map_stages(const Settings& settings, Report& report) {
  if (!settings.on({kMark})) return 1;
  std::int64_t ranks = 1;
  for (const auto& [flag, name, key] : kDegrees) {
    const auto degree = settings.whole({name});
    if (!degree || *degree < 1) continue;
    report.map(key, *degree, name);
    ranks *= *degree;
  }
  return ranks;
}

void ask_beside_stages(const Settings& settings, Report& report) {
  if (!settings.on({kMark})) return;
  report.assume("runtime", "deepspeed", "the runtime around DeepSpeed's engine");
  constexpr const char *kRecompute = "recompute.granularity", *kBatch = "batch.global";
  if (std::ranges::find(report.assumed, kRecompute, &Assumed::key) != report.assumed.end()) {
    report.forget(kRecompute);
    report.ask(kRecompute,
               "no flag states it, and the program's code decides; state --set recompute.granularity=none, "
               "or full");
  }
  const bool open = report.asks("parallelism.pipeline") || report.asks("parallelism.tensor");
  if (!open || settings.whole({"global_train_batch_size"}) || !report.has(kBatch)) return;
  report.forget(kBatch);
  report.ask(kBatch, "it follows from the degrees; state --global-batch N");
}

}  // namespace foretoken::io::launch::tuning
