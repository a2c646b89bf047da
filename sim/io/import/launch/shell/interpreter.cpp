// Walks over the control flow of a script.
//
// A condition is known or open. Both branches of an open one are read: variables that they leave different are unknown
// afterwards, and their commands are uncertain.
#include "sim/io/import/launch/shell/interpreter.h"

#include <algorithm>
#include <utility>

namespace foretoken::io::shell {
namespace {

constexpr int kDeepestNesting = 48;

}  // namespace

bool Interpreter::is(std::string_view word) const { return at_ < tokens_->size() && (*tokens_)[at_].text == word; }

// "--fp16 \ # why" before a line of further flags: the blank ends the command in a shell, which is not what is meant.
std::string Interpreter::with_lines_continued(const std::string& text) {
  std::string joined;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    const std::size_t mark = line.rfind(" \\");
    const std::string_view rest = mark == line.npos ? "" : line.substr(mark + 2);
    const std::size_t next = text.find_first_not_of(" \t", std::min(end + 1, text.size()));
    const bool flags = next != text.npos && text.compare(next, 2, "--") == 0;
    const std::size_t first = rest.find_first_not_of(" \t\r");
    const bool broken =
        !rest.empty() && (rest[0] == ' ' || rest[0] == '\t') && (first == rest.npos || rest[first] == '#');
    if (flags && broken && line.find_first_not_of(" \t") != line.find('#')) {
      joined += std::string(line.substr(0, mark + 2)) + '\n';
      script_.continued = true;
    } else {
      joined += std::string(line) + (end < text.size() ? "\n" : "");
    }
    at = end + 1;
  }
  return joined;
}

void Interpreter::run(const std::string& text, const std::string& file, int first_line) {
  if (depth_ >= kDeepestNesting || budget_.spent) {
    budget_.spent = true;
    return;
  }
  ++depth_;
  budget_.take(text.size());
  counts_arguments_ = counts_arguments_ || text.find("$#") != std::string::npos;
  const Tokens tokens = tokens_of(with_lines_continued(text), first_line);
  const Tokens* const outer_tokens = tokens_;
  const std::size_t outer_at = at_;
  const std::string outer_file = file_;
  tokens_ = &tokens;
  at_ = 0;
  file_ = file;
  while (!ended()) {
    (void)list(Mode::kRun, {});
    if (!ended()) ++at_;  // a closing word without its opening one
  }
  tokens_ = outer_tokens;
  at_ = outer_at;
  file_ = outer_file;
  --depth_;
}

// Reads statements up to one of the words `ends`, or to any closing word.
Outcome Interpreter::list(Mode mode, std::initializer_list<std::string_view> ends) {
  Outcome outcome = Outcome::kYes;
  const bool asks = ends.size() == 1 && (*ends.begin() == "then" || *ends.begin() == "do");
  const int outer_conditions = std::exchange(conditions_, conditions_ + (asks ? 1 : 0));
  while (!ended()) {
    const Token& token = (*tokens_)[at_];
    const bool separates = token.is_operator && (token.text == ";" || token.text == "&");
    if (separates) {
      ++at_;
      continue;
    }
    if (std::ranges::find(ends, token.text) != ends.end()) break;
    if (token.is_operator && (token.text == ")" || token.text == ";;")) break;
    outcome = statement(mode);
  }
  conditions_ = outer_conditions;
  return outcome;
}

// A chain of commands: A && B || C, and pipes, whose parts run in shells of their own.
Outcome Interpreter::statement(Mode mode) {
  Outcome outcome = Outcome::kYes;
  Mode own = mode;
  bool turned = false, piped = false, open = false;
  bool counted = false;  // a condition has asked for $#, or for a variable that nobody sets
  const int asked = asked_unset_;
  Texts reasons;
  while (!ended()) {
    budget_.step();
    if (!counted) tested_empty_.clear();
    if (jump_ != Jump::kNone) own = mode = Mode::kSkip;
    for (turned = piped && turned; is("!"); ++at_) turned = !turned;
    if (at_ >= tokens_->size()) return outcome;  // "!" without a command
    const std::size_t before = at_;
    const bool scoped = own != Mode::kSkip && (piped || in_pipeline());
    Outcome next = Outcome::kYes;
    const auto body = [&](Mode inner) { next = scoped ? part_of_pipeline(inner, piped) : redirected(inner); };
    const bool doubtful = own != Mode::kSkip && (open || doubt_ != Jump::kNone);
    if (doubtful)
      open_branch(own, reasons, body);
    else if (counted && own != Mode::kSkip)
      (void)exits(own, body);
    else
      body(own);
    if (turned) next = opposite(next);
    if (own != Mode::kSkip) outcome = doubtful ? Outcome::kOpen : next;
    if (at_ == before) ++at_;
    const bool both = is("&&"), either = is("||");
    piped = is("|");
    if (ended() || (!piped && !both && !either)) {
      if (own != Mode::kSkip && !turned) end_if_failed(outcome);
      return outcome;
    }
    counted = counted || counts_unstated_arguments(before) || asked_unset_ != asked;
    ++at_;
    while (is(";") && !ended()) ++at_;  // a newline behind && or |
    if (mode == Mode::kSkip || piped) continue;
    open = outcome == Outcome::kOpen;
    if (open) reasons = open_reasons_;
    own = open || outcome == (both ? Outcome::kYes : Outcome::kNo) ? mode : Mode::kSkip;
  }
  return outcome;
}

Outcome Interpreter::compound(Mode mode) {
  if (depth_ > kDeepestNesting) {
    budget_.spent = true;
    return Outcome::kOpen;
  }
  if (function_definition(mode)) return Outcome::kYes;
  const Token& token = (*tokens_)[at_];
  ++depth_;
  Outcome outcome = Outcome::kYes;
  if (token.is_operator && token.text == "(") {
    ++at_;
    const auto body = [this](Mode inner) { return list(inner, {")"}); };
    outcome = mode == Mode::kSkip ? body(mode) : own_shell(mode, body);
    ++at_;
  } else if (token.is_operator) {
    outcome = simple(mode);
  } else if (token.text == "{") {
    ++at_;
    outcome = list(mode, {"}"});
    ++at_;
  } else if (token.text == "if") {
    outcome = if_clause(mode);
  } else if (token.text == "case") {
    outcome = case_clause(mode);
  } else if (token.text == "for" || token.text == "select") {
    outcome = for_clause(mode);
  } else if (token.text == "while" || token.text == "until") {
    outcome = while_clause(mode);
  } else {
    outcome = token.text == "[[" ? double_brackets(mode) : simple(mode);
  }
  --depth_;
  return outcome;
}

Outcome Interpreter::for_clause(Mode mode) {
  const bool selects = is("select");
  ++at_;
  const std::string name = ended() ? "" : (*tokens_)[at_++].text;
  Texts values;
  const bool arithmetic = name.starts_with("((");
  while (!ended() && !is("do")) {
    const Token& token = (*tokens_)[at_++];
    if (!token.is_operator && token.text != "in" && mode != Mode::kSkip)
      for (std::string& value : expander_.known_fields(token.text)) values.push_back(std::move(value));
  }
  const std::size_t body = ++at_;
  const Jump outer = doubt_;
  const auto read_body = [&](Mode inner) { (void)list(inner, {"done"}); };
  ++loops_;
  if (mode == Mode::kSkip || (values.empty() && !arithmetic)) {
    read_body(Mode::kSkip);
  } else if (arithmetic || selects) {
    if (arithmetic) expander_.forget_assigned(name);
    if (selects) script_.variables.set(name, {unknown_because("input of the script: " + name)});
    open_rounds(mode, read_body);
  } else {
    for (const std::string& value : values) {
      at_ = body;
      script_.variables.set(name, {value});
      is_unknown(value) ? open_rounds(mode, read_body) : read_body(mode);
      if (budget_.spent || loop_ends()) break;
    }
  }
  --loops_;
  if (doubt_ < Jump::kReturn) doubt_ = outer;
  if (is("done")) ++at_;
  return Outcome::kOpen;
}

// Reads the rounds of a loop whose condition asks for a variable, as long as its outcome is known. The number of rounds
// of any other loop is open: `while true` trains until somebody stops it.
Outcome Interpreter::while_clause(Mode mode) {
  constexpr int kMostKnownRounds = 256;
  const bool until = is("until");
  const std::size_t begin = ++at_, first = script_.commands.size();
  const Jump outer = doubt_;
  const Variables before = mode == Mode::kSkip ? Variables() : script_.variables;
  budget_.copy(before);
  ++loops_;
  for (int round = 0;; ++round) {
    at_ = begin;
    const std::size_t commands = script_.commands.size();
    const Outcome condition = list(mode, {"do"});
    const bool known = condition == (until ? Outcome::kNo : Outcome::kYes) && (asks_for_variable(begin) || shifts());
    ++at_;
    if (mode == Mode::kSkip || condition == (until ? Outcome::kYes : Outcome::kNo)) {
      (void)list(Mode::kSkip, {"done"});
      break;
    }
    if (!known || round == kMostKnownRounds) {
      at_ = begin;
      script_.commands.resize(known ? first : commands);
      if (known) script_.variables = before;
      open_rounds(mode, [&](Mode inner) {
        (void)list(inner, {"do"});
        ++at_;
        (void)list(inner, {"done"});
      });
      break;
    }
    (void)list(mode, {"done"});
    if (budget_.spent || loop_ends()) break;
  }
  --loops_;
  if (doubt_ < Jump::kReturn) doubt_ = outer;
  if (is("done")) ++at_;
  return Outcome::kOpen;
}

// Returns true when a $ stands in the words from a token up to here.
bool Interpreter::asks_for_variable(std::size_t first) const {
  for (std::size_t i = first; i < at_ && i < tokens_->size(); ++i)
    if ((*tokens_)[i].text.find_first_of("$(") != std::string::npos || (*tokens_)[i].text == "getopts") return true;
  return false;
}

// Returns true for the body of `while true; do case $1 in ... shift ...`: it ends with the script's arguments.
bool Interpreter::shifts() const {
  for (std::size_t i = at_; i < tokens_->size() && (*tokens_)[i].text != "done"; ++i)
    if ((*tokens_)[i].text == "shift") return true;
  return false;
}

// name() { ... } and function name { ... }
bool Interpreter::function_definition(Mode mode) {
  const auto text = [&](std::size_t ahead) {
    return at_ + ahead < tokens_->size() ? std::string_view((*tokens_)[at_ + ahead].text) : std::string_view();
  };
  const bool worded = text(0) == "function";
  if (!worded && (text(1) != "(" || text(2) != ")" || (*tokens_)[at_].is_operator)) return false;
  const std::string name(text(worded ? 1 : 0));
  at_ += worded ? 2 : 3;
  if (worded && is("(")) at_ += 2;
  while (!ended() && is(";")) ++at_;
  const std::size_t begin = at_;
  if (!ended()) (void)redirected(Mode::kSkip);
  const std::size_t end = std::min(at_, tokens_->size());
  if (mode != Mode::kSkip && begin < end)
    functions_[name] = Tokens(tokens_->begin() + static_cast<std::ptrdiff_t>(begin),
                              tokens_->begin() + static_cast<std::ptrdiff_t>(end));
  return true;
}

}  // namespace foretoken::io::shell
