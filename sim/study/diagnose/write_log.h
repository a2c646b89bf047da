// Writes the log that a simulated run would leave: lines of Megatron-LM with its timers, and the noise of real steps.
#pragma once

#include <cstdint>
#include <string>

#include "sim/study/diagnose/signature.h"

namespace foretoken::study {

struct LogStyle {
  int steps = 100;
  double noise = 0.01;     ///< standard deviation of a step, relative to it
  std::uint64_t seed = 1;  ///< of the noise
  bool timers = true;      ///< the table of --timing-log-level 2 after each step
};

/// Returns the log of a run of `job` whose steps take the times of `signature`. The first step takes twice as long. The
/// noise of a step is shared by its timers, and each timer has a quarter of it of its own.
[[nodiscard]] std::string training_log_text(const job::Job& job, const Signature& signature, double tflops_per_gpu,
                                            const LogStyle& style);

}  // namespace foretoken::study
