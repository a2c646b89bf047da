// Defaults of a tree of Megatron-LM whose folder is named after its date.
#pragma once

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::megatron {

/// Maps attention where no flag decides about it and the command runs in Megatron-LM-240126.
void settle_attention_of_tree(const shell::Script& script, const shell::Command& command, Report& report);

}  // namespace foretoken::io::launch::megatron
