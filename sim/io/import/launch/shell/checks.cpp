// Reads branches: if and case. A check that ends the script for want of a value is passed over, because the real run
// has that value.
#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "sim/io/import/launch/shell/interpreter.h"
#include "sim/io/import/launch/shell/substitute.h"

namespace foretoken::io::shell {

// Takes the marks of variables without a value out of a word of a condition, unless they count as set.
void Interpreter::take_as_empty(std::string& word) {
  const std::string mark = std::string(kEmptyDefault) + kUnknown;
  for (std::size_t at = word.find(mark); !takes_as_set_ && at != word.npos; at = word.find(mark)) {
    const std::size_t begin = word.rfind(kUnknown, at);
    if (begin == word.npos) break;  // a text of the script, before an unknown part
    tested_empty_.push_back(word.substr(begin + 1, at - begin - 1));
    word.erase(begin, at + mark.size() - begin);
    ++asked_unset_;
  }
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
  const Texts asked = tested_empty_;
  const std::size_t first = script_.commands.size();
  const Mark printed = output_so_far();
  body(mode);
  const bool ran = script_.commands.size() > first && !exit_fails_;  // a run of its own, which ends well
  if (jump_ != Jump::kExit || ran) return false;
  jump_ = Jump::kNone;
  script_.variables = before;
  take_back_output(printed);
  script_.passed_checks.insert(asked.begin(), asked.end());
  return true;
}

// A pattern such as --* or * names no option: it stands for those that the script does not know.
void Interpreter::note_option(const std::string& word, std::string_view pattern) {
  const bool names = std::ranges::any_of(pattern, [](unsigned char c) { return std::isalnum(c) != 0; });
  if (names && word.starts_with('-') && !is_unknown(word)) script_.options.insert(word);
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
      return again(begin, [&] { return if_clause(mode); });
    }
    if (mode != Mode::kSkip && taken == Outcome::kOpen) keep_agreed(ends);
  }
  if (is("fi")) ++at_;
  return Outcome::kOpen;
}

// Reads a clause again, one branch of which exits where a variable that nobody sets is empty. In the real run it is
// set. Clauses inside are not read again, so that nested ones take no exponential time.
Outcome Interpreter::again(std::size_t begin, const std::function<Outcome()>& clause) {
  at_ = begin;
  const bool outer = std::exchange(takes_as_set_, true);
  const Outcome outcome = clause();
  takes_as_set_ = outer;
  return outcome;
}

// A branch that exits where the subject is empty for want of an argument is passed over: in the real run another one
// is taken, and the clause is read again with a subject that nobody knows.
Outcome Interpreter::case_clause(Mode mode) {
  const std::size_t begin = at_;
  const int asked = asked_unset_;
  ++at_;
  if (ended()) return Outcome::kYes;
  tested_empty_.clear();
  std::string subject = mode == Mode::kSkip ? "" : expander_.tested_text((*tokens_)[at_].text);
  take_as_empty(subject);
  const bool wants = asked_unset_ != asked;
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
      if (!matches_pattern(subject, pattern)) continue;
      matches = true;
      note_option(subject, pattern);
    }
    ++at_;
    const auto body = [&](Mode inner) { (void)list(inner, {"esac"}); };
    if (mode == Mode::kSkip || taken)
      body(Mode::kSkip);
    else if (open)
      open_branch(mode, reasons, body);
    else if (!matches || !wants || takes_as_set_)
      body(matches ? mode : Mode::kSkip);
    else if (exits(mode, body)) {
      return again(begin, [&] { return case_clause(mode); });
    }
    taken = taken || (matches && !open);
    while (!ended() && (is(";;") || is(";"))) ++at_;
  }
  if (is("esac")) ++at_;
  return Outcome::kOpen;
}

}  // namespace foretoken::io::shell
