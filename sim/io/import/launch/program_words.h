// Words of NeMo behind a program, as keys of its configurations.
#pragma once

#include <string>
#include <string_view>

#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch {

inline constexpr std::string_view kNodes = "trainer.num_nodes", kDevices = "trainer.devices";

/// Returns a word of NeMo 2 with the key of NeMo 1 that says the same; other words as they are.
[[nodiscard]] std::string with_names_of_nemo_1(std::string word);

/// Returns the recipe of `nemo llm pretrain --factory RECIPE`, or of another training; empty for other commands.
[[nodiscard]] std::string factory_of_nemo(const shell::Command& command);

}  // namespace foretoken::io::launch
