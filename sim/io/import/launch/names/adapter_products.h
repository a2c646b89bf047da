// The products beside which LoRA stands, by the names that families of models give them.
#pragma once

#include <string>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch {

/// Returns the products of a text as a scenario states them: a list parted by spaces or commas, "all", or one regular
/// expression of PEFT, which is matched against the names of the layers' modules. Refuses products beside which no
/// adapter is modelled, and expressions that cannot be matched.
[[nodiscard]] Json adapter_products(const std::string& text, const std::string& from, Report& report);

}  // namespace foretoken::io::launch
