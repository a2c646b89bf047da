// Walks over the control flow of a script.
//
// A condition is known or open. Both branches of an open one are read: variables that they leave different are unknown
// afterwards, and their commands are uncertain.
#include "sim/io/import/launch/shell/interpreter.h"

#include <algorithm>

#include "sim/io/import/launch/shell/substitute.h"

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
  while (!ended()) {
    const Token& token = (*tokens_)[at_];
    const bool separates = token.is_operator && (token.text == ";" || token.text == "&");
    if (separates) {
      ++at_;
      continue;
    }
    if (std::ranges::find(ends, token.text) != ends.end()) return outcome;
    if (token.is_operator && (token.text == ")" || token.text == ";;")) return outcome;
    outcome = statement(mode);
  }
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
    if (jump_ != Jump::kNone) own = mode = Mode::kSkip;
    for (turned = piped && turned; is("!"); ++at_) turned = !turned;
    if (at_ >= tokens_->size()) return outcome;  // "!" without a command
    const std::size_t before = at_;
    const bool scoped = own != Mode::kSkip && (piped || in_pipeline());
    Outcome next = Outcome::kYes;
    const auto body = [&](Mode inner) {
      next = scoped ? own_shell(inner, [this](Mode own_mode) { return compound(own_mode); }) : compound(inner);
    };
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
    if (ended()) return outcome;
    const bool both = is("&&"), either = is("||");
    piped = is("|");
    if (!piped && !both && !either) return outcome;
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

// Returns true when the condition that began at a token asks for $#, or in a script that reads its arguments one by one
// for an empty text, and nobody stated the arguments of the script.
bool Interpreter::counts_unstated_arguments(std::size_t first) const {
  if (script_.variables.arguments_stated) return false;
  for (std::size_t i = first; i < at_ && i < tokens_->size(); ++i)
    if ((*tokens_)[i].text.find("$#") != std::string::npos || (counts_arguments_ && (*tokens_)[i].text == "-z"))
      return true;
  return false;
}

// Reads a branch. Returns true, and takes back what it did, when it exits: the arguments, and the variables that nobody
// sets here, are there in the real run.
bool Interpreter::exits(Mode mode, const std::function<void(Mode)>& body) {
  const Variables before = script_.variables;
  budget_.copy(before);
  body(mode);
  if (jump_ != Jump::kExit) return false;
  jump_ = Jump::kNone;
  script_.variables = before;
  return true;
}

Outcome Interpreter::if_clause(Mode mode) {
  Outcome taken = Outcome::kNo;  // whether a branch so far has run
  const std::size_t begin = at_;
  const int asked = asked_unset_;
  const std::set<std::string> empties = script_.empties;
  Texts reasons;
  Ends ends;
  do {
    ++at_;
    open_reasons_.clear();
    const Mode asks = taken == Outcome::kYes ? Mode::kSkip : mode;
    const std::size_t first = at_;
    Outcome condition = list(asks, {"then"});
    const bool wants = counts_unstated_arguments(first) || asked_unset_ != asked;
    const bool counts = condition == Outcome::kYes && wants;
    if (condition == Outcome::kOpen) reasons.insert(reasons.end(), open_reasons_.begin(), open_reasons_.end());
    ++at_;
    const auto body = [&](Mode inner) {
      (void)list(inner, {"elif", "else", "fi"});
      note_end(inner == Mode::kSkip, ends);
    };
    if (mode == Mode::kSkip || taken == Outcome::kYes || condition == Outcome::kNo)
      body(Mode::kSkip);
    else if (taken == Outcome::kOpen || condition == Outcome::kOpen)
      open_branch(mode, reasons, body);
    else if (!counts)
      body(mode);
    else if (exits(mode, body)) {
      condition = Outcome::kNo;
      script_.empties = empties;
    }
    if (condition == Outcome::kYes && taken == Outcome::kNo) taken = condition;
    if (condition == Outcome::kOpen && taken == Outcome::kNo) taken = condition;
  } while (is("elif") && !ended());
  if (is("else") && !ended()) {
    ++at_;
    const auto body = [&](Mode inner) {
      (void)list(inner, {"fi"});
      note_end(inner == Mode::kSkip, ends);
    };
    if (mode == Mode::kSkip || taken == Outcome::kYes)
      body(Mode::kSkip);
    else if (taken == Outcome::kOpen)
      open_branch(mode, reasons, body);
    else if (asked_unset_ == asked || takes_as_set_)
      body(mode);
    else if (exits(mode, body)) {
      script_.empties = empties;
      return if_clause_again(mode, begin);
    }
    if (mode != Mode::kSkip && taken == Outcome::kOpen) keep_agreed(ends);
  }
  if (is("fi")) ++at_;
  return Outcome::kOpen;
}

// Reads a clause again whose else exits where a variable that nobody sets is empty. In the real run it is set.
Outcome Interpreter::if_clause_again(Mode mode, std::size_t begin) {
  at_ = begin;
  const bool outer = std::exchange(takes_as_set_, true);
  const Outcome outcome = if_clause(mode);
  takes_as_set_ = outer;
  return outcome;
}

Outcome Interpreter::case_clause(Mode mode) {
  ++at_;
  if (ended()) return Outcome::kYes;
  const std::string subject = mode == Mode::kSkip ? "" : expander_.known_text((*tokens_)[at_].text);
  ++at_;
  while (!ended() && (is(";") || is("in"))) ++at_;
  bool taken = false, open = is_unknown(subject);
  open_reasons_.clear();
  if (open) note_open_words({subject});
  const Texts reasons = open_reasons_;
  while (!ended() && !is("esac")) {
    bool matches = false;
    while (!ended() && !is(")")) {
      const Token& token = (*tokens_)[at_++];
      if (token.is_operator || mode == Mode::kSkip) continue;
      const std::string pattern = expander_.pattern(token.text);
      open = open || (is_unknown(pattern) && !taken);
      matches = matches || matches_pattern(subject, pattern);
    }
    ++at_;
    const auto body = [&](Mode inner) { (void)list(inner, {"esac"}); };
    if (mode == Mode::kSkip || taken)
      body(Mode::kSkip);
    else if (open)
      open_branch(mode, reasons, body);
    else
      body(matches ? mode : Mode::kSkip);
    taken = taken || (matches && !open);
    while (!ended() && (is(";;") || is(";"))) ++at_;
  }
  if (is("esac")) ++at_;
  return Outcome::kOpen;
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
  if (!ended()) (void)compound(Mode::kSkip);
  const std::size_t end = std::min(at_, tokens_->size());
  if (mode != Mode::kSkip && begin < end)
    functions_[name] = Tokens(tokens_->begin() + static_cast<std::ptrdiff_t>(begin),
                              tokens_->begin() + static_cast<std::ptrdiff_t>(end));
  return true;
}

}  // namespace foretoken::io::shell
