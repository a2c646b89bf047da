// Reads command substitutions: $(echo --a 1; echo --b), and $(flags) with a function.
//
// The body is read as any other part of the script, in a shell of its own. Its output is that of all its commands, in
// their order. One command of which the output is not known makes the whole output unknown, and so does a text that is
// printed in a branch of an open condition.
#include <algorithm>
#include <string>
#include <utility>

#include "sim/io/import/launch/shell/counted_output.h"
#include "sim/io/import/launch/shell/interpreter.h"
#include "sim/io/import/launch/shell/known_output.h"

namespace foretoken::io::shell {
namespace {

// Commands that print nothing themselves. source and eval read others, which print.
bool is_silent(std::string_view name) {
  constexpr std::string_view kSilent[] = {
      "true",    ":",         "false", "[",    "test",  "source", ".",  "eval",  "set",  "unset", "shift",
      "let",     "getopts",   "read",  "exit", "break", "return", "rm", "mkdir", "wait", "shopt", "continue",
      "mapfile", "readarray", "touch", "trap", "sleep", "chmod",  "cp", "mv",    "ln"};
  return std::ranges::find(kSilent, name) != std::end(kSilent);
}

// These read no input, and leave it to the next command.
bool only_prints(std::string_view name) { return name == "echo" || name == "printf"; }

}  // namespace

std::optional<std::string> Interpreter::output_of(std::string_view command) {
  const auto expand = [this](std::string_view word) { return expander_.fields(word); };
  if (auto count = counted_output(tokens_of(command), script_.variables.machine, expand)) return count;
  Printed printed;
  Printed* const outer_printed = std::exchange(printed_, &printed);
  auto outer_input = std::exchange(input_, std::nullopt), outer_fed = std::exchange(fed_, std::nullopt),
       outer_piped = std::exchange(piped_, std::nullopt);
  const Jump outer_jump = std::exchange(jump_, Jump::kNone), outer_doubt = std::exchange(doubt_, Jump::kNone);
  const int outer_loops = std::exchange(loops_, 0);
  const bool outer_fails = unset_fails_;
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
  loops_ = outer_loops;
  jump_ = outer_jump;
  doubt_ = outer_doubt;
  input_ = std::move(outer_input);
  fed_ = std::move(outer_fed);
  piped_ = std::move(outer_piped);
  printed_ = outer_printed;
  if (!printed.known) return std::nullopt;
  while (printed.text.ends_with('\n')) printed.text.pop_back();
  return std::move(printed.text);
}

Interpreter::Mark Interpreter::output_so_far() const {
  return printed_ == nullptr ? Mark() : Mark{printed_->text.size(), printed_->known};
}

void Interpreter::take_back_output(Mark mark) {
  if (printed_ == nullptr) return;
  printed_->text.resize(std::min(mark.size, printed_->text.size()));
  printed_->known = mark.known;
}

void Interpreter::add_output(std::string_view text) {
  budget_.take(text.size());
  printed_->text += text;
}

// Returns true at an operator that takes the output to a file or to the errors: > file, >&2.
bool Interpreter::redirects_output() const {
  if (at_ >= tokens_->size()) return false;
  const Token& token = (*tokens_)[at_];
  if (!token.is_operator || token.of_errors) return false;
  if (token.text == ">&") return at_ + 1 < tokens_->size() && (*tokens_)[at_ + 1].text != "1";
  return token.text == ">" || token.text == ">>" || token.text == ">|" || token.text == "&>" || token.text == "&>>";
}

// Reads a part of a pipeline. `reads` is true behind a |: what the part before prints is then its input.
Outcome Interpreter::part_of_pipeline(Mode mode, bool reads) {
  const auto part = [this](Mode inner) { return compound(inner); };
  if (printed_ == nullptr) return own_shell(mode, part);
  Printed own;
  Printed* const outer_printed = std::exchange(printed_, &own);
  const std::optional<std::string> outer_input = input_;
  if (reads) input_ = std::exchange(fed_, std::nullopt);
  const Outcome outcome = own_shell(mode, part);
  input_ = outer_input;
  printed_ = outer_printed;
  if (is("|")) {
    fed_ = own.known ? std::optional(std::move(own.text)) : std::nullopt;
  } else {
    add_output(own.text);
    printed_->known = printed_->known && own.known;
  }
  return outcome;
}

// Performs a command of a substitution, with its input and its output.
Outcome Interpreter::perform_and_print(const Texts& words, const Simple& command, const Texts& empties, Mode mode) {
  Printed elsewhere;
  Printed* const outer_printed = std::exchange(printed_, command.prints_elsewhere ? &elsewhere : printed_);
  const std::optional<std::string> outer_input = input_;
  if (command.here)
    input_ = *command.here + "\n";
  else if (!command.input.empty())
    input_ = text_beside(command.input);
  else if (!command.document.empty())
    input_ = command.document;
  const bool has_own = command.here || !command.input.empty() || !command.document.empty();
  const std::size_t size = printed_->text.size(), missing = script_.missing.size();
  const Outcome outcome = perform(words, mode);
  // Whether a branch of an open condition prints is not known, nor what a file prints that is not there.
  if ((mode == Mode::kOpen && printed_->text.size() != size) || script_.missing.size() != missing)
    printed_->known = false;
  if (printed_->text.size() != size) printed_empties_.insert(printed_empties_.end(), empties.begin(), empties.end());
  if (has_own) input_ = outer_input;
  printed_ = outer_printed;
  return outcome;
}

// Takes the output of a command that only prints, which succeeds. Returns nothing for one that is performed.
std::optional<Outcome> Interpreter::print(const Texts& words) {
  if (functions_.contains(words[0]) || is_silent(words[0])) return std::nullopt;
  const std::optional<std::string> input = only_prints(words[0]) ? std::nullopt : std::exchange(input_, std::nullopt);
  const auto text = known_output(words, input, script_.variables.folder,
                                 [this](const std::string& path) { return text_beside(path); });
  if (!text) {
    printed_->known = false;
    return Outcome::kOpen;
  }
  add_output(*text);
  return Outcome::kYes;
}

}  // namespace foretoken::io::shell
