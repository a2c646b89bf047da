// Profiles, read and written: calibration/profiles/NAME.json.
#pragma once

#include <string>

#include "sim/cost/profile.h"
#include "sim/io/json/node.h"

namespace foretoken::io {

class Fields;

/// The table of products whose rows are misaligned.
void misaligned_fields(Fields& f, cost::MisalignedRows& rows);

/// The fitted costs of one GPU.
[[nodiscard]] cost::Profile read_profile(const Node& node);

/// The text of the file. The same profile gives the same bytes, and a profile that was read gives the bytes it was
/// read from.
[[nodiscard]] std::string to_json_text(const cost::Profile& profile);

}  // namespace foretoken::io
