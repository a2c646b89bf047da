// Predicts a scenario, and explains the difference between the prediction and a log.
#include "sim/study/diagnose/diagnose.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace foretoken::study {
namespace {

// Notes what the log and the scenario state differently.
void compare_batches(const Steady& steady, const io::log::TrainingLog& log, const job::Job& job,
                     std::vector<std::string>& notes) {
  if (steady.global_batch && *steady.global_batch != job.batch.global)
    notes.push_back(fmt::format(
        "The log has a global batch of {}, the scenario one of {}: the prediction is of another step; try --set "
        "batch.global={}.",
        *steady.global_batch, job.batch.global, *steady.global_batch));
  if (log.sequence_length && *log.sequence_length != job.batch.sequence_length)
    notes.push_back(fmt::format("The log has sequences of {} tokens, the scenario of {}.", *log.sequence_length,
                                job.batch.sequence_length));
  if (log.gpus && *log.gpus != job.gpus)
    notes.push_back(fmt::format("The log has {} GPUs, the scenario {}.", *log.gpus, job.gpus));
}

// Returns the deviation of predictions of such runs, as a logarithm.
double deviation_of(const trust::Interval& interval) {
  constexpr double kNinety = 1.645;  // deviations of a normal distribution that hold 90 %
  return std::log(interval.high / interval.low) / (2 * kNinety);
}

}  // namespace

Seconds measured_step(const Steady& steady, const job::Job& job) {
  const double samples = static_cast<double>(steady.global_batch.value_or(job.batch.global));
  const double tokens = samples * static_cast<double>(job.batch.sequence_length);
  switch (steady.measured) {
    case Measured::kSeconds:
      return Seconds(steady.median);
    case Measured::kSamplesPerSecond:
      return Seconds(samples / steady.median);
    case Measured::kTokensPerSecondPerGpu:
      return Seconds(tokens / (steady.median * job.gpus));
  }
  return Seconds(steady.median);
}

bool Diagnosis::explained() const {
  constexpr double kNear = 0.2;
  const Seconds likeliest =
      causes.empty() || causes.front().likelihood < unexplained ? prediction.metrics.step_time : causes.front().step;
  return std::abs(measured / likeliest - 1) <= kNear;
}

Diagnosis diagnose(job::Made made, const io::log::TrainingLog& log, const Steady& steady,
                   const IntervalQuestion& interval, const Watch& watch) {
  Diagnosis result{
      .prediction = predict(std::move(made), {.interval = interval}), .measured = {}, .causes = {}, .notes = {}};
  const job::Job& job = result.prediction.job;
  const report::Metrics& metrics = result.prediction.metrics;
  result.measured = measured_step(steady, job);
  result.inside = metrics.interval->low <= result.measured && result.measured <= metrics.interval->high;
  compare_batches(steady, log, job, result.notes);

  ObservedStep observed = observed_step(log, steady);
  observed.step = result.measured;
  const double factor = metrics.bias_factor();
  const Signature base = signature_of(job, factor);
  result.has_timers = !observed.timers.empty() && base.timers;
  const std::vector<Cause> causes = causes_of(job, base, factor, watch);
  Doubt doubt;
  doubt.model = deviation_of(*metrics.interval);
  result.causes = ranked(causes, base, observed, doubt, result.unexplained);
  if (!result.has_timers)
    result.notes.emplace_back(
        "The log states only the time of a step: causes of the same size fit equally well. Run with --timing-log-level "
        "2 (Megatron-LM) to tell them apart.");
  return result;
}

}  // namespace foretoken::study
