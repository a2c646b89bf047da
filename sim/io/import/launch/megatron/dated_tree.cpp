// Reads the date in the folder of Megatron-LM: alibaba/Pai-Megatron-Patch keeps Megatron-LM-230512 to -250908.
#include "sim/io/import/launch/megatron/dated_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "sim/io/import/launch/arguments.h"

namespace foretoken::io::launch::megatron {
namespace {

constexpr std::string_view kFolder = "Megatron-LM-";

// Returns the date in a path, 240126; nothing without one.
std::optional<std::int64_t> date_in(std::string_view path) {
  constexpr std::size_t kDigits = 6;
  const std::size_t at = path.find(kFolder);
  if (at == path.npos) return std::nullopt;
  const std::string_view rest = path.substr(at + kFolder.size());
  const std::size_t end = std::min(rest.find_first_not_of("0123456789"), rest.size());
  return end == kDigits ? whole_of(rest.substr(0, end)) : std::nullopt;
}

// Returns the only date among the paths of Python, or where they hold none, among the other variables.
std::optional<std::int64_t> date_of_tree(const shell::Script& script) {
  std::set<std::int64_t> of_python, others;
  for (const auto& [name, values] : script.variables.values)
    for (const std::string& value : values)
      if (const auto date = date_in(value)) (name == "PYTHONPATH" ? of_python : others).insert(*date);
  const std::set<std::int64_t>& dates = of_python.empty() ? others : of_python;
  return dates.size() == 1 ? std::optional(*dates.begin()) : std::nullopt;
}

// Programs of Megatron-Core's layers took Transformer Engine whatever the flag said: pretrain_gpt.py of core 0.5.
bool has_layers_of_core(const shell::Command& command) {
  return std::ranges::any_of(command.words, [](const std::string& word) {
    const bool program =
        word.ends_with(".py") && std::filesystem::path(word).stem().string().find("mcore") != word.npos;
    return program || word == "--use-mcore-models";
  });
}

}  // namespace

// In Megatron-LM-240126 --transformer-impl is local by default: its megatron/arguments.py, in Pai-Megatron-Patch. The
// file of other dated trees was not read, so they keep the default of upstream.
void settle_attention_of_tree(const shell::Script& script, const shell::Command& command, Report& report) {
  constexpr std::int64_t kLocal = 240126;
  const bool assumed = std::ranges::any_of(report.assumed, [](const Assumed& one) { return one.key == "attention"; });
  if (!assumed || report.at("attention") != "flash" || has_layers_of_core(command)) return;
  if (date_of_tree(script) == kLocal)
    report.assume("attention", "unfused", fmt::format("{}{}: --transformer-impl is local by default", kFolder, kLocal));
}

}  // namespace foretoken::io::launch::megatron
