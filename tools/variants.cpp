// The same job otherwise. A variant is the scenario with overrides; all rules of scenarios apply to it.
#include "tools/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/error.h"
#include "sim/report/text/number.h"
#include "sim/study/error_bar.h"
#include "sim/study/simulate.h"
#include "tools/reason.h"

namespace foretoken::tools {
namespace {

using html::Variant;
using job::Job;
using Sets = std::vector<std::string>;

Sets with(std::span<const std::string> sets, const Sets& more) {
  Sets all(sets.begin(), sets.end());
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// Of a schedule the message speaks by itself.
std::string first_reason(const ConfigError& error) {
  const Complaint& first = error.complaints().front();
  return first.pointer == "/schedule" ? first.message : reason(first);
}

Variant empty_variant(std::string label, int gpus) {
  return {.label = std::move(label), .is_base = false, .metrics = {}, .why_not = {}, .gpus = gpus, .chart = {}};
}

Variant try_schedule(const ScenarioSource& source, std::span<const std::string> sets, const Job& base,
                     const std::string& schedule, int chunks, const trust::Evidence& evidence) {
  Variant variant = empty_variant(chunks > 1 ? fmt::format("{}, {} chunks", schedule, chunks) : schedule, base.gpus);
  variant.is_base = schedule == base.schedule.name && chunks == base.parallelism.virtual_pipeline;
  Sets more{fmt::format("schedule=\"{}\"", schedule), fmt::format("parallelism.virtual_pipeline={}", chunks)};
  if (chunks == 1) more.emplace_back("batch.microbatch_group=null");
  try {
    const study::Simulation simulation = study::simulate(source.read(with(sets, more)));
    variant.metrics = simulation.metrics;
    study::add_interval(*variant.metrics, simulation.job, evidence);
    variant.chart = report::gantt_of(simulation.step.workload, simulation.run, variant.label);
  } catch (const ConfigError& error) {
    variant.why_not = first_reason(error);
  }
  return variant;
}

// One decision and the overrides that change it.
struct Change {
  std::string label;
  Sets sets;
};

// Twice and half of a number.
template <class Add>
void doubled_and_halved(std::int64_t value, Add add) {
  add(value * 2);
  if (value % 2 == 0) add(value / 2);
}

std::vector<Change> changes_of(const Job& base) {
  std::vector<Change> changes;
  const job::Parallelism& p = base.parallelism;
  const auto degree = [&](const char* name, const char* key, int value) {
    doubled_and_halved(value, [&](std::int64_t other) {
      changes.push_back(
          {fmt::format("{} {}", name, other), {fmt::format("parallelism.{}={}", key, other), "parallelism.data=null"}});
    });
  };
  degree("tensor", "tensor", p.tensor);
  degree("pipeline", "pipeline", p.pipeline);
  if (p.pipeline > 1)
    doubled_and_halved(p.virtual_pipeline, [&](std::int64_t other) {
      changes.push_back(
          {fmt::format("virtual pipeline {}", other),
           {fmt::format("parallelism.virtual_pipeline={}", other),
            fmt::format("schedule=\"{}\"", other > 1 ? "interleaved-1f1b" : "1f1b"), "batch.microbatch_group=null"}});
    });
  doubled_and_halved(base.batch.micro, [&](std::int64_t other) {
    changes.push_back({fmt::format("micro-batch {}", other), {fmt::format("batch.micro={}", other)}});
  });
  using model::RecomputeGranularity;
  for (const auto& [word, granularity] :
       {std::pair("none", RecomputeGranularity::kNone), std::pair("selective", RecomputeGranularity::kSelective),
        std::pair("full", RecomputeGranularity::kFull)})
    if (base.recompute.granularity != granularity)
      changes.push_back({fmt::format("recompute {}", word), {fmt::format("recompute=\"{}\"", word)}});
  const bool shards = base.optimizer.zero_stage >= 1;
  changes.push_back({shards ? "optimizer not sharded (ZeRO 0)" : "optimizer sharded (ZeRO 1)",
                     {fmt::format("optimizer.zero_stage={}", shards ? 0 : 1)}});
  if (p.tensor > 1)
    changes.push_back({p.sequence_parallel ? "no sequence parallelism" : "sequence parallelism",
                       {fmt::format("parallelism.sequence_parallel={}", !p.sequence_parallel)}});
  if (p.data > 1)
    changes.push_back(
        {base.overlap.grad_reduce ? "gradients reduced at the end" : "gradients reduced beside the passes",
         {fmt::format("overlap.grad_reduce={}", !base.overlap.grad_reduce)}});
  return changes;
}

}  // namespace

std::vector<Variant> other_schedules(const ScenarioSource& source, std::span<const std::string> sets, const Job& base,
                                     const trust::Evidence& evidence) {
  if (base.parallelism.pipeline == 1) return {};
  std::vector<std::pair<std::string, int>> wanted{
      {"gpipe", 1}, {"1f1b", 1}, {"interleaved-1f1b", 2}, {"interleaved-1f1b", 4}};
  const std::pair<std::string, int> own{base.schedule.name, base.parallelism.virtual_pipeline};
  if (std::find(wanted.begin(), wanted.end(), own) == wanted.end()) wanted.push_back(own);
  std::stable_sort(wanted.begin() + 2, wanted.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<Variant> variants;
  for (const auto& [schedule, chunks] : wanted)
    variants.push_back(try_schedule(source, sets, base, schedule, chunks, evidence));
  return variants;
}

std::vector<Variant> other_sizes(const ScenarioSource& source, std::span<const std::string> sets, const Job& base,
                                 const trust::Evidence& evidence) {
  constexpr int kTimes = 8, kMostGpus = 1 << 20;
  std::vector<Variant> variants;
  const auto try_size = [&](int gpus) {
    Variant variant = empty_variant(report::counted(gpus, "GPU"), gpus);
    variant.is_base = gpus == base.gpus;
    try {
      const Job scenario = source.read(with(sets, {fmt::format("gpus={}", gpus), "parallelism.data=null"}));
      variant.metrics = study::predict(scenario);
      study::add_interval(*variant.metrics, scenario, evidence);
    } catch (const ConfigError& error) {
      variant.why_not = first_reason(error);
    }
    variants.push_back(std::move(variant));
  };
  const int replica = base.gpus / base.parallelism.data;
  int smallest = base.gpus;
  while (smallest % 2 == 0 && smallest / 2 >= replica && base.gpus / (smallest / 2) <= kTimes) smallest /= 2;
  for (int gpus = smallest; gpus <= kMostGpus && gpus <= static_cast<std::int64_t>(base.gpus) * kTimes; gpus *= 2)
    try_size(gpus);
  return variants;
}

std::vector<Variant> other_decisions(const ScenarioSource& source, std::span<const std::string> sets,
                                     const study::Simulation& base) {
  std::vector<Variant> variants{empty_variant("this scenario", base.job.gpus)};
  variants.front().is_base = true;
  variants.front().metrics = base.metrics;
  for (const Change& change : changes_of(base.job)) {
    try {
      const Job scenario = source.read(with(sets, change.sets));
      Variant variant = empty_variant(change.label, scenario.gpus);
      variant.metrics = study::predict(scenario);
      variants.push_back(std::move(variant));
    } catch (const ConfigError&) {
      continue;  // not a configuration of this job
    }
  }
  std::stable_sort(variants.begin(), variants.end(),
                   [](const Variant& a, const Variant& b) { return a.metrics->step_time < b.metrics->step_time; });
  return variants;
}

}  // namespace foretoken::tools
