// Adds up every operation of one stage, from the rows of the communication table.
#include "sim/observe/communication.h"

#include <map>
#include <optional>

namespace foretoken::observe {
namespace {

using step::Communication;
using step::Purpose;

std::string group_over(Axis axis, std::string_view name) {
  return axis == Axis::kPipeline ? std::string(name) : std::string(name) + "-parallel";
}

std::string_view words_of(const Communication& row) {
  const bool scatters = row.collective == CollectiveKind::kReduceScatter;
  switch (row.purpose) {
    case Purpose::kPass:
      if (net::kExpertAxes.contains(row.axes)) return "tokens of experts and their gradients";
      return row.axes == Axis::kTensor ? "activations and their gradients inside layers"
                                       : "keys, values and their gradients";
    case Purpose::kActivations:
    case Purpose::kActivationGradients:
      return "activations and gradients between stages";
    case Purpose::kGradients:
      return scatters ? "gradients: reduce-scatter" : "gradients: all-reduce";
    case Purpose::kParameters:
      return "parameters: all-gather";
    case Purpose::kTiedEmbedding:
      return "gradient of the tied embedding: all-reduce of first and last stage";
    case Purpose::kMovedActivations:
      return "activations to a partner stage and back";
    case Purpose::kCopyGradients:
      return "gradients: all-reduce of both copies of the model";
    case Purpose::kNormGradients:
    case Purpose::kHostCopy:
    case Purpose::kGradientNorm:
      return row.name;
  }
  return row.name;
}

// Adds up operations of one kind, each once.
class Sums {
 public:
  Sums(Axis axis, Stage stage) : axis_(axis), stage_(stage) {}

  void add(const Communication& row, Seconds time) {
    // Norm gradients do not count: a GPU's tensor group counts the operations of passes.
    if (row.counts_for != axis_ || row.purpose == Purpose::kNormGradients) return;
    if (!first_ || (first_->from != stage_ && row.from == stage_)) first_ = row;
    Traffic& part = parts_[is_message(row.purpose) ? Purpose::kActivations : row.purpose];
    part.what = words_of(row);
    ++part.operations;
    part.payload += row.payload;
    part.time += time;
  }

  // Returns true for rows that show the groups over the axis. Pairs of stages that reduce gradients do not.
  [[nodiscard]] bool has_group() const {
    return first_ && first_->purpose != Purpose::kTiedEmbedding && first_->purpose != Purpose::kCopyGradients;
  }

  // Returns the traffic of one of `steps` steps.
  [[nodiscard]] GroupTraffic total(const std::string& group, Seconds exposed, int steps) const {
    GroupTraffic all{{.what = words_of(*first_)}, group, first_->site.group, first_->site.links, exposed, {}};
    if (axis_ == Axis::kData)
      all.what = first_->collective == CollectiveKind::kAllReduce ? "gradients" : "gradients and parameters";
    for (auto [purpose, part] : parts_) {
      part.operations /= steps;
      part.payload = part.payload / steps;
      part.time = part.time / steps;
      if (axis_ == Axis::kData) all.parts.push_back(part);
      all.operations += part.operations;
      all.payload += part.payload;
      all.time += part.time;
    }
    return all;
  }

 private:
  Axis axis_;
  Stage stage_;
  std::optional<Communication> first_;  // the first that the stage sends
  std::map<Purpose, Traffic> parts_;
};

// Adds collectives inside passes, block by block: at stage fidelity they have no tasks of their own.
void add_passes(Sums& sums, Stage stage, const step::LoweredStep& step) {
  const step::Communications& rows = step.passes->communications(stage);
  for (const step::PassTasks& pass : step.workload.passes[stage])
    for (const step::TimedOps* block : step.passes->blocks(stage, pass.op.chunk, pass.op.kind))
      for (const step::TimedOp& op : *block)
        if (op.communication) sums.add(rows[*op.communication], des::to_seconds(op.duration));
}

// Adds messages and collectives outside passes, task by task.
void add_tasks(Sums& sums, Stage stage, const step::Workload& workload, const des::RunResult& run) {
  for (std::size_t task = 0; task < workload.meaning.size(); ++task) {
    const step::Meaning& meaning = workload.meaning[task];
    if (meaning.kind != step::TaskMeaning::kCommunication) continue;
    const Communication& row = *workload.communication_of(meaning);
    if (row.involves(stage)) sums.add(row, des::to_seconds(run.end[task] - run.start[task]));
  }
}

// Adds up the copies between a GPU and its host, by name.
std::optional<GroupTraffic> host_copies(const step::LoweredStep& step, const des::RunResult& run,
                                        const Observations& observed) {
  const step::Workload& workload = step.workload;
  std::map<std::string_view, Traffic> parts;
  std::optional<GroupTraffic> all;
  for (std::size_t task = 0; task < workload.meaning.size(); ++task) {
    const Communication* const row = workload.communication_of(workload.meaning[task]);
    if (row == nullptr || row->purpose != Purpose::kHostCopy || row->from != observed.busiest_stage) continue;
    if (!all)
      all = GroupTraffic{{.what = "copies to and from the host"},   "host", row->site.group, row->site.links,
                         des::to_seconds(observed.busiest.offload), {}};
    for (Traffic* const sum : {static_cast<Traffic*>(&*all), &parts[row->name]}) {
      ++sum->operations;
      sum->payload += row->payload;
      sum->time += des::to_seconds(run.end[task] - run.start[task]);
    }
    parts[row->name].what = row->name;
  }
  for (const auto& [name, part] : parts) all->parts.push_back(part);
  return all;
}

}  // namespace

std::vector<GroupTraffic> communication(const step::LoweredStep& step, const des::RunResult& run,
                                        const Observations& observed) {
  std::vector<GroupTraffic> all;
  for (const auto& [axis, name] : kAxisNames) {
    Sums sums(axis, observed.busiest_stage);
    add_passes(sums, observed.busiest_stage, step);
    add_tasks(sums, observed.busiest_stage, step.workload, run);
    if (sums.has_group())
      all.push_back(sums.total(group_over(axis, name), des::to_seconds(observed.busiest.comm[axis]),
                               step.steady ? step.steady->steps() : 1));
  }
  if (auto copies = host_copies(step, run, observed)) all.push_back(*std::move(copies));
  return all;
}

}  // namespace foretoken::observe
