// Predicts every case and compares it with its measurement.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/process/watch.h"
#include "sim/report/metrics.h"
#include "sim/trust/evidence.h"
#include "validate/case_set.h"
#include "validate/statistics.h"

namespace foretoken::validate {

enum class Quantity : std::uint8_t { kStepTime, kPeakMemory, kLayerForward, kLayerBackward };
inline constexpr std::array kQuantities{Quantity::kStepTime, Quantity::kPeakMemory, Quantity::kLayerForward,
                                        Quantity::kLayerBackward};

/// Returns the quantity in words ("step time"), or as a key ("step_time").
[[nodiscard]] std::string_view words_of(Quantity quantity);
[[nodiscard]] std::string_view key_of(Quantity quantity);

struct Comparison {
  Quantity quantity = Quantity::kStepTime;
  double measured = 0, predicted = 0;  ///< seconds or bytes
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

struct CaseResult {
  Case row;
  std::string model;          ///< its shape: layers x hidden, heads, vocabulary, sequence
  std::string configuration;  ///< shape, degrees, batch and recomputation: equal in copies of one run
  trust::Place place;
  int gpus = 1;
  double tokens = 0;  ///< of a step
  std::vector<Comparison> comparisons;
  Seconds step_time;  ///< predicted
  report::TimeSplit split;
  Bytes peak_memory;  ///< predicted
  bool fits = true;

  [[nodiscard]] const Comparison* find(Quantity quantity) const;
};

struct QuantityErrors {
  Quantity quantity = Quantity::kStepTime;
  Spread all;
  Spread untouched;  ///< of the rows that no fit used
};

/// The number of step times of a set or a publication inside their 90 % interval, and their errors.
struct Coverage {
  std::size_t rows = 0;
  std::size_t without_publication = 0;  ///< intervals made without the row's publication and copies of the row
  std::size_t without_copies = 0;       ///< intervals made only without copies of the row
  std::size_t as_new_publication = 0;   ///< intervals calibrated on other publications alone
  // Sums of signed errors: of simulated steps, and of headlines made without the row's publication.
  double simulated_error = 0, headline_error = 0;

  /// Returns a count or a sum as a part of the rows.
  [[nodiscard]] double part(double of) const { return of / static_cast<double>(rows); }
};

struct SetResult {
  CaseSet set;  ///< without its cases, which moved into `cases`
  std::vector<CaseResult> cases;
  std::vector<QuantityErrors> errors;  ///< one for each quantity that the set measures
  Ranking ranking;
  int false_out_of_memory = 0;   ///< rows that ran and are predicted not to fit
  int missed_out_of_memory = 0;  ///< rows that ran out of memory and are predicted to fit
  std::optional<Coverage> coverage;
};

/// Predicts one case. Throws ConfigError when its scenario is wrong.
[[nodiscard]] CaseResult evaluate(Case row);

/// Predicts every `stride`-th case of a set, in order. Work that is stopped gives the cases that are done.
[[nodiscard]] SetResult evaluate(CaseSet set, std::size_t stride = 1, const Watch& watch = {});

/// Returns the indices of the `count` cases with the largest error of the step time (or first quantity), worst first.
[[nodiscard]] std::vector<std::size_t> worst_cases(const SetResult& result, std::size_t count);

}  // namespace foretoken::validate
