// The command `foretoken man`: prints the manual page, made from the commands and options themselves.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/commands.h"
#include "tools/output/output.h"

namespace foretoken::tools {
namespace man_command {
namespace {

// Escapes text for roff: a backslash, a minus, and a first character that would be a request.
std::string roff(std::string_view text) {
  std::string escaped;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
    at_start = c == '\n';
  }
  return escaped;
}

// Lines that keep their breaks, such as examples.
std::string verbatim(const std::string& text) {
  if (text.empty()) return "";
  return ".PP\n.nf\n" + roff(text) + (text.ends_with('\n') ? "" : "\n") + ".fi\n";
}

std::string option_entry(const CLI::Option& option) {
  const bool takes_value = option.get_items_expected_max() > 0;
  const std::string value = takes_value && !option.get_positional() ? " " + option.get_type_name() : "";
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(option.get_name(option.get_positional())), roff(value),
                     roff(option.get_description()));
}

// One command with its arguments, options and examples, and then the commands below it.
void add_command_section(const CLI::App& command, const std::string& path, std::string& page) {
  page += fmt::format(".SS \"{}\"\n{}.\n", roff(path), roff(command.get_description()));
  for (const CLI::Option* option : command.get_options())
    if (option->get_name() != "--help" && option->get_name() != "-h,--help") page += option_entry(*option);
  page += verbatim(command.get_footer());
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; }))
    add_command_section(*below, path + ' ' + below->get_name(), page);
}

std::string manual(const CLI::App& program) {
  std::string page = fmt::format(".TH FORETOKEN 1 \"\" \"foretoken {}\" \"User Commands\"\n", version());
  page += ".SH NAME\nforetoken \\- predicts time, memory and cost of training a transformer on a GPU cluster\n";
  page += ".SH SYNOPSIS\n.B foretoken\n.I COMMAND\n[\\fIARGUMENTS\\fR]\n";
  page += ".SH DESCRIPTION\n" + roff(program.get_description()) + "\n" + verbatim(program.get_footer());
  page += ".SH COMMANDS\n";
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    add_command_section(*command, command->get_name(), page);
  page +=
      ".SH ENVIRONMENT\n"
      ".TP\n\\fBFORETOKEN_DATA\\fR\nA folder whose models, clusters, profiles and scenarios come before the shipped "
      "ones.\n"
      ".TP\n\\fBNO_COLOR\\fR\nWhen set, output has no colours unless \\-\\-color always asks for them.\n";
  return page;
}

}  // namespace
}  // namespace man_command

void add_man(CLI::App& program, Action& chosen) {
  using namespace man_command;
  CLI::App* command = program.add_subcommand("man", "Print the manual page");
  command->footer("Examples:\n  foretoken man | man -l -\n  foretoken man > ~/.local/share/man/man1/foretoken.1\n");
  command->callback([&chosen, &program] {
    chosen = [&program] {
      print(manual(program));
      return 0;
    };
  });
}

}  // namespace foretoken::tools
