// Progressive filling. The numbering of flows and links cannot show in the result. A round lowers each link's capacity
// once, by a whole number of flows times the level of the round. Links that fill at exactly the same level fill in the
// same round.
#include "sim/des/flows/max_min.h"

#include <algorithm>
#include <limits>

#include "sim/base/check.h"

namespace foretoken::des {

struct MaxMin::Level {
  double level;
  Link* link;
  [[nodiscard]] bool holds() const { return link->growing > 0 && link->level() == level; }
  friend bool operator<(const Level& a, const Level& b) { return a.level > b.level; }  // lowest on top of a heap
};

std::span<const BytesPerSecond> MaxMin::solve(std::span<const BytesPerSecond> capacities, const Routes& routes) {
  load(capacities, routes);
  live_.clear();
  for (Link& link : links_)
    if (link.growing > 0) live_.push_back(&link);
  // Equal links fill in a few rounds, which then look at all of them. Many levels are found faster in a heap.
  constexpr int kFew = 16;
  for (int round = 0; round < kFew && !live_.empty(); ++round) {
    double level = std::numeric_limits<double>::infinity();
    for (const Link* link : live_) level = std::min(level, link->level());
    full_.clear();
    std::copy_if(live_.begin(), live_.end(), std::back_inserter(full_),
                 [&](const Link* link) { return link->level() == level; });
    fill(level, routes);
    std::erase_if(live_, [](const Link* link) { return link->growing == 0; });
  }
  in_order_of_levels(routes);
  return rates_;
}

// Sorts the crossings by link: counts, then the place of each.
void MaxMin::load(std::span<const BytesPerSecond> capacities, const Routes& routes) {
  links_.clear();
  for (const BytesPerSecond capacity : capacities) {
    expects(capacity.value() > 0, "a link has a positive capacity");
    links_.push_back({.left = capacity.value()});
  }
  rates_.assign(routes.size(), BytesPerSecond());
  for (std::size_t flow = 0; flow < routes.size(); ++flow) {
    expects(!routes[flow].empty(), "a flow that shares crosses at least one link");
    for (const LinkId link : routes[flow]) ++links_[link.value].growing;
  }
  std::uint32_t crossings = 0;
  for (Link& link : links_) {
    link.flows_end = crossings;  // moves to the end while the flows are placed
    crossings += link.growing;
  }
  flows_.resize(crossings);
  for (std::size_t flow = 0; flow < routes.size(); ++flow)
    for (const LinkId link : routes[flow]) flows_[links_[link.value].flows_end++] = static_cast<std::uint32_t>(flow);
}

std::span<const std::uint32_t> MaxMin::flows_over(const Link& link) const {
  const std::uint32_t begin = &link == links_.data() ? 0 : (&link - 1)->flows_end;
  return std::span(flows_).subspan(begin, link.flows_end - begin);
}

// Fills the links of `live_` that the rounds left.
void MaxMin::in_order_of_levels(const Routes& routes) {
  std::vector<Level> heap;
  for (Link* link : live_) heap.push_back({link->level(), link});
  std::make_heap(heap.begin(), heap.end());
  const auto pop = [&] {
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
  };
  while (!heap.empty()) {
    const double level = heap.front().level;
    full_.clear();
    for (; !heap.empty() && heap.front().level == level; pop())
      if (heap.front().holds()) full_.push_back(heap.front().link);
    fill(level, routes);
    for (Link* link : touched_) {
      if (link->growing == 0) continue;
      heap.push_back({link->level(), link});
      std::push_heap(heap.begin(), heap.end());
    }
  }
}

// Gives `level` to all growing flows over full links.
void MaxMin::fill(double level, const Routes& routes) {
  touched_.clear();
  for (const Link* link : full_) {
    for (const std::uint32_t flow : flows_over(*link)) {
      if (rates_[flow].value() > 0) continue;
      rates_[flow] = BytesPerSecond(level);
      for (const LinkId crossed : routes[flow])
        if (links_[crossed.value].fixed_now++ == 0) touched_.push_back(&links_[crossed.value]);
    }
  }
  for (Link* link : touched_) {
    link->left -= level * link->fixed_now;
    link->growing -= link->fixed_now;
    link->fixed_now = 0;
  }
}

std::vector<BytesPerSecond> max_min(std::span<const BytesPerSecond> capacities, const Routes& routes) {
  MaxMin solver;
  const std::span<const BytesPerSecond> rates = solver.solve(capacities, routes);
  return {rates.begin(), rates.end()};
}

}  // namespace foretoken::des
