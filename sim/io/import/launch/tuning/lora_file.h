// Takes the settings of LoRA out of the file that a program's --lora_config names.
#pragma once

#include <string>

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::tuning {

/// Adds the keys of the file to `document`, where they count as flags do, if LoRA is switched on (--use_lora). Asks for
/// the rank where the file is not there. `folder` is that of the script.
void take_lora_file(const shell::Script& script, const std::string& folder, Json& document, Report& report);

}  // namespace foretoken::io::launch::tuning
