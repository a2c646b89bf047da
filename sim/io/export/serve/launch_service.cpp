// Translates degrees, precision, memory and batching into the flags of each engine.
#include "sim/io/export/serve/launch_service.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "sim/serve/memory.h"

namespace foretoken::io {
namespace {

using serve::Degrees;
using serve::Service;
using serve::WeightPrecision;

/// Words of a command, a flag and its value at a time.
class Words {
 public:
  explicit Words(std::vector<std::string> first) : words_(std::move(first)) {}

  template <class T>
  Words& flag(const char* name, const T& value) {
    words_.emplace_back(name);
    words_.push_back(fmt::format("{}", value));
    return *this;
  }
  template <class T>
  Words& flag_if(bool wanted, const char* name, const T& value) {
    return wanted ? flag(name, value) : *this;
  }
  Words& word_if(bool wanted, const char* word) {
    if (wanted) words_.emplace_back(word);
    return *this;
  }
  [[nodiscard]] std::vector<std::string> words() const { return words_; }

 private:
  std::vector<std::string> words_;
};

bool has_16_bits(WeightPrecision precision) {
  return precision == WeightPrecision::kBf16 || precision == WeightPrecision::kFp16;
}

const char* type_name(WeightPrecision precision) {
  return precision == WeightPrecision::kFp16 ? "float16" : "bfloat16";
}

/// Returns true for every version of an engine: "vllm" is "vllm" and "vllm-2026".
bool is_a(std::string_view kind, std::string_view engine) {
  return engine.starts_with(kind) && (engine.size() == kind.size() || engine[kind.size()] == '-');
}

bool narrow_cache(const Service& service) { return service.cache_bytes < 2; }

bool reduces_by_nccl(const Service& service, const serve::Pool& pool) {
  return pool.degrees.tensor > 1 && service.engine.all_reduce == cost::AllReduceKernels::kNccl;
}

/// Requests that one instance has at most; nothing where they come by themselves. A closed loop has its users.
std::optional<std::int64_t> users_of(const Service& service, const serve::Pool& pool) {
  if (service.requests.kind != serve::ArrivalKind::kClosed) return std::nullopt;
  return (service.requests.at_once + pool.instances() - 1) / pool.instances();
}

/// Requests that one instance runs at most, over all its attention groups.
std::int64_t most_sequences(const Service& service, const serve::Pool& pool) {
  const Degrees& cut = pool.degrees;
  const std::int64_t most = serve::group_sequences(service.engine, cut) * cut.attention_data;
  return std::min(most, users_of(service, pool).value_or(most));
}

/// Requests that one attention group runs at most.
std::int64_t most_of_a_group(const Service& service, const serve::Pool& pool) {
  const std::int64_t groups = pool.degrees.attention_data;
  return (most_sequences(service, pool) + groups - 1) / groups;
}

/// Two digits, rounded down: an engine must not take more than was counted.
double fraction(double value) { return std::floor(100 * std::clamp(value, 0.01, 1.0)) / 100; }

std::vector<std::string> vllm(const Service& service, const serve::Pool& pool, std::string_view role) {
  // Every attention group is an engine of its own (docs/serving/data_parallel_deployment.md), which takes at least as
  // many tokens a pass as it runs sequences.
  const Degrees& cut = pool.degrees;
  const std::int64_t tokens = serve::group_tokens(service.engine, cut);
  return Words({"vllm", "serve", service.model.name})
      .flag("--tensor-parallel-size", cut.tensor)
      .flag_if(cut.pipeline > 1, "--pipeline-parallel-size", cut.pipeline)
      .flag_if(cut.attention_data > 1, "--data-parallel-size", cut.attention_data)
      .word_if(cut.expert > 1, "--enable-expert-parallel")
      .flag("--dtype", type_name(service.precision))
      .flag_if(service.precision == WeightPrecision::kFp8, "--quantization", "fp8")
      .flag_if(narrow_cache(service), "--kv-cache-dtype", "fp8")
      .flag("--max-num-batched-tokens", tokens)
      .flag("--max-num-seqs", std::min(tokens, most_of_a_group(service, pool)))
      .flag("--max-model-len", service.longest())
      .flag("--gpu-memory-utilization", service.engine.memory_fraction)
      .flag("--block-size", service.engine.block_tokens)
      .word_if(reduces_by_nccl(service, pool), "--disable-custom-all-reduce")
      .flag_if(!role.empty(), "--kv-transfer-config", R"({"kv_connector":"NixlConnector","kv_role":"kv_both"})")
      .words();
}

std::vector<std::string> sglang(const Service& service, const serve::Pool& pool, std::string_view role) {
  // The fraction is of weights and cache, without activations.
  const Degrees& cut = pool.degrees;
  const serve::Memory memory = serve::memory_of(service, pool);
  const double held = (memory.weights + memory.cache) / service.cluster.gpu.memory;
  return Words({"python3", "-m", "sglang.launch_server", "--model-path", service.model.name})
      .flag("--tp-size", cut.stage_ranks())
      .flag_if(cut.pipeline > 1, "--pp-size", cut.pipeline)
      .flag_if(cut.attention_data > 1, "--dp-size", cut.attention_data)
      .word_if(cut.attention_data > 1, "--enable-dp-attention")
      .flag_if(cut.expert > 1, "--ep-size", cut.expert)
      .flag("--dtype", type_name(service.precision))
      .flag_if(service.precision == WeightPrecision::kFp8, "--quantization", "fp8")
      .flag_if(narrow_cache(service), "--kv-cache-dtype", "fp8_e4m3")
      .flag(service.engine.chunks_prompts ? "--chunked-prefill-size" : "--max-prefill-tokens",
            service.engine.token_budget)
      .word_if(service.engine.mixes_phases, "--enable-mixed-chunk")
      .flag("--max-running-requests", most_sequences(service, pool))
      .flag("--context-length", service.longest())
      .flag("--mem-fraction-static", fraction(held))
      .word_if(reduces_by_nccl(service, pool), "--disable-custom-all-reduce")
      .flag_if(!role.empty(), "--disaggregation-mode", role)
      .words();
}

/// The name of TensorRT-LLM's YAML file.
std::string options_file(std::string_view role) { return role.empty() ? "options.yaml" : fmt::format("{}.yaml", role); }

/// The lines of that file; none: there is no such file.
std::vector<std::string> trt_llm_options(const Service& service, const serve::Pool& pool) {
  std::vector<std::string> lines;
  if (pool.degrees.attention_data > 1) lines.emplace_back("enable_attention_dp: true");
  if (service.engine.chunks_prompts) lines.emplace_back("enable_chunked_prefill: true");
  if (service.engine.capacity_policy == serve::CapacityPolicy::kMaxUtilization)
    lines.emplace_back("scheduler_config: {capacity_scheduler_policy: MAX_UTILIZATION}");
  if (narrow_cache(service)) lines.emplace_back("kv_cache_config: {dtype: fp8}");
  if (service.moe_backend == serve::MoeBackend::kTriton) lines.emplace_back("moe_config: {backend: TRITON}");
  if (reduces_by_nccl(service, pool)) lines.emplace_back("allreduce_strategy: NCCL");
  if (service.disaggregated) lines.emplace_back("cache_transceiver_config: {backend: DEFAULT}");
  return lines;
}

std::vector<std::string> trt_llm(const Service& service, const serve::Pool& pool, std::string_view role) {
  // Without chunks a prompt must fit into a pass. The fraction is of the memory beside weights and activations.
  const Degrees& cut = pool.degrees;
  const serve::Memory memory = serve::memory_of(service, pool);
  const Bytes rest = service.cluster.gpu.memory - memory.weights - memory.activations - memory.overhead;
  const std::int64_t tokens = serve::group_tokens(service.engine, cut);
  return Words({"trtllm-serve", service.model.name, "--backend", "pytorch"})
      .flag("--tp_size", cut.stage_ranks())
      .flag_if(cut.pipeline > 1, "--pp_size", cut.pipeline)
      .flag_if(cut.expert > 1, "--ep_size", cut.expert)
      .flag("--max_num_tokens", service.engine.chunks_prompts ? tokens : std::max(tokens, service.longest()))
      .flag("--max_batch_size", most_of_a_group(service, pool))
      .flag("--max_seq_len", service.longest())
      .flag("--kv_cache_free_gpu_memory_fraction", fraction(memory.cache / rest))
      .flag_if(!trt_llm_options(service, pool).empty(), "--extra_llm_api_options", options_file(role))
      .words();
}

/// Returns why an engine's command cannot say what the service does.
std::optional<std::string> why_no_command(const Service& service, const serve::Pool& pool) {
  const Degrees& cut = pool.degrees;
  const std::string& engine = service.engine.name;
  if (is_a("vllm", engine) && cut.expert > 1 && cut.expert != cut.stage_ranks())
    return fmt::format("vLLM deals experts out over all {} ranks or over none, not over {}", cut.stage_ranks(),
                       cut.expert);
  if (is_a("vllm", engine) && service.disaggregated && cut.pipeline > 1)
    return "vLLM's NixlConnector takes no pipeline";
  if (is_a("trt-llm", engine) && cut.attention_data > 1 && cut.tensor > 1)
    return fmt::format("TensorRT-LLM has attention data of all ranks or none, not {} beside tensor {}",
                       cut.attention_data, cut.tensor);
  return std::nullopt;
}

using Writer = std::vector<std::string> (*)(const Service&, const serve::Pool&, std::string_view);

Writer writer_of(std::string_view engine) {
  if (is_a("vllm", engine)) return vllm;
  if (is_a("sglang", engine)) return sglang;
  if (is_a("trt-llm", engine)) return trt_llm;
  return nullptr;
}

std::string role_of(const Service& service, std::size_t pool) {
  if (!service.disaggregated) return "";
  return pool == 0 ? "prefill" : "decode";
}

std::vector<std::string> remarks_of(const Service& service, const std::vector<serve::Pool>& pools) {
  std::vector<std::string> remarks{
      fmt::format("{} stands for the path or the hub's name of the weights", service.model.name)};
  if (!has_16_bits(service.precision) &&
      (service.precision != WeightPrecision::kFp8 || is_a("trt-llm", service.engine.name)))
    remarks.push_back(fmt::format("the weights must be a checkpoint in {}", name_of(service.precision)));
  if (service.disaggregated)
    remarks.emplace_back("a router in front sends each request to a prefill process, then to a decode process");
  else if (pools.front().instances() > 1)
    remarks.emplace_back("a router in front deals the requests out to the processes");
  const bool spreads = std::any_of(pools.begin(), pools.end(), [&](const serve::Pool& pool) {
    return pool.degrees.gpus() > service.cluster.gpus_per_node;
  });
  if (spreads)
    remarks.emplace_back("one process spreads over several nodes: add the engine's flags for their addresses");
  if (service.moe_backend == serve::MoeBackend::kMarlin)
    remarks.push_back(
        is_a("vllm", service.engine.name)
            ? std::string("start vLLM with VLLM_MXFP4_USE_MARLIN=1 in its environment")
            : fmt::format("the command has no word for Marlin's kernels: {} chooses its own", service.engine.name));
  if (service.moe_backend == serve::MoeBackend::kTriton && !is_a("trt-llm", service.engine.name))
    remarks.push_back(
        fmt::format("the command has no word for Triton's kernels: {} chooses its own", service.engine.name));
  const cost::AllReduceKernels reduces = service.engine.all_reduce;
  if (reduces != cost::AllReduceKernels::kNccl && !is_a(name_of(reduces), service.engine.name))
    remarks.push_back(fmt::format("the command has no word for all-reduces of {}: {} has its own", name_of(reduces),
                                  service.engine.name));
  if (service.speculation) remarks.emplace_back("the draft of speculative decoding is not in the command");
  if (service.cache_precision == "int8")
    remarks.emplace_back("the command keeps the cache in fp8, of the same size: it has no word for int8");
  // vLLM and SGLang send requests back when the cache is full, and have no other policy.
  const bool has_policies = is_a("trt-llm", service.engine.name);
  if (!has_policies && service.engine.capacity_policy != serve::CapacityPolicy::kMaxUtilization)
    remarks.push_back(fmt::format("the command cannot ask for {}: {} has no flag for it, and runs by {}",
                                  name_of(service.engine.capacity_policy), service.engine.name,
                                  name_of(serve::CapacityPolicy::kMaxUtilization)));
  if (has_policies)
    for (std::size_t at = 0; at < pools.size(); ++at)
      if (const auto lines = trt_llm_options(service, pools[at]); !lines.empty())
        remarks.push_back(fmt::format("{} holds {}", options_file(role_of(service, at)), fmt::join(lines, "; ")));
  return remarks;
}

}  // namespace

ServiceCommands commands_of(const Service& service) {
  const Writer write = writer_of(service.engine.name);
  if (write == nullptr || service.batching == serve::Batching::kStatic) return {};
  const std::vector<serve::Pool> pools = serve::pools_of(service);
  for (const serve::Pool& pool : pools)
    if (const auto why = why_no_command(service, pool)) return {.launches = {}, .remarks = {"no command: " + *why}};
  ServiceCommands commands{.launches = {}, .remarks = remarks_of(service, pools)};
  for (std::size_t at = 0; at < pools.size(); ++at) {
    const std::string role = role_of(service, at);
    commands.launches.push_back({role, pools[at].instances(), write(service, pools[at], role)});
  }
  return commands;
}

}  // namespace foretoken::io
