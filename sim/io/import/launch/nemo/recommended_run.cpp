// Maps a recommended run.
//
// Rules: NVIDIA/NeMo, scripts/performance/helpers.py (set_primary_perf_configs); NVIDIA-NeMo/Megatron-Bridge,
// scripts/performance/utils and src/megatron/bridge/training/mixed_precision.py.
#include "sim/io/import/launch/nemo/recommended_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/megatron/flag_table.h"
#include "sim/io/import/launch/megatron/rules.h"
#include "sim/io/import/launch/model_names.h"

namespace foretoken::io::launch::nemo {
namespace {

constexpr const char* kRecipe = "NVIDIA's recipes of recommended runs";

void map_run_degrees(const Settings& row, Report& report) {
  (void)row.map_or({"tp_size", "tp"}, "parallelism.tensor", 1, "the row states none");
  (void)row.map_or({"pp_size", "pp"}, "parallelism.pipeline", 1, "the row states none");
  (void)row.map_or({"cp_size", "cp"}, "parallelism.context", 1, "the row states none");
  (void)row.map_or({"vp_size", "vp"}, "parallelism.virtual_pipeline", 1, "the row states none");
  const std::int64_t expert = row.map_or({"ep_size", "ep"}, "parallelism.expert", 1, "the row states none");
  if (!row.map_whole({"etp_size", "etp"}, "parallelism.expert_tensor") && expert > 1)
    report.assume("parallelism.expert_tensor", 1, kRecipe);
  (void)row.whole({"dp_size"});
  const bool shared = report.whole("parallelism.tensor").value_or(1) > 1;
  report.assume("parallelism.sequence_parallel", shared, "the recipes share the sequence between tensor ranks");
}

void map_run_batch(const Settings& row, Report& report) {
  if (!row.map_whole({"num_gpus"}, "gpus")) report.ask("gpus", "the row states no num_gpus");
  if (!row.map_whole({"mbs"}, "batch.micro")) report.ask("batch.micro", "the row states no mbs");
  if (!row.map_whole({"gbs"}, "batch.global")) report.ask("batch.global", "the row states no gbs");
  if (!row.map_whole({"seq_len", "seq_length"}, "batch.sequence_length"))
    report.ask("batch.sequence_length", "the row states no sequence length");
}

// Megatron-Bridge keeps weights in the format of these recipes: fp8_param_gather in
// src/megatron/bridge/training/mixed_precision.py. scripts/performance/utils (get_precision_config) chooses them.
void assume_narrow_weights(const RecommendedRun& run, Report& report) {
  const bool narrow = run.dtype == "fp8_cs" || run.dtype == "fp8_ds" || run.dtype == "fp8_mx";
  if (report.framework == "Megatron-Bridge" && narrow)
    report.assume("precision_recipe.weights", "fp8", "fp8_param_gather of Megatron-Bridge's recipe");
}

// fp8_cs: current scaling, one number a tensor; ds: delayed; ss: blocks; mx: MXFP8.
void map_run_precision(const RecommendedRun& run, Report& report) {
  constexpr std::pair<std::string_view, std::string_view> kRecipes[] = {
      {"fp8_cs", "tensorwise"}, {"fp8_ds", "delayed"}, {"fp8_ss", "blockwise"}, {"fp8_sc", "blockwise"}};
  const std::string dtype = "dtype " + printable(run.dtype, 40);
  report.assume("precision_recipe.gradients", "bf16", std::string(kRecipe) + " reduce gradients in bf16");
  assume_narrow_weights(run, report);
  if (run.dtype == "bf16" || run.dtype == "fp16") return report.map("precision", run.dtype, dtype);
  if (run.dtype == "nvfp4") return report.map("precision", "nvfp4", dtype);
  if (run.dtype == "fp8_mx") return report.map("precision", "mxfp8", dtype);
  if (!run.dtype.starts_with("fp8"))
    return report.refuse("dtype", "expected bf16, fp8 or nvfp4, found " + in_quotes(run.dtype));
  report.map("precision", "fp8", dtype);
  for (const auto& [name, recipe] : kRecipes)
    if (run.dtype == name) return report.map("precision_recipe.fp8_recipe", std::string(recipe), dtype);
  if (run.dtype == "fp8")
    return report.assume("precision_recipe.fp8_recipe", run.fp8_recipe,
                         "the recipe is an argument of the launch; this is the default of the table's version");
  report.refuse("dtype", "unknown recipe of fp8: " + in_quotes(run.dtype));
}

void map_run_software(const Settings& row, Report& report) {
  const Names kFsdp = {"use_mcore_fsdp", "use_megatron_fsdp"};
  const bool sharded = row.on(kFsdp);
  if (sharded)
    report.map("optimizer.zero_stage", 3, row.from(kFsdp));
  else
    report.assume("optimizer.zero_stage", 1, std::string(kRecipe) + " use the distributed optimizer");
  report.assume("runtime", sharded ? "megatron-fsdp" : "megatron-core", "the rows are of Megatron-Core");
  for (const char* key : {"overlap.grad_reduce", "overlap.param_gather"}) report.assume(key, true, kRecipe);
  report.assume("overlap.p2p", report.whole("parallelism.virtual_pipeline").value_or(1) > 1,
                "messages overlap in the interleaved schedule only");
  if (row.on({"cuda_graphs"})) report.map("cuda_graphs", "layer", "cuda_graphs");
  for (const char* off : {"use_user_buffer_registration", "use_sharp"})
    if (row.on({off})) report.approximate(off, "communication is arranged as the runtime does it");
  for (const char* kept : {"keep_fsdp_fp8_transpose_cache", "keep_fp8_transpose_cache",
                           "keep_fp8_transpose_cache_when_using_custom_fsdp"}) {
    if (!row.on({kept})) continue;
    if (sharded)
      report.approximate(kept, megatron::kKeptTransposes);
    else
      report.ignore(kept, "");
  }
}

// Megatron-Bridge's recipes of models with 61 layers, recipes/deepseek/deepseek_v3.py (layout_map) at commit 05d003fb
// and recipes/kimi/kimi_k2.py (_get_kimi_k2_pipeline_layout) at commit 0350b4ef, recompute the core of attention. They
// hold layouts for some stages and chunks, whose last stage has fewer layers.
bool has_recipe_of_61_layers(const RecommendedRun& run, const Report& report) {
  return report.framework == "Megatron-Bridge" && (run.model == "deepseek_v3" || run.model == "kimi_k2");
}

void map_recipe_layout(std::int64_t stages, std::int64_t chunks, Report& report) {
  constexpr std::int64_t kLayers = 61, kRounded = 64;
  constexpr std::pair<std::int64_t, std::int64_t> kKnown[] = {{4, 1}, {8, 1}, {4, 2}, {16, 1}, {8, 2}, {4, 4}};
  if (std::ranges::find(kKnown, std::pair(stages, chunks)) == std::end(kKnown))
    return report.ask(
        "parallelism.layers_per_stage",
        fmt::format("the recipe holds no layout of its {} layers for {} stages of {} chunks", kLayers, stages, chunks));
  const std::int64_t parts = stages * chunks, each = kRounded / parts;
  std::vector<std::int64_t> layers(static_cast<std::size_t>(parts), each);
  layers.back() = kLayers - each * (parts - 1);
  report.assume("parallelism.layers_per_stage", layers, "the layout of the recipe for these stages and chunks");
}

// NeMo's program sets both behind the row: scripts/performance/llm/finetune_deepseek_v3.py at commits 0349f235 and
// 5ee7adee. It counts the loss as a layer of the last chunk, and no embedding.
bool fine_tunes_deepseek(const RecommendedRun& run, const Report& report) {
  return report.framework == "NeMo" && run.model == "deepseek_v3" && (run.task == "sft" || run.task == "lora");
}

constexpr const char* kFineTuneDeepseek = "finetune_deepseek_v3.py sets it";

void map_layers_beside_loss(std::int64_t chunks, Report& report) {
  constexpr std::int64_t kCounted = 62;
  if (kCounted % chunks != 0) return;
  std::vector<std::int64_t> layers(static_cast<std::size_t>(chunks), kCounted / chunks);
  --layers.back();
  report.assume("parallelism.layers_per_stage", layers, kFineTuneDeepseek);
}

void map_run_recompute(const Settings& row, const RecommendedRun& run, Report& report) {
  const Names kOffload = {"activation_offload_layers", "cpu_offloading_num_layers"};
  if (const std::int64_t layers = row.whole(kOffload).value_or(0); layers > 0)
    report.map("offload.activations", {{"to", "cpu"}, {"layers", layers}}, row.from(kOffload));
  const std::int64_t stated = row.whole({"recompute_layers", "recompute_num_layers"}).value_or(0);
  if (fine_tunes_deepseek(run, report)) {
    (void)row.text({"recompute_modules"});
    report.assume("recompute.granularity", "full", kFineTuneDeepseek);
    report.assume("recompute.method", "uniform", kFineTuneDeepseek);
    return report.assume("recompute.layers", 1, kFineTuneDeepseek);
  }
  if (stated > 0) {
    report.map("recompute.granularity", "full", "recompute_layers");
    report.map("recompute.method", "block", "recompute_layers");
    return report.map("recompute.layers", stated, "recompute_layers");
  }
  const auto modules = row.text({"recompute_modules"});
  const auto granularity = row.text({"recompute_granularity"});
  if (!modules && granularity) return report.map("recompute.granularity", *granularity, "recompute_granularity");
  if (!modules && has_recipe_of_61_layers(run, report))
    return report.assume("recompute.granularity", "selective", "the recipe recomputes the core of attention");
  if (!modules) return report.assume("recompute.granularity", "none", "the row states no recomputation");
  report.map("recompute.granularity", "selective", "recompute_modules");
  report.map("recompute.modules", megatron::modules_of(*modules), "recompute_modules");
}

// Layers that divide only with the embedding and the loss counted, such as the 126 of Llama 3.1 405B.
void map_run_stages(const Settings& row, const RecommendedRun& run, Report& report) {
  const std::int64_t stages = report.whole("parallelism.pipeline").value_or(1);
  const std::int64_t chunks = report.whole("parallelism.virtual_pipeline").value_or(1);
  if (const auto text = row.text({"pipeline_model_parallel_layout"}); text && stages > 1) {
    const auto layers = megatron::layers_of_layout(*text);
    const bool fits = layers && std::cmp_equal(layers->size(), stages * chunks) && !megatron::why_not_modelled(*text);
    if (!fits)
      return report.approximate("pipeline_model_parallel_layout",
                                "it does not fit the stages of the row; layers are dealt evenly");
    return report.map("parallelism.layers_per_stage", *layers, "pipeline_model_parallel_layout");
  }
  if (stages > 1 && fine_tunes_deepseek(run, report)) return map_layers_beside_loss(stages * chunks, report);
  if (stages > 1 && has_recipe_of_61_layers(run, report)) return map_recipe_layout(stages, chunks, report);
  const auto known = model_of_name(run.model);
  if (!known || stages * chunks < 2 || stages * chunks > kMostCount) return;
  if (known->layers % (stages * chunks) != 0 && (known->layers + 2) % (stages * chunks) == 0)
    report.assume("parallelism.embedding_and_head_as_layers", true,
                  "the layers divide only with the embedding and the loss counted as a layer each");
}

}  // namespace

void map_recommended_run(const Settings& row, const RecommendedRun& run, Report& report) {
  for (const char* other : {"vlm", "qwen25vl", "neva", "flux", "clip", "nemotronh", "nemotron_h"})
    if (run.model.starts_with(other))
      report.refuse("model " + printable(run.model, 60), std::string(other).starts_with("nemotron")
                                                             ? "a hybrid of state-space and attention layers"
                                                             : "multimodal: not a language model");
  map_named_model(run.model, "the model's name", report);
  map_run_degrees(row, report);
  map_run_batch(row, report);
  map_run_precision(run, report);
  map_run_software(row, report);
  map_run_recompute(row, run, report);
  map_run_stages(row, run, report);
  if (run.task == "lora")
    map_adapter({.method = "lora",
                 .from = "task lora",
                 .targets = "linear_qkv linear_proj linear_fc1 linear_fc2",
                 .usual_rank = 32,  // nemo/collections/llm/peft/lora.py
                 .runtime = "megatron-lora"},
                report);
  if (run.task == "sft") report.approximate("task sft", "packed sequences are taken as whole ones");
}

}  // namespace foretoken::io::launch::nemo
