// The model of a torchtune recipe.
#pragma once

#include <string>

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::tuning {

/// Maps the model that a builder makes: llama3_8b by its name, llama2 of the sizes that the section states. `builder`
/// is the last part of its name.
void map_torchtune_model(const Settings& settings, const std::string& builder, Report& report);

}  // namespace foretoken::io::launch::tuning
