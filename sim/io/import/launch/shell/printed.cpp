// Reads command substitutions: $(echo --a 1; echo --b), and $(flags) with a function.
//
// The body is read as any other part of the script, in a shell of its own. Its output is that of all its commands, in
// their order. One command of which the output is not known makes the whole output unknown, and so does a text that is
// printed in a branch of an open condition.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/io/import/launch/shell/counted_output.h"
#include "sim/io/import/launch/shell/interpreter.h"
#include "sim/io/import/launch/shell/known_output.h"

namespace foretoken::io::shell {
namespace {

bool has_option(const Texts& words, std::string_view letters, std::string_view name = "") {
  return std::any_of(words.begin() + 1, words.end(), [&](const std::string& word) {
    const bool letter = word.size() > 1 && word[0] == '-' && word[1] != '-';
    return letter ? word.find_first_of(letters, 1) != word.npos : !name.empty() && word == name;
  });
}

// set, trap and shopt without arguments list what holds. A trap of these signals runs in any shell.
bool lists_or_traps(const Texts& words) {
  constexpr std::string_view kRuns[] = {"EXIT", "0", "DEBUG", "ERR", "RETURN", "SIGEXIT"};
  if (words.size() == 1) return true;
  if (words[0] == "set") return words.size() == 2 && (words[1] == "-o" || words[1] == "+o");
  if (words[0] == "shopt") return words.size() == 2 || !has_option(words, "suq") || has_option(words, "p");
  if (words.size() == 2 || has_option(words, "pl")) return words[1] != "-";
  const bool none = words[1] == "-" || words[1].empty();
  return !none && std::any_of(words.begin() + 2, words.end(), [&](const std::string& word) {
    return is_unknown(word) || std::ranges::find(kRuns, word) != std::end(kRuns);
  });
}

// Commands that print nothing themselves. source and eval read others, which print. Commands of files print with -v.
bool is_silent(const Texts& words) {
  constexpr std::string_view kSilent[] = {"true",     ":",     "false",   "[",       "test",  "source", ".",
                                          "eval",     "unset", "shift",   "let",     "read",  "exit",   "break",
                                          "continue", "wait",  "getopts", "mapfile", "sleep", "return", "readarray"};
  constexpr std::string_view kOfFiles[] = {"rm", "mkdir", "touch", "chmod", "cp", "mv", "ln"};
  const std::string& name = words[0];
  if (name == "set" || name == "trap" || name == "shopt") return !lists_or_traps(words);
  if (std::ranges::find(kOfFiles, name) != std::end(kOfFiles)) return !has_option(words, "vc", "--verbose");
  return std::ranges::find(kSilent, name) != std::end(kSilent);
}

// $(< FILE) is the text of the file. Returns the file; empty for another command.
std::string_view file_alone(const std::vector<Token>& tokens) {
  if (tokens.size() < 2 || !tokens[0].is_operator || tokens[0].text != "<" || tokens[1].is_operator) return "";
  const bool ends = std::all_of(tokens.begin() + 2, tokens.end(),
                                [](const Token& token) { return token.is_operator && token.text == ";"; });
  return ends ? std::string_view(tokens[1].text) : "";
}

std::string without_line_ends(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// These read no input, and leave it to the next command.
bool only_prints(std::string_view name) { return name == "echo" || name == "printf"; }

// These take lines of the input into variables.
bool takes_input(std::string_view name) { return name == "read" || name == "mapfile" || name == "readarray"; }

}  // namespace

std::optional<std::string> Interpreter::output_of(std::string_view command) {
  const auto expand = [this](std::string_view word) { return expander_.fields(word); };
  const std::vector<Token> tokens = tokens_of(command);
  if (auto count = counted_output(tokens, script_.variables.machine, expand)) return count;
  if (const std::string_view file = file_alone(tokens); !file.empty()) {
    const auto text = text_beside(expander_.known_text(file));
    return text ? std::optional(without_line_ends(*text)) : std::nullopt;
  }
  Printed printed;
  Printed* const outer_printed = std::exchange(printed_, &printed);
  auto outer_fed = std::exchange(fed_, std::nullopt), outer_piped = std::exchange(piped_, std::nullopt);
  const Jump outer_jump = std::exchange(jump_, Jump::kNone), outer_doubt = std::exchange(doubt_, Jump::kNone);
  const int outer_loops = std::exchange(loops_, 0);
  const bool outer_fails = unset_fails_, outer_ends = std::exchange(failure_ends_, false);
  const int outer_conditions = std::exchange(conditions_, 0);
  Texts outer_reasons = open_reasons_, outer_tested = tested_empty_;
  const std::size_t first = script_.commands.size();
  const bool in_function = !locals_.empty();
  if (in_function) locals_.emplace_back();
  (void)own_shell(Mode::kRun, [&](Mode) {
    run(std::string(command), file_, 0);
    return Outcome::kOpen;
  });
  if (in_function) locals_.pop_back();
  script_.commands.resize(std::min(first, script_.commands.size()));
  open_reasons_ = std::move(outer_reasons);
  tested_empty_ = std::move(outer_tested);
  unset_fails_ = outer_fails;
  failure_ends_ = outer_ends;
  conditions_ = outer_conditions;
  loops_ = outer_loops;
  jump_ = outer_jump;
  doubt_ = outer_doubt;
  fed_ = std::move(outer_fed);
  piped_ = std::move(outer_piped);
  printed_ = outer_printed;
  if (printed_ != nullptr) printed_->errors = printed_->errors || printed.errors;
  return printed.known ? std::optional(without_line_ends(std::move(printed.text))) : std::nullopt;
}

Interpreter::Mark Interpreter::output_so_far() const {
  return printed_ == nullptr ? Mark() : Mark{printed_->text.size(), printed_->known, printed_->errors};
}

void Interpreter::take_back_output(Mark mark) {
  if (printed_ == nullptr) return;
  printed_->text.resize(std::min(mark.size, printed_->text.size()));
  printed_->known = mark.known;
  printed_->errors = mark.errors;
}

void Interpreter::add_output(const Printed& own, const Streams& streams) {
  budget_.take(own.text.size());
  printed_->add(own, streams);
}

// Reads a command with the redirections behind it: { ...; } > file.
Outcome Interpreter::redirected(Mode mode) {
  Printed own;
  const bool prints = printed_ != nullptr && mode != Mode::kSkip;
  Printed* const outer_printed = std::exchange(printed_, prints ? &own : printed_);
  const std::optional<std::string> outer_input = prints ? input_ : std::nullopt;
  const Outcome outcome = compound(mode);
  printed_ = outer_printed;
  Simple command;
  const bool follow =
      !ended() && (*tokens_)[at_].is_operator && (*tokens_)[at_].text.find_first_of("<>") != std::string::npos;
  if (follow) command = simple_words(mode);
  if (follow && mode != Mode::kSkip) note_unread(command.target, command);  // { ...; } > ds.json
  if (!prints) return outcome;
  // Its own input stands behind it, and was not there when the commands were read.
  if ((command.here || !command.input.empty() || !command.document.empty()) && outer_input) {
    own.known = own.known && input_.has_value();
    input_ = outer_input;
  }
  add_output(own, command.streams);
  return outcome;
}

// Reads a part of a pipeline. `reads` is true behind a |: what the part before prints is then its input.
Outcome Interpreter::part_of_pipeline(Mode mode, bool reads) {
  const auto part = [this](Mode inner) { return redirected(inner); };
  if (printed_ == nullptr) return own_shell(mode, part);
  Printed own;
  Printed* const outer_printed = std::exchange(printed_, &own);
  const std::optional<std::string> outer_input = input_;
  if (reads) input_ = std::exchange(fed_, std::nullopt);
  const Outcome outcome = own_shell(mode, part);
  if (reads) input_ = outer_input;
  printed_ = outer_printed;
  if (is("|")) {
    fed_ = own.known ? std::optional(std::move(own.text)) : std::nullopt;
    printed_->errors = printed_->errors || own.errors;
  } else {
    add_output(own, {});
  }
  return outcome;
}

// declare -p and export alone list variables, and declare -f functions.
bool Interpreter::lists_names(const Texts& raw) {
  const bool functions = (raw[0] == "declare" || raw[0] == "typeset") && has_option(raw, "fF");
  return raw.size() == 1 || functions || has_option(raw, "p");
}

// A shell with set -e ends at a command that fails, unless a condition asks for its outcome.
void Interpreter::end_if_failed(Outcome outcome) {
  if (printed_ != nullptr && failure_ends_ && conditions_ == 0 && outcome == Outcome::kNo) printed_->known = false;
}

// exec > file changes the streams of all commands that follow.
void Interpreter::redirect_shell(const Simple& command) {
  const Streams& streams = command.streams;
  const bool same =
      streams.output == Goes::kOutput && (streams.errors == Goes::kErrors || streams.errors == Goes::kElsewhere);
  if (!same) printed_->known = false;
  if (!command.input.empty()) input_.reset();
}

// Performs a command of a substitution, with its input and its output.
Outcome Interpreter::perform_and_print(const Texts& words, const Simple& command, const Texts& empties, Mode mode) {
  if (words.size() == 1 && words[0] == "exec") {
    redirect_shell(command);
    return Outcome::kYes;
  }
  Printed own;
  Printed* const outer_printed = std::exchange(printed_, &own);
  const std::optional<std::string> outer_input = input_;
  if (command.here)
    input_ = *command.here + "\n";
  else if (!command.input.empty())
    input_ = text_beside(command.input);
  else if (!command.document.empty())
    input_ = command.document;
  const bool has_own = command.here || !command.input.empty() || !command.document.empty();
  const std::size_t missing = script_.missing.size();
  const Outcome outcome = perform(words, mode);
  if (takes_input(words[0])) input_.reset();
  // A branch of an open condition may print or not. Nobody knows what a file prints that is not there.
  if ((mode == Mode::kOpen && !own.text.empty()) || script_.missing.size() != missing) own.known = false;
  if (!own.text.empty()) printed_empties_.insert(printed_empties_.end(), empties.begin(), empties.end());
  if (has_own) input_ = outer_input;
  printed_ = outer_printed;
  add_output(own, command.streams);
  return outcome;
}

// Takes the output of a command that only prints, which succeeds. Returns nothing for one that is performed.
std::optional<Outcome> Interpreter::print(const Texts& words) {
  if (functions_.contains(words[0]) || is_silent(words)) return std::nullopt;
  const std::optional<std::string> input = only_prints(words[0]) ? std::nullopt : std::exchange(input_, std::nullopt);
  const auto text = known_output(words, input, script_.variables.folder,
                                 [this](const std::string& path) { return text_beside(path); });
  if (!text) {
    printed_->known = false;
    printed_->errors = true;
    return Outcome::kOpen;
  }
  add_output({*text}, {});
  return Outcome::kYes;
}

}  // namespace foretoken::io::shell
