// Sorts settings by the section of a ConfigContainer in which they stand.
#pragma once

#include <string>
#include <vector>

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::bridge {

/// Gives sections of the first ConfigContainer the names of today: train_config becomes train. Returns those that had
/// another name, by the names of today.
[[nodiscard]] std::vector<std::string> rename_first_sections(Json& document);

/// Writes settings of these sections as the file spells them.
void respell_first_sections(const std::vector<std::string>& sections, Report& report);

/// Passes over sections that are none of the container: variables of the environment, and keys no word of which is
/// about time or memory. Other keys of such sections are left to the rules.
void pass_over_sections_beside(const Settings& settings);

/// Refuses the keys of models of images, video and sound, whatever their values are: no model of text has them.
void refuse_multimodal(const Settings& settings);

}  // namespace foretoken::io::launch::bridge
