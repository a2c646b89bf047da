// Reads engines: switches of batching and memory, and numbers with notes.
#include "sim/io/serve/read_engine.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "sim/io/hardware/serving_laws.h"

namespace foretoken::io {
namespace {

/// Names the key that took the place of reserves_output. Returns true when that key is there.
bool has_old_policy(const Node& node) {
  if (!node.has("reserves_output")) return false;
  const auto policy = node.boolean("reserves_output") ? serve::CapacityPolicy::kGuaranteedNoEvict
                                                      : serve::CapacityPolicy::kMaxUtilization;
  node.complain("reserves_output",
                fmt::format(R"(expected none; try "capacity_scheduler_policy": "{}")", name_of(policy)));
  return true;
}

/// Names the key that took the place of custom_all_reduce. Returns true when that key is there. False was NCCL. Else
/// the kernels are those of the engine's name, "vllm" of "vllm-2026", or TensorRT-LLM's, which the old key meant.
bool has_old_all_reduce(const Node& node, std::string_view engine) {
  if (!node.has("custom_all_reduce")) return false;
  cost::AllReduceKernels kernels = cost::AllReduceKernels::kTrtLlm;
  for (const cost::AllReduceKernels own : cost::kEngineKernels)
    if (engine.starts_with(name_of(own))) kernels = own;
  if (node.child("custom_all_reduce").value() == false) kernels = cost::AllReduceKernels::kNccl;
  node.complain("custom_all_reduce", fmt::format(R"(expected none; try "all_reduce": "{}")", name_of(kernels)));
  return true;
}

void read_batching(const Node& node, serve::Engine& engine) {
  if (has_old_policy(node)) return;
  node.allow_only({"continuous", "splits_batch", "split_tokens", "mixes_phases", "chunks_prompts", "token_budget",
                   "max_sequences", "capacity_scheduler_policy", "overlaps_host", "encodes", "encoder_decoders",
                   "decoders", "limits_each_group"});
  engine.encodes = node.boolean_or("encodes", engine.encodes);
  engine.encoder_decoders = node.boolean_or("encoder_decoders", engine.encoder_decoders);
  engine.decoders = node.boolean_or("decoders", engine.decoders);
  engine.continuous = node.boolean_or("continuous", engine.continuous);
  engine.splits_batch = node.boolean_or("splits_batch", engine.splits_batch);
  engine.split_tokens = node.whole_or("split_tokens", engine.split_tokens);
  engine.mixes_phases = node.boolean_or("mixes_phases", engine.mixes_phases);
  engine.chunks_prompts = node.boolean_or("chunks_prompts", engine.chunks_prompts);
  engine.token_budget = node.whole_or("token_budget", engine.token_budget, {.low = 1, .high = 1 << 24});
  engine.max_sequences = node.whole_or("max_sequences", engine.max_sequences, {.low = 1, .high = 1 << 20});
  engine.limits_each_group = node.boolean_or("limits_each_group", engine.limits_each_group);
  engine.capacity_policy = read_capacity_policy(node, engine.capacity_policy);
  engine.overlaps_host = node.boolean_or("overlaps_host", engine.overlaps_host);
}

void read_pages(const Node& node, serve::Engine& engine) {
  node.allow_only({"fraction", "block_tokens", "watermark", "copies_embedding"});
  engine.memory_fraction = node.number_or("fraction", engine.memory_fraction, {.low = 0, .high = 1, .above_low = true});
  engine.block_tokens = static_cast<int>(node.whole_or("block_tokens", engine.block_tokens, {.low = 1, .high = 4096}));
  engine.watermark = node.number_or("watermark", engine.watermark, {.low = 0, .high = 0.5});
  engine.copies_embedding = node.boolean_or("copies_embedding", engine.copies_embedding);
}

std::optional<double> read_noted(const Node& numbers, std::string_view key, Range range, serve::Engine& engine) {
  const std::optional<Node> entry = numbers.find_object(key);
  if (!entry) return std::nullopt;
  entry->allow_only({"value", "note"});
  const double value = entry->number("value", range);
  engine.notes.push_back(fmt::format("{} = {}: {}", key, value, entry->text("note")));
  return value;
}

constexpr Range kEngineNumber{.low = 0, .high = 1e6};

void read_noted_time(const Node& numbers, std::string_view key, serve::Engine& engine, Seconds& target) {
  if (const auto value = read_noted(numbers, key, kEngineNumber, engine)) target = microseconds(*value);
}

void read_triton(const Node& numbers, serve::Engine& engine) {
  const bool sorts = numbers.has("triton_sort_us") || numbers.has("triton_sort_token_us");
  if (!sorts && !numbers.has("triton_launch_us")) return;
  serve::TritonExperts& triton = engine.triton.emplace();
  read_noted_time(numbers, "triton_launch_us", engine, triton.launch);
  read_noted_time(numbers, "triton_sort_us", engine, triton.sort);
  read_noted_time(numbers, "triton_sort_token_us", engine, triton.sort_token);
  if (!numbers.has("triton_launch_us"))
    numbers.complain("triton_launch_us", "missing; expected it beside triton_sort_us and triton_sort_token_us");
}

void read_numbers(const Node& node, serve::Engine& engine) {
  node.allow_only({"overhead_gb",
                   "activation_widths",
                   "score_bytes",
                   "logit_bytes",
                   "kernel_us",
                   "launch_us",
                   "request_us",
                   "prompt_token_us",
                   "answer_us",
                   "answer_token_us",
                   "request_layer_us",
                   "pass_us",
                   "sequence_us",
                   "beam_us",
                   "triton_launch_us",
                   "triton_sort_us",
                   "triton_sort_token_us",
                   "collective_us",
                   "score_traffic",
                   "layer_traffic",
                   "product_factor"});
  const auto number = [&](std::string_view key, Range range, double& target) {
    target = read_noted(node, key, range, engine).value_or(target);
  };
  const auto time = [&](std::string_view key, Seconds& target) { read_noted_time(node, key, engine, target); };
  if (const auto value = read_noted(node, "overhead_gb", {.low = 0, .high = 1000}, engine))
    engine.overhead = Bytes(*value * 1e9);
  number("activation_widths", kEngineNumber, engine.activation_widths);
  number("score_bytes", kEngineNumber, engine.score_bytes);
  number("logit_bytes", kEngineNumber, engine.logit_bytes);
  number("score_traffic", kEngineNumber, engine.score_traffic);
  number("layer_traffic", kEngineNumber, engine.layer_traffic);
  number("product_factor", {.low = 0.1, .high = 10}, engine.product_factor);
  time("kernel_us", engine.kernel);
  time("launch_us", engine.launch);
  read_triton(node, engine);
  time("request_us", engine.request);
  time("prompt_token_us", engine.prompt_token);
  time("answer_us", engine.answer);
  time("answer_token_us", engine.answer_token);
  time("request_layer_us", engine.request_layer);
  time("pass_us", engine.pass);
  time("sequence_us", engine.sequence);
  time("beam_us", engine.beam);
  time("collective_us", engine.collective);
  if (node.has("request_layer_us") && engine.continuous)
    node.complain("request_layer_us", "expected none with continuous batching: it is a time of each static batch");
  for (const std::string_view key : {"answer_us", "answer_token_us"})
    if (node.has(key) && !engine.continuous)
      node.complain(key, "expected none with static batching, which answers at its end");
  if (node.has("beam_us") && !engine.encoder_decoders)
    node.complain("beam_us", "expected none: it is of engines that serve encoder-decoders (batching.encoder_decoders)");
}

/// Reads the numbers that an engine has `kernels` for; nothing without the key.
std::optional<std::vector<std::int64_t>> read_kernel_sizes(const Node& node, std::string_view key,
                                                           std::string_view kernels) {
  const auto sizes = node.find_array(key);
  if (!sizes) return std::nullopt;
  if (node.child(key).value().empty())
    node.complain(key, fmt::format("expected at least one number; without the key every number has {}", kernels));
  std::vector<std::int64_t> all;
  for (const Node& size : *sizes) all.push_back(size.as_whole({.low = 1, .high = 1 << 10}));
  return all;
}

cost::AllReduceKernels read_all_reduce(const Node& node, cost::AllReduceKernels otherwise) {
  using cost::AllReduceKernels;
  return node.one_of_or("all_reduce", otherwise,
                        {{name_of(AllReduceKernels::kNccl), AllReduceKernels::kNccl},
                         {name_of(AllReduceKernels::kTrtLlm), AllReduceKernels::kTrtLlm},
                         {name_of(AllReduceKernels::kVllm), AllReduceKernels::kVllm},
                         {name_of(AllReduceKernels::kSglang), AllReduceKernels::kSglang}});
}

}  // namespace

serve::CapacityPolicy read_capacity_policy(const Node& node, serve::CapacityPolicy otherwise) {
  constexpr auto kGuaranteed = serve::CapacityPolicy::kGuaranteedNoEvict;
  constexpr auto kMost = serve::CapacityPolicy::kMaxUtilization;
  return node.one_of_or("capacity_scheduler_policy", otherwise,
                        {{name_of(kGuaranteed), kGuaranteed}, {name_of(kMost), kMost}});
}

serve::Engine read_engine(const Node& node) {
  serve::Engine engine;
  engine.name = node.text("name");
  if (!has_old_all_reduce(node, engine.name))
    node.allow_only({"name", "description", "source", "batching", "memory", "all_reduce", "decode_attention", "experts",
                     "products", "xqa_group_sizes", "fused_head_dims", "int8_mode", "fp8_inputs", "numbers",
                     "no_interval", "assumptions"});
  engine.description = node.find_text("description").value_or("");
  engine.source = node.find_text("source").value_or("");
  read_batching(node.object_or_empty("batching"), engine);
  read_pages(node.object_or_empty("memory"), engine);
  engine.all_reduce = read_all_reduce(node, engine.all_reduce);
  engine.decode_attention = read_kernel_owner(node, "decode_attention", engine.decode_attention);
  engine.experts = read_kernel_owner(node, "experts", engine.experts);
  engine.products = read_kernel_owner(node, "products", engine.products);
  engine.xqa_group_sizes = read_kernel_sizes(node, "xqa_group_sizes", "XQA kernels");
  engine.fused_head_dims = read_kernel_sizes(node, "fused_head_dims", "fused attention");
  engine.int8_mode = static_cast<int>(node.whole_or("int8_mode", engine.int8_mode, {.low = 1, .high = 2}));
  engine.dynamic_fp8 = node.one_of_or("fp8_inputs", engine.dynamic_fp8, {{"fused", false}, {"dynamic", true}});
  for (const std::string_view key : {"fused_head_dims", "int8_mode"})
    if (node.has(key) && !engine.encodes)
      node.complain(key, "expected none: it is of engines that serve encoders (batching.encodes)");
  read_numbers(node.object_or_empty("numbers"), engine);
  engine.no_interval = node.find_text("no_interval");
  if (engine.no_interval == "") node.complain("no_interval", "expected why intervals do not hold, found an empty text");
  if (node.has("assumptions"))
    for (const Node& line : node.array("assumptions")) engine.assumptions.push_back(line.as_text());
  return engine;
}

}  // namespace foretoken::io
