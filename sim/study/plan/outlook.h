// The distribution of a run's length, when its step time and its failures are both uncertain.
#pragma once

#include <functional>
#include <vector>

#include "sim/study/search/goodput.h"

namespace foretoken::study {

/// The distribution of the days until a run is done.
///
/// The step takes as long as runs like it did: 199 equally likely times between the quantiles 1/398 and 397/398 of its
/// error. For each of them failures add time with the distribution of search::RunWithFailures. The mean over both is
/// exact up to these 199 points, and no random number is drawn.
class Outlook {
 public:
  /// `training_days` at the headline step; `error_quantile` gives log(measured / headline) by part
  /// (trust::error_quantile). Precondition: training_days > 0, gpus > 0.
  Outlook(double training_days, int gpus, const search::FailureModel& failures,
          const std::function<double(double)>& error_quantile);

  /// Returns the part of runs that are done within so many days.
  [[nodiscard]] double chance_within(double days) const;
  /// Returns the days within which a part of all runs is done. Infinite where failures leave no progress.
  /// Precondition: 0 < part < 1.
  [[nodiscard]] double days_by(double part) const;

 private:
  std::vector<search::RunWithFailures> runs_;  // by step time, fastest first
};

}  // namespace foretoken::study
