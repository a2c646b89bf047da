// Progressive filling. The numbering of flows and links cannot show in the result. A round lowers each link's capacity
// once, by a whole number of flows times the level of the round. Links that fill at exactly the same level fill in the
// same round.
#include "sim/des/flows/max_min.h"

#include <algorithm>
#include <limits>

#include "sim/base/check.h"

namespace foretoken::des {
namespace {

struct Link {
  double left;                  // capacity not yet given to flows with a final rate
  std::uint32_t growing = 0;    // crossings by flows that still grow
  std::uint32_t fixed_now = 0;  // crossings by flows that got their rate in this round
  std::vector<std::uint32_t> flows;

  [[nodiscard]] double level() const { return left / growing; }
};

std::vector<Link> loaded_links(std::span<const BytesPerSecond> capacities, const Routes& routes) {
  std::vector<Link> links;
  links.reserve(capacities.size());
  for (const BytesPerSecond capacity : capacities) {
    expects(capacity.value() > 0, "a link has a positive capacity");
    links.push_back({.left = capacity.value(), .flows = {}});
  }
  for (std::size_t flow = 0; flow < routes.size(); ++flow) {
    expects(!routes[flow].empty(), "a flow that shares crosses at least one link");
    for (const LinkId link : routes[flow]) {
      ++links[link.value].growing;
      links[link.value].flows.push_back(static_cast<std::uint32_t>(flow));
    }
  }
  return links;
}

// Gives every flow its rate, round by round.
class Filling {
 public:
  Filling(std::span<const BytesPerSecond> capacities, const Routes& routes)
      : routes_(routes), links_(loaded_links(capacities, routes)), rates_(routes.size()) {}

  std::vector<BytesPerSecond> rates() && {
    std::vector<Link*> live;
    for (Link& link : links_)
      if (link.growing > 0) live.push_back(&link);
    // Equal links fill in a few rounds, which then look at all of them. Many levels are found faster in a heap.
    constexpr int kFew = 16;
    for (int round = 0; round < kFew && !live.empty(); ++round) {
      double level = std::numeric_limits<double>::infinity();
      for (const Link* link : live) level = std::min(level, link->level());
      full_.clear();
      std::copy_if(live.begin(), live.end(), std::back_inserter(full_),
                   [&](const Link* link) { return link->level() == level; });
      fill(level);
      std::erase_if(live, [](const Link* link) { return link->growing == 0; });
    }
    in_order_of_levels(live);
    return std::move(rates_);
  }

 private:
  struct Level {
    double level;
    Link* link;
    [[nodiscard]] bool holds() const { return link->growing > 0 && link->level() == level; }
    friend bool operator<(const Level& a, const Level& b) { return a.level > b.level; }  // lowest on top of a heap
  };

  void in_order_of_levels(const std::vector<Link*>& live) {
    std::vector<Level> heap;
    for (Link* link : live) heap.push_back({link->level(), link});
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
      fill(level);
      for (Link* link : touched_) {
        if (link->growing == 0) continue;
        heap.push_back({link->level(), link});
        std::push_heap(heap.begin(), heap.end());
      }
    }
  }

  // Gives `level` to all growing flows over full links.
  void fill(double level) {
    touched_.clear();
    for (const Link* link : full_) {
      for (const std::uint32_t flow : link->flows) {
        if (rates_[flow].value() > 0) continue;
        rates_[flow] = BytesPerSecond(level);
        for (const LinkId crossed : routes_[flow])
          if (links_[crossed.value].fixed_now++ == 0) touched_.push_back(&links_[crossed.value]);
      }
    }
    for (Link* link : touched_) {
      link->left -= level * link->fixed_now;
      link->growing -= link->fixed_now;
      link->fixed_now = 0;
    }
  }

  const Routes& routes_;
  std::vector<Link> links_;
  std::vector<BytesPerSecond> rates_;  // zero: still growing
  std::vector<Link*> full_, touched_;
};

}  // namespace

std::vector<BytesPerSecond> max_min(std::span<const BytesPerSecond> capacities, const Routes& routes) {
  return Filling(capacities, routes).rates();
}

}  // namespace foretoken::des
