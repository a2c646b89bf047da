// The parts of a profile with their evidence, for notes and for refusing another GPU's constants.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/profile.h"

namespace foretoken::cost {

/// The parts of a profile that a prediction reads.
struct Uses {
  std::vector<Precision> precisions{};  ///< precisions of its matrix products; empty: all of the profile
  bool grouped_products = true;         ///< of experts
  bool fused_attention = true;
  bool fp8_attention = false;  ///< its attention is in fp8
  bool serving = true;         ///< attention of engines of inference
  int head_dim = 0;            ///< head dimension of its causal attention; 0: all laws of attention
  bool nvlink = true, pcie = true, network = true;        ///< collectives; the first two count for messages, too
  bool exchanges_inside = true, exchanges_across = true;  ///< of tokens, by a library of its own
  bool messages_inside = true, messages_across = true;    ///< messages inside a node, and across nodes
};

/// One law, or one group of curves, by the name that reports print.
struct Part {
  std::string name;                ///< "gemm bf16", "collectives over NVLink"
  std::vector<Evidence> evidence;  ///< of its laws or curves, in the profile's order
  std::string_view measured_by;    ///< the part of `foretoken-calibrate` that measures it; empty: none
};

[[nodiscard]] std::vector<Part> parts_of(const Profile& profile, const Uses& uses = {});

/// A part with constants of another GPU.
struct ScaledPart {
  std::string name, from;
  std::string_view measured_by;
};

/// Returns the parts with constants of another GPU. It is empty when everything was measured, fitted or assumed for
/// this GPU itself.
[[nodiscard]] std::vector<ScaledPart> scaled_parts(const Profile& profile, const Uses& uses = {});

/// Returns "measured", "fitted", "scaled" or "assumed".
[[nodiscard]] std::string_view name_of(Provenance provenance);

}  // namespace foretoken::cost
