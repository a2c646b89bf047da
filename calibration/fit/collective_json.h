// The parts of a profile that files of measured collectives have too, as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "sim/cost/profile.h"

namespace foretoken::fit {

using Json = nlohmann::ordered_json;

[[nodiscard]] double us(Seconds t);         ///< rounded for a profile
[[nodiscard]] double gb(BytesPerSecond r);  ///< GB/s, rounded for a profile
/// Logarithms as whole ten-thousandths: short to read, and far finer than any measurement.
[[nodiscard]] Json ten_thousandths(const std::vector<double>& values);

[[nodiscard]] Json json_of(const cost::Evidence& evidence);
[[nodiscard]] Json json_of(const cost::InsideNodeLaw& law);
[[nodiscard]] Json json_of(const cost::AcrossNodesLaw& law);
[[nodiscard]] Json json_of(const cost::PointToPointLaw::Path& path);
[[nodiscard]] Json json_of(const cost::PointToPointLaw& law);

}  // namespace foretoken::fit
