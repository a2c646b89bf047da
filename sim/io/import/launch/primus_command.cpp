// Reads commands of primus-cli.
//
// Words: AMD-AGI/Primus, primus/cli and runner/primus-cli: flags that it does not know override keys of the experiment.
#include "sim/io/import/launch/primus_command.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::launch {

bool is_primus_command(const std::vector<std::string>& words) {
  return std::ranges::any_of(
             words, [](const std::string& word) { return std::filesystem::path(word).filename() == "primus-cli"; }) &&
         std::ranges::find(words, "train") != words.end();
}

std::vector<std::string> overrides_of_primus(const std::vector<std::string>& words, std::size_t begin) {
  constexpr std::string_view kOfCommand[] = {"config", "data_path", "backend_path", "export_config"};
  std::vector<std::string> overrides;
  for (std::size_t i = begin; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("--") || word.size() < 3 || shell::is_unknown(word)) continue;
    const std::size_t sign = word.find('=');
    const bool valued = sign == word.npos && i + 1 < words.size() && !words[i + 1].starts_with("--");
    const std::string key = word.substr(2, sign == word.npos ? sign : sign - 2);
    const std::string value = sign != word.npos ? word.substr(sign + 1) : valued ? words[i + 1] : "true";
    if (std::ranges::find(kOfCommand, key) == std::end(kOfCommand))
      overrides.push_back("modules.pre_trainer.overrides." + key + "=" + value);
    if (valued) ++i;
  }
  return overrides;
}

std::optional<std::int64_t> gpus_of_primus(const shell::Script& script) {
  const auto count = [&](const char* variable) -> std::optional<std::int64_t> {
    const shell::Texts* const value = script.variables.find(variable);
    return value != nullptr && value->size() == 1 ? whole_of(value->front()) : std::nullopt;
  };
  const auto each = count("GPUS_PER_NODE"), nodes = count("NNODES");
  return each && nodes ? std::optional(*each * *nodes) : std::nullopt;
}

std::optional<Json> trainer_of_primus(const Json& document) {
  if (!document.is_object() || !document.contains("modules") || !document.at("modules").is_object())
    return std::nullopt;
  const Json& modules = document.at("modules");
  const auto trains = [](const Json& module) { return module.is_object() && module.contains("framework"); };
  const auto found = std::ranges::find_if(modules, trains);
  if (found == modules.end()) return std::nullopt;
  Json trainer = *found;
  // The words of a command stand in pre_trainer, whatever the module is called.
  if (modules.contains("pre_trainer") && !trains(modules.at("pre_trainer")) && modules.at("pre_trainer").is_object() &&
      modules.at("pre_trainer").contains("overrides"))
    trainer["overrides"].merge_patch(modules.at("pre_trainer").at("overrides"));
  return trainer;
}

std::string framework_of_primus(const Json& document) {
  const auto trainer = trainer_of_primus(document);
  return trainer && trainer->at("framework").is_string() ? trainer->at("framework").get<std::string>() : "";
}

}  // namespace foretoken::io::launch
