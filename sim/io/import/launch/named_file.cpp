// Finds the configuration that a command names, and what the command says beside it.
#include "sim/io/import/launch/named_file.h"

#include <algorithm>
#include <string_view>

#include "sim/io/import/launch/deepspeed/read_deepspeed.h"
#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/megatron/rules.h"
#include "sim/io/import/launch/near_file.h"
#include "sim/io/import/launch/shell/unknown.h"
#include "sim/io/import/launch/yaml/read_yaml.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch {
namespace {

namespace fs = std::filesystem;

// "config.yaml" and "--config=config.yaml".
std::optional<fs::path> file_named(const std::string& word, const std::string& folder) {
  const bool flag = word.starts_with("-") || word.find('=') != std::string::npos;
  const std::string name = flag ? word.substr(std::min(word.find('='), word.size() - 1) + 1) : word;
  if (!name.ends_with(".yaml") && !name.ends_with(".yml") && !name.ends_with(".toml")) return std::nullopt;
  if (shell::is_unknown(name)) return std::nullopt;
  return near_file(name, folder);
}

bool is_of_accelerate(const fs::path& path) {
  Findings unread;
  const auto text = read_text_file(path, path.string(), unread);
  const auto document = text ? read_yaml(*text, path.string(), unread) : std::nullopt;
  return document && deepspeed::is_accelerate(*document);
}

// The words behind the file that override its keys.
std::vector<std::string> overrides_of(const std::vector<std::string>& words, std::size_t begin) {
  std::vector<std::string> overrides;
  for (std::size_t i = begin; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (shell::is_unknown(word)) continue;
    const std::string key = word.substr(0, word.find('='));
    const bool dotted = word.starts_with("--") && key.find('.') != std::string::npos;
    const bool stated = word.find('=') != std::string::npos;
    if (stated && (dotted || !word.starts_with("-"))) {
      overrides.push_back(word);
    } else if (dotted && i + 1 < words.size() && !words[i + 1].starts_with("--") && !shell::is_unknown(words[i + 1])) {
      overrides.push_back(word);
      overrides.push_back(words[++i]);
    }
  }
  return overrides;
}

std::optional<std::int64_t> gpus_of(const shell::Command& command) {
  const auto launched = launched_program(command.words, command.place(), [](std::string_view) { return false; });
  return megatron::gpus_of_counts(counts_of(command, launched));
}

}  // namespace

std::optional<NamedFile> file_of_script(const shell::Script& script, const std::string& folder) {
  for (const shell::Command& command : script.commands)
    for (std::size_t i = 1; i < command.words.size(); ++i) {
      const auto path = file_named(command.words[i], folder);
      if (!path || (path->extension() != ".toml" && is_of_accelerate(*path))) continue;
      return NamedFile{*path, overrides_of(command.words, i + 1), gpus_of(command), command.place()};
    }
  return std::nullopt;
}

}  // namespace foretoken::io::launch
