// Fused attention in a build without cuDNN's front end: states that it is missing.
#include "calibration/measure/gpu/attention/fused_attention.h"

namespace foretoken::gpu {

struct FusedAttention::Library {};

FusedAttention::FusedAttention() = default;
FusedAttention::~FusedAttention() = default;

std::string FusedAttention::missing() { return "built without cuDNN's front end (set CUDNN_FRONTEND_HOME)"; }

std::optional<measured::AttentionSample> FusedAttention::time(Workbench& /*bench*/,
                                                              measured::AttentionSample /*sample*/) const {
  return std::nullopt;
}

}  // namespace foretoken::gpu
