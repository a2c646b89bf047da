// Predicts variants of a job: other schedules, other numbers of GPUs, one changed decision. Work that is stopped gives
// the variants that are done.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/base/process/watch.h"
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
  report::Gantt chart;  ///< only of other schedules
};

/// Predicts GPipe, 1F1B, and interleaved 1F1B with two and four chunks and with the scenario's own number of chunks.
[[nodiscard]] std::vector<Variant> other_schedules(const ScenarioSource& source, std::span<const std::string> sets,
                                                   const job::Job& base, const trust::Evidence& evidence,
                                                   const Watch& watch = {});

/// Predicts an eighth to eight times the GPUs, by doublings: more or fewer replicas share the same batch.
[[nodiscard]] std::vector<Variant> other_sizes(const ScenarioSource& source, std::span<const std::string> sets,
                                               const job::Job& base, const trust::Evidence& evidence,
                                               const Watch& watch = {});

/// Predicts changes of one decision at a time, with the same GPUs and batch. The list includes the base, fastest first.
[[nodiscard]] std::vector<Variant> other_decisions(const ScenarioSource& source, std::span<const std::string> sets,
                                                   const Prediction& base, const trust::Evidence& evidence,
                                                   const Watch& watch = {});

/// Returns the `count` fastest configurations that fit, of all that the GPUs, the batch and the software allow. The
/// search is free to change parallelism, schedule, micro-batch, recomputation and shards.
[[nodiscard]] std::vector<Variant> found_by_search(const ScenarioSource& source, std::span<const std::string> sets,
                                                   const job::Job& base, std::size_t count,
                                                   const trust::Evidence& evidence, const Watch& watch = {});

}  // namespace foretoken::study
