// Takes keys for the flags of the same name.
#include "sim/io/import/launch/megatron/same_named_keys.h"

#include <algorithm>
#include <utility>

#include "sim/io/import/launch/megatron/flag_table.h"
#include "sim/io/import/launch/words.h"

namespace foretoken::io::launch::megatron {

void add_same_named_keys(const Settings& settings, std::initializer_list<std::string_view> sections,
                         std::span<const KeyRule> listed, SameNamed which, std::vector<Argument>& arguments) {
  for (const auto& [key, value] : settings.leaves()) {
    const bool here =
        std::ranges::any_of(sections, [&key = key](std::string_view section) { return key.starts_with(section); });
    if (!here || settings.was_asked(key)) continue;
    if (std::ranges::any_of(listed, [&key = key](const KeyRule& rule) { return lists_key(rule.keys, key); })) continue;
    auto argument = argument_of_key(key.substr(key.find('.') + 1), *value, key);
    const auto rule = argument ? rule_of(argument->name) : std::nullopt;
    const bool zero = argument && !argument->values.empty() && number_of_text(argument->values.front()) == 0;
    if (!rule || zero || (which == SameNamed::kSideNotes && rule->effect == Effect::kRead)) continue;
    (void)settings.at(key);
    arguments.push_back(std::move(*argument));
  }
}

}  // namespace foretoken::io::launch::megatron
