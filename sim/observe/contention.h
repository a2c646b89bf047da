// Finds links that several jobs fill together, with the time and the jobs.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "sim/des/observer.h"
#include "sim/des/task_graph.h"

namespace foretoken::observe {

/// Watches a run of several jobs in one graph.
class Contention : public des::Observer {
 public:
  /// `job_of_task` gives the job of each task of the graph. Time after `until` does not count. Graph and span must
  /// outlive the run.
  Contention(const des::TaskGraph& graph, std::span<const int> job_of_task, des::Instant until);

  void on_rate(des::TaskId flow, BytesPerSecond rate, des::Instant at) override;
  void on_end(des::TaskId task, des::Instant at) override;

  /// A link that was full while flows of several jobs were on it.
  struct Contended {
    des::LinkId link;
    des::Duration time;  ///< while full, with flows of at least two jobs
    std::set<int> jobs;  ///< the jobs of these flows
  };
  /// Returns the links sorted by time, longest first; on a tie the lowest link first.
  [[nodiscard]] std::vector<Contended> contended() const;

 private:
  struct OnLink {
    std::vector<std::uint32_t> flows;  // in flight, once for each crossing
    des::Instant since;
    Contended so_far;
  };
  void touch(std::uint32_t flow, des::Instant at);
  void count(OnLink& link, double capacity, des::Instant now);
  [[nodiscard]] std::uint32_t flow_of(des::TaskId task) const;

  const des::TaskGraph& graph_;
  std::span<const int> job_of_task_;
  des::Instant until_;
  std::vector<double> rate_;  // by flow; 0: not moving
  std::vector<OnLink> links_;
};

}  // namespace foretoken::observe
