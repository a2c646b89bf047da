// Lowers data parallelism: the end of a step.
//
// After the last backward pass the order is (megatron/core/distributed/finalize_model_grads.py,
// optimizer/optimizer.py):
//   1. gradient reduction over data x context ranks,
//   2. all-reduce of norm gradients over tensor ranks (sequence parallelism),
//   3. all-reduce of the tied embedding between first and last stage, or of all gradients between the two copies of the
//      model that a two-way schedule has,
//   4. gradient norm over all ranks (a barrier), optimizer, parameter all-gather.
// With overlap only the first chunk of the first stage reduces bucket by bucket during its last backward pass. Every
// other chunk has one bucket, launched when its last backward pass ends (Megatron-Core's param_and_grad_buffer.py and
// align_grad_reduce).
#include "sim/step/replicas/lower_data_parallel.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "sim/cost/costs.h"
#include "sim/job/parts.h"
#include "sim/step/duration.h"
#include "sim/step/memory/parameters.h"
#include "sim/step/offload/host_update.h"
#include "sim/step/offload/shares.h"
#include "sim/step/replicas/buckets.h"
#include "sim/step/replicas/lower_sharded.h"
#include "sim/step/replicas/optimizer_traffic.h"
#include "sim/step/replicas/replicas.h"
#include "sim/step/replicas/step_end_tasks.h"

namespace foretoken::step {
namespace {

using des::Duration;
using des::TaskId;

// Says what follows the last passes, and in which order.
template <class Tasks>
class StepEnd {
 public:
  using Task = typename Tasks::Task;

  StepEnd(Tasks tasks, const job::Job& job, const BlockParameters& trained)
      : tasks_(std::move(tasks)),
        job_(job),
        parts_(job),
        stages_(job.parallelism.pipeline),
        group_(replica_group(job)),
        token_table_(trained.embedding_table),
        parameters_(job, trained),
        layout_(job),
        moved_(optimizer_traffic(job, 1)),
        moved_of_experts_(parameters_.has_experts() ? expert_optimizer_traffic(job, 1) : Bytes(0)) {
    for (const Stage stage : ids<Stage>(stages_)) {
      const double experts = parameters_.experts_of_stage(stage);
      stage_experts_.push_back(experts);
      stage_parameters_.push_back(parameters_.of_stage(stage) - experts);
    }
  }

  [[nodiscard]] bool has_data_parallel() const { return group_.ranks > 1; }
  /// Experts are reduced by themselves over expert-data ranks, unless there are none of either.
  [[nodiscard]] bool replicates_experts() const {
    return parameters_.has_experts() && job_.grid().degree(Axis::kExpertData) > 1;
  }
  [[nodiscard]] bool shards_optimizer() const { return job_.optimizer.zero_stage >= 1; }
  // Sharded parameters are gathered where they are used. Others are gathered after the optimizer, or beside the next
  // forward pass.
  [[nodiscard]] bool gathers_at_the_end() const {
    if (job_.optimizer.shards_gradients()) return !sharding_plan(job_).gathers_forward;
    return shards_optimizer() && !job_.overlap.param_gather;
  }

  Task reduce(Stage stage, Chunk chunk, double parameters, const std::vector<Task>& after) {
    return on_data_stream(reduced_, gradient_reduction, {stage, parameters}, chunk, after);
  }
  Task gather(Stage stage, Chunk chunk, double parameters, const std::vector<Task>& after) {
    return on_data_stream(gathered_, parameter_gather, {stage, parameters}, chunk, after);
  }
  Task reduce_experts(Stage stage, Chunk chunk, double parameters, const std::vector<Task>& after) {
    return on_data_stream(reduced_experts_, expert_gradient_reduction, {stage, parameters}, chunk, after);
  }
  Task gather_experts(Stage stage, Chunk chunk, double parameters, const std::vector<Task>& after) {
    return on_data_stream(gathered_experts_, expert_parameter_gather, {stage, parameters}, chunk, after);
  }
  /// Weights of a chunk's blocks that all replicas hold, and those of experts, in buckets. Only the first chunk of the
  /// first stage has several.
  [[nodiscard]] Buckets buckets(Stage stage, Chunk chunk, bool backward) const {
    if (!has_data_parallel()) return {{}, 0};
    return in_buckets(parameters_.without_experts_of_blocks(stage, chunk), stage, chunk, backward);
  }
  [[nodiscard]] Buckets expert_buckets(Stage stage, Chunk chunk, bool backward) const {
    std::vector<double> experts;
    if (replicates_experts()) experts = parameters_.experts_of_blocks(stage, chunk);
    if (std::accumulate(experts.begin(), experts.end(), 0.0) == 0) experts.clear();
    return in_buckets(std::move(experts), stage, chunk, backward);
  }
  [[nodiscard]] std::size_t blocks(Stage stage, Chunk chunk) const {
    return parameters_.of_blocks(stage, chunk).size();
  }

  /// Adds everything after a pipeline that ends so.
  template <class Ends>
  void end(const Ends& ends) {
    reduce_gradients(ends);
    reduce_norm_gradients();
    tie_embedding();
    reduce_copies();
    norm_and_optimizer();
  }
  /// Reduces the gradients of one stage and updates its weights, whatever other stages do.
  Task update(Stage stage, Task ready, Task last, bool ends_step);
  [[nodiscard]] const Tasks& tasks() const { return tasks_; }

 private:
  // A collective of a stage, and its size: parameters or layers.
  struct Sized {
    Stage stage = {};
    double size = 0;
  };
  // The last collective of its kind. It serves every stage with one of the same size on nodes of the same kind.
  struct Last {
    const job::Job* part = nullptr;
    double size = 0;
    Communication row = {};
    Duration time = {};
  };

  // Adds a task on the data-parallel stream of a stage.
  template <class Make>
  Task on_data_stream(Last& last, const Make& make, Sized of, Chunk chunk, const std::vector<Task>& after) {
    const job::Job& part = parts_.of(of.stage);
    if (last.part != &part || last.size != of.size) {
      last = {&part, of.size, make(part, of.stage, of.size), {}};
      last.time = time_of(last.row, job_);
    }
    return tasks_.on_data_stream(of.stage, chunk, last.row, last.time, after);
  }
  [[nodiscard]] Buckets in_buckets(std::vector<double> blocks, Stage stage, Chunk chunk, bool backward) const {
    if (backward) std::reverse(blocks.begin(), blocks.end());
    const bool several = stage == Stage{0} && chunk == Chunk{0};
    return {std::move(blocks),
            several ? gradient_bucket_parameters(group_.ranks) : std::numeric_limits<double>::infinity()};
  }
  template <class Ends>
  void reduce_gradients(const Ends& ends);
  void reduce_norm_gradients();
  void tie_embedding();
  void reduce_copies();
  void norm_and_optimizer();
  [[nodiscard]] std::vector<Task> reduce_at_once(Stage stage, std::vector<Task> before);
  [[nodiscard]] std::vector<Task> reduce_norms(Stage stage, std::vector<Task> before);
  Task optimize(Stage stage, const std::vector<Task>& after);
  [[nodiscard]] std::vector<Task> update_all(Stage stage, Task norm);
  void add_between(Communication row);
  void reduce_overlapped(Stage stage, const Table<Chunk, std::vector<Task>>& blocks, const std::vector<Task>& finished);
  [[nodiscard]] bool ties_embedding() const { return job::stages_share_embedding(job_); }

  Tasks tasks_;
  const job::Job& job_;
  job::Parts parts_;
  int stages_;
  GroupShape group_;
  double token_table_;  // its trained parameters
  Last reduced_, gathered_, norms_, reduced_experts_, gathered_experts_;
  LocalParameters parameters_;  // trained: what is reduced, updated and gathered after the update
  Table<Stage, double> stage_parameters_, stage_experts_;  // of whole stages: without experts, and of experts
  job::Layout layout_;
  Bytes moved_, moved_of_experts_;  // by the optimizer, for each parameter
  Table<Stage, std::vector<Task>> before_norm_;
};

// Buckets fill in the order in which gradients become ready. A full bucket is reduced beside the rest of the pass. A
// chunk with one bucket reduces it after the pass.
template <class Tasks>
void StepEnd<Tasks>::reduce_overlapped(Stage stage, const Table<Chunk, std::vector<Task>>& blocks,
                                       const std::vector<Task>& finished) {
  std::vector<Task>& reduced = before_norm_.emplace_back(finished);
  for (int left = job_.parallelism.virtual_pipeline; left > 0; --left) {
    const Chunk chunk = id_of<Chunk>(left - 1);
    const std::vector<Task>& ready = blocks[chunk];
    const bool several = stage == Stage{0} && chunk == Chunk{0};
    Buckets shared = buckets(stage, chunk, true), experts = expert_buckets(stage, chunk, true);
    for (std::size_t b = 0; b < ready.size(); ++b) {
      const Task after = several ? ready[b] : ready.back();
      if (const auto full = shared.add_block()) reduced.push_back(reduce(stage, chunk, full->parameters, {after}));
      if (const auto full = experts.add_block())
        reduced.push_back(reduce_experts(stage, chunk, full->parameters, {after}));
    }
  }
}

// Both reductions share a stream, because one communicator's work waits for the other's.
template <class Tasks>
std::vector<typename Tasks::Task> StepEnd<Tasks>::reduce_at_once(Stage stage, std::vector<Task> before) {
  if (has_data_parallel()) before = {reduce(stage, Chunk{0}, stage_parameters_[stage], before)};
  if (replicates_experts() && stage_experts_[stage] > 0)
    before = {reduce_experts(stage, Chunk{0}, stage_experts_[stage], before)};
  return before;
}

template <class Tasks>
template <class Ends>
void StepEnd<Tasks>::reduce_gradients(const Ends& ends) {
  if (ends.reduced) {
    before_norm_ = ends.finished;
    return;
  }
  for (const Stage stage : ids<Stage>(stages_)) {
    if (!has_data_parallel() && !replicates_experts()) {
      before_norm_.push_back(ends.finished[stage]);
    } else if (job_.overlap.grad_reduce) {
      reduce_overlapped(stage, ends.gradient_blocks[stage], ends.finished[stage]);
    } else {
      before_norm_.push_back(reduce_at_once(stage, ends.finished[stage]));
    }
  }
}

// Reduces norm gradients, because norm weights met only the tokens of their rank.
template <class Tasks>
std::vector<typename Tasks::Task> StepEnd<Tasks>::reduce_norms(Stage stage, std::vector<Task> before) {
  if (!job_.parallelism.sequence_parallel || job_.parallelism.tensor == 1) return before;
  int layers = 0;
  for (const Chunk chunk : ids<Chunk>(job_.parallelism.virtual_pipeline)) layers += layout_.layers(stage, chunk);
  const auto of_layers = [](const job::Job& part, Stage at, double size) {
    return norm_reduction(part, at, static_cast<int>(size));
  };
  return {on_data_stream(norms_, of_layers, {stage, static_cast<double>(layers)}, Chunk{0}, before)};
}

template <class Tasks>
void StepEnd<Tasks>::reduce_norm_gradients() {
  for (const Stage stage : ids<Stage>(stages_)) {
    auto& before = before_norm_[stage];
    before = reduce_norms(stage, std::move(before));
  }
}

// Adds a collective of the ranks of two stages, after all that both of them reduce.
template <class Tasks>
void StepEnd<Tasks>::add_between(Communication row) {
  expects(row.from != row.to, "a collective between stages has two");
  auto& one = before_norm_[row.from];
  auto& other = before_norm_[row.to];
  one.insert(one.end(), other.begin(), other.end());
  const Duration duration = time_of(row, job_);
  const Task task = tasks_.between(std::move(row), duration, one);
  one = other = {task};
}

template <class Tasks>
void StepEnd<Tasks>::tie_embedding() {
  if (ties_embedding()) add_between(tied_embedding_reduction(job_, parts_, token_table_));
  if (job::stage_of_decoder_table(job_)) add_between(decoder_table_reduction(job_, parts_, token_table_));
}

// Each copy first reduces over its own replicas. Then a rank and its partner reduce what the rank holds: its shard of
// the gradients where the optimizer is sharded.
template <class Tasks>
void StepEnd<Tasks>::reduce_copies() {
  if (job_.parallelism.copies == 1) return;
  const net::RankGrid grid = job_.grid();
  const double ranks = shards_optimizer() ? grid.degree(net::kReplicaAxes) : 1;
  const double expert_ranks = shards_optimizer() ? grid.degree(Axis::kExpertData) : 1;
  for (const Stage stage : ids<Stage>(stages_ / 2))
    add_between(
        copy_reduction(job_, parts_, stage, stage_parameters_[stage] / ranks + stage_experts_[stage] / expert_ranks));
}

template <class Tasks>
void StepEnd<Tasks>::norm_and_optimizer() {
  Communication row = gradient_norm(job_, parts_);
  const Duration duration = time_of(row, job_);
  const Task norm = tasks_.of_all(std::move(row), duration, before_norm_);
  for (const Stage stage : ids<Stage>(stages_)) {
    const double parameters = stage_parameters_[stage];
    const double experts = stage_experts_[stage];
    const std::vector<Task> updated = update_all(stage, norm);
    if (job_.runtime.step_overhead > Seconds(0) && has_data_parallel())
      tasks_.on_compute(stage, duration_of(job_.runtime.step_overhead), TaskMeaning::kStepOverhead, {});
    if (!gathers_at_the_end()) continue;
    if (has_data_parallel()) gather(stage, Chunk{0}, parameters, updated);
    if (replicates_experts() && experts > 0) gather_experts(stage, Chunk{0}, experts, updated);
  }
}

// Updates what the GPU and the host hold, at once. Returns the tasks that end it.
template <class Tasks>
std::vector<typename Tasks::Task> StepEnd<Tasks>::update_all(Stage stage, Task norm) {
  std::vector<Task> ends = {optimize(stage, {})};
  if (!job_.offload.optimizer.any()) return ends;
  const std::vector<Task> on_host = tasks_.on_host(job_,
                                                   {.stage = stage,
                                                    .parameters = updated_on_host(job_, parameters_, stage),
                                                    .brings_gradients = !streams_gradients(job_),
                                                    .updates = !job_.offload.delayed_update,
                                                    .returns_weights = !job_.offload.parameters.any()},
                                                   norm);
  ends.insert(ends.end(), on_host.begin(), on_host.end());
  return ends;
}

template <class Tasks>
typename Tasks::Task StepEnd<Tasks>::optimize(Stage stage, const std::vector<Task>& after) {
  const double experts = stage_experts_[stage];
  Bytes moved = stage_parameters_[stage] * moved_;
  if (experts > 0) moved += experts * moved_of_experts_;
  const double share = 1 - offloaded_share(job_, parameters_, stage, job_.offload.optimizer);
  moved = share * moved;
  const Seconds traffic = moved > Bytes(0) ? cost::memory_bound_time({moved}, job_.profile_of(stage)) : Seconds(0);
  const Seconds step = std::max(traffic, share * optimizer_issue_time(job_, stage));
  return tasks_.on_compute(stage, duration_of(step), TaskMeaning::kOptimizer, after);
}

// Gradients are reduced beside later passes where they overlap, else while the stage stands still. The stage with the
// token table exchanges its gradient with the head's stage, which does not wait: it applies it an update later.
template <class Tasks>
typename Tasks::Task StepEnd<Tasks>::update(Stage stage, Task ready, Task last, bool ends_step) {
  std::vector<Task> before = reduce_at_once(stage, {job_.overlap.grad_reduce ? ready : last});
  before = reduce_norms(stage, std::move(before));
  if (ties_embedding() && stage == job::stage_of_embedding(job_)) {
    Communication row = tied_embedding_reduction(job_, parts_, token_table_);
    const Duration duration = time_of(row, job_);
    before = {tasks_.on_own_stream(stage, std::move(row), duration, before)};
  }
  const Task updated = optimize(stage, before);
  if (!ends_step || job_.runtime.step_overhead == Seconds(0) || !has_data_parallel()) return updated;
  return tasks_.on_compute(stage, duration_of(job_.runtime.step_overhead), TaskMeaning::kStepOverhead, {});
}

}  // namespace

ForwardGates lower_parameter_gather(Workload& workload, const job::Job& job, const BlockParameters& trained) {
  StepEnd step(WorkloadTasks(workload, job), job, trained);
  const bool overlaps = job.overlap.param_gather && job.optimizer.zero_stage == 1;
  if (!overlaps || !(step.has_data_parallel() || step.replicates_experts())) return {};
  ForwardGates gates;
  for (const Stage stage : ids<Stage>(job.parallelism.pipeline)) {
    auto& chunks = gates.emplace_back();
    for (const Chunk chunk : ids<Chunk>(job.parallelism.virtual_pipeline)) {
      auto& blocks = chunks.emplace_back(step.blocks(stage, chunk));
      Buckets shared = step.buckets(stage, chunk, false), experts = step.expert_buckets(stage, chunk, false);
      for (std::size_t b = 0; b < blocks.size(); ++b) {
        if (const auto full = shared.add_block())
          blocks[full->first].push_back(step.gather(stage, chunk, full->parameters, {}));
        if (const auto full = experts.add_block())
          blocks[full->first].push_back(step.gather_experts(stage, chunk, full->parameters, {}));
      }
    }
  }
  return gates;
}

void lower_step_end(Workload& workload, const job::Job& job, const BlockParameters& trained, const PipelineEnds& ends) {
  const auto stages = static_cast<std::size_t>(job.parallelism.pipeline);
  workload.communications.reserve(workload.communications.size() + 5 * stages + 2);  // five a stage, two of them all
  StepEnd step(WorkloadTasks(workload, job), job, trained);
  step.end(ends);
}

des::Instant time_step_end(const job::Job& job, const BlockParameters& trained, const PipelineInstants& ends) {
  StepEnd step(TimedEnd(job), job, trained);
  step.end(ends);
  return step.tasks().last();
}

Update stage_updates(Workload& workload, const job::Job& job, const BlockParameters& trained) {
  const auto step = std::make_shared<StepEnd<WorkloadTasks>>(WorkloadTasks(workload, job), job, trained);
  return [step, a_step = job.microbatches()](Stage stage, const schedule::StageOp& op, TaskId ready, TaskId last) {
    return step->update(stage, ready, last, (op.microbatch.number() + 1) % a_step == 0);
  };
}

}  // namespace foretoken::step
