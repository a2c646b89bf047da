// The command `foretoken completion`: prints shell scripts, made by walking the commands themselves.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/commands.h"
#include "tools/options/options.h"
#include "tools/output/output.h"

namespace foretoken::tools {
namespace {

// A command, its path ("schedule show"; empty for the program), and the words that may follow it.
struct CommandNode {
  std::string path;
  std::vector<std::pair<std::string, std::string>> commands;  // name, description
  struct Flag {
    std::string name, description;
    bool takes_value = false, takes_file = false;
    std::string values = {};   ///< words that it may have: "50 80 90 95"
    std::string names = {};    ///< the kind of data whose names it takes: "models"
    std::string pattern = {};  ///< in a case of the shell: "--output|-o"
  };
  std::vector<Flag> flags;
  std::string names_of;  // the kind of data whose names it takes: "models"
  bool takes_files = false;
  std::string words = {};  // the words that its argument may be
};

using Flag = CommandNode::Flag;

std::string first_sentence(const std::string& text) {
  std::string line = text.substr(0, text.find_first_of(";\n"));
  std::string clean;
  for (const char c : line)
    if (c != '\'' && c != '"' && c != '`' && c != '[' && c != ']' && c != '$' && c != '\\') clean += c;
  return clean;
}

// Returns the words of a type such as "stage|kernel".
std::string values_of(const std::string& type) {
  if (type.find('|') == type.npos || type.find_first_of("=,") != type.npos) return "";
  std::string words = type;
  std::ranges::replace(words, '|', ' ');
  return words;
}

// Returns the kind of data whose names an option or an argument takes.
std::string names_of(const std::string& option) {
  static const std::map<std::string, std::string> kKinds = {
      {"model", "models"},       {"cluster", "clusters"}, {"clusters", "clusters"}, {"schedules", "schedule"},
      {"SCENARIO", "scenarios"}, {"PROFILE", "profiles"}, {"base", "profiles"}};
  const auto kind = kKinds.find(option);
  return kind == kKinds.end() ? "" : kind->second;
}

std::string pattern_of(const CLI::Option& option, const std::string& name) {
  std::string pattern = "--" + name;
  for (const std::string& letter : option.get_snames()) pattern += "|-" + letter;
  return pattern;
}

void walk(const CLI::App& app, const std::string& path, std::vector<CommandNode>& nodes) {
  CommandNode node{.path = path, .commands = {}, .flags = {}, .names_of = {}};
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    node.commands.emplace_back(sub->get_name(), first_sentence(sub->get_description()));
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames())
      node.flags.push_back({"--" + name, first_sentence(option->get_description()),
                            option->get_items_expected_max() > 0, option->get_type_name() == "FILE",
                            values_of(option->get_type_name()), names_of(name), pattern_of(*option, name)});
    const std::string name = option->get_name(true);
    if (!names_of(name).empty()) node.names_of = names_of(name);
    if (name == "SHELL") node.words = "bash zsh fish";
    if (name == "FILE") node.takes_files = true;
    if (name == "NAME" && path.ends_with(" show")) node.names_of = path.substr(0, path.find(' '));
  }
  nodes.push_back(node);
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    walk(*sub, path.empty() ? sub->get_name() : path + ' ' + sub->get_name(), nodes);
}

// Returns a shell command that prints the names of one kind of data.
std::string names_command(const std::string& kind) {
  if (kind == "schedule") return "foretoken schedule list 2>/dev/null | cut -d' ' -f1";
  return fmt::format("foretoken {} list --names 2>/dev/null", kind);
}

// Returns the flags whose value can be completed, each name once.
std::vector<Flag> flags_with_values(const std::vector<CommandNode>& nodes) {
  std::map<std::string, Flag> flags;
  for (const CommandNode& node : nodes)
    for (const Flag& flag : node.flags)
      if (flag.takes_file || !flag.values.empty() || !flag.names.empty()) flags.emplace(flag.name, flag);
  std::vector<Flag> list;
  for (const auto& [name, flag] : flags) list.push_back(flag);
  return list;
}

// Returns what a shell puts in place of the words that a flag takes.
std::string words_for(const Flag& flag) {
  return flag.names.empty() ? flag.values : fmt::format("$({})", names_command(flag.names));
}

std::string bash_value_cases(const std::vector<CommandNode>& nodes) {
  std::string cases;
  for (const Flag& flag : flags_with_values(nodes)) {
    cases += fmt::format("    {}) ", flag.pattern);
    if (!words_for(flag).empty())
      cases += fmt::format("COMPREPLY=($(compgen -P \"$list\" -W \"{}\" -- \"${{current##*,}}\")); ", words_for(flag));
    if (flag.takes_file || flag.names == "models" || flag.names == "clusters")
      cases += "COMPREPLY+=($(compgen -f -- \"$current\")); ";
    cases += "return ;;\n";
  }
  return cases;
}

std::string zsh_value_cases(const std::vector<CommandNode>& nodes) {
  std::string cases;
  for (const Flag& flag : flags_with_values(nodes)) {
    const std::string words = flag.names.empty() ? words_for(flag) : fmt::format("${{(f)\"{}\"}}", words_for(flag));
    cases += fmt::format("    {}) ", flag.pattern);
    if (flag.takes_file) cases += "_files; ";
    if (!words.empty()) cases += fmt::format("compset -P '*,'; candidates=({}); compadd -a candidates; ", words);
    cases += "return ;;\n";
  }
  return cases;
}

std::string bash_script(const std::vector<CommandNode>& nodes) {
  std::string cases;
  for (const CommandNode& node : nodes) {
    std::string words;
    for (const auto& [name, about] : node.commands) words += name + ' ';
    for (const Flag& flag : node.flags) words += flag.name + ' ';
    words += node.words;
    if (!words.empty() && words.back() == ' ') words.pop_back();
    cases += fmt::format("    '{}') words='{}'; names={}; files={} ;;\n", node.path, words,
                         node.names_of.empty() ? "''" : fmt::format("$({})", names_command(node.names_of)),
                         node.takes_files || node.names_of == "scenarios" ? 1 : 0);
  }
  std::string paths;
  for (const CommandNode& node : nodes)
    if (!node.path.empty()) paths += fmt::format("'{}'|", node.path);
  paths.pop_back();
  return fmt::format(R"(# bash completion for foretoken
_foretoken() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} path='' word words names files next
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    next="${{path:+$path }}$word"
    case "$next" in {}) path=$next ;; esac
  done
  if [ "$current" = = ]; then current=''; elif [ "$previous" = = ]; then previous=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  local list=${{current%"${{current##*,}}"}}
  case "$previous" in
{}  esac
  case "$path" in
{}  esac
  COMPREPLY=($(compgen -W "$words $names" -- "$current"))
  if [ "$files" = 1 ]; then COMPREPLY+=($(compgen -f -- "$current")); fi
}}
complete -F _foretoken foretoken
)",
                     paths, bash_value_cases(nodes), cases);
}

std::string zsh_script(const std::vector<CommandNode>& nodes) {
  std::string cases, paths;
  for (const CommandNode& node : nodes) {
    cases += fmt::format("    '{}')\n", node.path);
    if (!node.commands.empty()) {
      cases += "      candidates=(";
      for (const auto& [name, about] : node.commands) cases += fmt::format("'{}:{}' ", name, about);
      cases += ")\n      _describe command candidates\n";
    }
    if (!node.names_of.empty())
      cases += fmt::format("      candidates=(${{(f)\"$({})\"}})\n      _describe name candidates\n",
                           names_command(node.names_of));
    if (node.takes_files || node.names_of == "scenarios") cases += "      _files\n";
    if (!node.words.empty()) cases += fmt::format("      candidates=({})\n      compadd -a candidates\n", node.words);
    cases += "      candidates=(";
    for (const Flag& flag : node.flags) cases += fmt::format("'{}:{}' ", flag.name, flag.description);
    cases += ")\n      [[ $PREFIX == -* ]] && _describe option candidates\n      ;;\n";
    if (!node.path.empty()) paths += fmt::format("'{}'|", node.path);
  }
  paths.pop_back();
  return fmt::format(R"(#compdef foretoken
# zsh completion for foretoken
_foretoken() {{
  local previous=$words[CURRENT-1] at_path='' word next
  local -a candidates
  for word in $words[2,CURRENT-1]; do
    next="${{at_path:+$at_path }}$word"
    case "$next" in ({}) at_path=$next ;; esac
  done
  if [[ $PREFIX == --*=* ]]; then previous=${{PREFIX%%=*}}; compset -P '*='; fi
  case "$previous" in
{}  esac
  case "$at_path" in
{}  esac
}}
compdef _foretoken foretoken
)",
                     paths, zsh_value_cases(nodes), cases);
}

const char* fish_file_or_value(const Flag& flag) {
  if (flag.takes_file) return " -r -F";
  return flag.takes_value ? " -x" : "";
}

std::string fish_words(const Flag& flag) {
  if (!flag.names.empty()) return fmt::format(" -a \"({})\"", names_command(flag.names));
  return flag.values.empty() ? "" : fmt::format(" -a '{}'", flag.values);
}

std::string fish_script(const std::vector<CommandNode>& nodes) {
  std::string text =
      "# fish completion for foretoken\n"
      "function __foretoken_at\n"
      "  set -l words (commandline -opc)[2..-1]\n"
      "  set -l path\n"
      "  for word in $words\n"
      "    string match -q -- '-*' $word; or set -a path $word\n"
      "  end\n"
      "  set -l wanted $argv\n"
      "  test (count $path) -ge (count $wanted); or return 1\n"
      "  for i in (seq (count $wanted))\n"
      "    test \"$path[$i]\" = \"$wanted[$i]\"; or return 1\n"
      "  end\n"
      "  test \"$last\" = 1; and test (count $path) -ne (count $wanted); and return 1\n"
      "  return 0\n"
      "end\n"
      "complete -c foretoken -f\n";
  for (const CommandNode& node : nodes) {
    for (const auto& [name, about] : node.commands)
      text +=
          fmt::format("complete -c foretoken -n 'last=1 __foretoken_at {}' -a {} -d '{}'\n", node.path, name, about);
    if (!node.names_of.empty())
      text += fmt::format("complete -c foretoken -n '__foretoken_at {}' -a \"({})\"\n", node.path,
                          names_command(node.names_of));
    if (node.takes_files || node.names_of == "scenarios")
      text += fmt::format("complete -c foretoken -n '__foretoken_at {}' -F\n", node.path);
    if (!node.words.empty())
      text += fmt::format("complete -c foretoken -n '__foretoken_at {}' -a '{}'\n", node.path, node.words);
    for (const Flag& flag : node.flags)
      text += fmt::format("complete -c foretoken -n '{}__foretoken_at {}' -l {}{}{} -d '{}'\n",
                          node.commands.empty() ? "" : "last=1 ", node.path, flag.name.substr(2),
                          fish_file_or_value(flag), fish_words(flag), flag.description);
  }
  return text;
}

}  // namespace

void add_completion(CLI::App& program, Action& chosen) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = program.add_subcommand("completion", "Print a script that completes commands in a shell");
  command->footer(
      "Examples:\n"
      "  foretoken completion bash > ~/.local/share/bash-completion/completions/foretoken\n"
      "  foretoken completion zsh > ~/.zfunc/_foretoken          (a folder of $fpath)\n"
      "  foretoken completion fish > ~/.config/fish/completions/foretoken.fish\n");
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(one_of({"bash", "zsh", "fish"}));
  command->callback([&chosen, &program, shell] {
    chosen = [&program, shell] {
      std::vector<CommandNode> nodes;
      walk(program, "", nodes);
      print(*shell == "bash" ? bash_script(nodes) : *shell == "zsh" ? zsh_script(nodes) : fish_script(nodes));
      return 0;
    };
  });
}

}  // namespace foretoken::tools
