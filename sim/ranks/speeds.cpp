// Stretches the tasks that slow GPUs take part in.
#include "sim/ranks/speeds.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace foretoken::ranks {
namespace {

// Returns the part of a task that its GPU computes. The rest is communication or the host.
double compute_share(const step::Meaning& meaning, const step::Passes& passes) {
  if (meaning.kind == step::TaskMeaning::kOptimizer) return 1;
  if (meaning.kind != step::TaskMeaning::kPass) return 0;
  if (meaning.op != nullptr) return meaning.communication ? 0 : 1;
  const step::PassTiming& timing = passes.timing(meaning.stage, meaning.chunk, meaning.pass);
  return timing.total.ps == 0 ? 0 : static_cast<double>(timing.compute.ps) / static_cast<double>(timing.total.ps);
}

// Returns a number for each pass of a GPU, and for the end of its step. The random delays of stragglers depend on it.
std::uint64_t number_of(const step::Meaning& meaning) {
  constexpr std::uint64_t kStepEnd = 11;
  const bool is_pass = meaning.kind == step::TaskMeaning::kPass;
  return (std::uint64_t{meaning.microbatch.value} << 24U) + (std::uint64_t{meaning.chunk.value} << 8U) +
         (is_pass ? static_cast<std::uint64_t>(meaning.pass) : kStepEnd);
}

}  // namespace

Speeds::Speeds(const job::Job& job) : job_(job), ranks_a_stage_(job.gpus / job.parallelism.pipeline) {
  const job::Imperfections& what = job.imperfections;
  if (what.slow_gpus.empty() && !job.stragglers.on) return;
  slowdown_ = Table<Rank, double>(job.gpus, 1);
  std::unordered_map<std::uint32_t, Rank> rank_of;  // by GPU
  for (const Rank rank : slowdown_.ids()) {
    const Gpu gpu = what.gpu_of(rank);
    if (job.stragglers.on) slowdown_[rank] = job::slowness(job.stragglers, gpu, job.host_of(gpu));
    if (!what.slow_gpus.empty()) rank_of.emplace(gpu.value, rank);
  }
  for (const job::SlowGpu& slow : what.slow_gpus)
    if (const auto rank = rank_of.find(slow.gpu.value); rank != rank_of.end()) slowdown_[rank->second] *= slow.slowdown;
}

Paced Speeds::paced(des::Duration duration, const step::Meaning& meaning, const step::Passes& passes,
                    std::span<const StageRank> members) const {
  const double share = uneven() ? compute_share(meaning, passes) : 0;
  if (share == 0) return {duration};
  double worst = 0;
  Paced paced;
  for (const StageRank member : members) {
    const Rank rank = id_of<Rank>(meaning.stage.number() * ranks_a_stage_ + member.number());
    const Gpu gpu = job_.imperfections.gpu_of(rank);
    const double own = slowdown_[rank];
    const double factor = own * job::jitter_of_pass(job_.stragglers, gpu, number_of(meaning));
    if (factor <= worst) continue;
    worst = factor;
    paced.rank = own > 1 ? std::optional(rank) : std::nullopt;
  }
  paced.duration = {std::llround(static_cast<double>(duration.ps) * (1 + (worst - 1) * share))};
  return paced;
}

}  // namespace foretoken::ranks
