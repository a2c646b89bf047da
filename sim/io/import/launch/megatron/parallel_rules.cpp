// Maps degrees, stages and the batch of Megatron-LM's flags.
//
// Rules: NVIDIA/Megatron-LM core 0.14, megatron/training/arguments.py, validate_args().
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/megatron/rules.h"

namespace foretoken::io::launch::megatron {
namespace {

constexpr const char* kLayout = "pipeline-model-parallel-layout";

void map_degree(const Flags& flags, std::initializer_list<const char*> names, const char* key) {
  for (const char* name : names)
    if (flags.find(name) != nullptr) return void(flags.map_whole(name, key));
  flags.report().assume(key, 1, kDefault);
}

std::int64_t degree(const Flags& flags, const char* key) { return flags.report().whole(key).value_or(1); }

// Layers of every chunk where the first or the last stage has a number of its own.
void map_uneven(const Flags& flags, std::int64_t layers, std::int64_t stages, std::int64_t chunks) {
  Report& report = flags.report();
  const char *const kFirst = "decoder-first-pipeline-num-layers", *const kLast = "decoder-last-pipeline-num-layers";
  const auto first = flags.whole(kFirst, "parallelism.layers_per_stage");
  const auto last = flags.whole(kLast, "parallelism.layers_per_stage");
  if (!first && !last) return;
  const std::int64_t inner = stages - (first ? 1 : 0) - (last ? 1 : 0);
  const std::int64_t left = layers - first.value_or(0) - last.value_or(0);
  const std::string from = flags.from(first ? kFirst : kLast);
  const bool divides = inner > 0 && left > 0 && left % (inner * chunks) == 0 && first.value_or(0) % chunks == 0 &&
                       last.value_or(0) % chunks == 0;
  if (!divides)
    return report.refuse(std::string("--") + (first ? kFirst : kLast),
                         fmt::format("{} layers do not divide over the {} other stages", left, inner), from);
  Json list = Json::array();
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      const bool is_first = first && stage == 0, is_last = last && stage == stages - 1;
      list.push_back((is_first ? *first : is_last ? *last : left / inner) / chunks);
    }
  report.map("parallelism.layers_per_stage", std::move(list), from);
}

// Embedding or loss that count as a layer leave one layer less to their stage.
void map_counted(const Flags& flags, std::int64_t layers, std::int64_t stages, std::int64_t chunks) {
  Report& report = flags.report();
  const char *const kEmbedding = "account-for-embedding-in-pipeline-split", *const kLoss =
                                                                                "account-for-loss-in-pipeline-split";
  const bool embedding = flags.on(kEmbedding), loss = flags.on(kLoss);
  if (embedding && loss) return report.map("parallelism.embedding_and_head_as_layers", true, flags.from(kEmbedding));
  if (!embedding && !loss) return;
  const std::int64_t virtual_stages = stages * chunks;
  if ((layers + 1) % virtual_stages != 0) return;
  Json list = Json::array();
  for (std::int64_t i = 0; i < virtual_stages; ++i) {
    const bool shorter = embedding ? i == 0 : i == virtual_stages - 1;
    list.push_back((layers + 1) / virtual_stages - (shorter ? 1 : 0));
  }
  report.map("parallelism.layers_per_stage", std::move(list), flags.from(embedding ? kEmbedding : kLoss));
}

constexpr const char* kPaddedLayers = "allow-padding-num-layers";

// Returns the layers that zero-bubble's fork of Megatron-LM counts. It rounds them up to a multiple of the stages:
// sail-sg/zero-bubble-pipeline-parallelism, megatron/training/arguments.py.
std::int64_t padded_layers(const Flags& flags, std::int64_t layers, std::int64_t stages) {
  return flags.on(kPaddedLayers) && stages > 0 ? (layers + stages - 1) / stages * stages : layers;
}

// Chunks lose the layers by which the number was rounded up, one each: the last one first, then those from the first on
// (get_offset of its megatron/legacy/model/transformer.py).
void map_padded(const Flags& flags, std::int64_t layers, std::int64_t stages, std::int64_t chunks) {
  const std::int64_t padded = padded_layers(flags, layers, stages), all = stages * chunks;
  if (padded == layers || padded % all != 0 || flags.report().has("parallelism.layers_per_stage")) return;
  std::vector<std::int64_t> list(static_cast<std::size_t>(all), padded / all);
  for (std::int64_t missing = 0; missing < padded - layers; ++missing)
    --list[static_cast<std::size_t>((missing + all - 1) % all)];
  flags.report().map("parallelism.layers_per_stage", list, flags.from(kPaddedLayers));
}

// The list of the layers of every stage: 4,4,4,3 of MindSpeed-LLM, or [4, 4, 4, 3] of Primus (AMD-AGI/Primus,
// primus/backends/megatron/core/transformer/transformer_block.py, decoder_pipeline_manual_split_list).
void map_layer_list(const Flags& flags, std::int64_t layers, std::int64_t stages) {
  const char* const kOfPrimus = "decoder-pipeline-manual-split-list";
  const char* const kList = flags.find(kOfPrimus) != nullptr ? kOfPrimus : "num-layer-list";
  const Argument* const stated = flags.find(kList);
  if (stated == nullptr || (stated->values.size() < 2 && !flags.text(kList, "parallelism.layers_per_stage"))) return;
  const std::string text = joined_values(*stated);
  constexpr std::string_view kBetween = " ,[]'";
  Json list = Json::array();
  std::int64_t sum = 0;
  for (std::size_t at = text.find_first_not_of(kBetween); at != text.npos; at = text.find_first_not_of(kBetween, at)) {
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    const auto count = whole_of(std::string_view(text).substr(at, end - at));
    at = end;
    if (!count || *count < 1 || *count > layers) break;
    sum += *count;
    list.push_back(*count);
  }
  if (sum != layers || !std::cmp_equal(list.size(), stages))
    return flags.report().refuse(std::string("--") + kList,
                                 fmt::format("expected {} numbers whose sum is {} layers, found {}", stages, layers,
                                             in_quotes(printable(text, 80))),
                                 flags.from(kList));
  flags.report().map("parallelism.layers_per_stage", std::move(list), flags.from(kList));
}

// Layers "m" of a layout are those of --mtp-num-layers: validate_layer_layout of pipeline_parallel_layer_layout.py. A
// fragment leaves the flag to another file.
void check_predictions(const Flags& flags, const std::string& layout, bool fragment) {
  Report& report = flags.report();
  const std::int64_t listed = predictions_of_layout(layout);
  const auto stated = report.whole("model.mtp_num_layers");
  const bool elsewhere = flags.find("mtp-num-layers") != nullptr || fragment;
  if (stated.value_or(0) == listed || (!stated && elsewhere)) return;
  report.refuse(std::string("--") + kLayout,
                fmt::format("Megatron-Core stops: {} {}, and {} in --mtp-num-layers", listed, kPredictionsOfLayout,
                            stated.value_or(0)),
                flags.from(kLayout));
}

// Returns the chunks of a stage.
std::int64_t map_layout(const Flags& flags, std::int64_t stages, bool fragment) {
  Report& report = flags.report();
  const auto text = flags.text(kLayout, "parallelism.layers_per_stage");
  const auto layers = text ? layers_of_layout(*text) : std::nullopt;
  if (!layers) {
    if (text) report.refuse(std::string("--") + kLayout, "unknown layout " + in_quotes(*text), flags.from(kLayout));
    return 1;
  }
  const auto virtual_stages = static_cast<std::int64_t>(layers->size());
  if (virtual_stages % stages != 0) {
    report.refuse(std::string("--") + kLayout,
                  fmt::format("{} stages of the layout are no multiple of pipeline {}", virtual_stages, stages),
                  flags.from(kLayout));
    return 1;
  }
  report.map("parallelism.layers_per_stage", *layers, flags.from(kLayout));
  check_predictions(flags, *text, fragment);
  if (auto because = why_not_modelled(*text))
    report.refuse(std::string("--") + kLayout, std::move(*because), flags.from(kLayout));
  return virtual_stages / stages;
}

void map_chunks(const Flags& flags, bool fragment) {
  Report& report = flags.report();
  const std::int64_t stages = degree(flags, "parallelism.pipeline");
  const std::int64_t layers = report.whole("model.num_layers").value_or(0);
  const std::int64_t counted = (flags.on("account-for-embedding-in-pipeline-split") ? 1 : 0) +
                               (flags.on("account-for-loss-in-pipeline-split") ? 1 : 0);
  const char *const kLayers = "num-layers-per-virtual-pipeline-stage", *const kStages =
                                                                           "num-virtual-stages-per-pipeline-rank";
  const char* const kOfMindSpeed = "virtual-pipeline-model-parallel-size";
  const char* const stages_flag = flags.find(kOfMindSpeed) != nullptr ? kOfMindSpeed : kStages;
  std::int64_t chunks = 1;
  std::string from;
  if (flags.find(kLayout) != nullptr) {
    chunks = map_layout(flags, stages, fragment);
    from = flags.from(kLayout);
  } else if (const auto rank = flags.whole(stages_flag, "parallelism.virtual_pipeline")) {
    chunks = *rank;
    from = flags.from(stages_flag);
  } else if (const auto each = flags.whole(kLayers, "parallelism.virtual_pipeline"); each && *each > 0 && stages > 0) {
    from = flags.from(kLayers);
    if (layers == 0 || !report.has("parallelism.pipeline"))
      return report.ask(
          "parallelism.virtual_pipeline",
          std::string("--") + kLayers + " states the layers of a chunk; the layers or the pipeline are open");
    const std::int64_t all = padded_layers(flags, layers + counted, stages), of_stage = all / stages;
    chunks = of_stage / *each;
    if (all % stages != 0 || chunks * *each != of_stage || chunks < 1)
      return report.refuse(
          std::string("--") + kLayers,
          fmt::format("{} layers do not divide over {} stages in chunks of {}", layers + counted, stages, *each), from);
  }
  if (from.empty())
    report.assume("parallelism.virtual_pipeline", 1, kDefault);
  else
    report.map("parallelism.virtual_pipeline", chunks, from);
  if (stages > 0 && chunks > 0 && layers > 0 && stages * chunks <= layers + counted) {
    map_uneven(flags, layers, stages, chunks);
    map_counted(flags, layers, stages, chunks);
    map_padded(flags, layers, stages, chunks);
    map_layer_list(flags, layers, stages * chunks);
  }
}

// Ulysses deals the heads out to ranks that hold a part of the sequence, as the exchange by all-to-all does
// (arXiv:2309.14509, section 3). They shard weights and states together with the data ranks.
void map_ulysses(const Flags& flags) {
  const char* const kUlysses = "ds-sequence-parallel-size";
  const auto ranks = flags.whole(kUlysses, "parallelism.context");
  if (!ranks || *ranks <= 1) return;
  flags.report().map("parallelism.context", *ranks, flags.from(kUlysses));
  flags.report().map("parallelism.context_exchange", "all-to-all", flags.from(kUlysses));
}

// MindSpeed's names of the exchange (Ascend/MindSpeed, docs/features/{ring-attention,ulysses}-context-parallel.md).
void map_exchange_of_mindspeed(const Flags& flags) {
  const char* const kAlgorithm = "context-parallel-algo";
  const auto name = flags.text(kAlgorithm, "parallelism.context_exchange");
  if (!name || degree(flags, "parallelism.context") < 2) return;
  if (*name == "megatron_cp_algo" || *name == "ulysses_cp_algo")
    return flags.report().map("parallelism.context_exchange", *name == "ulysses_cp_algo" ? "all-to-all" : "ring",
                              flags.from(kAlgorithm));
  flags.report().refuse(std::string("--") + kAlgorithm,
                        "expected megatron_cp_algo or ulysses_cp_algo, found " + in_quotes(*name),
                        flags.from(kAlgorithm));
}

void map_exchange(const Flags& flags) {
  if (flags.find("ds-sequence-parallel-size") != nullptr) map_ulysses(flags);
  if (flags.find("context-parallel-algo") != nullptr) map_exchange_of_mindspeed(flags);
  const auto type = flags.text("cp-comm-type", "parallelism.context_exchange");
  if (!type) return;
  if (const auto exchange = exchange_of_type(*type))
    return flags.report().map("parallelism.context_exchange", std::string(*exchange), flags.from("cp-comm-type"));
  flags.report().refuse("--cp-comm-type", "expected p2p, a2a or all_gather, found " + in_quotes(*type),
                        flags.from("cp-comm-type"));
}

// Scripts of AMD-AGI/Primus misspell the expert tensor size (deepseek_proxy). Primus hands the name on, and Megatron-LM
// reads no such argument: its own size is the tensor size. Returns true where the two differ.
bool asks_for_misspelt_size(const Flags& flags) {
  const std::string name = "export-tensor-parallel-size";
  if (flags.find(name) == nullptr) return false;
  Report& report = flags.report();
  const auto size = flags.whole(name, "parallelism.expert_tensor");
  const bool stated = flags.find("expert-tensor-parallel-size") != nullptr || !report.has("model.num_experts");
  if (stated || size == degree(flags, "parallelism.tensor")) {
    report.ignore("--" + name, flags.from(name));
    return false;
  }
  report.ask("parallelism.expert_tensor",
             fmt::format("Megatron-LM does not read --{}, and takes the tensor size; --expert-tensor-parallel-size may "
                         "be meant",
                         name));
  return true;
}

void map_expert_degrees(const Flags& flags, Era era) {
  map_degree(flags, {"expert-model-parallel-size", "moe-expert-parallel-size"}, "parallelism.expert");
  Report& report = flags.report();
  report.deepspeed_experts = era == Era::kDeepSpeed && report.has("model.num_experts");
  if (asks_for_misspelt_size(flags)) return;
  const char *const kSize = "expert-tensor-parallel-size", *const kCut = "enable-expert-tensor-parallelism";
  if (flags.find(kSize) != nullptr)
    flags.map_whole(kSize, "parallelism.expert_tensor");
  else if (flags.on(kCut))
    report.map("parallelism.expert_tensor", degree(flags, "parallelism.tensor"), flags.from(kCut));
  else if (report.has("model.num_experts") && era == Era::kDeepSpeed)
    report.assume("parallelism.expert_tensor", 1, "Megatron-DeepSpeed cuts no expert by itself");
  else if (report.has("model.num_experts"))
    report.assume("parallelism.expert_tensor", degree(flags, "parallelism.tensor"), "the tensor size (validate_args)");
}

}  // namespace

std::optional<std::string_view> exchange_of_type(std::string_view type) {
  if (type == "p2p") return "ring";
  if (type == "a2a") return "all-to-all";
  if (type == "all_gather" || type == "allgather") return "all-gather";
  return std::nullopt;
}

void map_parallelism(const Flags& flags, Era era, bool fragment) {
  Report& report = flags.report();
  map_degree(flags, {"tensor-model-parallel-size", "model-parallel-size"}, "parallelism.tensor");
  if (flags.on("no-pipeline-parallel")) {
    report.map("parallelism.pipeline", 1, flags.from("no-pipeline-parallel"));
  } else {
    map_degree(flags, {"pipeline-model-parallel-size", "pipe-parallel-size"}, "parallelism.pipeline");
  }
  map_degree(flags, {"context-parallel-size"}, "parallelism.context");
  map_expert_degrees(flags, era);
  map_exchange(flags);
  map_chunks(flags, fragment);
  // DeepSpeed's PipelineModule balances layers by their type: bigscience-workshop/Megatron-DeepSpeed,
  // megatron/model/gpt_model.py (GPTModelPipe); deepspeed/runtime/utils.py (partition_balanced).
  report.uneven_stages = era == Era::kDeepSpeed && degree(flags, "parallelism.virtual_pipeline") == 1;
  const bool asked = flags.on("sequence-parallel");
  const bool open = report.asks("parallelism.tensor");
  // A fragment may leave degrees to others.
  const bool left = fragment && flags.find("tensor-model-parallel-size") == nullptr;
  const bool useful = degree(flags, "parallelism.tensor") > 1 || left || open;
  if (asked && useful)
    report.map("parallelism.sequence_parallel", true, flags.from("sequence-parallel"));
  else if (asked)
    report.assume("parallelism.sequence_parallel", false, kOffWithoutTensor);
  else
    report.assume("parallelism.sequence_parallel", false, kDefault);
  if (era == Era::kDeepSpeed && flags.find("pp-partition-method") != nullptr) {
    const std::string method = flags.text("pp-partition-method", "").value_or("");
    const bool piped = degree(flags, "parallelism.pipeline") > 1;
    if (piped && method.find("embedding") != std::string::npos)
      report.map("parallelism.embedding_and_head_as_layers", true, flags.from("pp-partition-method"));
    else if (piped && method != "type:transformer" && method != "uniform")
      report.approximate("--pp-partition-method", "layers are dealt out to the stages as evenly as they can be");
  }
  flags.map_whole("microbatch-group-size-per-virtual-pipeline-stage", "batch.microbatch_group");
}

void map_batch(const Flags& flags) {
  Report& report = flags.report();
  for (const char* name : {"micro-batch-size", "batch-size"})
    if (flags.find(name) != nullptr && !report.has("batch.micro")) flags.map_whole(name, "batch.micro");
  if (!report.has("batch.micro")) report.ask("batch.micro", "the flags state no --micro-batch-size");
  for (const char* name : {"encoder-seq-length", "seq-length"})
    if (flags.find(name) != nullptr && !report.has("batch.sequence_length"))
      flags.map_whole(name, "batch.sequence_length");
  if (!report.has("batch.sequence_length")) report.ask("batch.sequence_length", "the flags state no --seq-length");
  if (const auto schedule = flags.text("step-batch-size-schedule", "")) {
    if (flags.find("global-batch-size") != nullptr)
      report.refuse("--step-batch-size-schedule", "Megatron-LM rejects it together with --global-batch-size",
                    flags.from("step-batch-size-schedule"));
    return report.ask("batch.global", "the batch grows during the run: " + printable(*schedule, 60));
  }
  if (flags.find("global-batch-size") != nullptr) flags.map_whole("global-batch-size", "batch.global");
  // DeepSpeed's first examples state the micro-batches of a step: Megatron-LM-v1.1.5-3D_parallelism.
  for (const char* name : {"gas", "gradient-accumulation-steps"})
    if (const auto steps = flags.whole(name, "batch.global"); steps && !report.has("batch.global")) {
      if (*steps < 1 || *steps > kMostCount)
        report.refuse(std::string("--") + name,
                      fmt::format("expected 1 to {} micro-batches a step, found {}", kMostCount, *steps),
                      flags.from(name));
      else
        report.accumulation = *steps;
    }
  if (const Argument* const grows = flags.find("rampup-batch-size"); grows != nullptr && !grows->values.empty())
    report.approximate("--rampup-batch-size", "the step is one of the whole global batch, at the end of the ramp");
}

}  // namespace foretoken::io::launch::megatron
