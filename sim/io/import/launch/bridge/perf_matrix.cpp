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

// A setting of the container that a row states under a name of its own.
struct Shared {
  const char *section, *key, *of_row;
};

constexpr Shared kShared[] = {
    {"model", "pipeline_model_parallel_layout", "pipeline_model_parallel_layout"},
    {"model", "recompute_granularity", "recompute_granularity"},
    {"model", "recompute_modules", "recompute_modules"},
    {"model", "seq_length", "seq_length"},
    {"dataset", "seq_length", "seq_length"},
    {"dataset", "sequence_length", "seq_length"},
    {"model", "tensor_model_parallel_size", "tp"},
    {"model", "pipeline_model_parallel_size", "pp"},
    {"model", "virtual_pipeline_model_parallel_size", "vp"},
    {"model", "context_parallel_size", "cp"},
    {"model", "expert_model_parallel_size", "ep"},
    {"model", "expert_tensor_parallel_size", "etp"},
    {"train", "micro_batch_size", "mbs"},
    {"train", "global_batch_size", "gbs"},
};

Json in_container(const Json& document, const Shared& setting) {
  const Json* place = &document;
  for (const char* step : {"ConfigContainer", setting.section, setting.key}) {
    if (!place->is_object() || !place->contains(step)) return nullptr;
    place = &place->at(step);
  }
  return *place;
}

// The container's values hold for every row that does not state its own.
void add_shared(const Json& document, Json& row, Report& report) {
  const Json of_row = row;
  for (const Shared& one : kShared) {
    const Json stated = in_container(document, one);
    if (stated.is_null()) continue;
    const std::string setting = std::string(one.section) + "." + one.key;
    if (of_row.contains(one.of_row) && of_row.at(one.of_row) != stated)
      report.approximate(setting, "the row states another value, which counts");
    else if (row.contains(one.of_row) && row.at(one.of_row) != stated)
      report.refuse(setting, "another section of the container states another value");
    else
      row[one.of_row] = stated;
  }
}

std::string model_in(std::string stem) {
  for (const char* end : {"_llm_pretrain", "_llm_finetune", "_pretrain", "_finetune", "_llm"})
    if (const std::size_t at = stem.find(end); at != stem.npos) stem.resize(at);
  return stem;
}

}  // namespace

void mark_shared(const Settings& container) {
  for (const Shared& one : kShared) (void)container.at(std::string(one.section) + "." + one.key);
}

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
  add_shared(document, run.values, report);
  const Settings settings(run.values, report);
  const std::string dtype = run.name.substr(run.name.rfind('/') + 1);
  const bool tuned = stem.find("finetune") != stem.npos;
  nemo::map_recommended_run(settings, {.model = model_in(stem), .task = tuned ? "sft" : "pre_train", .dtype = dtype},
                            report);
  report.gpus_of_machine = settings.whole({"num_gpus_per_node"});
  report.gpu_of_launch = run.name.substr(0, run.name.find('/'));
  constexpr KeyRule kKeys[] = {{"hf_token nccl_* container* moe_flex_dispatcher_backend moe_a2a_overlap",
                                "communication is arranged as the runtime does it"}};
  settings.sort_rest(kKeys);
}

}  // namespace foretoken::io::launch::bridge
