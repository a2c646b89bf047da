// Fields that profiles and runtimes share, with sensible ranges.
#pragma once

#include "sim/cost/profile.h"
#include "sim/io/json/node.h"

namespace foretoken::io {

class Fields;

inline constexpr Range kMicroseconds{.low = 0, .high = 1e9};
inline constexpr Range kFactor{.low = 1e-3, .high = 100};
inline constexpr Range kRate{.low = 1e-6, .high = 1e9};  // TFLOP/s or GB/s
inline constexpr Range kEfficiency{.low = 1e-6, .high = 1};
inline constexpr Range kLogRatio{.low = -30000, .high = 30000};  // ten-thousandths: factors up to e^3
inline constexpr Range kOctaves{.low = 0, .high = 40};           // log2 of a dimension or of bytes

/// Lists the fields of an "evidence" object.
void evidence_fields(Fields& f, cost::Evidence& evidence);

/// The table of a "correction" over bytes.
void size_correction_fields(Fields& f, cost::SizeCorrection& correction);

}  // namespace foretoken::io
