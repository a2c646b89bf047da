// Checks that degrees make up the GPUs, GPUs fill nodes, and stages stand on nodes of one kind.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/noun.h"
#include "sim/base/text.h"
#include "sim/job/rules/rules.h"

namespace foretoken::job {

std::string multiples_near(std::int64_t value, std::int64_t unit) {
  const std::int64_t below = value / unit * unit;
  return below == 0 ? fmt::format("{}", unit) : fmt::format("{} or {}", below, below + unit);
}

std::optional<std::string> why_not_whole_nodes(const net::Cluster& cluster, int gpus) {
  const int size = cluster.gpus_per_node;
  if (gpus <= size || gpus % size == 0) return std::nullopt;
  return fmt::format("expected at most one node or whole nodes of {} GPUs ({}), found {}; try {}", size,
                     in_quotes(cluster.name), gpus, multiples_near(gpus, size));
}

bool pools_make_up_gpus(Draft& draft) {
  const Question& question = draft.question;
  int sum = 0;
  for (const AskedPool& pool : question.pools) sum += pool.gpus;
  if (question.pools.empty() || sum == question.choices.gpus) return true;
  draft.complain("/gpus", fmt::format("expected {}, the GPUs of all groups of cluster {}, found {}", sum,
                                      in_quotes(question.cluster.name), question.choices.gpus));
  return false;
}

bool degrees_fit(Draft& draft) {
  Parallelism& degrees = draft.job.parallelism;
  const int gpus = draft.job.gpus;
  const bool alike = draft.question.pools.empty();
  std::int64_t replica = 1;
  std::vector<std::string> factors;
  for (const auto& [axis, degree] : kDegrees) {
    if (axis == Axis::kData) continue;
    replica *= degrees.*degree;
    factors.push_back(fmt::format("{} {}", name_of(axis), degrees.*degree));
  }
  const auto product = [&] { return fmt::format("{} = {}", fmt::join(factors, " x "), replica); };
  if (gpus % replica != 0) {
    const std::string what_to_try = alike ? multiples_near(gpus, replica) : "other degrees, or other groups of nodes";
    draft.complain("/gpus", fmt::format("expected a multiple of {}, found {}; try {}", product(), gpus, what_to_try));
    return false;
  }
  degrees.data = static_cast<int>(gpus / replica);
  const std::optional<int> stated = draft.question.choices.parallelism.degrees[Axis::kData];
  if (!stated || *stated == degrees.data) return true;
  std::string message =
      fmt::format("expected {} ({} / ({})), found {}", degrees.data, with_noun(gpus, "GPU"), product(), *stated);
  if (alike) message += fmt::format("; or set gpus to {}", replica * *stated);
  draft.complain("/parallelism/data", message);
  return false;
}

void check_nodes(Draft& draft) {
  if (!draft.question.pools.empty()) return;
  const net::Cluster& cluster = draft.job.cluster;
  const int gpus = draft.job.gpus;
  if (const auto wrong = why_not_whole_nodes(cluster, gpus)) draft.complain("/gpus", *wrong);
  if (gpus > cluster.links.gpus && cluster.links.nics == 0)
    draft.complain("/gpus", fmt::format("expected at most {}: the nodes of {} have no NICs, found {}",
                                        cluster.links.gpus, in_quotes(cluster.name), gpus));
}

bool stages_stand_on_one_kind(Draft& draft) {
  Job& job = draft.job;
  const int ranks_a_stage = job.gpus / job.parallelism.pipeline;
  for (std::size_t kind = 0; kind < job.groups.size(); ++kind) {
    const AskedPool& pool = draft.question.pools[kind];
    if (pool.gpus % ranks_a_stage != 0) {
      draft.complain("/parallelism/pipeline",
                     fmt::format("expected stages on nodes of one kind: {} / pipeline {} = {} a stage do "
                                 "not divide the {} of {}; try a larger one",
                                 with_noun(job.gpus, "GPU"), job.parallelism.pipeline, ranks_a_stage,
                                 with_noun(pool.gpus, "GPU"), in_quotes(pool.cluster.name)));
      return false;
    }
    job.groups[kind].stages = pool.gpus / ranks_a_stage;
  }
  return true;
}

}  // namespace foretoken::job
