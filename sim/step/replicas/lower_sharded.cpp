// Lowers the passes of a step with sharded gradients or parameters, on one GPU.
//
// A unit is gathered, freed and reduced at once. Every layer is a unit; embedding, final norm and head are the root
// (PyTorch torch/distributed/fsdp/_runtime_utils.py; llm-foundry wraps each block). All collectives share one stream,
// in the order in which the host issues them, because they share one communicator:
//
//   forward    gather(root) gather(1) [1] gather(2) [2] ...      the root is not dropped after its forward pass
//   backward   gather(L) gather(L-1) [L] reduce(L) gather(L-2) [L-1] reduce(L-1) ... reduce(root)
//
// A gather starts when the compute of the unit two gathers before it has ended: the rate limiter (limit_all_gathers,
// two in flight) makes the host wait. One unit is therefore gathered while another computes, and three are never alive.
// Experts on a grid of their own are a part of each unit that other ranks share (sharded_units.h). torchtitan
// prefetches both parts of the next layer, the experts after the rest, and gradients of the experts are there first
// (torchtitan@05a6cb3, torchtitan/models/llama4/infra/parallelize.py, apply_fsdp). The experts' collectives share the
// stream: FSDP2 has one for gathers and one for reductions, whatever the mesh (PyTorch,
// torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py, FSDPCommContext).
//
// Gradients are reduced in every micro-batch. ZeRO-2 without FSDP keeps whole parameters and reduces bucket by bucket.
// DeepSpeed gathers and reduces the matrices of a layer one by one, which a runtime may charge per replica.
//
// Issuing a unit occupies the host for the runtime's time per layer. The next unit cannot start before the host
// has issued this one. Both fidelities use these tasks.
#include "sim/step/replicas/lower_sharded.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/base/check.h"
#include "sim/step/duration.h"
#include "sim/step/memory/parameters.h"
#include "sim/step/offload/activation_copies.h"
#include "sim/step/offload/shares.h"
#include "sim/step/replicas/replicas.h"
#include "sim/step/replicas/sharded_units.h"

namespace foretoken::step {
namespace {

using des::Duration;
using des::TaskId;
using schedule::OpKind;

class ShardedReplay {
 public:
  ShardedReplay(Workload& workload, const job::Job& job, PassEmitter& emitter)
      : workload_(workload),
        job_(job),
        emitter_(emitter),
        plan_(sharding_plan(job)),
        units_(sharded_units(job)),
        copies_(workload, job),
        activations_(copies_, job) {
    const bool recomputes = job.recompute.granularity == model::RecomputeGranularity::kFull;
    const job::Runtime& runtime = job.runtime;
    if (job.cuda_graphs != job::CudaGraphs::kNone) return;  // the host has nothing to issue kernel by kernel
    const double growth = 1 + runtime.host_growth_per_tensor_rank * (job.parallelism.tensor - 1);
    host_forward_ = duration_of(growth * runtime.host_per_layer_forward);
    host_backward_ = duration_of(
        growth * (runtime.host_per_layer_backward + (recomputes ? runtime.host_per_layer_forward : Seconds(0))));
  }

  void forward(schedule::StageOp op) {
    begin(op, units_.layers.size() + 2);
    if (plan_.gathers_forward) gather(units_.root, 0);
    for (std::size_t layer = 0; layer < units_.layers.size(); ++layer) {
      if (plan_.gathers_forward) gather(units_.layers[layer], layer + 1);
      activations_.leave(copies(), static_cast<int>(layer), layer + 1);
      issue(host_forward_, layer + 1);
    }
    end();
  }

  // The blocks are the head, the layers from the last to the first, and the embedding.
  void backward(schedule::StageOp op) {
    const std::size_t count = units_.layers.size();
    begin(op, count + 2);
    if (plan_.gathers_backward) gather(units_.layers[count - 1], 1);
    for (std::size_t block = 1; block <= count; ++block) {
      const std::size_t layer = count - block;
      activations_.come_back(copies(), static_cast<int>(layer), block);
      if (plan_.gathers_backward && layer > 0) gather(units_.layers[layer - 1], block + 1);
      issue(host_backward_, block);
      gradient_ready(units_.layers[layer], block);
    }
    gradient_ready(units_.root, count + 1);
    for (const ShardRanks ranks : kReductionOrder) flush(ranks, count + 1);
    end();
  }

  [[nodiscard]] std::vector<TaskId> finished() const {
    std::vector<TaskId> all(last_pass_.begin(), last_pass_.end());
    if (last_reduction_) all.push_back(*last_reduction_);
    if (last_to_host_) all.push_back(*last_to_host_);
    if (last_issue_) all.push_back(*last_issue_);
    return all;
  }

 private:
  // The experts of a layer are its last part, and thus the first in a backward pass.
  static constexpr std::array kReductionOrder{ShardRanks::kExpertData, ShardRanks::kReplicas};

  [[nodiscard]] Duration for_tensors(int tensors, int ranks) const {
    if (ranks == 1 || !plan_.gathers_forward) return {};
    return duration_of(static_cast<double>(tensors) * static_cast<double>(ranks) * job_.runtime.collective_per_rank);
  }

  // A row of the workload's table and its time. Every unit of that size has the same.
  struct Moved {
    CommunicationId row;
    Duration time;
  };
  Moved moved(Purpose purpose, ShardRanks ranks, Amount one) {
    const auto [at, is_new] = moved_.try_emplace({purpose, ranks, one.parameters, one.tensors});
    if (!is_new) return at->second;
    Communication row = communication(purpose, ranks, one.parameters);
    row.for_tensors = for_tensors(one.tensors, ranks_of(job_, ranks));
    const Duration time = time_of(row, job_);
    return at->second = {workload_.add(std::move(row)), time};
  }
  [[nodiscard]] Communication communication(Purpose purpose, ShardRanks ranks, double parameters) const {
    const bool reduces = purpose == Purpose::kGradients;
    if (ranks == ShardRanks::kReplicas)
      return reduces ? gradient_reduction(job_, Stage{}, parameters) : parameter_gather(job_, Stage{}, parameters);
    return reduces ? expert_gradient_reduction(job_, Stage{}, parameters)
                   : expert_parameter_gather(job_, Stage{}, parameters);
  }
  // Returns true where these ranks have something to exchange. A rank that holds its experts alone has not.
  [[nodiscard]] bool exchanges(ShardRanks ranks, Amount one) const {
    return ranks == ShardRanks::kReplicas || (one.parameters > 0 && ranks_of(job_, ranks) > 1);
  }

  void begin(schedule::StageOp op, std::size_t blocks) {
    op_ = op;
    gates_.assign(blocks, {});
    after_.clear();
    if (last_issue_) gates_[0].push_back(*last_issue_);
  }

  TaskId add(des::StreamId stream, Duration duration, const Meaning& meaning) {
    const TaskId task = workload_.graph.add_occupy(stream, duration);
    workload_.note(task, meaning);
    return task;
  }
  TaskId add(Moved moved) {
    return add(streams().comm(Axis::kData), moved.time,
               {.microbatch = op_.microbatch, .kind = TaskMeaning::kCommunication, .communication = moved.row});
  }
  [[nodiscard]] const StageStreams& streams() const { return workload_.stages.front(); }

  [[nodiscard]] PassCopies copies() { return {op_, Stage{}, gates_, after_}; }

  // Gathers a unit that `block` of this pass uses.
  void gather(const Unit& one, std::size_t block) {
    const std::optional<TaskId> fetched = fetch(one);
    for (const ShardRanks ranks : kShardRanks) {
      const Amount part = one.gathered[ranks];
      if (!exchanges(ranks, part)) continue;
      const TaskId task = add(moved(Purpose::kParameters, ranks, part));
      gates_[block].push_back(task);
      if (last_issue_) workload_.graph.add_dependency(*last_issue_, task);
      if (fetched) workload_.graph.add_dependency(*fetched, task);
      hold_back(task, in_flight());
    }
    uses_.push_back({block, false, {}});
  }

  // Brings the shard of a unit to the GPU, a unit earlier than its gather, and from the disks a further one (the
  // prefetcher of ZeRO-Infinity, arXiv:2104.07857, section 6.2). Every rank brings its own shard.
  std::optional<TaskId> fetch(const Unit& one) {
    const job::Offloaded& part = job_.offload.parameters;
    const double away = one.away(part);
    if (away == 0) return std::nullopt;
    Bytes bytes;
    for (const ShardRanks ranks : kShardRanks)
      bytes += Bytes(away * one.gathered[ranks].parameters * copied_weight_bytes(job_) / ranks_of(job_, ranks));
    std::vector<TaskId> after;
    if (part.to == job::Tier::kDisk) {
      after.push_back(copies_.add({Stage{}, HostPath::kFromDisk, "parameters from disk", bytes}, op_.microbatch, {}));
      hold_back(after.back(), in_flight() + 2);
    }
    const TaskId task =
        copies_.add({Stage{}, HostPath::kFromHost, "parameters from host", bytes}, op_.microbatch, after);
    hold_back(task, in_flight() + 1);
    return task;
  }

  // Sends the shard of gradients of `block` to the host, once they are reduced. Those of an earlier micro-batch come
  // back to be added (DeepSpeed, runtime/zero/stage_1_and_2.py, async_accumulate_grad_in_cpu_via_gpu).
  void send_gradients(std::optional<TaskId> reduced, ShardRanks ranks, std::size_t block) {
    if (!streams_gradients(job_)) return;
    const Bytes bytes(filled_of(ranks).away * job_.recipe.reduce_bytes / ranks_of(job_, ranks));
    std::vector<TaskId> after;
    if (reduced) after.push_back(*reduced);
    if (op_.microbatch.number() > 0)
      after.push_back(copies_.add({Stage{}, HostPath::kFromHost, "gradients from host", bytes}, op_.microbatch, {}));
    last_to_host_ = copies_.add({Stage{}, HostPath::kToHost, "gradients to host", bytes}, op_.microbatch, after);
    if (!reduced) after_.push_back({*last_to_host_, block});
  }

  [[nodiscard]] std::size_t in_flight() const { return static_cast<std::size_t>(plan_.gathers_in_flight); }

  // Applies the rate limiter: `task` waits until the unit gathered `ahead` gathers before has been used.
  void hold_back(TaskId task, std::size_t ahead) {
    if (uses_.size() < ahead) return;
    const Use& use = uses_[uses_.size() - ahead];
    if (use.done)
      workload_.graph.add_dependency(use.end, task);
    else
      after_.push_back({task, use.block});
  }

  // Makes the host issue `block` and the gathers for it.
  void issue(Duration duration, std::size_t block) {
    if (duration.ps == 0) return;
    const TaskId task =
        add(streams().pass.host, duration, {.microbatch = op_.microbatch, .kind = TaskMeaning::kHostIssue});
    gates_[block + 1].push_back(task);
    last_issue_ = task;
  }

  // Notes that the gradients of `block` are complete. A full bucket is reduced, or every unit when parameters are
  // sharded, too. Experts on a grid of their own fill buckets of their own.
  void gradient_ready(const Unit& one, std::size_t block) {
    for (const ShardRanks ranks : kReductionOrder) {
      Filled& filled = filled_of(ranks);
      filled.away += one.reduced[ranks].parameters * one.away(job_.offload.optimizer);
      filled.amount += one.reduced[ranks];
      const double full = gradient_bucket_parameters(ranks_of(job_, ShardRanks::kReplicas));
      if (plan_.gathers_forward || filled.amount.parameters >= full) flush(ranks, block);
    }
  }
  void flush(ShardRanks ranks, std::size_t block) {
    Filled& filled = filled_of(ranks);
    if (filled.amount.parameters == 0) return;
    std::optional<TaskId> reduced;
    if (exchanges(ranks, filled.amount)) {
      reduced = last_reduction_ = add(moved(Purpose::kGradients, ranks, filled.amount));
      after_.push_back({*reduced, block});
      if (plan_.waits_for_reduction && block + 1 < gates_.size()) gates_[block + 1].push_back(*reduced);
    }
    send_gradients(reduced, ranks, block);
    filled = {};
  }

  void end() {
    std::vector<TaskId> ends;
    std::vector<TaskId> after = last_pass_;
    last_pass_ = {emitter_.emit(workload_, Stage{0}, op_, after, {.gates = &gates_, .ends = &ends})};
    for (const AfterBlock& one : after_) workload_.graph.add_dependency(ends[one.block], one.task);
    for (Use& use : uses_)
      if (!use.done) use = {use.block, true, ends[use.block]};
    const std::size_t kept = in_flight() + 2;
    if (uses_.size() > kept) uses_.erase(uses_.begin(), uses_.end() - static_cast<std::ptrdiff_t>(kept));
  }

  // A gathered unit: the block that uses it and, once that pass is in the graph, the end of that block.
  struct Use {
    std::size_t block;
    bool done;
    TaskId end;
  };

  // Gradients that wait for their bucket to fill, and how many of them go to the host.
  struct Filled {
    Amount amount;
    double away = 0;
  };
  [[nodiscard]] Filled& filled_of(ShardRanks ranks) { return filled_[static_cast<std::size_t>(ranks)]; }

  Workload& workload_;
  const job::Job& job_;
  PassEmitter& emitter_;
  ShardingPlan plan_;
  Units units_;
  Duration host_forward_, host_backward_;

  std::map<std::tuple<Purpose, ShardRanks, double, int>, Moved> moved_;

  schedule::StageOp op_{};
  std::vector<std::vector<TaskId>> gates_;  // of this pass
  std::vector<AfterBlock> after_;           // of this pass
  std::vector<Use> uses_;                   // the newest gathered units
  std::vector<TaskId> last_pass_;
  std::optional<TaskId> last_issue_, last_reduction_, last_to_host_;
  std::array<Filled, kShardRanks.size()> filled_;
  HostCopies copies_;
  ActivationCopies activations_;
};

}  // namespace

ShardingPlan sharding_plan(const job::Job& job) {
  const bool parameters = job.optimizer.zero_stage == 3;
  return {.gathers_forward = parameters || job.runtime.fully_sharded,
          .gathers_backward = parameters,
          .gathers_in_flight = job.overlap.param_gather ? 2 : 1,
          .waits_for_reduction = !job.overlap.grad_reduce};
}

PipelineEnds lower_sharded(Workload& workload, const job::Job& job, const schedule::Program& program,
                           PassEmitter& emitter) {
  expects(program.stages.size() == 1 && job.parallelism.virtual_pipeline == 1, "sharded parameters have no pipeline");
  ShardedReplay replay(workload, job, emitter);
  for (const schedule::StageOp& op : program.stages.front()) {
    if (op.kind == OpKind::kForward)
      replay.forward(op);
    else
      replay.backward(op);
  }
  // Gradients are reduced in every micro-batch.
  return {.finished = Table<Stage, std::vector<TaskId>>(1, replay.finished()),
          .gradient_blocks = {},
          .most_sends = 0,
          .reduced = true};
}

}  // namespace foretoken::step
