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

}  // namespace foretoken::des
