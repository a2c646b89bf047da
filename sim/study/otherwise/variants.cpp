// Predicts variants of a job. A variant is the scenario with overrides, so all rules of scenarios apply to it.
#include "sim/study/otherwise/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/error.h"
#include "sim/report/text/number.h"
#include "sim/study/otherwise/schedules.h"
#include "sim/study/predict/predict.h"
#include "sim/study/reason.h"

namespace foretoken::study {
namespace {

using job::Job;
using job::Key;

// Returns the first reason. A message about the schedule needs no key in front of it.
std::string first_reason(const std::vector<Complaint>& complaints) {
  const Complaint& first = complaints.front();
  return first.pointer == "/schedule" ? first.message : reason(first);
}

Variant empty_variant(std::string label, int gpus) {
  return {.label = std::move(label), .is_base = false, .metrics = {}, .why_not = {}, .gpus = gpus, .chart = {}};
}

// One decision and the edits that change it.
struct Decision {
  std::string label;
  job::Patch patch;
};

// Tries twice and half of a number.
template <class Add>
void doubled_and_halved(std::int64_t value, Add add) {
  add(value * 2);
  if (value % 2 == 0) add(value / 2);
}

void add_degrees(const job::Parallelism& p, std::vector<Decision>& decisions) {
  const auto add = [&](const char* name, Key key, int value) {
    doubled_and_halved(value, [&](std::int64_t other) {
      decisions.push_back({fmt::format("{} {}", name, other), {{key, other}, {job::key_of(Axis::kData), {}}}});
    });
  };
  add("tensor", job::key_of(Axis::kTensor), p.tensor);
  add("pipeline", job::key_of(Axis::kPipeline), p.pipeline);
  if (p.pipeline == 1) return;
  doubled_and_halved(p.virtual_pipeline, [&](std::int64_t other) {
    decisions.push_back({fmt::format("virtual pipeline {}", other),
                         {{Key::kVirtualPipeline, other}, {Key::kSchedule, {}}, {Key::kMicrobatchGroup, {}}}});
  });
}

void add_recomputes(const job::Recompute& own, std::vector<Decision>& decisions) {
  using enum model::RecomputeGranularity;
  for (const auto granularity : {kNone, kSelective, kFull})
    if (own.granularity != granularity)
      decisions.push_back({fmt::format("recompute {}", model::name_of(granularity)), {{Key::kRecompute, granularity}}});
}

std::vector<Decision> decisions_of(const Job& base) {
  std::vector<Decision> decisions;
  const job::Parallelism& p = base.parallelism;
  add_degrees(p, decisions);
  doubled_and_halved(base.batch.micro, [&](std::int64_t other) {
    decisions.push_back({fmt::format("micro-batch {}", other), {{Key::kMicroBatch, other}}});
  });
  add_recomputes(base.recompute, decisions);
  const bool shards = base.optimizer.zero_stage >= 1;
  decisions.push_back({shards ? "optimizer not sharded (ZeRO 0)" : "optimizer sharded (ZeRO 1)",
                       {{Key::kZeroStage, std::int64_t{shards ? 0 : 1}}}});
  if (p.tensor > 1)
    decisions.push_back({p.sequence_parallel ? "no sequence parallelism" : "sequence parallelism",
                         {{Key::kSequenceParallel, !p.sequence_parallel}}});
  if (p.tensor > 1 && base.runtime.tensor_overlap == model::TensorOverlap::kMicroPipeline)
    decisions.push_back({base.overlap.tensor_parallel ? "tensor-parallel collectives between products"
                                                      : "tensor-parallel collectives beside products",
                         {{Key::kTensorOverlap, !base.overlap.tensor_parallel}}});
  if (p.data > 1)
    decisions.push_back(
        {base.overlap.grad_reduce ? "gradients reduced at the end" : "gradients reduced beside the passes",
         {{Key::kGradReduce, !base.overlap.grad_reduce}}});
  return decisions;
}

}  // namespace

std::vector<Variant> other_schedules(const ScenarioSource& source, std::span<const std::string> sets, const Job& base,
                                     const trust::Evidence& evidence, const Watch& watch) {
  if (base.parallelism.pipeline == 1) return {};
  std::vector<ScheduleChoice> choices = usual_schedules(base);
  for (ScheduleChoice& each : choices)
    each.label = each.chunks > 1 ? fmt::format("{}, {} chunks", each.schedule.name, each.chunks) : each.schedule.name;
  std::vector<Variant> variants;
  for (TriedSchedule& tried : try_schedules(source, sets, base, choices, evidence, watch))
    variants.push_back({.label = std::move(tried.choice.label),
                        .is_base = tried.is_own,
                        .metrics = std::move(tried.metrics),
                        .why_not = tried.impossible.empty() ? "" : first_reason(tried.impossible),
                        .gpus = base.gpus,
                        .chart = std::move(tried.chart)});
  return variants;
}

std::vector<Variant> other_sizes(const ScenarioSource& source, std::span<const std::string> sets, const Job& base,
                                 const trust::Evidence& evidence, const Watch& watch) {
  constexpr int kTimes = 8, kMostGpus = 1 << 20;
  std::vector<Variant> variants;
  const auto try_size = [&](int gpus) {
    if (watch.stopped()) return;
    Variant variant = empty_variant(report::counted(gpus, "GPU"), gpus);
    variant.is_base = gpus == base.gpus;
    try {
      job::Made made = source.read(sets, {{Key::kGpus, std::int64_t{gpus}}, {job::key_of(Axis::kData), {}}});
      variant.metrics =
          predict(std::move(made), {.keeps_tasks = false, .interval = IntervalQuestion{evidence}}).metrics;
    } catch (const ConfigError& error) {
      variant.why_not = first_reason(error.complaints());
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
                                     const Prediction& base, const trust::Evidence& evidence, const Watch& watch) {
  std::vector<Variant> variants{empty_variant("this scenario", base.job.gpus)};
  variants.front().is_base = true;
  variants.front().metrics = base.metrics;
  for (const Decision& decision : decisions_of(base.job)) {
    if (watch.stopped()) break;
    try {
      Prediction prediction =
          predict(source.read(sets, decision.patch), {.keeps_tasks = false, .interval = IntervalQuestion{evidence}});
      Variant variant = empty_variant(decision.label, prediction.job.gpus);
      variant.metrics = std::move(prediction.metrics);
      variants.push_back(std::move(variant));
    } catch (const ConfigError&) {
      continue;  // this job has no such configuration
    }
  }
  std::stable_sort(variants.begin(), variants.end(),
                   [](const Variant& a, const Variant& b) { return a.metrics->step_time < b.metrics->step_time; });
  return variants;
}

}  // namespace foretoken::study
