// Reads job configurations of torchtitan.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::torchtitan {

/// Returns true when the document has torchtitan's sections: [model] or [job], and [training].
[[nodiscard]] bool is_torchtitan(const nlohmann::ordered_json& document);

/// Makes a scenario of a configuration. The batch is stated for each data-parallel rank, so that the global batch needs
/// `gpus`, where the user states them.
void read_torchtitan(const nlohmann::ordered_json& document, std::optional<std::int64_t> gpus, Report& report);

}  // namespace foretoken::io::launch::torchtitan
