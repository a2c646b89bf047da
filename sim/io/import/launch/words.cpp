// Reads keys as flags.
#include "sim/io/import/launch/words.h"

#include <algorithm>

namespace foretoken::io::launch {
namespace {

std::vector<std::string> parted_values(const std::string& text) {
  std::vector<std::string> values;
  for (std::size_t at = text.find_first_not_of(' '); at != std::string::npos;) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    values.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(' ', end);
  }
  return values;
}

// A type of PyTorch as Megatron-LM's flags spell it. A dump writes {_target_: torch.bfloat16}.
std::optional<std::string> type_of(const Settings& settings, std::string_view key) {
  auto text = settings.text({key});
  const Json* const value = settings.at(key);
  if (value != nullptr && value->is_object()) text = settings.text({std::string(key) + "._target_"});
  if (!text) return std::nullopt;
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"torch.bfloat16", "bf16"}, {"torch.float32", "fp32"}, {"torch.float16", "fp16"}, {"torch.uint8", "fp8"}};
  for (const auto& [theirs, ours] : kTypes)
    if (*text == theirs) return std::string(ours);
  return text;
}

std::optional<std::vector<std::string>> values_of(const Settings& settings, const Word& word) {
  if (word.form == Form::kType) {
    const auto type = type_of(settings, word.key);
    return type ? std::optional(std::vector<std::string>{*type}) : std::nullopt;
  }
  const auto text = settings.text({word.key});
  if (!text) return std::nullopt;
  if (word.form == Form::kValue) return parted_values(*text);
  const bool on = switch_of(*text).value_or(true);
  return on == (word.form == Form::kSwitch) ? std::optional(std::vector<std::string>{}) : std::nullopt;
}

}  // namespace

std::vector<Argument> arguments_of_words(const Settings& settings, std::span<const Word> words) {
  std::vector<Argument> arguments;
  for (const Word& word : words)
    if (const auto values = values_of(settings, word))
      arguments.push_back({std::string(word.flag), *values, std::string(word.key)});
  return arguments;
}

std::optional<Argument> argument_of_key(std::string name, const Json& value, const std::string& place) {
  std::ranges::replace(name, '_', '-');
  if (value.is_null() || value.is_object()) return std::nullopt;
  std::string text = value.is_string() ? value.get<std::string>() : "";
  if (value.is_array())
    for (const Json& one : value) text += (text.empty() ? "" : " ") + (one.is_string() ? one.get<std::string>() : "");
  if (text == "false" || text == "False" || text.empty()) return std::nullopt;
  Argument argument{std::move(name), {}, place};
  if (text != "true" && text != "True") argument.values = parted_values(text);
  return argument;
}

}  // namespace foretoken::io::launch
