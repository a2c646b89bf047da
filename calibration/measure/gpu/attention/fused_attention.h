// Fused attention of cuDNN, if the build found cuDNN and its front end.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "calibration/import/samples.h"
#include "calibration/measure/gpu/workbench.h"

namespace foretoken::gpu {

class FusedAttention {
 public:
  FusedAttention();
  ~FusedAttention();
  FusedAttention(const FusedAttention&) = delete;
  FusedAttention& operator=(const FusedAttention&) = delete;

  /// Returns the reason why this program has no fused attention, or an empty text when it has.
  [[nodiscard]] static std::string missing();
  /// Times the sample. Returns nothing when cuDNN does not support the shape on this GPU, or its data do not fit.
  [[nodiscard]] std::optional<measured::AttentionSample> time(Workbench& bench, measured::AttentionSample sample) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace foretoken::gpu
