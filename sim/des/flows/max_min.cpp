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

}  // namespace

std::vector<BytesPerSecond> max_min(std::span<const BytesPerSecond> capacities, const Routes& routes) {
  std::vector<Link> links = loaded_links(capacities, routes);
  std::vector<Link*> live;
  for (Link& link : links) {
    if (link.growing > 0) live.push_back(&link);
  }
  std::vector<BytesPerSecond> rates(routes.size());  // zero: still growing
  std::vector<Link*> full;
  while (!live.empty()) {
    double level = std::numeric_limits<double>::infinity();
    for (const Link* link : live) level = std::min(level, link->level());
    full.clear();
    std::copy_if(live.begin(), live.end(), std::back_inserter(full),
                 [&](const Link* l) { return l->level() == level; });
    for (const Link* link : full) {
      for (const std::uint32_t flow : link->flows) {
        if (rates[flow].value() > 0) continue;
        rates[flow] = BytesPerSecond(level);
        for (const LinkId crossed : routes[flow]) ++links[crossed.value].fixed_now;
      }
    }
    for (Link* link : live) {
      link->left -= level * link->fixed_now;
      link->growing -= link->fixed_now;
      link->fixed_now = 0;
    }
    std::erase_if(live, [](const Link* link) { return link->growing == 0; });
  }
  return rates;
}

}  // namespace foretoken::des
