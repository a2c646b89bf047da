// The parts of a profile with what each rests on: for notes, and for refusing what another GPU lent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/profile.h"

namespace foretoken::cost {

/// Which parts of a profile a prediction reads.
struct Uses {
  std::vector<Precision> precisions{};  ///< of its matrix products; empty: all that the profile has
  bool fused_attention = true;
  int head_dim = 0;                                     ///< of its causal attention; 0: all laws of attention
  bool nvlink = true, pcie = true, network = true;      ///< collectives; the first two, messages too
  bool messages_inside = true, messages_across = true;  ///< of a node
};

/// One law, or one group of curves, by the name that reports print.
struct Part {
  std::string name;                ///< "gemm bf16", "collectives over NVLink"
  std::vector<Evidence> evidence;  ///< of its laws or curves, in the profile's order
  std::string_view measured_by;    ///< part of `foretoken-calibrate` that would measure it
};

[[nodiscard]] std::vector<Part> parts_of(const Profile& profile, const Uses& uses = {});

/// A part with constants of another GPU.
struct ScaledPart {
  std::string name, from;
  std::string_view measured_by;
};

/// Empty when everything was measured, fitted or assumed for this GPU itself.
[[nodiscard]] std::vector<ScaledPart> scaled_parts(const Profile& profile, const Uses& uses = {});

/// "measured", "fitted", "scaled", "assumed"
[[nodiscard]] std::string_view name_of(Provenance provenance);

}  // namespace foretoken::cost
