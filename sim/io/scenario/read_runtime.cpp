// Reads a runtime file: switches, and fitted numbers, each with a note about its origin.
#include "sim/io/scenario/read_runtime.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "sim/io/hardware/profile_fields.h"
#include "sim/io/scenario/attention_choice.h"
#include "sim/io/scenario/dispatcher_choice.h"

namespace foretoken::io {
namespace {

void read_overlap_switches(const Node& node, job::OverlapSwitches& switches) {
  node.allow_only({"grad_reduce", "param_gather", "p2p", "tensor_parallel", "exchanges"});
  switches.grad_reduce = node.boolean_or("grad_reduce", false);
  switches.param_gather = node.boolean_or("param_gather", false);
  switches.p2p = node.boolean_or("p2p", false);
  switches.tensor_parallel = node.boolean_or("tensor_parallel", false);
  switches.exchanges = node.boolean_or("exchanges", false);
}

/// Reads the dispatchers of tokens: ["all-to-all", "deepep"].
std::vector<model::Dispatcher> read_dispatchers(const Node& node) {
  std::vector<model::Dispatcher> dispatchers;
  if (const auto named = node.find_array("dispatchers"))
    for (const Node& name : *named) dispatchers.push_back(name.as_one_of(kDispatcherNames));
  return dispatchers;
}

/// Reads the kernels that eager code runs apart: ["rms_norm", "rotary"].
model::Fusions read_unfused(const Node& node) {
  model::Fusions fusions;
  const auto named = node.find_array("unfused");
  if (!named) return fusions;
  using Flag = bool model::Fusions::*;
  for (const Node& name : *named)
    fusions.*name.as_one_of<Flag>({{"rms_norm", &model::Fusions::rms_norm},
                                   {"rotary", &model::Fusions::rotary},
                                   {"gated_activation", &model::Fusions::gated_activation},
                                   {"gelu_new", &model::Fusions::gelu_new},
                                   {"squared_relu", &model::Fusions::squared_relu},
                                   {"grouped_attention", &model::Fusions::grouped_attention},
                                   {"softmax", &model::Fusions::softmax},
                                   {"residual", &model::Fusions::residual},
                                   {"grouped_experts", &model::Fusions::grouped_experts}}) = false;
  return fusions;
}

void read_switches(const Node& node, job::Runtime& runtime) {
  runtime.default_attention = attention_or(node, "default_attention", runtime.default_attention);
  runtime.pytorch_attention = node.boolean_or("pytorch_attention", runtime.pytorch_attention);
  runtime.default_zero_stage = static_cast<int>(node.whole_or("default_zero_stage", 0, {.low = 0, .high = 3}));
  runtime.fully_sharded = node.boolean_or("fully_sharded", runtime.fully_sharded);
  const Node overlap = node.object_or_empty("overlap");
  overlap.allow_only({"backward_collectives", "grad_reduce", "param_gather", "p2p"});
  runtime.overlap_backward_collectives =
      overlap.boolean_or("backward_collectives", runtime.overlap_backward_collectives);
  runtime.overlap_grad_reduce = overlap.boolean_or("grad_reduce", runtime.overlap_grad_reduce);
  runtime.overlap_param_gather = overlap.boolean_or("param_gather", runtime.overlap_param_gather);
  runtime.overlap_p2p = overlap.boolean_or("p2p", runtime.overlap_p2p);
  read_overlap_switches(node.object_or_empty("overlap_switches"), runtime.switches);
  runtime.scatter_gather = node.boolean_or("scatter_gather", runtime.scatter_gather);
  runtime.fused_cross_entropy = node.boolean_or("fused_cross_entropy", runtime.fused_cross_entropy);
  runtime.compiled_cross_entropy = node.boolean_or("compiled_cross_entropy", runtime.compiled_cross_entropy);
  runtime.compiled_layers = node.boolean_or("compiled_layers", runtime.compiled_layers);
  runtime.fusions = read_unfused(node);
  runtime.fusions.logit_bytes = node.number_or("logit_bytes", 0, {.low = 0, .high = 64});
  runtime.autocast = node.boolean_or("autocast", runtime.autocast);
  runtime.drops_gradients = node.boolean_or("drops_gradients", runtime.drops_gradients);
  runtime.frozen_input_copies = node.number_or("frozen_input_copies", 1, {.low = 1, .high = 4});
  runtime.optimizer_working_bytes = node.number_or("optimizer_working_bytes", 0, {.low = 0, .high = 64});
  using enum model::TensorOverlap;
  runtime.tensor_overlap = node.one_of_or<model::TensorOverlap>(
      "tensor_overlap", kNone, {{"none", kNone}, {"userbuffers", kUserbuffers}, {"micro-pipeline", kMicroPipeline}});
  runtime.userbuffers_gain = node.boolean_or("userbuffers_gain", runtime.userbuffers_gain);
  runtime.cublas_before_11_7 = node.boolean_or("cublas_before_11_7", runtime.cublas_before_11_7);
  runtime.transformer_engine = node.boolean_or("transformer_engine", runtime.transformer_engine);
  runtime.fused_accumulation = node.boolean_or("fused_accumulation", runtime.fused_accumulation);
  if (runtime.fused_accumulation && node.object_or_empty("fitted").has("gradient_accumulation_bytes"))
    node.complain("fitted", "expected no gradient_accumulation_bytes beside fused_accumulation: no kernel adds");
  runtime.experts_split_as_dense = node.boolean_or("experts_split_as_dense", runtime.experts_split_as_dense);
  runtime.dispatchers = read_dispatchers(node);
  runtime.deepep_multiprocessors = static_cast<int>(
      node.find_whole("deepep_multiprocessors", {.low = 2, .high = 1024}).value_or(runtime.deepep_multiprocessors));
  runtime.pads_vocabulary = node.boolean_or("pads_vocabulary", runtime.pads_vocabulary);
  runtime.keeps_16bit_gradients = node.boolean_or("keeps_16bit_gradients", runtime.keeps_16bit_gradients);
  const Node gradients = node.object_or_empty("gradient_bytes");
  gradients.allow_only({"fp16", "bf16"});
  runtime.fp16_gradient_bytes = gradients.number_or("fp16", runtime.fp16_gradient_bytes, {.low = 1, .high = 8});
  runtime.bf16_gradient_bytes = gradients.number_or("bf16", runtime.bf16_gradient_bytes, {.low = 1, .high = 8});
}

/// Reads one fitted number, if the file has it: {"value": N, "note": "source and meaning"}.
std::optional<double> read_fitted(const Node& fitted, std::string_view key, Range range, job::Runtime& runtime) {
  const std::optional<Node> entry = fitted.find_object(key);
  if (!entry) return std::nullopt;
  entry->allow_only({"value", "note"});
  const double value = entry->number("value", range);
  runtime.notes.push_back(fmt::format("{} = {}: {}", key, value, entry->text("note")));
  return value;
}

/// Reads an optimizer of eager kernels: the precisions that use it, and the traffic, kernels and host time of each.
std::optional<job::UnfusedAdam> read_unfused_adam(const Node& runtime, std::vector<std::string>& notes) {
  const std::optional<Node> node = runtime.find_object("unfused_adam");
  if (!node) return std::nullopt;
  node->allow_only({"precisions", "bytes", "kernels_per_tensor", "host_us_per_kernel", "note"});
  job::UnfusedAdam adam;
  for (const Node& name : node->array("precisions"))
    adam.precisions.push_back(name.as_one_of<Precision>({{"fp32", Precision::kFp32},
                                                         {"tf32", Precision::kTf32},
                                                         {"bf16", Precision::kBf16},
                                                         {"fp16", Precision::kFp16}}));
  if (adam.precisions.empty()) node->complain("precisions", "expected at least one, such as \"fp32\"");
  adam.bytes = node->number("bytes", {.low = 0, .high = 1000});
  adam.kernels_per_tensor = node->number("kernels_per_tensor", {.low = 1, .high = 1000});
  adam.host_per_kernel = microseconds(node->number("host_us_per_kernel", kMicroseconds));
  notes.push_back(fmt::format("unfused_adam: {}", node->text("note")));
  return adam;
}

/// Reads the parts of a job's memory that the software can move off the GPU: ["optimizer", "activations"].
void read_offload_support(const Node& node, job::Runtime& runtime) {
  const Node offload = node.object_or_empty("offload");
  offload.allow_only({"parts", "nvme", "delayed_update", "streams_gradients", "overlaps_update"});
  job::OffloadSupport& support = runtime.offload;
  using Part = bool job::OffloadSupport::*;
  for (const Node& part : offload.find_array("parts").value_or(std::vector<Node>()))
    support.*part.as_one_of<Part>({{"optimizer", &job::OffloadSupport::optimizer},
                                   {"parameters", &job::OffloadSupport::parameters},
                                   {"activations", &job::OffloadSupport::activations}}) = true;
  support.disks = offload.boolean_or("nvme", false);
  support.delayed_update = offload.boolean_or("delayed_update", false);
  support.streams_gradients = offload.boolean_or("streams_gradients", false);
  support.overlaps_update = offload.boolean_or("overlaps_update", false);
  if (support.optimizer && support.host_update_bytes == 0)
    node.complain("fitted",
                  "missing host_update_bytes; expected the host traffic of an update with an offloaded optimizer");
}

void read_fitted_numbers(const Node& fitted, job::Runtime& runtime) {
  fitted.allow_only({"gradient_accumulation_bytes", "tensor_comm_factor", "data_comm_factor", "gemm_factor",
                     "memory_bound_factor", "tensor_comm_overhead_us", "host_per_layer_forward_us",
                     "host_per_layer_backward_us", "host_growth_per_tensor_rank", "p2p_overhead_us", "pass_overhead_us",
                     "step_overhead_us", "fp8_backward_factor", "collective_per_rank_us", "optimizer_bytes",
                     "data_comm_nics", "expert_product_us", "expert_wait_us", "host_update_bytes"});
  const auto number = [&](std::string_view key, Range range, double& target) {
    if (const auto value = read_fitted(fitted, key, range, runtime)) target = *value;
  };
  const auto time = [&](std::string_view key, Seconds& target) {
    if (const auto value = read_fitted(fitted, key, kMicroseconds, runtime)) target = microseconds(*value);
  };
  number("gradient_accumulation_bytes", {.low = 0, .high = 1000}, runtime.gradient_accumulation_bytes);
  number("tensor_comm_factor", kFactor, runtime.tensor_comm_factor);
  number("data_comm_factor", kFactor, runtime.data_comm_factor);
  if (const auto nics = read_fitted(fitted, "data_comm_nics", kFactor, runtime)) runtime.data_comm_nics = nics;
  number("gemm_factor", kFactor, runtime.gemm_factor);
  number("fp8_backward_factor", kFactor, runtime.fp8_backward_factor);
  number("optimizer_bytes", {.low = 0, .high = 1000}, runtime.optimizer_bytes);
  time("collective_per_rank_us", runtime.collective_per_rank);
  number("memory_bound_factor", kFactor, runtime.memory_bound_factor);
  time("tensor_comm_overhead_us", runtime.tensor_comm_overhead);
  time("host_per_layer_forward_us", runtime.host_per_layer_forward);
  time("host_per_layer_backward_us", runtime.host_per_layer_backward);
  number("host_growth_per_tensor_rank", {.low = 0, .high = 100}, runtime.host_growth_per_tensor_rank);
  time("p2p_overhead_us", runtime.p2p_overhead);
  time("pass_overhead_us", runtime.pass_overhead);
  time("step_overhead_us", runtime.step_overhead);
  time("expert_product_us", runtime.expert_product);
  time("expert_wait_us", runtime.expert_wait);
  number("host_update_bytes", {.low = 1, .high = 10000}, runtime.offload.host_update_bytes);
}

}  // namespace

job::Runtime read_runtime(const Node& node) {
  node.allow_only({"name",
                   "description",
                   "source",
                   "year",
                   "notes",
                   "default_attention",
                   "pytorch_attention",
                   "default_zero_stage",
                   "fully_sharded",
                   "overlap",
                   "overlap_switches",
                   "scatter_gather",
                   "fused_cross_entropy",
                   "compiled_cross_entropy",
                   "compiled_layers",
                   "unfused",
                   "logit_bytes",
                   "optimizer_working_bytes",
                   "drops_gradients",
                   "autocast",
                   "frozen_input_copies",
                   "tensor_overlap",
                   "userbuffers_gain",
                   "cublas_before_11_7",
                   "experts_split_as_dense",
                   "dispatchers",
                   "deepep_multiprocessors",
                   "pads_vocabulary",
                   "transformer_engine",
                   "fused_accumulation",
                   "keeps_16bit_gradients",
                   "gradient_bytes",
                   "offload",
                   "unfused_adam",
                   "fitted"});
  job::Runtime runtime;
  runtime.name = node.text("name");
  runtime.description = node.find_text("description").value_or("");
  runtime.source = node.find_text("source").value_or("");
  runtime.year = static_cast<int>(node.find_whole("year", {.low = 2017, .high = 2100}).value_or(0));
  read_switches(node, runtime);
  read_fitted_numbers(node.object_or_empty("fitted"), runtime);
  read_offload_support(node, runtime);
  runtime.unfused_adam = read_unfused_adam(node, runtime.notes);
  return runtime;
}

}  // namespace foretoken::io
