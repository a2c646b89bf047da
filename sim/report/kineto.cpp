// Names simulated tasks as real kernels are named, so that tools which sort kernels by name sort these, too.
#include "sim/report/kineto.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace foretoken::report {
namespace {

using step::Communication;
using step::Meaning;
using step::TaskMeaning;

// NCCL's name of a collective, and the name that PyTorch logs.
std::pair<std::string_view, std::string_view> nccl_names(const std::optional<CollectiveKind>& kind) {
  if (!kind) return {"SendRecv", "send"};
  switch (*kind) {
    case CollectiveKind::kAllReduce:
      return {"AllReduce_Sum_bf16_RING", "allreduce"};
    case CollectiveKind::kAllGather:
      return {"AllGather_RING", "allgather"};
    case CollectiveKind::kReduceScatter:
      return {"ReduceScatter_Sum_bf16_RING", "reduce_scatter"};
    case CollectiveKind::kAllToAll:
      return {"SendRecv", "all_to_all"};
    case CollectiveKind::kBroadcast:
      return {"Broadcast_RING", "broadcast"};
    case CollectiveKind::kReduce:
      return {"Reduce_Sum_bf16_RING", "reduce"};
  }
  return {"SendRecv", "send"};
}

// Returns a word that sorts an operation: products are "gemm", and so on.
std::string_view kernel_word(model::OpRole role) {
  using model::OpRole;
  switch (role) {
    case OpRole::kLinear:
    case OpRole::kHead:
      return "gemm";
    case OpRole::kAttention:
      return "flash_attention";
    case OpRole::kNorm:
      return "rmsnorm";
    case OpRole::kEmbedding:
      return "embedding";
    case OpRole::kLoss:
      return "cross_entropy";
    case OpRole::kRouting:
      return "moe";
    case OpRole::kComm:
      return "nccl";
    case OpRole::kActivation:
    case OpRole::kElementwise:
    case OpRole::kAccumulate:
      break;
  }
  return "elementwise";
}

std::string task_name(const Meaning& meaning, const Communication* row, const step::Workload& workload) {
  if (row != nullptr)
    return fmt::format("ncclDevKernel_{}({})", nccl_names(row->collective).first, step::name_of(meaning, workload));
  if (meaning.op != nullptr) return fmt::format("{}_kernel({})", kernel_word(meaning.op->role), meaning.op->name);
  if (meaning.kind == TaskMeaning::kOptimizer) return "multi_tensor_apply_kernel(optimizer)";
  return std::string(step::name_of(meaning, workload));
}

std::string json_word(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string communication_args(const Communication& row) {
  constexpr double kElement = 2;  // bytes of bf16
  return fmt::format(
      R"(,"Collective name":"{}","In msg nelems":{:.0f},"Group size":{},"dtype":"BFloat16","bytes":{:.0f},)"
      R"("Process Group Description":{})",
      nccl_names(row.collective).second, row.payload.value() / kElement, row.collective ? row.site.group.ranks : 2,
      row.payload.value(), json_word(row.name));
}

bool belongs_to(const Meaning& meaning, const Communication* row, Stage stage) {
  if (meaning.kind != TaskMeaning::kCommunication || row == nullptr) return meaning.stage == stage;
  return row->involves(stage);
}

std::string microseconds_text(std::int64_t ps) { return fmt::format("{}.{:03}", ps / 1'000'000, ps / 1000 % 1000); }

// Returns false for waits, and for work of the host.
bool is_kernel(const Meaning& meaning) {
  if (meaning.op != nullptr && meaning.op->kind == step::KernelKind::kWait) return false;
  return meaning.kind != TaskMeaning::kHostIssue && meaning.kind != TaskMeaning::kPassOverhead &&
         meaning.kind != TaskMeaning::kHostUpdate;
}

// The head of the document, and the mark of its only step.
std::string head_text(const TraceInput& input, const job::Job& job, Stage stage) {
  const int rank = job.grid().rank_of(stage, StageRank{0}).number();
  return fmt::format(
      R"({{"schemaVersion":1,"deviceProperties":[{{"id":0,"name":{}}}],"distributedInfo":{{"backend":"nccl","rank":{},)"
      R"("world_size":{}}},"traceName":{},"foretoken":{},"traceEvents":[)"
      "\n"
      R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":{},"tid":{},"ts":0.000,"dur":{}}})",
      json_word(job.cluster_of(stage).gpu.name), rank, job.gpus, json_word(input.metrics.name),
      json_word(input.version), rank + 1, rank + 1, microseconds_text(input.run.makespan.ps));
}

std::string span_text(const TraceInput& input, std::uint32_t task) {
  const step::Workload& workload = input.step.workload;
  const Meaning& meaning = workload.meaning[task];
  const Communication* row = workload.communication_of(meaning);
  const auto members = workload.graph.members(des::TaskId{task});
  const std::uint32_t stream = members.empty() ? 0 : members.front().value;
  // Both ends are cut to nanoseconds, so that spans which touch do not overlap.
  const std::int64_t from = input.run.start[task].ps / 1000 * 1000, to = input.run.end[task].ps / 1000 * 1000;
  return fmt::format(
      ",\n"
      R"({{"ph":"X","cat":"kernel","name":{},"pid":0,"tid":{},"ts":{},"dur":{},)"
      R"("args":{{"device":0,"stream":{},"correlation":{}{}}}}})",
      json_word(task_name(meaning, row, workload)), stream, microseconds_text(from), microseconds_text(to - from),
      stream, task + 1, row != nullptr ? communication_args(*row) : "");
}

}  // namespace

void write_kineto(const TraceInput& input, const job::Job& job, Stage stage, const TextSink& sink) {
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  const step::Workload& workload = input.step.workload;
  std::string out = head_text(input, job, stage);
  for (std::uint32_t task = 0; task < workload.meaning.size(); ++task) {
    const Meaning& meaning = workload.meaning[task];
    if (!is_kernel(meaning) || input.run.start[task] == input.run.end[task]) continue;
    if (!belongs_to(meaning, workload.communication_of(meaning), stage)) continue;
    out += span_text(input, task);
    if (out.size() < kBlock) continue;
    sink(out);
    out.clear();
  }
  sink(out + "\n]}\n");
}

}  // namespace foretoken::report
