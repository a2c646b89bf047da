// Reads and writes profiles: calibration/profiles/NAME.json.
#pragma once

#include <string>

#include "sim/cost/profile.h"
#include "sim/io/json/node.h"

namespace foretoken::io {

class Fields;

/// The table of products whose rows are misaligned.
void misaligned_fields(Fields& f, cost::MisalignedRows& rows);

/// Reads the fitted costs of one GPU.
[[nodiscard]] cost::Profile read_profile(const Node& node);

/// Writes the text of the file. Writing a profile that was read gives the same bytes.
[[nodiscard]] std::string to_json_text(const cost::Profile& profile);

}  // namespace foretoken::io
