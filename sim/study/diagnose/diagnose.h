// Compares a training log with the prediction of a scenario, and ranks the causes that explain the gap.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/study/diagnose/causes.h"
#include "sim/study/diagnose/signature.h"
#include "sim/study/diagnose/steady.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {

/// A cause in the light of the log.
struct RankedCause {
  std::string key;    ///< "slow-rank"
  std::string words;  ///< at its likeliest strength
  std::string test;
  double likelihood = 0;  ///< its part among all causes and no cause
  Seconds step{};         ///< predicted with it
  Seconds worth{};        ///< that mending it saves in a step as measured; below 0 for a cause that makes it faster
  bool tied = false;      ///< one of several causes that are about as likely as the first
};

/// The answer about a log with a scenario.
struct Diagnosis {
  Prediction prediction;  ///< with interval
  Seconds measured;
  bool inside = false;              ///< the interval holds the measured step
  bool has_timers = false;          ///< causes were told apart by timers, not by the step alone
  std::vector<RankedCause> causes;  ///< likeliest first
  double unexplained = 0;           ///< likelihood that nothing is wrong but the prediction
  std::vector<std::string> notes;

  /// Returns measured / predicted - 1.
  [[nodiscard]] double gap() const { return measured / prediction.metrics.step_time - 1; }
  /// Returns whether the prediction, or the likeliest cause, meets the measured step within a fifth. Chances compare
  /// the causes with one another only.
  [[nodiscard]] bool explained() const;
};

/// The deviations that a comparison allows for.
struct Doubt {
  double model = 0.05;  ///< of the whole prediction, as a logarithm
  double part = 0.015;  ///< of each time, relative to the step
};

/// Ranks causes by how well they explain the step and its timers:
///
///   L = integral over d of N(d; 0, model) product over times of N(observed - e^d predicted; 0, part step)
///
/// times the likelihood of the jitter, and the prior of the cause. A cause is the sum of its strengths. All times are
/// of the steady state. `base` is the prediction without a cause. A log of steps alone tells few causes apart: the one
/// whose usual strength predicts the step best then comes first among those within a factor of four.
[[nodiscard]] std::vector<RankedCause> ranked(const std::vector<Cause>& causes, const Signature& base,
                                              const ObservedStep& observed, Doubt doubt, double& unexplained);

/// Returns the causes as tasks of `diagnose`: predicts the scenario, simulates its causes, and ranks them. Throws
/// ConfigError where the log states no time of a step and none follows from the scenario.
[[nodiscard]] Diagnosis diagnose(job::Made made, const io::log::TrainingLog& log, const Steady& steady,
                                 const IntervalQuestion& interval, const Watch& watch = {});

/// Returns the time of a step: as stated, or from a rate and the batch of the job.
[[nodiscard]] Seconds measured_step(const Steady& steady, const job::Job& job);

}  // namespace foretoken::study
