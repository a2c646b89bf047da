// Reads one command of a script: assignments, conditions, sourced files, and the commands that it would start.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/shell/interpreter.h"
#include "sim/io/import/launch/shell/slurm.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::shell {
namespace {

namespace fs = std::filesystem;

constexpr int kMostFiles = 64;

// The length of NAME or NAME[index] in NAME=... or NAME+=...; 0 where the word assigns nothing.
std::size_t assigned_name(std::string_view word) {
  std::size_t end = 0;
  while (end < word.size() && (std::isalnum(static_cast<unsigned char>(word[end])) != 0 || word[end] == '_')) ++end;
  if (end == 0 || std::isdigit(static_cast<unsigned char>(word[0])) != 0) return 0;
  std::size_t behind = end;
  if (behind < word.size() && word[behind] == '[') behind = std::min(word.find(']', behind), word.size() - 1) + 1;
  const std::string_view rest = word.substr(behind);
  return rest.starts_with('=') || rest.starts_with("+=") ? behind : 0;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

// NAME=text, NAME+=text, NAME=(a b c), NAME+=(d), NAME[1]=text
void Interpreter::assign(std::string_view raw, Mode mode) {
  if (mode == Mode::kSkip) return;
  const std::size_t end = assigned_name(raw);
  std::string_view name = raw.substr(0, end), value = raw.substr(end);
  const bool appends = value.starts_with('+');
  value.remove_prefix(appends ? 2 : 1);
  const std::size_t bracket = name.find('[');
  const bool element = bracket != name.npos;
  name = name.substr(0, bracket);
  Texts texts;
  if (const Texts* old = script_.variables.find(name); old != nullptr && (appends || element)) texts = *old;
  if (value.starts_with('(') && value.ends_with(')')) {
    for (const Token& token : tokens_of(value.substr(1, value.size() - 2)))
      if (!token.is_operator)
        for (std::string& field : expander_.fields(token.text)) texts.push_back(std::move(field));
  } else if (element) {
    texts = {unknown_because(fmt::format("elements of {} that are set one by one", name))};
  } else {
    std::string text = expander_.text(value);
    if (texts.empty()) texts.emplace_back();
    texts.front() = appends ? texts.front() + text : text;
  }
  std::size_t size = 0;
  for (const std::string& text : texts) size += text.size();
  budget_.take(size);
  budget_.take_words(texts.size());
  // NAME=$OTHER, where nothing sets OTHER: nothing sets NAME either.
  const bool copies = !appends && value.find('$') != value.npos && texts.size() == 1 && texts[0].empty();
  if (copies && is_unset(expander_.known_text(value)) && !script_.variables.fixed.contains(name)) {
    script_.variables.values.erase(std::string(name));
    return;
  }
  script_.variables.set(std::string(name), std::move(texts));
}

// In a function, local and declare hide the outer variable until the function ends.
void Interpreter::declare(const Texts& raw, Mode mode) {
  const bool global = raw[0] == "export" || raw[0] == "readonly" || std::ranges::find(raw, "-g") != raw.end();
  const bool hides = !global && !locals_.empty();
  for (std::size_t i = 1; i < raw.size(); ++i) {
    if (raw[i].starts_with('-')) continue;
    const std::size_t end = raw[i].find_first_of("=[+");
    const std::string name = raw[i].substr(0, end);
    if (hides && !script_.variables.fixed.contains(name)) {
      const Texts* const outer = script_.variables.find(name);
      locals_.back().emplace(name, outer == nullptr ? std::nullopt : std::optional(*outer));
      if (end == std::string::npos) script_.variables.set(name, {""});
    }
    if (assigned_name(raw[i]) > 0) assign(raw[i], mode);
    if (raw[0] == "readonly" && script_.variables.find(name) != nullptr) script_.variables.fixed.insert(name);
  }
}

// env NAME=text command: the variables hold for that command only.
void Interpreter::environment(const Texts& words, Mode mode) {
  std::size_t first = 1;
  while (first < words.size() && (assigned_name(words[first]) > 0 || words[first].starts_with('-')))
    first += words[first] == "-u" ? 2 : 1;
  if (first >= words.size()) return;
  (void)perform(Texts(words.begin() + static_cast<std::ptrdiff_t>(first), words.end()), mode);
}

// set -- a b, and set a b
void Interpreter::set_arguments(const Texts& words) {
  if (words.size() < 2) return;
  const bool marked = words[1] == "--";
  if (!marked && (words[1].starts_with('-') || words[1].starts_with('+'))) return;
  script_.variables.arguments.assign(words.begin() + (marked ? 2 : 1), words.end());
  script_.variables.arguments_stated = true;
}

// Reads up to the end of one simple command: assignments, words, redirections.
Interpreter::Simple Interpreter::simple_words(Mode mode) {
  Simple command;
  while (!ended()) {
    const Token& token = (*tokens_)[at_];
    if (command.line == 0) command.line = token.line;
    if (token.is_operator) {
      if (token.text.find_first_of("<>") == std::string::npos) break;
      redirection(mode, &command);
      continue;
    }
    note_document(token, mode, command);
    const bool assigns = command.raw.empty() && assigned_name(token.text) > 0;
    (assigns ? command.assignments : command.raw).push_back(token.text);
    ++at_;
  }
  return command;
}

Outcome Interpreter::simple(Mode mode) {
  const Simple command = simple_words(mode);
  if (mode == Mode::kSkip) return Outcome::kYes;
  const Texts& raw = command.raw;
  if (!command.target.empty() && !command.document.empty()) script_.documents[command.target] = command.document;
  if (raw.empty()) {
    for (const std::string& assignment : command.assignments) assign(assignment, mode);
    const bool runs = std::ranges::any_of(command.assignments, [](const std::string& text) {
      return text.find("$(") != std::string::npos || text.find('`') != std::string::npos;
    });
    return runs ? Outcome::kOpen : Outcome::kYes;
  }
  if (raw[0].starts_with("((")) {
    const std::string value =
        expander_.number(std::string_view(raw[0]).substr(2, std::max<std::size_t>(raw[0].size(), 4) - 4));
    return is_unknown(value) ? Outcome::kOpen : outcome_of(value != "0");
  }
  if (is_one_of(raw[0], {"export", "local", "declare", "readonly", "typeset"})) {
    declare(raw, mode);
    return Outcome::kYes;
  }
  // A=1 command: the variable holds for that command only.
  const bool assigns = !command.assignments.empty();
  const auto before = assigns ? script_.variables.values : std::map<std::string, Texts, std::less<>>();
  if (assigns) budget_.copy(script_.variables);
  for (const std::string& assignment : command.assignments) assign(assignment, mode);
  Texts words;
  const bool tests = is_one_of(raw[0], {"[", "test", "let"});
  for (const std::string& word : raw)
    for (std::string& field : tests ? expander_.known_fields(word) : expander_.fields(word))
      words.push_back(std::move(field));
  const std::size_t first = script_.commands.size();
  edit(words, command.target);
  const Outcome outcome = words.empty() ? Outcome::kYes : perform(words, mode);
  for (std::size_t i = first; i < script_.commands.size(); ++i)
    if (script_.commands[i].line == 0) script_.commands[i].line = command.line;
  if (assigns) script_.variables.values = before;
  return outcome;
}

// [[ ... ]] may hold &&, ||, < and brackets, which are operators elsewhere.
Outcome Interpreter::double_brackets(Mode mode) {
  ++at_;
  Texts words;
  while (!ended() && !is("]]")) {
    const Token& token = (*tokens_)[at_++];
    if (token.is_operator && token.text == ";") continue;
    if (mode == Mode::kSkip) continue;
    const bool pattern = !words.empty() && is_one_of(words.back(), {"=", "==", "!="});
    const auto known = [&] { return pattern ? expander_.pattern(token.text) : expander_.known_text(token.text); };
    words.push_back(token.is_operator ? token.text : known());
  }
  ++at_;
  return mode == Mode::kSkip ? Outcome::kYes : condition(words, true);
}

void Interpreter::shift(const Texts& words) {
  Variables& variables = script_.variables;
  const std::string count = words.size() > 1 ? words[1] : "1";
  const bool digit = count.size() == 1 && std::isdigit(static_cast<unsigned char>(count[0])) != 0;
  if (!digit) variables.arguments_stated = false;
  const std::size_t most = variables.arguments.size();
  const std::size_t gone = digit ? std::min(static_cast<std::size_t>(count[0] - '0'), most) : most;
  variables.arguments.erase(variables.arguments.begin(),
                            variables.arguments.begin() + static_cast<std::ptrdiff_t>(gone));
}

// let NAME=1 NAME*=2
Outcome Interpreter::let(const Texts& words) {
  std::string value = "0";
  for (std::size_t i = 1; i < words.size(); ++i) value = expander_.number(words[i]);
  return is_unknown(value) ? Outcome::kOpen : outcome_of(value != "0");
}

Outcome Interpreter::builtin(const Texts& words, Mode mode, bool& known) {
  known = true;
  const std::string& name = words[0];
  if (name == "[" || name == "test") {
    Texts inner(words.begin() + 1, words.end());
    if (name == "[" && !inner.empty()) inner.pop_back();
    return condition(inner, false);
  }
  if (name == "true" || name == ":") return Outcome::kYes;
  if (name == "false") return Outcome::kNo;
  if (jump(words)) return Outcome::kYes;
  if (name == "source" || name == ".") {
    source(words, mode);
    return Outcome::kOpen;
  } else if (name == "unset") {
    for (const std::string& word : words)
      if (!script_.variables.fixed.contains(word)) script_.variables.values.erase(word);
  } else if (name == "read") {
    for (const std::string& word : words)
      if (word != "read" && !word.starts_with('-'))
        script_.variables.set(word, {unknown_because("input of the script: " + word)});
    return Outcome::kOpen;
  } else if (name == "shift") {
    shift(words);
  } else if (name == "let") {
    return let(words);
  } else if (name == "set") {
    set_arguments(words);
  } else if (name == "env") {
    environment(words, mode);
    return Outcome::kOpen;
  } else if (is_one_of(name, {"cd",   "mkdir",    "rm",         "cp",    "mv",    "touch", "wait",
                              "cat",  "ulimit",   "module",     "conda", "chmod", "pushd", "popd",
                              "date", "hostname", "nvidia-smi", "ln",    "tee",   "grep"})) {
    return Outcome::kOpen;  // the machine of the run decides
  } else if (!is_one_of(name, {"echo", "printf", "sleep", "trap", "shopt"})) {
    known = false;
  }
  return Outcome::kYes;
}

Outcome Interpreter::perform(const Texts& words, Mode mode) {
  bool known = false;
  const Outcome outcome = builtin(words, mode, known);
  if (known) return outcome;
  const std::string& name = words[0];
  if (functions_.contains(name)) {
    return function_call(name, words, mode);
  }
  if (name == "eval") {
    std::string text;
    for (std::size_t i = 1; i < words.size(); ++i) text += words[i] + " ";
    inner_text(text, mode, false);
    return Outcome::kOpen;
  }
  if (name == "sbatch" || name == "srun" || name == "salloc") scheduler_options(words);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool shell = is_one_of(fs::path(words[i]).filename().string(), {"bash", "sh"});
    if (shell && i + 2 < words.size() && words[i + 1].starts_with('-') && words[i + 1].ends_with('c')) {
      inner_text(words[i + 2], mode, true);
      return Outcome::kOpen;
    }
    if ((shell || name == "sbatch" || i == 0) && i + (shell ? 1 : 0) < words.size()) {
      const std::string& file = words[i + (shell ? 1 : 0)];
      const bool script = file.ends_with(".sh") || file.ends_with(".slurm") || file.ends_with(".sbatch");
      if (script && !is_unknown(file)) {
        start_script(file, Texts(words.begin() + static_cast<std::ptrdiff_t>(i + (shell ? 2 : 1)), words.end()), mode);
        return Outcome::kOpen;
      }
    }
  }
  record(words, mode);
  return Outcome::kOpen;
}

void Interpreter::record(const Texts& words, Mode mode) {
  std::size_t size = 0;
  for (const std::string& word : words) size += word.size();
  budget_.take(size);
  budget_.take_words(words.size());
  script_.commands.push_back({words, file_, 0, mode == Mode::kRun});
}

// A text that a shell reads again: of eval in this shell, of sh -c in another one.
void Interpreter::inner_text(const std::string& text, Mode mode, bool other_shell) {
  const std::size_t first = script_.commands.size();
  std::string one_line = text;
  std::ranges::replace(one_line, '\n', ' ');
  const auto body = [&](Mode) {
    run(one_line, file_, 0);
    return Outcome::kOpen;
  };
  other_shell ? own_shell(mode, body) : body(mode);
  for (std::size_t i = first; i < script_.commands.size(); ++i) {
    script_.commands[i].certain = mode == Mode::kRun;
    script_.commands[i].line = 0;
  }
}

std::optional<std::string> Interpreter::text_of_file(const std::string& path) {
  constexpr std::uintmax_t kLargestScript = 4 << 20;
  const fs::path whole = fs::path(path).is_absolute() ? fs::path(path) : fs::path(script_.variables.folder) / path;
  std::error_code error;
  if (++files_ > kMostFiles) budget_.spent = true;
  if (budget_.spent || !fs::is_regular_file(whole, error) || fs::file_size(whole, error) > kLargestScript)
    return std::nullopt;
  Findings unread;
  auto text = read_text_file(whole, printable(whole.string()), unread);
  if (text) {
    script_.files.push_back(whole.string());
    findings_.files.insert(findings_.files.end(), unread.files.begin(), unread.files.end());
    *text = without_marks(std::move(*text));
  }
  return text;
}

// A sourced file has its own $0, but the folder of paths stays that of the first script.
void Interpreter::source(const Texts& words, Mode mode) {
  if (words.size() < 2) return;
  const std::string& path = words[1];
  if (is_unknown(path)) {
    script_.missing.push_back(shown_unknown(path));
    return;
  }
  auto text = text_of_file(path);
  // Submissions of MLPerf keep common files in a folder of their own.
  if (!text) text = text_of_file((fs::path(path).parent_path() / "configs" / fs::path(path).filename()).string());
  if (!text) {
    if (!budget_.spent) script_.missing.push_back(path);
    return;
  }
  const std::string outer = script_.variables.script;
  script_.variables.script = path;
  ++sources_;
  const std::size_t first = script_.commands.size();
  const Jump outer_doubt = std::exchange(doubt_, Jump::kNone);
  run(*text, printable(fs::path(path).filename().string()));
  for (std::size_t i = first; i < script_.commands.size(); ++i)
    script_.commands[i].certain = script_.commands[i].certain && mode == Mode::kRun;
  if (jump_ == Jump::kReturn) jump_ = Jump::kNone;
  doubt_ = outer_doubt;
  --sources_;
  script_.variables.script = outer;
}

// A script that is started does not change the variables of this one.
void Interpreter::start_script(const std::string& path, const Texts& arguments, Mode mode) {
  const auto text = text_of_file(path);
  if (!text) return record({path}, mode);
  const Variables outer = script_.variables;
  budget_.copy(outer);
  const Jump outer_doubt = std::exchange(doubt_, Jump::kNone);
  const int outer_loops = std::exchange(loops_, 0);
  const std::size_t first = script_.commands.size();
  script_.variables.script = path;
  script_.variables.arguments = arguments;
  script_.variables.arguments_stated = true;
  std::map<std::string, std::string> options = script_.scheduler;
  for (const auto& [name, value] : slurm_directives(*text)) options.emplace(name, value);
  script_.variables.under_slurm = !options.empty();
  script_.variables.scheduler = slurm_variables(options);
  run(*text, printable(fs::path(path).filename().string()));
  jump_ = Jump::kNone;
  doubt_ = outer_doubt;
  loops_ = outer_loops;
  script_.variables = outer;
  for (std::size_t i = first; i < script_.commands.size(); ++i)
    script_.commands[i].certain = script_.commands[i].certain && mode == Mode::kRun;
  for (const auto& [name, value] : slurm_directives(*text)) script_.scheduler.emplace(name, value);
}

void Interpreter::scheduler_options(const Texts& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!words[i].starts_with('-')) break;
    const std::size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    const bool short_name = equals == std::string::npos && name.size() == 2 && i + 1 < words.size();
    if (equals != std::string::npos)
      script_.scheduler[name] = words[i].substr(equals + 1);
    else if (short_name && is_one_of(name, {"-N", "-n", "-G"}))
      script_.scheduler[name] = words[++i];
    else if (short_name && is_one_of(name, {"-p", "-A", "-J", "-o", "-e", "-t"}))
      ++i;
  }
}

}  // namespace foretoken::io::shell
