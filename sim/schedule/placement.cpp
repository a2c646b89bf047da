// Stores the ways of a placement as links from each place to the next.
#include "sim/schedule/placement.h"

#include "sim/base/check.h"

namespace foretoken::schedule {
namespace {

bool adjoin(Stage a, Stage b, int stages) {
  const int distance = (a.number() - b.number() + stages) % stages;
  return distance == 0 || distance == 1 || distance == stages - 1;
}

std::vector<Place> down(int stages, Chunk chunk) {
  std::vector<Place> way;
  for (const Stage stage : ids<Stage>(stages)) way.push_back({stage, chunk});
  return way;
}

std::vector<Place> up(int stages, Chunk chunk) {
  std::vector<Place> way;
  for (int stage = stages; stage-- > 0;) way.push_back({id_of<Stage>(stage), chunk});
  return way;
}

}  // namespace

Placement Placement::looped(int stages, int chunks) {
  std::vector<Place> way;
  way.reserve(static_cast<std::size_t>(stages) * static_cast<std::size_t>(chunks));
  for (const Chunk chunk : ids<Chunk>(chunks))
    for (const Stage stage : ids<Stage>(stages)) way.push_back({stage, chunk});
  return {stages, chunks, {way}};
}

Placement Placement::zigzag(int stages, int chunks) {
  std::vector<Place> way;
  for (const Chunk chunk : ids<Chunk>(chunks)) {
    const std::vector<Place> run = chunk.number() % 2 == 0 ? down(stages, chunk) : up(stages, chunk);
    way.insert(way.end(), run.begin(), run.end());
  }
  return {stages, chunks, {way}};
}

Placement Placement::two_way(int stages) { return {stages, 2, {down(stages, Chunk{0}), up(stages, Chunk{1})}}; }

Placement::Placement(int stages, int chunks, const std::vector<std::vector<Place>>& ways)
    : stages_(stages), chunks_(chunks), ways_(static_cast<int>(ways.size())) {
  links_.resize(static_cast<std::size_t>(stages) * static_cast<std::size_t>(chunks));
  std::size_t placed = 0;
  std::vector<bool> taken(links_.size(), false);
  for (std::size_t way = 0; way < ways.size(); ++way) {
    for (std::size_t at = 0; at < ways[way].size(); ++at) {
      const Place place = ways[way][at];
      expects(place.stage.number() < stages && place.chunk.number() < chunks, "a place is one of the placement's");
      expects(!taken[index(place)], "every place stands on one way, once");
      taken[index(place)] = true;
      Links& links = links_[index(place)];
      links.way = static_cast<int>(way);
      links.position = static_cast<int>(at);
      const auto link = [&](Place there) { return Link{there, true, there.stage != place.stage}; };
      if (at > 0) links.previous = link(ways[way][at - 1]);
      if (at + 1 < ways[way].size()) links.next = link(ways[way][at + 1]);
      expects(!links.next.exists || adjoin(place.stage, links.next.there.stage, stages),
              "neighbouring virtual stages stand on one stage or on neighbouring ones");
      ++placed;
    }
  }
  expects(placed == links_.size(), "every chunk of every stage has a place on a way");
}

bool Placement::is_looped() const { return *this == looped(stages_, chunks_); }

}  // namespace foretoken::schedule
