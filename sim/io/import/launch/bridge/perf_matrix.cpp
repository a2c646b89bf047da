// Finds a run in a perf_matrix: GPU, number of GPUs, type; the values of "common" hold for all types.
//
// Layout: NVIDIA-NeMo/Megatron-Bridge, scripts/performance/configs.
#include "sim/io/import/launch/bridge/perf_matrix.h"

#include <algorithm>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/import/launch/nemo/recommended_run.h"

namespace foretoken::io::launch::bridge {
namespace {

struct MatrixRun {
  std::string name;  ///< "h100/num_gpus_1024/bf16"
  Json values;
};

std::vector<MatrixRun> runs_of(const Json& matrix) {
  std::vector<MatrixRun> runs;
  for (const auto& [gpu, sizes] : matrix.items()) {
    if (!sizes.is_object()) continue;
    for (const auto& [size, types] : sizes.items()) {
      if (!types.is_object()) continue;
      const Json common =
          types.contains("common") && types.at("common").is_object() ? types.at("common") : Json::object();
      for (const auto& [type, own] : types.items()) {
        if (type == "common") continue;
        Json values = common;
        if (own.is_object()) values.update(own);
        if (constexpr std::string_view kSize = "num_gpus_"; size.starts_with(kSize))
          values["num_gpus"] = size.substr(kSize.size());
        runs.push_back({gpu + "/" + size + "/" + type, std::move(values)});
      }
    }
  }
  return runs;
}

Json in_model(const Json& document, const char* key) {
  const Json* place = &document;
  for (const char* step : {"ConfigContainer", "model", key}) {
    if (!place->is_object() || !place->contains(step)) return nullptr;
    place = &place->at(step);
  }
  return *place;
}

std::string model_in(std::string stem) {
  for (const char* end : {"_llm_pretrain", "_llm_finetune", "_pretrain", "_finetune", "_llm"})
    if (const std::size_t at = stem.find(end); at != stem.npos) stem.resize(at);
  return stem;
}

}  // namespace

void read_perf_matrix(const Json& document, const std::string& stem, const std::string& row, Report& report) {
  report.framework = "Megatron-Bridge";
  std::vector<MatrixRun> runs =
      document.at("perf_matrix").is_object() ? runs_of(document.at("perf_matrix")) : std::vector<MatrixRun>{};
  std::erase_if(runs, [&](const MatrixRun& run) { return !row.empty() && run.name != row; });
  if (runs.size() != 1) {
    std::string names;
    for (const MatrixRun& run : runs) names += (names.empty() ? "" : ", ") + run.name;
    return report.ask("row", runs.empty()
                                 ? "the file has no run " + in_quotes(row)
                                 : "the file holds several runs; choose one with --row: " + printable(names, 600));
  }
  MatrixRun& run = runs.front();
  // The container's own values hold for every row.
  for (const char* key : {"pipeline_model_parallel_layout", "recompute_granularity", "recompute_modules"})
    if (const Json stated = in_model(document, key); !stated.is_null() && !run.values.contains(key))
      run.values[key] = stated;
  const Settings settings(run.values, report);
  const std::string dtype = run.name.substr(run.name.rfind('/') + 1);
  const bool tuned = stem.find("finetune") != stem.npos;
  nemo::map_recommended_run(settings, {.model = model_in(stem), .task = tuned ? "sft" : "pre_train", .dtype = dtype},
                            report);
  (void)settings.whole({"num_gpus_per_node"});
  constexpr KeyRule kKeys[] = {{"hf_token nccl_* container* moe_flex_dispatcher_backend moe_a2a_overlap",
                                "communication is arranged as the runtime does it"}};
  settings.sort_rest(kKeys);
}

}  // namespace foretoken::io::launch::bridge
