// Checks that degrees make up the GPUs, GPUs fill nodes, and stages stand on nodes of one kind.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/noun.h"
#include "sim/base/text.h"
#include "sim/job/rules/rules.h"

namespace foretoken::job {

namespace {

constexpr std::int64_t kMostGpus = 1 << 20;  // as many as a scenario may state

Advice gpus_near(int gpus, std::int64_t unit) {
  return multiples_near(gpus, unit, kMostGpus, [](Question& question, std::int64_t value) {
    question.choices.gpus = static_cast<int>(value);
  });
}

}  // namespace

std::optional<std::string> why_not_whole_nodes(const net::Cluster& cluster, int gpus) {
  const int size = cluster.gpus_per_node;
  if (gpus <= size || gpus % size == 0) return std::nullopt;
  return fmt::format("expected at most one node or whole nodes of {} GPUs ({}), found {}", size,
                     in_quotes(cluster.name), gpus);
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
  for (const auto& [axis, degree] : kDegrees)
    if (axis != Axis::kData) replica *= degrees.*degree;
  const auto product = [&] {
    std::vector<std::string> factors;
    for (const auto& [axis, degree] : kDegrees)
      if (axis != Axis::kData) factors.push_back(fmt::format("{} {}", name_of(axis), degrees.*degree));
    return fmt::format("{} = {}", fmt::join(factors, " x "), replica);
  };
  if (gpus % replica != 0) {
    draft.complain("/gpus", fmt::format("expected a multiple of {}, found {}", product(), gpus),
                   [&] { return alike ? gpus_near(gpus, replica) : Advice{}; });
    return false;
  }
  degrees.data = static_cast<int>(gpus / replica);
  const std::optional<int> stated = draft.question.choices.parallelism.degrees[Axis::kData];
  if (!stated || *stated == degrees.data) return true;
  draft.complain(
      "/parallelism/data",
      fmt::format("expected {} ({} / ({})), found {}", degrees.data, with_noun(gpus, "GPU"), product(), *stated), [&] {
        const std::int64_t other = replica * *stated;
        if (!alike || other > kMostGpus) return Advice{};
        const Remedy remedy{fmt::format("{}", other),
                            [=](Question& question) { question.choices.gpus = static_cast<int>(other); }};
        return Advice{{.key = "gpus", .tries = {remedy}}};
      });
  return false;
}

void check_nodes(Draft& draft) {
  if (!draft.question.pools.empty()) return;
  const net::Cluster& cluster = draft.job.cluster;
  const int gpus = draft.job.gpus;
  if (const auto wrong = why_not_whole_nodes(cluster, gpus))
    draft.complain("/gpus", *wrong, [&] { return gpus_near(gpus, cluster.gpus_per_node); });
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
                                 "not divide the {} of {}",
                                 with_noun(job.gpus, "GPU"), job.parallelism.pipeline, ranks_a_stage,
                                 with_noun(pool.gpus, "GPU"), in_quotes(pool.cluster.name)),
                     [&] {
                       const int pipeline = job.parallelism.pipeline;
                       return Advice{numbers_that_work(
                           "", 2 * std::int64_t{pipeline} + 2,
                           [&](std::int64_t stages) { return stages > pipeline && job.gpus % stages == 0; },
                           set_degree(Axis::kPipeline))};
                     });
      return false;
    }
    job.groups[kind].stages = pool.gpus / ranks_a_stage;
  }
  return true;
}

}  // namespace foretoken::job
