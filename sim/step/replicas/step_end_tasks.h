// The tasks of a step's end, written into a workload or timed at once.
//
// The end of a step is the same for both (lower_data_parallel.cpp). A search times many ends and needs no graph.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/base/check.h"
#include "sim/step/offload/host_update.h"
#include "sim/step/workload.h"

namespace foretoken::step {

/// Writes the tasks into a workload, which must outlive it.
class WorkloadTasks {
 public:
  using Task = des::TaskId;

  WorkloadTasks(Workload& workload, const job::Job& job) : workload_(workload), copies_(workload, job) {}

  /// Adds a task of the GPU itself, after the one before it and after `after`.
  Task on_compute(Stage stage, des::Duration duration, TaskMeaning kind, const std::vector<Task>& after) {
    const Task task = workload_.graph.add_occupy(workload_.stages[stage].pass.compute, duration);
    workload_.note(task, {.stage = stage, .kind = kind});
    return depend(task, after);
  }
  /// Adds a collective of the replicas of `stage`, like `row` of another stage.
  Task on_data_stream(Stage stage, Chunk chunk, Communication row, des::Duration duration,
                      const std::vector<Task>& after) {
    row.from = row.to = row.site.stage = stage;
    return add_collective(stage, chunk, std::move(row), duration, after);
  }
  /// Adds a collective of `stage` and another one, which does not wait for it.
  Task on_own_stream(Stage stage, Communication row, des::Duration duration, const std::vector<Task>& after) {
    return add_collective(stage, Chunk{0}, std::move(row), duration, after);
  }
  /// Adds a collective of both ends of `row`.
  Task between(Communication row, des::Duration duration, const std::vector<Task>& after) {
    std::vector<des::StreamId> members;
    for (const Stage stage : {row.from, row.to}) members.push_back(workload_.stages[stage].comm(Axis::kData));
    const Task task = workload_.graph.add_rendezvous(members, duration);
    note(task, std::move(row), Chunk{0});
    return depend(task, after);
  }
  /// Adds a collective of all GPUs.
  Task of_all(Communication row, des::Duration duration, const Table<Stage, std::vector<Task>>& after) {
    std::vector<des::StreamId> members;
    for (const StageStreams& streams : workload_.stages) members.push_back(streams.pass.compute);
    const Task task = workload_.graph.add_rendezvous(members, duration);
    note(task, std::move(row), Chunk{0});
    for (const std::vector<Task>& of_stage : after) depend(task, of_stage);
    return task;
  }
  std::vector<Task> on_host(const job::Job& job, const HostUpdate& update, Task after) {
    return add_host_update(copies_, job, update, {after});
  }

 private:
  Task add_collective(Stage stage, Chunk chunk, Communication row, des::Duration duration,
                      const std::vector<Task>& after) {
    const Task task = workload_.graph.add_occupy(workload_.stages[stage].comm(Axis::kData), duration);
    note(task, std::move(row), chunk);
    return depend(task, after);
  }
  Task depend(Task task, const std::vector<Task>& after) {
    for (const Task before : after) workload_.graph.add_dependency(before, task);
    return task;
  }
  void note(Task task, Communication row, Chunk chunk) {
    workload_.note(task, {.stage = row.from,
                          .chunk = chunk,
                          .kind = TaskMeaning::kCommunication,
                          .communication = workload_.add(std::move(row))});
  }

  Workload& workload_;
  HostCopies copies_;
};

/// The end of a step without a graph. A task is the instant at which it ends. It starts when the tasks before it have
/// ended, as in a run.
class TimedEnd {
 public:
  using Task = des::Instant;

  explicit TimedEnd(const job::Job& job)
      : compute_(job.parallelism.pipeline, des::Instant{}), data_(job.parallelism.pipeline, des::Instant{}) {}

  Task on_compute(Stage stage, des::Duration duration, TaskMeaning /*kind*/, const std::vector<Task>& after) {
    return add(compute_[stage], duration, after);
  }
  Task on_data_stream(Stage stage, Chunk /*chunk*/, const Communication& /*row*/, des::Duration duration,
                      const std::vector<Task>& after) {
    return add(data_[stage], duration, after);
  }
  Task between(const Communication& row, des::Duration duration, const std::vector<Task>& after) {
    const des::Instant start = std::max(latest(data_[row.from], after), data_[row.to]);
    return data_[row.from] = data_[row.to] = run(start, duration);
  }
  Task of_all(const Communication& /*row*/, des::Duration duration, const Table<Stage, std::vector<Task>>& after) {
    des::Instant start;
    for (const Stage stage : after.ids()) start = std::max(start, latest(compute_[stage], after[stage]));
    const des::Instant end = run(start, duration);
    for (des::Instant& free : compute_) free = end;
    return end;
  }
  std::vector<Task> on_host(const job::Job& /*job*/, const HostUpdate& /*update*/, Task /*after*/) {
    contract_broken("the end of a step with copies to the host has a graph", __FILE__, __LINE__);
  }
  /// Returns the end of the last task.
  [[nodiscard]] des::Instant last() const { return last_; }

 private:
  static des::Instant latest(des::Instant one, const std::vector<des::Instant>& others) {
    for (const des::Instant other : others) one = std::max(one, other);
    return one;
  }
  des::Instant run(des::Instant start, des::Duration duration) {
    const des::Instant end = later(start, duration);
    last_ = std::max(last_, end);
    return end;
  }
  des::Instant add(des::Instant& free, des::Duration duration, const std::vector<des::Instant>& after) {
    return free = run(latest(free, after), duration);
  }

  Table<Stage, des::Instant> compute_, data_;  // the ends of their streams
  des::Instant last_;
};

}  // namespace foretoken::step
