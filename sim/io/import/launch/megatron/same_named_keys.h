// Keys of configurations that have the name of a flag of Megatron-LM: model.moe_permute_fusion.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::megatron {

/// The flags that count.
enum class SameNamed : std::uint8_t {
  kAll,       ///< every flag that Megatron-LM has
  kSideNotes  ///< those that no rule reads; a file's own rules map the others
};

/// Appends the keys below `sections` ("model.") that neither a rule has asked for nor `listed` holds, as the flags of
/// the same name. A key that is no flag, or is zero, is left.
void add_same_named_keys(const Settings& settings, std::initializer_list<std::string_view> sections,
                         std::span<const KeyRule> listed, SameNamed which, std::vector<Argument>& arguments);

}  // namespace foretoken::io::launch::megatron
