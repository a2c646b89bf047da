// Asks for the keys of a scenario about which only a branch of an open condition decides.
#include "sim/io/import/launch/branch_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::launch {
namespace {

/// A limit on the work. Real scripts have a few branches.
constexpr int kMostBranches = 48;

std::string variable_of(const std::string& word) {
  const std::string reason = is_open_word(word) ? shell::why_unknown(word) : "";
  return reason.starts_with(shell::kOpenCondition) ? reason.substr(shell::kOpenCondition.size()) : "";
}

// The command with the words of a branch in the place of its open ones. Words that all branches share stand before.
shell::Command with_branch(const shell::Command& command, const std::string& variable,
                           const std::vector<std::string>& branch) {
  shell::Command taken = command;
  taken.words.clear();
  for (const std::string& word : command.words) {
    if (variable_of(word) != variable) {
      taken.words.push_back(word);
      continue;
    }
    std::size_t shared = std::min(branch.size(), taken.words.size());
    while (shared > 0 && !std::equal(branch.begin(), branch.begin() + static_cast<std::ptrdiff_t>(shared),
                                     taken.words.end() - static_cast<std::ptrdiff_t>(shared)))
      --shared;
    taken.words.insert(taken.words.end(), branch.begin() + static_cast<std::ptrdiff_t>(shared), branch.end());
  }
  return taken;
}

// The keys whose values differ between two scenarios. A model by its name differs as a whole.
void add_different(const Json& a, const Json& b, const std::string& prefix, std::set<std::string>& keys) {
  for (const auto& [name, value] : a.items()) {
    const std::string key = prefix + name;
    const auto other = b.find(name);
    if (value.is_object() && (other == b.end() || other->is_object()))
      add_different(value, other == b.end() ? Json::object() : *other, key + ".", keys);
    else if (other == b.end() || *other != value)
      keys.insert(key);
  }
  for (const auto& [name, value] : b.items()) {
    if (a.contains(name)) continue;
    if (value.is_object())
      add_different(value, Json::object(), prefix + name + ".", keys);
    else
      keys.insert(prefix + name);
  }
}

bool is_stated(const Report& report, const std::string& key) {
  return std::ranges::any_of(report.mapped, [&](const Mapped& one) { return one.key == key; });
}

}  // namespace

void ask_for_keys_of_branches(const shell::Script& script, const shell::Command& command,
                              const std::function<Report(const shell::Command&)>& read, Report& report) {
  std::set<std::string> variables;
  for (const std::string& word : command.words)
    if (std::string name = variable_of(word); !name.empty()) variables.insert(std::move(name));
  const Report plain = variables.empty() ? Report() : read(command);
  int readings = 0;
  for (const std::string& variable : variables) {
    const auto branches = script.alternatives.find(variable);
    if (branches == script.alternatives.end()) continue;
    const auto& [texts, reasons] = branches->second;
    const bool by_arguments = !reasons.empty() && std::ranges::all_of(reasons, shell::is_unstated_argument);
    for (const std::string& text : texts) {
      const std::vector<std::string> words = words_of_text(text);
      const bool flags = std::ranges::any_of(words, [](const std::string& word) { return word.starts_with('-'); });
      if (!flags || ++readings > kMostBranches) continue;
      const Report taken = read(with_branch(command, variable, words));
      std::set<std::string> different;
      add_different(plain.scenario, taken.scenario, "", different);
      for (const std::string& key : different) {
        if (!is_stated(taken, key) && !taken.asks(key) && !plain.has(key)) continue;
        if (by_arguments) {
          const bool noted = std::ranges::any_of(report.assumed, [&](const Assumed& one) {
            return one.key == key && one.because.find("branch") != std::string::npos;
          });
          if (!noted && !report.asks(key))
            report.approximate(key,
                               fmt::format("a flag for it stands in a branch on {}, which is not known; the branch "
                                           "is not taken. State the argument behind --, or --env {}=\"--FLAG ...\"",
                                           *reasons.begin(), printable(variable, 60)));
          continue;
        }
        report.forget(key);
        report.ask(key,
                   fmt::format("a flag for it stands in a branch of an open condition; state the branch with --env "
                               "{}=\"--FLAG ...\"",
                               printable(variable, 60)));
      }
    }
  }
}

}  // namespace foretoken::io::launch
