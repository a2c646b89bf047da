// Completes an imported scenario: facts that only the user knows, and rules between numbers that are known.
#pragma once

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch {

/// Asks for what is missing, fills in the global batch of one micro-batch a replica, and refuses shapes that cannot
/// run: layers, heads or batches that do not divide.
void complete_scenario(Report& report);

}  // namespace foretoken::io::launch
