// Completes an imported scenario.
#include "sim/io/import/launch/check_shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/noun.h"
#include "sim/io/import/launch/data_parallel.h"

namespace foretoken::io::launch {
namespace {

std::int64_t whole_or(const Report& report, std::string_view key, std::int64_t fallback) {
  return report.whole(key).value_or(fallback);
}

struct Degrees {
  std::int64_t tensor, pipeline, context, chunks;

  [[nodiscard]] std::int64_t replica() const { return tensor * pipeline * context; }
  [[nodiscard]] bool positive() const {
    for (const std::int64_t degree : {tensor, pipeline, context, chunks})
      if (degree < 1 || degree > kMostCount) return false;
    return true;
  }
};

void check_layers(Report& report, const Degrees& degrees) {
  const auto layers = report.whole("model.num_layers");
  if (!layers || report.has("parallelism.layers_per_stage")) return;
  const bool counted = report.at("parallelism.embedding_and_head_as_layers") == Json(true);
  const std::int64_t whole = *layers + (counted ? 2 : 0), stages = degrees.pipeline * degrees.chunks;
  if (whole % stages != 0 && whole > stages && report.uneven_stages && !counted)
    return report.ask("parallelism.layers_per_stage",
                      fmt::format("{} layers do not divide over {} stages, and the versions of DeepSpeed deal them out "
                                  "differently; state --set 'parallelism.layers_per_stage=[N, ...]'",
                                  whole, degrees.pipeline));
  if (whole % stages != 0 && whole > stages && report.uneven_stages)
    return report.refuse("layers", fmt::format("{} layers, embedding and head do not divide over {} stages; what "
                                               "DeepSpeed then gives to each is not modelled",
                                               *layers, degrees.pipeline));
  if (whole % stages != 0)
    report.refuse("layers", fmt::format("{} layers do not divide over {} stages of {} chunks; the run would stop",
                                        whole, degrees.pipeline, degrees.chunks));
}

void check_heads(Report& report, const Degrees& degrees) {
  const auto heads = report.whole("model.num_attention_heads");
  if (heads && *heads % degrees.tensor != 0)
    report.refuse("heads", fmt::format("{} attention heads do not divide over tensor {}; the run would stop", *heads,
                                       degrees.tensor));
}

// Composer takes a batch smaller than the micro-batch whole. It splits others with torch.split, and in old releases
// with torch.chunk: mosaicml/composer, composer/core/data_spec.py (_split_tensor) at commit 02c872e4.
void settle_uneven_split(Report& report, std::int64_t micro, std::int64_t of_rank) {
  const std::int64_t parts = (of_rank + micro - 1) / micro;
  if (parts == 1)
    return report.map("batch.micro", of_rank, "the sequences of a data rank, fewer than device_train_microbatch_size");
  report.forget("batch.micro");
  report.ask(
      "batch.micro",
      fmt::format("Composer splits the {} sequences of a data rank into micro-batches of {} and a rest of {}, or "
                  "in old releases into {} of one size; micro-batches of several sizes are not modelled",
                  of_rank, micro, of_rank % micro, parts));
}

// DeepSpeed shards no weights of its own class of experts: deepspeed/runtime/engine.py, _configure_zero_optimizer.
void check_deepspeed_experts(Report& report) {
  if (report.deepspeed_experts && report.whole("optimizer.zero_stage") == 3)
    report.refuse("optimizer.zero_stage",
                  "expected 0, 1 or 2 beside DeepSpeed's layers with experts, found 3: DeepSpeed stops with stage 3 "
                  "there; try stage 2");
}

// PyTorch's HYBRID_SHARD shards over the GPUs of a node: pytorch/pytorch, torch/distributed/fsdp/_init_utils.py,
// _init_intra_and_inter_node_groups. The GPUs of one node leave no replicas. The cluster may be asked for, which states
// the GPUs of its nodes.
void check_replicas(Report& report) {
  const std::int64_t gpus = report.whole("gpus").value_or(0), of_machine = report.gpus_of_machine.value_or(1);
  const bool open = !report.gpus_of_machine && !report.has("cluster");
  if (report.shards_in_nodes.empty() || gpus <= of_machine || open) return;
  const std::string from = report.shards_in_nodes;
  std::erase_if(report.assumed, [&](const Assumed& one) { return one.key == from; });
  refuse_replicas("several", from, report);
}

// The rule of sim/job/rules/shards.cpp, before all facts are known.
void check_sharded_pipeline(Report& report) {
  const std::int64_t stage = whole_or(report, "optimizer.zero_stage", 0),
                     pipeline = whole_or(report, "parallelism.pipeline", 1);
  if (report.asked.empty() || stage < 2 || pipeline < 2) return;
  report.refuse(
      "/optimizer/zero_stage",
      fmt::format("expected 0 or 1 with pipeline {}, found {}: gradients and parameters are sharded without a "
                  "pipeline only",
                  pipeline, stage));
}

std::string counted(std::int64_t steps) { return with_noun(steps, "micro-batch", "micro-batches"); }
std::string ranks(std::int64_t data) { return with_noun(data, "data rank"); }

// Settles the number that follows from the stated micro-batches of a step. The file states these, and no key of the
// scenario overrules them.
void settle_accumulation(Report& report, std::int64_t data) {
  const std::int64_t steps = report.accumulation.value_or(0);
  const auto micro = report.whole("batch.micro"), global = report.whole("batch.global");
  if (steps < 1 || steps > kMostCount) return;
  if (!micro && global && *global > 0 && *global % (steps * data) == 0)
    return report.map("batch.micro", *global / (steps * data),
                      fmt::format("{} sequences / {} / {}", *global, counted(steps), ranks(data)));
  if (!micro || *micro < 1 || *micro > kMostCount) return;
  if (!global)
    return report.map("batch.global", *micro * steps * data,
                      fmt::format("{} sequences x {} x {}", *micro, counted(steps), ranks(data)));
  if (*global != *micro * steps * data)
    report.refuse("batch.global",
                  fmt::format("the file states {} for each data rank: {} sequences x {} x {} are {}, found {}",
                              counted(steps), *micro, steps, ranks(data), *micro * steps * data, *global));
}

// Megatron-LM and DeepSpeed take one micro-batch a replica where neither a global batch nor accumulation is stated.
void check_batch(Report& report, const Degrees& degrees) {
  const auto gpus = report.whole("gpus");
  if (!gpus || *gpus < 1) return;
  // No batch is judged while a degree is asked for.
  const auto is_degree = [](const Asked& one) {
    return one.key == "parallelism.tensor" || one.key == "parallelism.pipeline" || one.key == "parallelism.context";
  };
  if (std::ranges::any_of(report.asked, [&](const Asked& one) { return is_degree(one) && !report.has(one.key); }))
    return;
  if (*gpus % degrees.replica() != 0)
    return report.refuse(
        "gpus", fmt::format("{} GPUs are no multiple of tensor x pipeline x context, {}", *gpus, degrees.replica()));
  const std::int64_t data = *gpus / degrees.replica();
  settle_accumulation(report, data);
  const auto micro = report.whole("batch.micro"), global = report.whole("batch.global");
  if (!micro || *micro < 1 || *micro > kMostCount) return;
  if (!global && !report.asks("batch.global"))
    return report.assume("batch.global", *micro * data, "no global batch is stated: one micro-batch for each replica");
  if (global && *global % data == 0 && *global / data % *micro != 0 && report.framework == "llm-foundry")
    return settle_uneven_split(report, *micro, *global / data);
  if (global && !report.accumulation && *global % (*micro * data) != 0)
    report.refuse("batch.global", fmt::format("global {} not divisible by micro {} x data {}; the run would stop",
                                              *global, *micro, data));
}

// Returns true where no setting names a kernel of attention: it is assumed, or Transformer Engine chooses it.
bool leaves_attention_open(const Report& report) {
  if (std::ranges::find(report.assumed, "attention", &Assumed::key) != report.assumed.end()) return true;
  const auto mapped = std::ranges::find(report.mapped, "attention", &Mapped::key);
  return mapped != report.mapped.end() && (mapped->from.find("transformer-impl") != std::string::npos ||
                                           mapped->from.find("transformer_engine") != std::string::npos);
}

// NVIDIA/TransformerEngine, transformer_engine/pytorch/attention/dot_product_attention/utils.py, get_attention_backend:
// flash and fused kernels take 16 bits and fewer. PyTorch's flash kernels do, too.
void settle_attention_of_fp32(Report& report) {
  const bool wide = report.at("precision") == "fp32" || report.at("precision") == "tf32";
  if (wide && leaves_attention_open(report) && report.at("attention") == "flash")
    report.assume("attention", "unfused", "flash kernels have no fp32");
}

// FSDP's states stand where its parameters do (torch/distributed/fsdp, CPUOffload). ZeRO moves the states alone.
void settle_runtime_of_offload(Report& report) {
  const bool assumed = std::ranges::find(report.assumed, "runtime", &Assumed::key) != report.assumed.end();
  if (!assumed || report.at("runtime") != "huggingface-trainer" || !report.has("offload.optimizer")) return;
  if (report.at("offload.optimizer") != report.at("offload.parameters"))
    report.assume("runtime", "deepspeed", "the runtime that moves optimizer states alone to the host");
}

}  // namespace

void complete_scenario(Report& report) {
  settle_attention_of_fp32(report);
  settle_runtime_of_offload(report);
  const Degrees degrees{whole_or(report, "parallelism.tensor", 1), whole_or(report, "parallelism.pipeline", 1),
                        whole_or(report, "parallelism.context", 1),
                        whole_or(report, "parallelism.virtual_pipeline", 1)};
  if (!degrees.positive()) {
    report.refuse("parallelism",
                  fmt::format("expected degrees from 1 to 1,048,576, found tensor {}, pipeline {}, context "
                              "{}, virtual pipeline {}",
                              degrees.tensor, degrees.pipeline, degrees.context, degrees.chunks));
  } else {
    check_layers(report, degrees);
    check_heads(report, degrees);
    check_batch(report, degrees);
  }
  if (!report.has("cluster"))
    report.ask("cluster", "launch files do not name the machine; state it with --cluster NAME or --set cluster=NAME");
  if (!report.has("gpus")) report.ask("gpus", "state the number of GPUs with --gpus N");
  if (!report.has("batch.global"))
    report.ask("batch.global", report.accumulation ? counted(*report.accumulation) +
                                                         " for each data rank; it follows from --micro-batch and --gpus"
                                                   : "state the sequences of a step with --global-batch N");
  if (!report.has("batch.sequence_length"))
    report.ask("batch.sequence_length", "state the tokens of a sequence with --seq N");
  report.drop_answered();
  check_deepspeed_experts(report);
  check_replicas(report);
  check_sharded_pipeline(report);
}

}  // namespace foretoken::io::launch
