// Finds the words of a command that are empty here and may hold something in a run.
#include <algorithm>

#include "sim/io/import/launch/shell/interpreter.h"

namespace foretoken::io::shell {
namespace {

std::string_view without_quotes(std::string_view word) {
  return word.size() > 2 && word.starts_with('"') && word.ends_with('"') ? word.substr(1, word.size() - 2) : word;
}

}  // namespace

// Returns true for an array that the script sets. NAME=() holds nothing, and no environment fills it.
bool Interpreter::has_list(std::string_view name) const {
  const Texts* const value = script_.variables.find(name);
  return script_.variables.table(name) != nullptr || (value != nullptr && value->empty());
}

// Returns the reasons for the variables of a word that nobody sets: of $DIR/$NAME.sh.
Texts Interpreter::unset_in(std::string_view word) {
  Texts reasons;
  for (std::size_t at = word.find('$'); at != word.npos; at = word.find('$', at + 1)) {
    std::string_view name = word.substr(at + 1);
    const bool braced = name.starts_with('{');
    if (braced) name.remove_prefix(1);
    const auto end = std::ranges::find_if_not(name, is_of_name);
    if (braced && (end == name.end() || *end != '}')) continue;  // it may have a default
    name = name.substr(0, static_cast<std::size_t>(end - name.begin()));
    if (is_name(name) && !has_list(name) && expander_.is_set(name) == false)
      reasons.push_back(std::string(script_.variables.source_of(name)) + std::string(kUnset));
  }
  return reasons;
}

// Returns the reasons for words that are nothing but a variable without a value. Behind a flag it is the flag's value,
// which is asked for there.
Texts Interpreter::empties_among(const Texts& raw) {
  const Variables& variables = script_.variables;
  Texts reasons;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const bool started = i == 0 || raw[0] == "sbatch" || raw[i - 1] == "bash" || raw[i - 1] == "sh";
    if (started && is_script_name(without_quotes(raw[i])))
      for (std::string& one : unset_in(raw[i])) reasons.push_back(std::move(one));
  }
  for (std::size_t i = 1; i < raw.size(); ++i) {
    std::string_view name = without_quotes(raw[i]);
    if (name.size() < 2 || !name.starts_with('$')) continue;
    name.remove_prefix(1);
    if (name.starts_with('{') && name.ends_with('}')) name = name.substr(1, name.size() - 2);
    const bool array = name.ends_with("[@]") || name.ends_with("[*]");  // no value of one flag
    if (array) name.remove_suffix(3);
    if (name == "@" || name == "*") {
      if (variables.arguments.empty() && !variables.arguments_stated)
        reasons.emplace_back("the arguments of the script");
    } else if (is_name(name) && (array || !raw[i - 1].starts_with('-')) && !has_list(name) &&
               expander_.is_set(name) == false) {
      reasons.push_back(std::string(variables.source_of(name)) + std::string(kUnset));
    }
  }
  return reasons;
}

}  // namespace foretoken::io::shell
