// Computes the time of a run with failures: checkpoints, lost work and restarts.
#pragma once

namespace foretoken::search {

/// The rate of failures and their costs, in the units of the names.
struct FailureModel {
  double mtbf_hours_per_gpu = 0;  ///< mean time between interruptions of one GPU and its share of the node; > 0
  double checkpoint_write_s = 0;  ///< training stops meanwhile; > 0
  double restart_s = 0;           ///< from an interruption until training goes on from the last checkpoint
};

/// A run with failures. All times in days unless named otherwise.
struct RunWithFailures {
  double job_mtbf_hours = 0;
  double checkpoint_interval_s = 0;  ///< training time between two checkpoints
  double expected_days = 0, p50_days = 0, p90_days = 0;
  double goodput = 0;  ///< days without failures and checkpoints / expected_days
  double expected_failures = 0;
  double undisturbed_days = 0;                ///< with checkpoints, without failures
  double added_days = 0, added_variance = 0;  ///< by failures: mean, and variance in days^2
};

/// Returns the best training time between checkpoints, in seconds.
/// C is the time to write, M the mean time between interruptions of the job, both in seconds and > 0.
/// Source: J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22 (2006),
/// eq. 37. Its first term is Young's sqrt(2 C M) (CACM 17, 1974).
[[nodiscard]] double daly_interval_s(double checkpoint_write_s, double job_mtbf_s);

/// Returns the times of a run that would take `days` without failures, on `gpus` GPUs.
///
/// Interruptions are a Poisson process at rate gpus / MTBF. An interruption loses the work since the last checkpoint
/// and costs a restart; an interruption of the restart begins it again. The mean of an interval of length t is Daly's
/// M e^(R/M) (e^((t+C)/M) - 1). The variance is exact for the same process. The quantiles treat the added time as a
/// gamma distribution of this mean and variance, so only its shape is approximate. Times are infinite when
/// interruptions come so fast that the run makes no progress. Holds for: independent interruptions, one job on all
/// GPUs, spares at hand.
[[nodiscard]] RunWithFailures run_with_failures(double days, int gpus, const FailureModel& failures);

/// Returns the part of such runs that are done within so many days.
[[nodiscard]] double chance_within(const RunWithFailures& run, double days);

}  // namespace foretoken::search
