// The choices of a search that decide the times of a layer's passes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "sim/job/patch.h"

namespace foretoken::fast {

/// The role of one choice in the times of passes.
struct LayerRole {
  job::Key key;
  std::optional<std::int64_t> (*value)(const job::Job&, job::Key);  ///< no value: the choice plays no part
  const char* why;                                                  ///< the reason for having no role, or its effect
};

/// One role for every choice of job::Key, in their order.
[[nodiscard]] std::span<const LayerRole> layer_roles();

/// The axes that experts are dealt out over.
inline constexpr AxisSet kDealtAxes{Axis::kExpertTensor, Axis::kExpert};

/// Equal for two jobs of one question exactly when their layers are executed alike. It holds the values of the choices
/// that play a part, and the shapes of the groups inside a layer. The groups follow from the degrees and the nodes.
using LayerKey = std::array<std::int64_t, job::kChoiceKeys + 4 * (net::kLayerAxes.count() + kDealtAxes.count())>;
[[nodiscard]] LayerKey layer_key(const job::Job& job);

}  // namespace foretoken::fast
