// Finds the words of a command that name a configuration.
#include "sim/io/import/launch/named_words.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::launch {

std::string name_in(const std::string& word) { return word.substr(word.starts_with("-") ? word.find('=') + 1 : 0); }

bool follows_arguments_flag(const std::vector<std::string>& words, std::size_t at) {
  return words[at].starts_with("--train_args_file=") || (at > 0 && words[at - 1] == "--train_args_file");
}

std::size_t behind_submission(const std::vector<std::string>& words) {
  const auto end = std::ranges::find(words, "--");
  const bool submits = words.size() > 2 && words[0] == "ray" && words[1] == "job" && end != words.end();
  return submits ? static_cast<std::size_t>(end - words.begin()) + 1 : 1;
}

// hiyouga/LLaMA-Factory 003a2acb, src/llamafactory/hparams/parser.py, read_args: sys.argv[1] is a file by its ending.
std::optional<std::size_t> place_of_factory_file(const std::vector<std::string>& words) {
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string program = std::filesystem::path(words[i - 2]).filename().string();
    if (program != "llamafactory-cli" || words[i - 1] != "train") continue;
    const bool file = std::ranges::any_of(std::array{".yaml", ".yml", ".json"},
                                          [&](const char* ending) { return words[i].ends_with(ending); });
    const bool open = shell::is_unknown(words[i]) && !words[i].starts_with("-");
    return file || open ? std::optional(i) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace foretoken::io::launch
