// Times collectives, and chooses the groups to measure.
#include "calibration/measure/gpu/collectives.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>

#include "calibration/measure/gpu/cuda_check.h"

namespace foretoken::gpu {
namespace {

using measure::Outcome;
using measured::CollectiveSample;
using measured::HostSample;

constexpr measure::StoppingRule kCollectiveRule{
    .relative_noise = 0.01, .fewest = 10, .most = 100, .longest = Seconds(0.5)};
constexpr Seconds kCollectiveRun{1e-3};
constexpr int kMostIssues = 50;
constexpr int kRunsTogether = 10;  // runs between two agreements of the ranks

/// Replaces each value by the largest of all ranks.
using Agree = std::function<void(std::vector<double>&)>;

/// Returns seconds of `issues` collectives in a row on the slowest of this process's ranks, or 0 when the group has
/// none of them.
double one_run(const Team* team, const CollectiveSample& sample, int issues) {
  if (team == nullptr) return 0;
  CollectiveSample barrier = sample;  // lines the ranks up before the clock starts
  barrier.kind = measured::Collective::kAllReduce;
  barrier.bytes = Bytes(2);
  barrier.in_place = false;
  team->issue(barrier);
  std::vector<std::unique_ptr<Event>> begins, ends;
  for (const Member& member : team->members) {
    check(cudaSetDevice(member.device), "cudaSetDevice");
    begins.push_back(std::make_unique<Event>());
    ends.push_back(std::make_unique<Event>());
    begins.back()->record(member.stream->get());
  }
  for (int i = 0; i < issues; ++i) team->issue(sample);
  for (std::size_t i = 0; i < team->members.size(); ++i) {
    check(cudaSetDevice(team->members[i].device), "cudaSetDevice");
    ends[i]->record(team->members[i].stream->get());
  }
  double longest = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    ends[i]->wait();
    longest = std::max(longest, ends[i]->since(*begins[i]).value());
  }
  return longest;
}

/// Times a collective. Every rank of the job calls this with the same sample. `team` is null where this rank is not in
/// the group.
measured::Timing time_collective(const Team* team, const CollectiveSample& sample, const Agree& agree) {
  (void)one_run(team, sample, 2);
  std::vector<double> guess{one_run(team, sample, 2) / 2};
  agree(guess);
  const double wanted = std::ceil(kCollectiveRun.value() / std::max(guess[0], 1e-6));
  const int issues = static_cast<int>(std::clamp(wanted, 1.0, double{kMostIssues}));
  measure::Series series(kCollectiveRule);
  do {
    std::vector<double> runs;
    for (int i = 0; i < kRunsTogether; ++i) runs.push_back(one_run(team, sample, issues));
    agree(runs);
    for (const double run : runs) series.add(Seconds(run), issues);
  } while (!series.enough());
  return series.timing();
}

/// Measures a group that lives in this process.
Outcome measure_team(const Team& team, measure::PlanSize size, measure::SampleFile& file,
                     const measure::Session& session) {
  const auto plan = measure::collective_plan(team.shape, Bytes(static_cast<double>(team.buffer_bytes)), size);
  const measure::Measure<CollectiveSample> time = [&](const CollectiveSample& item) -> std::optional<CollectiveSample> {
    CollectiveSample sample = item;
    sample.time = time_collective(&team, sample, [](std::vector<double>&) {});
    sample.estimate = team.estimate(sample);
    return sample;
  };
  return measure::run_plan<CollectiveSample>("collectives over " + std::to_string(team.shape.ranks) + " GPUs", plan,
                                             time, file, session);
}

measured::Timing launch_of_one_rank(const Team& team, const CollectiveSample& sample) {
  constexpr int kLaunches = 100;
  measure::Series series(kCollectiveRule);
  do {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kLaunches; ++i) team.issue(sample);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    series.add(Seconds(took.count()), kLaunches);
    team.members.front().stream->wait();
  } while (!series.enough());
  return series.timing();
}

/// Measures one GPU: the host time of a call, and the GPU time of an all-reduce out of place, which with one rank is a
/// copy.
Outcome measure_one_rank(measure::PlanSize size, measure::SampleFile& file, const measure::Session& session) {
  session.say(
      "collectives: one GPU only, so no communication is measured: what follows is the cost of a call with one "
      "rank, and of the copy on the device that it comes to");
  const Team team = team_of_devices({0}, std::min(affordable_buffer(), std::size_t{1} << 30));
  std::vector<HostSample> plan;
  for (double bytes = 1024; bytes <= static_cast<double>(team.buffer_bytes); bytes *= size.quick ? 16 : 4)
    for (const char* what : {"nccl_one_rank_call", "nccl_one_rank_copy"}) plan.push_back({what, Bytes(bytes), {}});
  const measure::Measure<HostSample> time = [&](const HostSample& item) -> std::optional<HostSample> {
    CollectiveSample collective;
    collective.bytes = item.bytes;
    HostSample sample = item;
    sample.time = item.what == "nccl_one_rank_call" ? launch_of_one_rank(team, collective)
                                                    : time_collective(&team, collective, [](std::vector<double>&) {});
    return sample;
  };
  return measure::run_plan<HostSample>("collectives (one rank)", plan, time, file, session);
}

/// Measures one group of a job. Rank 0 names an item by its index, and all ranks measure it; -1 ends.
Outcome measure_in_job(const Job& job, const Team* team, GroupShape shape, std::size_t buffer_bytes,
                       measure::PlanSize size, measure::SampleFile* file, const measure::Session& session) {
  const auto plan = measure::collective_plan(shape, Bytes(static_cast<double>(buffer_bytes)), size);
  const Agree agree = [&job](std::vector<double>& values) { job.maximum(values); };
  if (file == nullptr) {
    for (int index = job.from_first(-1); index >= 0; index = job.from_first(-1)) {
      const CollectiveSample& sample = plan.at(static_cast<std::size_t>(index));
      (void)time_collective(team, sample, agree);
      if (team != nullptr) (void)team->estimate(sample);
    }
    return Outcome::kFinished;
  }
  const measure::Measure<CollectiveSample> time = [&](const CollectiveSample& item) -> std::optional<CollectiveSample> {
    (void)job.from_first(static_cast<int>(&item - plan.data()));
    CollectiveSample sample = item;
    sample.time = time_collective(team, sample, agree);
    if (team != nullptr) sample.estimate = team->estimate(sample);
    return sample;
  };
  const std::string name = "collectives over " + std::to_string(shape.ranks) + " ranks on " +
                           std::to_string(shape.nodes) + " nodes, " + std::to_string(shape.groups_per_node) + " groups";
  const Outcome outcome = measure::run_plan<CollectiveSample>(name, plan, time, *file, session);
  (void)job.from_first(-1);
  return outcome;
}

}  // namespace

Outcome measure_collectives(int devices, measure::PlanSize size, measure::SampleFile& file,
                            const measure::Session& session) {
  if (devices == 1) return measure_one_rank(size, file, session);
  for (const int ranks : measure::group_sizes(devices)) {
    std::vector<int> members(static_cast<std::size_t>(ranks));
    std::iota(members.begin(), members.end(), 0);
    const Outcome outcome = measure_team(team_of_devices(members, affordable_buffer()), size, file, session);
    if (outcome != Outcome::kFinished) return outcome;
  }
  return Outcome::kFinished;
}

Outcome measure_job_collectives(const Job& job, measure::PlanSize size, measure::SampleFile* file,
                                const measure::Session& session) {
  const int ranks = job.place().size, nodes = job.nodes(), per_node = ranks / nodes;
  std::vector<double> free{-static_cast<double>(affordable_buffer())};
  job.maximum(free);
  const auto buffer = static_cast<std::size_t>(-free[0]);  // the most that fits the fullest GPU
  struct Group {
    int colour;
    GroupShape shape;
    bool takes_part;
  };
  std::vector<Group> groups{{0, {.ranks = ranks, .nodes = nodes, .ranks_per_node = per_node}, true}};
  if (nodes > 1 && per_node > 1) {
    GroupShape across{.ranks = nodes, .nodes = nodes, .ranks_per_node = 1};
    groups.push_back({job.place().local_rank, across, job.place().local_rank == 0});
    across.groups_per_node = per_node;
    groups.push_back({job.place().local_rank, across, true});
    groups.push_back({job.node(), {.ranks = per_node, .nodes = 1, .ranks_per_node = per_node}, true});
  }
  Outcome outcome = Outcome::kFinished;
  for (const Group& group : groups) {
    const Team team = job.team(group.colour, group.shape, buffer);
    outcome = measure_in_job(job, group.takes_part ? &team : nullptr, group.shape, buffer, size, file, session);
    if (job.from_first(outcome == Outcome::kFinished ? 1 : 0) == 0) break;
  }
  return outcome;
}

}  // namespace foretoken::gpu
