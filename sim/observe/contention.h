// Links that several jobs fill together: for how long, and with whose flows.
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
  /// `job_of_task`: by task of the graph. Time after `until` does not count. Both must outlive the run.
  Contention(const des::TaskGraph& graph, std::span<const int> job_of_task, des::Instant until);

  void on_rate(des::TaskId flow, BytesPerSecond rate, des::Instant at) override;
  void on_end(des::TaskId task, des::Instant at) override;

  /// A link that was full while flows of several jobs were on it.
  struct Contended {
    des::LinkId link;
    des::Duration time;  ///< full, with flows of at least two jobs
    std::set<int> jobs;  ///< whose flows they were
  };
  /// Sorted by time, longest first; on a tie the lowest link first.
  [[nodiscard]] std::vector<Contended> contended() const;

 private:
  struct OnLink {
    std::vector<std::uint32_t> flows;  // under way, once per crossing
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
