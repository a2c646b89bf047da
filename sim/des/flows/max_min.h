// Max-min fair sharing: capacities and routes in, rates out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/des/task_graph.h"

namespace foretoken::des {

/// The routes of some flows, one after another.
class Routes {
 public:
  void clear() {
    begin_.resize(1);
    links_.clear();
  }
  void add(std::span<const LinkId> route) {
    links_.insert(links_.end(), route.begin(), route.end());
    begin_.push_back(static_cast<std::uint32_t>(links_.size()));
  }
  [[nodiscard]] std::size_t size() const { return begin_.size() - 1; }
  [[nodiscard]] std::span<const LinkId> operator[](std::size_t flow) const {
    return std::span(links_).subspan(begin_[flow], begin_[flow + 1] - begin_[flow]);
  }

 private:
  std::vector<std::uint32_t> begin_{0};
  std::vector<LinkId> links_;
};

/// Returns the max-min fair rate of each flow: a rate can grow only if another, not greater, shrinks.
///
/// Progressive filling (Bertsekas and Gallager, Data Networks, 2nd edition, section 6.5.2): all rates grow together
/// until a link is full. The flows over it keep their rate, and the others grow on. A flow that crosses a link twice
/// takes twice its rate there.
///
/// To the last bit, the rates do not depend on how flows and links are numbered. They do not depend on flows that no
/// chain of shared links connects, so each component can be solved by itself.
///
/// Precondition: capacities are positive and no route is empty.
[[nodiscard]] std::vector<BytesPerSecond> max_min(std::span<const BytesPerSecond> capacities, const Routes& routes);

/// Solves one problem after another as `max_min` does, and keeps its memory between them.
class MaxMin {
 public:
  /// Returns the rate of each flow. The rates are valid until the next call.
  std::span<const BytesPerSecond> solve(std::span<const BytesPerSecond> capacities, const Routes& routes);

 private:
  struct Link {
    double left;                  // capacity not yet given to flows with a final rate
    std::uint32_t growing = 0;    // crossings by flows that still grow
    std::uint32_t fixed_now = 0;  // crossings by flows that got their rate in this round
    std::uint32_t flows_end = 0;  // end of its flows in flows_; the link before ends where they begin

    [[nodiscard]] double level() const { return left / growing; }
  };
  struct Level;

  void load(std::span<const BytesPerSecond> capacities, const Routes& routes);
  void in_order_of_levels(const Routes& routes);
  void fill(double level, const Routes& routes);
  [[nodiscard]] std::span<const std::uint32_t> flows_over(const Link& link) const;

  std::vector<Link> links_;
  std::vector<std::uint32_t> flows_;   // by link, once per crossing
  std::vector<BytesPerSecond> rates_;  // zero: still growing
  std::vector<Link*> live_, full_, touched_;
};

}  // namespace foretoken::des
