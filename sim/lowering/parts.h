// A job on nodes of several kinds, taken apart into jobs on nodes of one kind.
#pragma once

#include <vector>

#include "sim/lowering/scenario.h"

namespace foretoken::lowering {

/// The stages of each kind of node as a job of their own: cluster, profile, GPUs and pipeline degree are theirs, all
/// else is the whole job's. Where all GPUs are alike there is one part, the scenario itself, which must outlive this.
class Parts {
 public:
  explicit Parts(const Scenario& scenario);

  [[nodiscard]] const Scenario& of(int stage) const;
  /// The number of a stage within its part.
  [[nodiscard]] int local(int stage) const;
  /// In order of stages.
  [[nodiscard]] std::vector<const Scenario*> all() const;

 private:
  const Scenario& whole_;
  std::vector<Scenario> parts_;  // empty: the whole is the only one
};

}  // namespace foretoken::lowering
