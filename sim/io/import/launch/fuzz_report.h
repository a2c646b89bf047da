// The fuzz targets of launch files print what they read, as --json does.
#pragma once

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch {

/// Prints the report as JSON, whatever bytes it holds.
inline void must_print(const Report& report) {
  (void)report.json().dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace foretoken::io::launch
