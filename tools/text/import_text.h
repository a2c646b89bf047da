// The report of an import as text.
#pragma once

#include <string>

#include "sim/io/import/launch/report.h"
#include "sim/report/text/layout.h"

namespace foretoken::tools {

/// Returns what became of every setting: refused and asked for first, then mapped, assumed, read and ignored.
[[nodiscard]] std::string import_text(const io::launch::Report& report, const report::Paint& paint);

}  // namespace foretoken::tools
