// A job on nodes of several kinds, taken apart into jobs on nodes of one kind.
#pragma once

#include <vector>

#include "sim/job/job.h"

namespace foretoken::job {

/// The stages of each kind of node as a job of their own: cluster, profile, GPUs and pipeline degree are theirs, all
/// else is the whole job's. Where all GPUs are alike there is one part, the scenario itself, which must outlive this.
class Parts {
 public:
  explicit Parts(const Job& job);

  [[nodiscard]] const Job& of(int stage) const;
  /// The number of a stage within its part.
  [[nodiscard]] int local(int stage) const;
  /// In order of stages.
  [[nodiscard]] std::vector<const Job*> all() const;

 private:
  const Job& whole_;
  std::vector<Job> parts_;  // empty: the whole is the only one
};

}  // namespace foretoken::job
