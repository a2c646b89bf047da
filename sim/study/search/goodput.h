// How long a run really takes when GPUs fail: checkpoints, work lost and restarts.
#pragma once

namespace foretoken::search {

/// What goes wrong and what it costs. Hours and seconds as named.
struct FailureModel {
  double mtbf_hours_per_gpu = 0;  ///< mean time between interruptions of one GPU and its share of the node; > 0
  double checkpoint_write_s = 0;  ///< training stands still; > 0
  double restart_s = 0;           ///< from an interruption until training goes on from the last checkpoint
};

/// A run with failures. All times in days unless named otherwise.
struct RunWithFailures {
  double job_mtbf_hours = 0;
  double checkpoint_interval_s = 0;  ///< of training between two checkpoints
  double expected_days = 0, p50_days = 0, p90_days = 0;
  double goodput = 0;  ///< days without failures and checkpoints / expected_days
  double expected_failures = 0;
};

/// Best time of training between checkpoints, in seconds: J. T. Daly, "A higher order estimate of the optimum
/// checkpoint interval for restart dumps", FGCS 22 (2006), eq. 37, whose first term is Young's sqrt(2 C M) (CACM 17,
/// 1974); C: time to write, M: mean time between interruptions of the job, both in seconds and > 0.
[[nodiscard]] double daly_interval_s(double checkpoint_write_s, double job_mtbf_s);

/// A run that would take `days` without failures, on `gpus` GPUs.
///
/// Interruptions are a Poisson process at rate gpus / MTBF; one loses the work since the last checkpoint and costs a
/// restart, which an interruption restarts. The mean is Daly's M e^(R/M) (e^((t+C)/M) - 1) for each interval of length
/// t; the spread is the exact variance of the same process. The quantiles are those of what failures add, taken as a
/// gamma distribution of that mean and variance: exact in mean and spread, approximate in shape.
/// Times are infinite when interruptions come so fast that no number holds them.
/// Holds for: independent interruptions, one job on all GPUs, spares at hand.
[[nodiscard]] RunWithFailures run_with_failures(double days, int gpus, const FailureModel& failures);

}  // namespace foretoken::search
