// A job on nodes of several kinds, divided into jobs on nodes of one kind.
#pragma once

#include <vector>

#include "sim/job/job.h"

namespace foretoken::job {

/// The stages of each kind of node as a job. Such a part has its own cluster, profile, GPUs and pipeline degree.
/// Everything else is the whole job's. Where all GPUs are alike, the job itself is the only part, and must outlive this
/// object.
class Parts {
 public:
  explicit Parts(const Job& job);

  [[nodiscard]] const Job& of(Stage stage) const;
  /// Returns the number of a stage within its part.
  [[nodiscard]] Stage local(Stage stage) const;
  /// Returns the parts in order of stages.
  [[nodiscard]] std::vector<const Job*> all() const;

 private:
  const Job& whole_;
  std::vector<Job> parts_;  // empty: the whole is the only one
};

}  // namespace foretoken::job
