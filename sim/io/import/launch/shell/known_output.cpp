// The outputs of commands that depend on their words only.
#include "sim/io/import/launch/shell/known_output.h"

#include <filesystem>

#include "sim/io/import/launch/shell/lexer.h"

namespace foretoken::io::shell {
namespace {

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::optional<std::string> output_of_words(const Texts& words, std::string& folder) {
  if (words.empty()) return std::nullopt;
  for (const std::string& word : words)
    if (is_unknown(word)) return std::nullopt;
  const std::string &name = words[0], &last = words.back();
  const bool one = words.size() == 2 || (words.size() == 3 && words[1].starts_with('-'));
  if (name == "pwd") return folder;
  if (name == "dirname" && one) return folder_of(last);
  if (name == "basename" && words.size() == 2) return std::filesystem::path(last).filename().string();
  if ((name == "readlink" || name == "realpath") && one) return last;
  if (name == "cd" && one) {
    folder = std::filesystem::path(last).is_absolute() ? last : (std::filesystem::path(folder) / last).string();
    return "";
  }
  if (name != "echo") return std::nullopt;
  std::string text;
  for (std::size_t i = 1; i < words.size(); ++i) text += (i > 1 ? " " : "") + words[i];
  return text;
}

}  // namespace

std::optional<std::string> known_output(std::string_view command, const std::string& folder,
                                        const std::function<Texts(std::string_view)>& expand) {
  std::string current = folder, output;
  Texts words;
  const auto finish = [&] {
    const auto text = output_of_words(words, current);
    words.clear();
    if (text && !text->empty()) output = *text;
    return text.has_value();
  };
  const std::vector<Token> tokens = tokens_of(command);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].is_operator) {
      for (std::string& word : expand(tokens[i].text)) words.push_back(std::move(word));
    } else if (tokens[i].text == ">" || tokens[i].text == "&>") {
      ++i;  // cd folder > /dev/null
    } else if ((tokens[i].text != "&&" && tokens[i].text != ";") || !finish()) {
      return std::nullopt;
    }
  }
  if (!finish()) return std::nullopt;
  return output;
}

}  // namespace foretoken::io::shell
