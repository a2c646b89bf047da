// The kinds of layers that a model's numbers describe, and their places.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/model/transformer.h"

namespace foretoken::model {

/// Differences between the layers of one model.
struct LayerKind {
  bool experts = false;     ///< a mixture of experts in place of the MLP
  std::int64_t window = 0;  ///< tokens that a query sees; 0: all
  Half half = Half::kNone;
  bool at_seam = false;  ///< the encoder's last layer, or the decoder's first
  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

/// Layers of one kind that follow one another.
struct KindRun {
  int kind = 0;  ///< position in StackPlan::kinds
  std::int64_t count = 1;
};

/// The kinds of layers in the order in which they first stand, and all layers in forward order.
struct StackPlan {
  std::vector<LayerKind> kinds;
  std::vector<KindRun> runs;

  /// Counts the layers of one kind.
  [[nodiscard]] std::int64_t count_of(int kind) const;
};

/// Returns the layers of a model that states no blocks of its own.
[[nodiscard]] StackPlan plan_of(const Transformer& model);

}  // namespace foretoken::model
