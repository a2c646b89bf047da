// Sorts settings by the section of a ConfigContainer in which they stand.
#pragma once

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::bridge {

/// Passes over sections that are none of the container: variables of the environment, and keys no word of which is
/// about time or memory. Other keys of such sections are left to the rules.
void pass_over_sections_beside(const Settings& settings);

/// Refuses the keys of models of images, video and sound, whatever their values are: no model of text has them.
void refuse_multimodal(const Settings& settings);

}  // namespace foretoken::io::launch::bridge
