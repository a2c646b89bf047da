// The usual causes of a step that takes longer than predicted, each as a changed question.
#pragma once

#include <string>
#include <vector>

#include "sim/base/process/watch.h"
#include "sim/study/diagnose/signature.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {

/// One strength of a cause, with its part of the cause's probability before the log is read. Parts add up to 1.
struct Strength {
  std::string words;  ///< "one rank is 10 % slower"
  double part = 1;
  Signature signature;
};

/// A cause that may explain a log.
struct Cause {
  std::string key;    ///< "slow-rank"
  std::string test;   ///< a way to find out, as an instruction
  double prior = 1;   ///< relative to the other causes, before the log is read
  double jitter = 0;  ///< robust deviation of the step that it usually brings; 0: that of any run
  double data = 0;    ///< part of the added time that the timer of the batch generator shows
  std::vector<Strength> strengths{};
};

/// Simulates every cause that `job` can have. Every time is times `factor`. Causes that do not change the step by a
/// thousandth in any strength are left out.
[[nodiscard]] std::vector<Cause> causes_of(const job::Job& job, const Signature& base, double factor,
                                           const Watch& watch = {});

}  // namespace foretoken::study
