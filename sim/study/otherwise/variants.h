// The same job otherwise: other schedules, other numbers of GPUs, one decision changed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/report/gantt.h"
#include "sim/report/metrics.h"
#include "sim/study/predict/predict.h"
#include "sim/study/scenario_source.h"
#include "sim/trust/evidence.h"

namespace foretoken::study {

/// Another configuration of the same job, or the reason why it is impossible.
struct Variant {
  std::string label;
  bool is_base = false;  ///< the scenario as it is
  std::optional<report::Metrics> metrics;
  std::string why_not;
  int gpus = 0;
  report::Gantt chart;  ///< of schedules
};

/// GPipe, 1F1B and interleaved 1F1B with two and four chunks and with the scenario's own.
[[nodiscard]] std::vector<Variant> other_schedules(const ScenarioSource& source, std::span<const std::string> sets,
                                                   const job::Job& base, const trust::Evidence& evidence);

/// An eighth to eight times the GPUs, by doublings, the batch kept: more or fewer replicas.
[[nodiscard]] std::vector<Variant> other_sizes(const ScenarioSource& source, std::span<const std::string> sets,
                                               const job::Job& base, const trust::Evidence& evidence);

/// One decision changed at a time, the GPUs and the batch kept; the base among them, fastest first.
[[nodiscard]] std::vector<Variant> other_decisions(const ScenarioSource& source, std::span<const std::string> sets,
                                                   const Prediction& base);

/// The `count` fastest configurations that fit, of all that the GPUs, the batch and the software allow; what the
/// scenario states about parallelism, schedule, micro-batch, recomputation and shards is free.
[[nodiscard]] std::vector<Variant> found_by_search(const ScenarioSource& source, std::span<const std::string> sets,
                                                   const job::Job& base, std::size_t count,
                                                   const trust::Evidence& evidence);

}  // namespace foretoken::study
