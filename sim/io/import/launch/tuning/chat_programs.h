// Programs that fine-tune one family of chat models: FastChat's, Qwen's and ChatGLM's.
#pragma once

#include <string>
#include <vector>

#include "sim/io/import/launch/tuning/other_programs.h"

namespace foretoken::io::launch::tuning {

/// Adds the defaults of such a program. Does nothing for others. `program` is not empty.
void take_chat_program(const std::vector<std::string>& program, const Taken& taken);

}  // namespace foretoken::io::launch::tuning
