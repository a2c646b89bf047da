// Keeps apart what a part of a script may change: open branches, loops, functions and shells of their own.
#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "sim/io/import/launch/shell/interpreter.h"
#include "sim/io/import/launch/shell/merged_value.h"

namespace foretoken::io::shell {
namespace {

constexpr int kDeepestCalls = 48;

bool starts_group(const Token& token) {
  if (token.is_operator) return token.text == "(";
  for (const char* word : {"{", "if", "case", "for", "select", "while", "until", "[["})
    if (token.text == word) return true;
  return false;
}

}  // namespace

// Reads a branch that may or may not run. A variable that it changes is unknown afterwards. A training that runs did
// not take a branch that exits.
void Interpreter::open_branch(Mode mode, const Texts& reasons, const std::function<void(Mode)>& body) {
  if (mode == Mode::kSkip) return body(mode);
  const Variables before = script_.variables;
  budget_.copy(before);
  const Mark printed = output_so_far();
  body(Mode::kOpen);
  const Jump left = std::exchange(jump_, Jump::kNone);
  if (left == Jump::kExit) {
    script_.variables = before;
    take_back_output(printed);
    return;
  }
  const bool far = levels_ > 1 && left != Jump::kNone;
  doubt_ = std::max(doubt_, far ? Jump::kReturn : left);
  forget_changes(before, reasons);
}

// Keeps what a branch gives a variable, and the reasons, up to a size.
void Interpreter::note_alternative(const std::string& name, const Texts& value, const Texts& reasons) {
  constexpr std::size_t kMost = 16, kLongest = 2048;
  std::string text;
  for (const std::string& one : value) text += (text.empty() ? "" : " ") + one;
  Alternatives& all = script_.alternatives[name];
  if (text.size() <= kLongest && all.texts.size() < kMost && !text.starts_with(kUnknown))
    all.texts.insert(std::move(text));
  if (all.reasons.size() < kMost) all.reasons.insert(reasons.begin(), reasons.end());
}

// Notes why a condition is open: its unknown words, or those of the conditions on which they depend.
void Interpreter::note_open_words(const Texts& words) {
  constexpr const char* kTest = "a test of the machine";
  const std::size_t noted = open_reasons_.size();
  for (const std::string& word : words) {
    if (!is_unknown(word)) continue;
    std::string reason = why_unknown(word);
    const auto found = reason.starts_with(kOpenCondition)
                           ? script_.alternatives.find(reason.substr(kOpenCondition.size()))
                           : script_.alternatives.end();
    if (found == script_.alternatives.end())
      open_reasons_.push_back(std::move(reason));
    else
      open_reasons_.insert(open_reasons_.end(), found->second.reasons.begin(), found->second.reasons.end());
  }
  if (open_reasons_.size() == noted) open_reasons_.push_back(kTest);
}

// The outcome of a condition. A variable that nothing here sets is empty, unless a file of settings is not there, or
// the shell would end at it (set -u): then the environment holds it.
Outcome Interpreter::decided(const Texts& words, bool patterns) {
  Unset unset;
  const Outcome outcome = condition(words, patterns, unset);
  for (std::size_t i = 2; i < words.size(); ++i)
    if ((words[i - 1] == "=" || words[i - 1] == "==") && words[i] == words[i - 2]) note_option(words[i], words[i]);
  if (misses_settings_ && !unset.compared.empty()) {
    open_reasons_.emplace_back("settings that are not there");
    return Outcome::kOpen;
  }
  if ((unset_fails_ || takes_as_set_) && (unset.tested || !unset.compared.empty())) {
    note_open_words(words);
    return Outcome::kOpen;
  }
  if (outcome == Outcome::kOpen) note_open_words(words);
  if (unset.tested || !unset.compared.empty()) ++asked_unset_;
  script_.empties.insert(unset.compared.begin(), unset.compared.end());
  return outcome;
}

void Interpreter::forget_changes(const Variables& before, const Texts& reasons) {
  Variables& now = script_.variables;
  for (auto& [name, value] : now.values) {
    const auto found = before.values.find(name);
    if (found == before.values.end() || found->second != value) note_alternative(name, value, reasons);
    if (found != before.values.end() && found->second != value) note_alternative(name, found->second, reasons);
    if (found == before.values.end())
      value = {open_value(name)};
    else if (found->second != value)
      value = merged_value(name, found->second, value);
  }
  for (const auto& [name, value] : before.values)
    if (!now.values.contains(name)) now.values.emplace(name, Texts{open_value(name)});
  std::set<std::string> changed;  // on one side only, or different on both
  for (const auto& [name, table] : before.tables)
    if (now.tables.find(name) == now.tables.end()) changed.insert(name);
  for (const auto& [name, table] : now.tables)
    if (const auto then = before.tables.find(name); then == before.tables.end() || then->second != table)
      changed.insert(name);
  for (const std::string& name : changed) now.forget(name, open_value(name));
  now.references = before.references;
  if (now.arguments != before.arguments) {
    now.arguments.clear();
    now.arguments_stated = false;
  }
}

// Notes the variables at the end of a branch. A training that runs did not take a branch that exits.
void Interpreter::note_end(bool skipped, Ends& ends) {
  if (skipped || jump_ == Jump::kExit) return;
  budget_.copy(script_.variables);
  ends.emplace_back();
  if (jump_ == Jump::kNone) ends.back().insert(script_.variables.values.begin(), script_.variables.values.end());
}

// Keeps what all branches of an open condition give a variable, or the words with which all their values begin. One of
// them runs: the last is an else.
void Interpreter::keep_agreed(const Ends& ends) {
  if (ends.empty()) return;
  for (const auto& [name, first] : ends.front()) {
    std::optional<Texts> agreed = first;
    for (const auto& end : ends) {
      const auto found = end.find(name);
      if (found == end.end()) agreed.reset();
      if (agreed && *agreed != found->second) agreed = merged_value(name, *agreed, found->second);
    }
    if (agreed && !agreed->empty() && !agreed->front().starts_with(kUnknown))
      script_.variables.values.insert_or_assign(name, *agreed);
  }
}

// Reads the rounds of a loop whose number is open: again, until no further variable becomes unknown.
void Interpreter::open_rounds(Mode mode, const std::function<void(Mode)>& round) {
  constexpr int kMostRounds = 16;
  const std::size_t begin = at_, first = script_.commands.size();
  for (int i = 0; i < kMostRounds && !budget_.spent; ++i) {
    at_ = begin;
    script_.commands.resize(first);
    const auto before = script_.variables.values;
    budget_.copy(script_.variables);
    open_branch(mode, {"the rounds of a loop"}, round);
    if (mode == Mode::kSkip || script_.variables.values == before) return;
  }
  budget_.spent = true;
}

// Reads ( ... ) and a part of a pipeline: the variables outside stay as they are, and exit ends only this part.
Outcome Interpreter::own_shell(Mode mode, const std::function<Outcome(Mode)>& body) {
  const Variables before = script_.variables;
  budget_.copy(before);
  const Jump doubt = doubt_;
  const Outcome outcome = body(mode);
  const bool jumped = std::exchange(jump_, Jump::kNone) != Jump::kNone || doubt_ != doubt;
  doubt_ = doubt;
  script_.variables = before;
  return jumped ? Outcome::kOpen : outcome;
}

// Looks ahead: whether a | or & follows the command that begins here.
bool Interpreter::in_pipeline() {
  const std::size_t begin = at_;
  if (starts_group((*tokens_)[at_])) {
    const std::size_t steps = budget_.steps;
    (void)compound(Mode::kSkip);
    if (!budget_.spent) budget_.steps = steps;
  }
  const auto redirects = [](const Token& token) { return token.text.find_first_of("<>") != std::string::npos; };
  while (at_ < tokens_->size() && (!(*tokens_)[at_].is_operator || redirects((*tokens_)[at_]))) ++at_;
  const std::size_t end = std::exchange(at_, begin);
  budget_.take(end - std::min(end, begin));
  return end < tokens_->size() && ((*tokens_)[end].text == "|" || (*tokens_)[end].text == "&");
}

bool Interpreter::jump(const Texts& words) {
  const std::string& name = words[0];
  const std::string value = words.size() > 1 ? words[1] : "";
  levels_ = 1;
  if (name == "exit") {
    jump_ = Jump::kExit;
    exit_fails_ = !value.empty() && value != "0";
  } else if (name == "return") {
    if (!locals_.empty() || sources_ > 0) jump_ = Jump::kReturn;
    returned_ = value.empty() || is_unknown(value) ? Outcome::kOpen : outcome_of(value == "0");
  } else if (name == "break" || name == "continue") {
    (void)std::from_chars(value.data(), value.data() + value.size(), levels_);
    if (loops_ > 0) jump_ = name == "break" ? Jump::kBreak : Jump::kContinue;
    levels_ = std::clamp(levels_, 1, std::max(loops_, 1));
  } else {
    return false;
  }
  return true;
}

// Takes a jump at the end of a round. Returns true where no further round follows.
bool Interpreter::loop_ends() {
  if (jump_ == Jump::kNone) return false;
  if (jump_ >= Jump::kReturn) return true;
  if (levels_ > 1) {
    --levels_;
    return true;
  }
  return std::exchange(jump_, Jump::kNone) == Jump::kBreak;
}

void Interpreter::hide(const std::string& name, bool empties) {
  Variables& variables = script_.variables;
  Hidden hidden;
  const auto take = [&name](auto& all, auto& kept) {
    const auto found = all.find(name);
    if (found != all.end()) kept = found->second;
    all.erase(name);
  };
  if (const auto found = variables.values.find(name); found != variables.values.end()) hidden.value = found->second;
  take(variables.tables, hidden.table);
  take(variables.references, hidden.reference);
  locals_.back().emplace(name, std::move(hidden));
  if (empties) variables.set(name, {""});
}

Outcome Interpreter::function_call(const std::string& name, const Texts& words, Mode mode) {
  if (depth_ >= kDeepestCalls) {
    budget_.spent = true;
    return Outcome::kOpen;
  }
  const Tokens body = functions_.at(name);
  budget_.take(body.size());
  Variables& variables = script_.variables;
  const Texts outer_arguments = variables.arguments;
  const bool outer_stated = variables.arguments_stated;
  variables.arguments.assign(words.begin() + 1, words.end());
  variables.arguments_stated = true;
  const Tokens* const outer_tokens = std::exchange(tokens_, &body);
  const std::size_t outer_at = std::exchange(at_, 0);
  const int outer_loops = std::exchange(loops_, 0);
  const Jump outer_doubt = std::exchange(doubt_, Jump::kNone);
  locals_.emplace_back();
  ++depth_;
  Outcome outcome = redirected(mode);
  --depth_;
  for (auto& [local, hidden] : locals_.back()) {
    variables.values.erase(local);
    variables.tables.erase(local);
    variables.references.erase(local);
    if (hidden.value) variables.values.emplace(local, std::move(*hidden.value));
    if (hidden.table) variables.tables.emplace(local, std::move(*hidden.table));
    if (hidden.reference) variables.references.emplace(local, std::move(*hidden.reference));
  }
  locals_.pop_back();
  if (jump_ == Jump::kReturn) outcome = returned_;
  if (doubt_ != Jump::kNone) outcome = Outcome::kOpen;
  if (jump_ != Jump::kExit) jump_ = Jump::kNone;
  doubt_ = outer_doubt;
  loops_ = outer_loops;
  tokens_ = outer_tokens;
  at_ = outer_at;
  variables.arguments = outer_arguments;
  variables.arguments_stated = outer_stated;
  return outcome;
}

// Redirections and here documents of a command.
void Interpreter::redirection(Mode mode, Simple* command) {
  const bool here = is("<<<"), appends = is(">>") || is("&>>"), reads = is("<");
  const Token op = (*tokens_)[at_];
  const bool writes = (is(">") || appends || is(">|") || is("&>")) && op.stream != 2;
  ++at_;
  if (!ended() && !(*tokens_)[at_].is_operator) {
    const Token& token = (*tokens_)[at_];
    if (here && mode != Mode::kSkip) {
      std::string text = expander_.known_text(token.text);
      if (command != nullptr) command->here = std::move(text);
    }
    if (command != nullptr) note_document(token, mode, *command);
    if (command != nullptr && mode != Mode::kSkip) {
      std::string target = here ? "" : expander_.known_text(token.text);
      if (writes) command->appends = appends;
      if (!here && !op.text.starts_with('<')) command->streams.redirect(op.text, op.stream, target);
      if (op.text == "<&") command->input = unknown_because("another input");
      if (reads) command->input = target;
      if (writes) command->target = std::move(target);
    }
    ++at_;
  } else if (printed_ != nullptr && mode != Mode::kSkip) {
    printed_->known = false;  // > >(command)
  }
}

// cat <<END > file: the text is kept for a reader of that file.
void Interpreter::note_document(const Token& token, Mode mode, Simple& command) {
  if (token.document.empty() || mode == Mode::kSkip) return;
  command.document = token.document_expands ? expander_.text(quoted_document(token.document)) : token.document;
  if (token.document_expands) command.template_text = token.document;
  budget_.take(command.document.size());
}

}  // namespace foretoken::io::shell
