// The places of a model's virtual stages, and their neighbours: for example, stage 1 chunk 0 follows stage 0 chunk 0.
#pragma once

#include <vector>

#include "sim/base/ids.h"
#include "sim/schedule/ops.h"

namespace foretoken::schedule {

/// The place of one virtual stage: a chunk of a stage.
struct Place {
  Stage stage;
  Chunk chunk;
  friend bool operator==(const Place&, const Place&) = default;
};

/// The virtual stages in the order in which a micro-batch meets them. With one way, every micro-batch goes the same way
/// through the model. With two ways the stages hold two copies of the model, and each micro-batch takes one of them.
class Placement {
 public:
  /// A placement without places.
  Placement() = default;
  /// Virtual stage k p + r is chunk k of stage r.
  [[nodiscard]] static Placement looped(int stages, int chunks);
  /// Chunk 0 goes from the first stage to the last, chunk 1 back, chunk 2 down again, and so on. With an even number of
  /// chunks, model input and output stand on stage 0.
  [[nodiscard]] static Placement zigzag(int stages, int chunks);
  /// Two chunks a stage, down and back.
  [[nodiscard]] static Placement v_shaped(int stages) { return zigzag(stages, 2); }
  /// Two copies of the model. Chunk 0 goes from the first stage to the last, chunk 1 from the last to the first.
  [[nodiscard]] static Placement two_way(int stages);
  /// Every way lists its places in order. Precondition: the ways hold every chunk of every stage exactly once.
  /// Neighbours stand on one stage, or on stages that follow each other on the ring of stages.
  Placement(int stages, int chunks, const std::vector<std::vector<Place>>& ways);

  [[nodiscard]] int stages() const { return stages_; }
  [[nodiscard]] int chunks() const { return chunks_; }
  [[nodiscard]] int ways() const { return ways_; }

  /// Returns the virtual stage before or after `at` on its way, or nullptr at the model's ends. It lives as long as
  /// this object.
  [[nodiscard]] const Place* neighbour(Place at, Neighbour which) const {
    const Link& link = link_of(at, which);
    return link.exists ? &link.there : nullptr;
  }
  /// Returns the neighbour if it stands on another stage, so that a message goes there; else nullptr.
  [[nodiscard]] const Place* neighbour_elsewhere(Place at, Neighbour which) const {
    const Link& link = link_of(at, which);
    return link.elsewhere ? &link.there : nullptr;
  }

  [[nodiscard]] bool is_first(Place at) const {
    return !links_[index(at)].previous.exists;
  }                                                                                      ///< the embedding stands here
  [[nodiscard]] bool is_last(Place at) const { return !links_[index(at)].next.exists; }  ///< the head stands here
  [[nodiscard]] int way_of(Place at) const { return links_[index(at)].way; }
  [[nodiscard]] int position_of(Place at) const { return links_[index(at)].position; }  ///< virtual stages before it
  /// Returns true when virtual stage k p + r is chunk k of stage r.
  [[nodiscard]] bool is_looped() const;

  friend bool operator==(const Placement&, const Placement&) = default;

 private:
  /// A neighbour, and true in `elsewhere` when it stands on another stage.
  struct Link {
    Place there = {};
    bool exists = false, elsewhere = false;
    friend bool operator==(const Link&, const Link&) = default;
  };
  struct Links {
    int way = 0, position = 0;
    Link previous = {}, next = {};
    friend bool operator==(const Links&, const Links&) = default;
  };
  [[nodiscard]] const Link& link_of(Place at, Neighbour which) const {
    const Links& links = links_[index(at)];
    return which == Neighbour::kPrevious ? links.previous : links.next;
  }
  [[nodiscard]] std::size_t index(Place at) const {
    return at.stage.index() * static_cast<std::size_t>(chunks_) + at.chunk.index();
  }

  int stages_ = 0, chunks_ = 0, ways_ = 0;
  std::vector<Links> links_;  // [stage][chunk]
};

}  // namespace foretoken::schedule
