// Makes a scenario of a torchtitan configuration.
//
// Keys moved over the years: [training] to [experimental] to [parallelism], batch_size to local_batch_size, [float8] to
// [quantize.linear.float8]. Names and defaults: pytorch/torchtitan, torchtitan/config_manager.py and
// config/job_config.py.
#include "sim/io/import/launch/torchtitan/read_torchtitan.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/torchtitan/models.h"
#include "sim/io/import/launch/torchtitan/settings.h"
#include "sim/io/model/hybrid_names.h"
#include "sim/io/model/model_purpose.h"

namespace foretoken::io::launch::torchtitan {
namespace {

std::int64_t map_degree(const Settings& settings, Report& report, std::string_view key, Names keys) {
  if (std::string why = why_open(settings, keys); !why.empty()) {
    report.ask(key, std::move(why));
    return 1;
  }
  const auto value = number(settings, report, keys);
  if (value && *value >= 1)
    report.map(key, *value, settings.find(keys)->key);
  else
    report.assume(key, 1, kByDefault);
  return value && *value >= 1 ? *value : 1;
}

// Returns the layers of the model; 0 when only torchtitan's code knows them.
std::int64_t map_model(const Settings& settings, Report& report) {
  const auto name = settings.find({"model.name"}), size = settings.find({"model.flavor"});
  if (!name) {
    report.ask("model", "the configuration states no model.name");
    return 0;
  }
  if (!other_purpose_of(name->text).empty()) {
    report.refuse("model.name", in_quotes(name->text) + " is not a language model", name->key);
    return 0;
  }
  if (is_hybrid_name(name->text)) {
    report.refuse("model.name", fmt::format("{} is {}", in_quotes(name->text), kHybrid), name->key);
    return 0;
  }
  const std::string flavor = size ? size->text : "";
  report.has_experts = has_experts(name->text, flavor);
  const auto known = flavor_of(name->text, flavor);
  if (!known) {
    const std::string both = fmt::format("{} {}", printable(name->text, 40), printable(flavor, 40));
    report.ask("model", names_language_model(name->text)
                            ? fmt::format("the sizes of {} stand in torchtitan's code", both)
                            : fmt::format("{} is no model that is known here; where it is a decoder of one kind of "
                                          "layers, state --model with its config.json",
                                          both));
    return 0;
  }
  report.map("model", known->model, "model.name, model.flavor");
  if (const auto layers = number(settings, report, {"model.n_layers"}); layers && *layers != known->layers)
    report.refuse("model.n_layers", fmt::format("{} has {} layers", printable(flavor, 40), known->layers));
  return known->layers;
}

// Layers of 2024 had the norm that the configuration states; the models have RMSNorm: pytorch/torchtitan,
// torchtitan/config_manager.py (model.norm_type) and torchtitan/models/norms.py (build_norm).
void check_norm(const Settings& settings, Report& report) {
  const auto norm = settings.find({"model.norm_type"});
  if (!norm) return;
  if (norm->text.ends_with("rmsnorm")) return report.ignore(norm->key, "");
  if (norm->text != "layernorm" && norm->text != "np_layernorm")
    return report.refuse(norm->key,
                         "expected layernorm, np_layernorm, rmsnorm or fused_rmsnorm, found " + in_quotes(norm->text));
  report.refuse(norm->key, in_quotes(norm->text) +
                               " in the place of the model's RMSNorm; it takes about as long, so that the run may "
                               "go on with --allow model.norm_type");
}

struct Degrees {
  std::int64_t tensor, stages, context, shard, replicate;
};

const Names kReplicate = {"parallelism.data_parallel_replicate_degree", "training.data_parallel_replicate_degree"};

// Replicas of shards are refused, and context ranks share weights, too: torchtitan/distributed/parallel_dims.py, mesh
// dp_shard_cp. The shards of one rank each are DDP.
void check_replicas(const Settings& settings, std::optional<std::int64_t> gpus, Degrees& degrees, Report& report) {
  if (degrees.replicate <= 1) return;
  const double copies = static_cast<double>(degrees.tensor) * static_cast<double>(degrees.stages) *
                        static_cast<double>(degrees.context) * static_cast<double>(degrees.replicate);
  if (degrees.shard < 0 && gpus && static_cast<double>(*gpus) == copies) degrees.shard = 1;
  if (degrees.shard != 1 || degrees.context > 1)
    refuse_replicas(std::to_string(degrees.replicate), settings.find(kReplicate)->key, report);
}

Degrees map_degrees(const Settings& settings, std::optional<std::int64_t> gpus, Report& report) {
  Degrees degrees{};
  degrees.tensor = map_degree(settings, report, "parallelism.tensor",
                              {"parallelism.tensor_parallel_degree", "training.tensor_parallel_degree"});
  degrees.stages = map_degree(settings, report, "parallelism.pipeline",
                              {"parallelism.pipeline_parallel_degree", "experimental.pipeline_parallel_degree",
                               "training.pipeline_parallel_degree"});
  degrees.context = map_degree(settings, report, "parallelism.context",
                               {"parallelism.context_parallel_degree", "experimental.context_parallel_degree"});
  (void)map_degree(settings, report, "parallelism.expert", {"parallelism.expert_parallel_degree"});
  map_experts(settings, degrees.tensor, report);
  degrees.shard = number(settings, report,
                         {"parallelism.data_parallel_shard_degree", "training.data_parallel_shard_degree",
                          "training.data_parallel_degree"})
                      .value_or(-1);
  degrees.replicate = number(settings, report, kReplicate).value_or(1);
  report.assume("parallelism.sequence_parallel", degrees.tensor > 1,
                "tensor parallelism shares the sequence in torchtitan");
  check_replicas(settings, gpus, degrees, report);
  return degrees;
}

constexpr std::pair<std::string_view, std::string_view> kSchedules[] = {
    {"1F1B", "1f1b"},           {"Interleaved1F1B", "interleaved-1f1b"},
    {"GPipe", "gpipe"},         {"InterleavedZeroBubble", "interleaved-zb"},
    {"ZBVZeroBubble", "zb-v"},  {"LoopedBFS", "looped-bfs"},
    {"DualPipeV", "dualpipe-v"}};

constexpr const char* kPerStage = "parallelism.pipeline_parallel_layers_per_stage";

// The chunks of a stage follow from the layers of a chunk. The embedding and the head count as layers
// (distributed/pipeline_parallel.py, _build_module_list). Returns false when they make up no whole number.
bool map_chunks(const Settings& settings, std::int64_t layers, Report& report) {
  const auto per = number(settings, report, {kPerStage});
  if (!per || *per < 1 || layers == 0) return true;
  const auto less = [&](const char* key) { return number(settings, report, {key}).value_or(1); };
  const std::int64_t counted = layers + less("parallelism.pipeline_parallel_first_stage_less_layers") +
                               less("parallelism.pipeline_parallel_last_stage_less_layers");
  const std::int64_t chunks = (counted + *per - 1) / *per, stages = report.whole("parallelism.pipeline").value_or(1);
  if (chunks % stages != 0) {
    report.refuse(kPerStage, fmt::format("{} chunks of {} layers for {} stages", chunks, *per, stages));
    return false;
  }
  report.map("parallelism.virtual_pipeline", chunks / stages, kPerStage);
  return true;
}

void map_schedule(const Settings& settings, std::int64_t layers, Report& report) {
  const auto stated =
      settings.find({"parallelism.pipeline_parallel_schedule", "experimental.pipeline_parallel_schedule"});
  (void)settings.at(kPerStage);  // a run without a pipeline does not use it
  if (report.whole("parallelism.pipeline").value_or(1) == 1 || !stated) return;
  for (const auto& [theirs, ours] : kSchedules)
    if (stated->text == theirs) {
      report.map("schedule", ours, stated->key);
      const bool looped = theirs != "1F1B" && theirs != "GPipe";
      if (!map_chunks(settings, layers, report)) return;
      if (looped && !report.has("parallelism.virtual_pipeline"))
        report.assume("parallelism.virtual_pipeline", 2,
                      "two chunks a stage, torchtitan's default of looped schedules");
      return;
    }
  report.refuse(stated->key, "the schedule " + in_quotes(stated->text) + " is not modelled");
}

void map_length(const Settings& settings, Report& report) {
  const Names kLength = {"training.seq_len"};
  if (std::string why = why_open(settings, kLength); !why.empty())
    return report.ask("batch.sequence_length", std::move(why));
  const auto length = number(settings, report, kLength);
  report.map("batch.sequence_length", length.value_or(2048), length ? "training.seq_len" : kByDefault);
}

// The batch of a data rank is one micro-batch, or with a pipeline several.
void map_batch(const Settings& settings, const Degrees& degrees, std::optional<std::int64_t> gpus, Report& report) {
  if (gpus) report.map("gpus", *gpus, "the command line");
  map_length(settings, report);
  const Names kLocal = {"training.local_batch_size", "training.batch_size"};
  const auto from = settings.find(kLocal);
  const bool open = from && whole_of(from->text).value_or(0) < 1;
  std::string because = why_open(settings, kLocal);
  if (open && because.empty())
    because = fmt::format("{}: expected a whole number from 1, found {}", from->key, in_quotes(from->text));
  const std::int64_t local = open ? 0 : number(settings, report, kLocal).value_or(8);
  const auto part = number(settings, report, {"parallelism.pipeline_parallel_microbatch_size"});
  const bool piped = degrees.stages > 1;
  if (open && !piped)
    report.ask("batch.micro", because);
  else
    report.map("batch.micro", piped ? part.value_or(1) : local, from ? from->key : kByDefault);
  const Names kGlobal = {"training.global_batch_size"};
  if (std::string why = why_open(settings, kGlobal); !why.empty()) return report.ask("batch.global", std::move(why));
  const auto global = number(settings, report, kGlobal);
  if (global && *global > 0) return report.map("batch.global", *global, "training.global_batch_size");
  const double replica =
      static_cast<double>(degrees.tensor) * static_cast<double>(degrees.stages) * static_cast<double>(degrees.context);
  if (!gpus && degrees.shard > 0 && degrees.replicate > 0) {
    const double all = static_cast<double>(degrees.shard) * static_cast<double>(degrees.replicate) * replica;
    constexpr double kMost = 1 << 20;
    if (all <= kMost) gpus = static_cast<std::int64_t>(all);
    if (gpus) report.map("gpus", *gpus, "the product of all parallel degrees");
  }
  if (open) return report.ask("batch.global", because);
  if (!gpus)
    return report.ask("batch.global", "the batch is stated for each data-parallel rank; it follows from --gpus");
  const double data = static_cast<double>(*gpus) / replica;
  const double stated = static_cast<double>(degrees.shard) * static_cast<double>(degrees.replicate);
  if (degrees.shard > 0 && degrees.replicate > 0 && stated != data)
    report.refuse("data_parallel_shard_degree",
                  fmt::format("the degrees make up {:g} GPUs, found {}", stated * replica, *gpus));
  constexpr double kMostSequences = 1e9;
  report.map("batch.global", static_cast<std::int64_t>(std::min(static_cast<double>(local) * data, kMostSequences)),
             fmt::format("{} sequences for each of {:g} data ranks", local, data));
}

// torchtitan stops without the compiler (distributed/tensor_parallel.py, maybe_enable_async_tp).
void map_async_tensor(const Settings& settings, bool compiled, Report& report) {
  const Names kAsync = {"parallelism.enable_async_tensor_parallel", "experimental.enable_async_tensor_parallel"};
  if (!settings.on(kAsync)) return;
  const std::string key = settings.find(kAsync)->key;
  if (!compiled && report.whole("parallelism.tensor").value_or(1) == 1) return;
  if (!compiled)
    return report.refuse(key, "torchtitan takes it only with compile.enable, and \"model\" in compile.components");
  report.map("overlap.tensor_parallel", true, key);
}

// torchtitan/components/optimizer.py, build_optimizers, stops beside a pipeline and beside expert parallelism.
void map_early_steps(const Settings& settings, Report& report) {
  const Names kEarly = {"optimizer.early_step_in_backward"};
  if (!settings.on(kEarly)) return;
  const std::string key = settings.find(kEarly)->key;
  for (const char* axis : {"pipeline", "expert"})
    if (report.whole(std::string("parallelism.") + axis).value_or(1) > 1)
      return report.refuse(key, fmt::format("torchtitan stops beside {} parallelism; the run would stop", axis));
  report.approximate(key, "all gradients are kept until the step's end, which takes more memory");
}

// A fork measures the allocator and empties its cache: pytorch/torchtitan@efa8476 (a commit of a fork),
// torchtitan/config/job_config.py, tools/detailed_memory_tracker.py and tools/aggressive_memory_manager.py.
void map_cache_keys(const Settings& settings, Report& report) {
  const std::string section = "training.";
  for (const auto& [key, because] :
       {std::pair("enable_detailed_memory_tracking", "reading counters costs no time"),
        std::pair("aggressive_memory_verbose", "reading counters costs no time"),
        std::pair("clear_cache_between_steps", "the cache of the allocator is not emptied, which would cost time")})
    if (settings.on({section + key})) report.approximate(section + key, because);
  const auto mode = settings.find({section + "aggressive_memory_mode"});
  if (mode)
    report.refuse(mode->key, "the cache of the allocator is emptied several times a step, beside waits for the GPU");
}

// maybe_enable_amp of torchtitan/distributed/utils.py, and fsdp_enabled of parallel_dims.py beside it.
MixedBy mixed_by(const Degrees& degrees) {
  if (degrees.shard != 1 || degrees.context > 1) return MixedBy::kFsdp;
  return degrees.tensor > 1 || degrees.stages > 1 ? MixedBy::kNothing : MixedBy::kAutocast;
}

void map_software(const Settings& settings, const Degrees& degrees, Report& report) {
  const auto reshard = settings.find({"parallelism.fsdp_reshard_after_forward"});
  const bool kept = reshard && reshard->text == "never";
  if (mixed_by(degrees) != MixedBy::kFsdp)
    report.map("optimizer.zero_stage", 0, degrees.replicate > 1 ? "replicas alone: DDP" : "no FSDP on one data rank");
  else if (kept)
    report.map("optimizer.zero_stage", 2, reshard->key);
  else
    report.assume("optimizer.zero_stage", 3, "FSDP shards weights, gradients and optimizer states");
  // components: "model" and "loss" by default (config/job_config.py, Compile).
  const auto* const listed = settings.at("compile.components");
  const std::string components = listed == nullptr ? "model, loss" : listed->dump();
  const bool on = settings.on({"compile.enable", "training.compile"});
  const bool compiled = on && components.find("model") != std::string::npos;
  report.assume("runtime", compiled ? "torchtitan-compiled" : "torchtitan",
                compiled ? "compile is on"
                : on     ? "only " + printable(components, 40) + " is compiled"
                         : "compile is off");
  map_async_tensor(settings, compiled, report);
  const auto optimizer = settings.find({"optimizer.name"});
  if (optimizer && optimizer->text != "AdamW" && optimizer->text != "Adam")
    report.refuse(optimizer->key, in_quotes(optimizer->text) + " has other costs and memory than Adam");
  const auto kernels = settings.find({"optimizer.implementation"});
  if (kernels && kernels->text != "fused") report.approximate(kernels->key, "the optimizer runs in fused kernels");
  map_early_steps(settings, report);
  map_cache_keys(settings, report);
  const Names kHost = {"training.enable_cpu_offload"};
  if (settings.on(kHost)) map_offload("parameters", "cpu", settings.find(kHost)->key, report);
}

}  // namespace

bool is_torchtitan(const nlohmann::ordered_json& document) {
  return document.is_object() && document.contains("training") &&
         (document.contains("model") || document.contains("job"));
}

void read_torchtitan(const nlohmann::ordered_json& document, std::optional<std::int64_t> gpus, Report& report) {
  report.framework = "torchtitan";
  const Settings settings(document);
  const std::int64_t layers = map_model(settings, report);
  check_norm(settings, report);
  const Degrees degrees = map_degrees(settings, gpus, report);
  map_schedule(settings, layers, report);
  map_batch(settings, degrees, gpus, report);
  map_precision(settings, mixed_by(degrees), report);
  map_recompute(settings, layers, report);
  map_software(settings, degrees, report);
  sort_sections(document, settings, report);
}

}  // namespace foretoken::io::launch::torchtitan
