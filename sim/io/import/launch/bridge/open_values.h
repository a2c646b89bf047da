// Asks for values of a ConfigContainer that stand in variables of the environment.
#pragma once

#include <vector>

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::bridge {

/// Takes back the flags of switches whose value nobody knows: no such value turns one on.
void drop_open_switches(const Settings& settings, std::vector<Argument>& arguments);

/// Asks for the keys of such switches, with the reason. Those without a key are refused by name.
void ask_for_open_switches(const Settings& settings);

}  // namespace foretoken::io::launch::bridge
