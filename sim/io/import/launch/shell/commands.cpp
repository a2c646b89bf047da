// Reads one command of a script: conditions, sourced files, and the commands that it would start.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sim/io/import/launch/shell/inner_shell.h"
#include "sim/io/import/launch/shell/interpreter.h"
#include "sim/io/import/launch/shell/wrappers.h"

namespace foretoken::io::shell {
namespace {

namespace fs = std::filesystem;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// Flags and programs that a text between quotes holds on lines of their own belong to the command before them; bash
// would take them for commands, and no one means that.
std::string with_flags_joined(std::string text) {
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    const std::size_t next = std::min(text.find_first_not_of(" \t\n", at), text.size());
    const std::size_t end = std::min(text.find_first_of(" \t\n", next), text.size());
    const std::string_view word = std::string_view(text).substr(next, end - next);
    const bool goes_on = at > 0 && text[at - 1] == '\\';
    if (!goes_on && (word.starts_with('-') || word.starts_with("\"-") || word.ends_with(".py"))) text[at] = ' ';
  }
  return text;
}

bool is_configuration(std::string_view file) {
  return file.ends_with(".toml") || file.ends_with(".yaml") || file.ends_with(".yml");
}

// [$X = 1 ]: without a blank it is a command that is not there. With an empty X the [ misses what it compares.
bool fails_by_bracket(const Texts& raw) {
  const bool glued = raw[0].size() > 1 && raw[0][0] == '[';
  return glued && raw.size() > 1 && is_one_of(raw[1], {"=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"});
}

}  // namespace

// env NAME=text command: the variables hold for that command only.
void Interpreter::environment(const Texts& words, Mode mode) {
  std::size_t first = 1;
  while (first < words.size() && (assigned_name(words[first]) > 0 || words[first].starts_with('-')))
    first += words[first] == "-u" ? 2 : 1;
  if (first >= words.size()) return;
  (void)perform(Texts(words.begin() + static_cast<std::ptrdiff_t>(first), words.end()), mode);
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
  Simple command = simple_words(mode);
  if (mode == Mode::kSkip) return Outcome::kYes;
  const Texts& raw = command.raw;
  // A reader of the file asks for variables that nobody sets.
  if (is_configuration(command.target) && !command.template_text.empty())
    command.document = expander_.known_text(quoted_document(command.template_text));
  if (raw.empty()) {
    note_unread(command.target, command);  // { ...; } > ds.json
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
    if (printed_ != nullptr && lists_names(raw)) add_output({.text = "", .known = false}, command.streams);
    declare(raw, mode);
    return Outcome::kYes;
  }
  if (fails_by_bracket(raw)) return Outcome::kNo;
  // A=1 command: the variable holds for that command only.
  const bool assigns = !command.assignments.empty();
  const auto before = assigns ? script_.variables.values : std::map<std::string, Texts, std::less<>>();
  if (assigns) budget_.copy(script_.variables);
  for (const std::string& assignment : command.assignments) assign(assignment, mode);
  Texts empties = empties_among(raw), outer_empties = std::exchange(printed_empties_, {});
  Texts words;
  const bool tests = is_one_of(raw[0], {"[", "test"}), lets = raw[0] == "let";
  for (const std::string& word : raw)
    for (std::string& field : lets    ? expander_.known_fields(word)
                              : tests ? expander_.tested_fields(word)
                                      : expander_.fields(word))
      words.push_back(std::move(field));
  empties.insert(empties.end(), printed_empties_.begin(), printed_empties_.end());
  printed_empties_ = std::move(outer_empties);
  const std::size_t first = script_.commands.size();
  const std::optional<std::string> piped = piped_;
  edit(words, command);
  Outcome outcome = Outcome::kOpen;
  const bool reads_all = !words.empty() && words[0] == "read" && std::ranges::find(words, "-d") != words.end();
  if (words.empty())
    outcome = Outcome::kYes;
  else if (reads_all && !command.document.empty())  // read -d '' NAME <<END
    script_.variables.set(words.back(), {command.document});
  else if (words[0] == "read" && command.here && read_here_string(words, *command.here))
    outcome = Outcome::kYes;
  else if (printed_ != nullptr)
    outcome = perform_and_print(words, command, empties, mode);
  else if (!start_piped_job(words, piped ? *piped : command.document, mode))
    outcome = perform(words, mode);
  for (std::size_t i = first; i < script_.commands.size(); ++i) {
    if (script_.commands[i].line != 0) continue;
    script_.commands[i].line = command.line;
    script_.commands[i].empties = empties;
  }
  if (assigns && !words.empty() && words[0] == "read")  // IFS=, read A B: what it reads stays
    for (const std::string& assignment : command.assignments) {
      const std::string name = assignment.substr(0, assignment.find_first_of("+=["));
      const auto old = before.find(name);
      script_.variables.values.erase(name);
      if (old != before.end()) script_.variables.values.insert(*old);
    }
  else if (assigns)
    script_.variables.values = before;
  return outcome;
}

// The pattern for a regular expression that is a plain text, perhaps between ^ and $; nothing for any other one.
std::optional<std::string> Interpreter::pattern_of_expression(std::string_view word) {
  const bool quoted = word.size() > 1 && (word[0] == '"' || word[0] == '\'') && end_of_part(word, 0) == word.size();
  std::string text = expander_.known_text(word);
  bool begins = false, ends = false;
  if (!quoted) {
    begins = text.starts_with('^');
    if (begins) text.erase(0, 1);
    ends = text.ends_with('$');
    if (ends) text.pop_back();
    if (text.find_first_of("\\.*+?()[]{}|^$") != std::string::npos) return std::nullopt;
  }
  if (is_unknown(text)) return std::nullopt;
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return (begins ? "" : "*") + pattern + (ends ? "" : "*");
}

// -v NAME, and -f, -e, -d and the like where the file stands beside the script, become tests whose outcome is known.
// Other files belong to the machine of the run. ${NAME:-} is empty where nothing sets NAME, unless the run does.
Texts Interpreter::with_known_tests(Texts words) {
  for (std::string& word : words) take_as_empty(word);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const bool first = i == 0 || is_one_of(words[i - 1], {"!", "(", "&&", "||", "-a", "-o"});
    if (!first || is_unknown(words[i + 1])) continue;
    std::optional<bool> known;
    if (words[i] == "-v") known = expander_.is_set(words[i + 1]);
    if (known == false && is_name(words[i + 1]) && script_.variables.table(words[i + 1]) == nullptr) {
      ++asked_unset_;
      if (takes_as_set_) continue;
    }
    if (is_one_of(words[i], {"-f", "-e", "-r", "-s", "-d"}) && is_beside(words[i + 1], words[i] == "-d")) known = true;
    if (!known) continue;
    words[i] = *known ? "-n" : "-z";
    words[i + 1] = "known";
  }
  return words;
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
    const bool expression = !words.empty() && words.back() == "=~";
    if (token.is_operator) {
      words.push_back(token.text);
    } else if (const auto simple = expression ? pattern_of_expression(token.text) : std::nullopt) {
      words.back() = "==";
      words.push_back(*simple);
    } else {
      words.push_back(pattern ? expander_.pattern(token.text) : expander_.tested_text(token.text));
    }
  }
  ++at_;
  return mode == Mode::kSkip ? Outcome::kYes : decided(with_known_tests(std::move(words)), true);
}

Outcome Interpreter::builtin(const Texts& words, Mode mode, bool& known) {
  known = true;
  const std::string& name = words[0];
  if (name == "[" || name == "test") {
    Texts inner(words.begin() + 1, words.end());
    const std::string last = inner.empty() ? "" : inner.back();
    if (name == "[" && last != "]" && !is_unknown(last)) return Outcome::kNo;  // the command fails: [ $X = 1]
    if (name == "[" && !inner.empty()) inner.pop_back();
    return decided(with_known_tests(std::move(inner)), false);
  }
  if (name.size() > 1 && name[0] == '[') return Outcome::kNo;  // [true ] is a command that is not there
  if (name == "true" || name == ":") return Outcome::kYes;
  if (name == "false") return Outcome::kNo;
  if (jump(words)) return Outcome::kYes;
  if (name == "source" || name == ".") {
    source(words, mode);
    return Outcome::kOpen;
  } else if (name == "unset") {
    for (const std::string& word : words)
      if (!script_.variables.fixed.contains(word)) {
        script_.variables.values.erase(word);
        script_.variables.tables.erase(word);
      }
  } else if (is_one_of(name, {"read", "mapfile", "readarray"})) {
    take_input(words);
    return Outcome::kOpen;
  } else if (name == "shift") {
    shift(words);
  } else if (name == "getopts" && words.size() > 2) {
    return getopts(words);
  } else if (name == "let") {
    return let(words);
  } else if (name == "set") {
    set_options(words);
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

Outcome Interpreter::perform(const Texts& stated, Mode mode) {
  if (const auto printed = printed_ != nullptr ? print(stated) : std::nullopt) return *printed;
  const Texts words = with_shell_before_script(without_wrappers(stated));
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
  // ssh host "torchrun ...": a shell there reads the last word.
  if (const auto job = text_of_job(words)) {
    const auto outer_job = job_;
    for (const auto& [option, value] : job->options) job_.insert_or_assign(option, value);
    inner_text(job->text, mode, true);
    job_ = outer_job;
    return Outcome::kOpen;
  }
  if (name == "sbatch" || name == "srun" || name == "salloc") scheduler_options(words);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool shell = is_one_of(fs::path(words[i]).filename().string(), {"bash", "sh"});
    if (const auto text = shell ? text_of_shell(words, i) : std::nullopt) {
      const auto outer_job = job_;
      if (const auto processes = count_of_processes(words, i)) {
        const bool torchrun = words[*text].find("torchrun") != std::string::npos;
        job_.insert_or_assign(std::string(process_launcher(words)) + (torchrun ? " nnodes" : " nproc-per-node"),
                              *processes);
      }
      if (starts_processes(words[0])) job_.insert_or_assign(std::string(kStartedBy), words[0]);
      const Texts outer_launcher = std::exchange(launcher_, launcher_before(words, i));
      inner_text(words[*text], mode, true);
      launcher_ = outer_launcher;
      job_ = outer_job;
      return Outcome::kOpen;
    }
    const std::size_t file = i + (shell ? 1 : 0);
    const bool starts = (shell || name == "sbatch" || i == 0) && file < words.size();
    if (starts && is_script_name(words[file]) && !is_unknown(words[file])) {
      start_by_launcher(words, i, file, mode);
      return Outcome::kOpen;
    }
  }
  record(words, mode);
  return Outcome::kOpen;
}

// Returns true for a launcher that starts a process for each visible device, unless an option says otherwise:
// deepspeed/launcher/runner.py; accelerate/commands/launch.py without a configuration file.
bool takes_visible_devices(const Texts& words) {
  const std::string program = fs::path(words.front()).filename().string();
  const bool deepspeed = program == "deepspeed", accelerate = program == "accelerate";
  if (!deepspeed && !accelerate) return false;
  for (const std::string& word : words) {
    if (word.ends_with(".py")) break;
    const std::string option = word.substr(0, word.find('='));
    if (is_one_of(option, {"--include", "-i", "--exclude", "-e", "--num_gpus", "--num_nodes", "--hostfile", "-H",
                           "--num_processes", "--num_machines", "--config_file", "--multi_node", "--nnodes"}))
      return false;
  }
  return true;
}

// --nproc_per_node=auto counts the visible devices.
void state_automatic_count(Texts& words, std::int64_t devices) {
  for (std::size_t i = 0; i < words.size(); ++i)
    for (const char* option : {"--nproc_per_node", "--nproc-per-node"})
      for (const char* value : {"auto", "gpu"}) {
        if (words[i] == std::string(option) + "=" + value)
          words[i] = std::string(option) + "=" + std::to_string(devices);
        if (i > 0 && words[i - 1] == option && words[i] == value) words[i] = std::to_string(devices);
      }
}

std::optional<std::string> Interpreter::known_value(const char* variable) const {
  const auto found = script_.variables.values.find(variable);
  if (found == script_.variables.values.end() || found->second.size() != 1 || is_unknown(found->second.front()))
    return std::nullopt;
  return found->second.front();
}

// Command lines that start torchrun by themselves take its counts from variables: hiyouga/LLaMA-Factory,
// src/llamafactory/launcher.py; modelscope/ms-swift, swift/cli/main.py.
void Interpreter::add_counts_of_variables(std::int64_t devices, Texts& words,
                                          std::map<std::string, std::string>& options) const {
  const std::string program = fs::path(words.front()).filename().string();
  const bool factory = program == "llamafactory-cli";
  const auto set = [&](const char* variable) { return known_value(variable); };
  if (devices > 0) state_automatic_count(words, devices);
  if (devices > 0 && takes_visible_devices(words)) options["nproc-per-node"] = std::to_string(devices);
  if (!factory && program != "swift" && program != "megatron") return;
  if (const auto nodes = set("NNODES")) options["nnodes"] = *nodes;
  if (const auto each = set("NPROC_PER_NODE")) {
    options["nproc-per-node"] = *each;
  } else if (devices > 0 && (factory || devices == 1)) {
    // LLaMA-Factory starts a process for each of them. ms-swift deals the layers of a model out to several.
    options["nproc-per-node"] = std::to_string(devices);
  }
}

void Interpreter::record(Texts words, Mode mode) {
  if (fs::path(words[0]).filename().string().starts_with("python"))
    words.insert(words.begin(), launcher_.begin(), launcher_.end());
  std::size_t size = 0;
  for (const std::string& word : words) size += word.size();
  budget_.take(size);
  budget_.take_words(words.size());
  std::map<std::string, std::string> options = script_.scheduler;
  options.insert(job_.begin(), job_.end());
  const auto visible = known_value("CUDA_VISIBLE_DEVICES");
  const std::int64_t devices = visible && !visible->empty() ? 1 + std::ranges::count(*visible, ',') : 0;
  add_counts_of_variables(devices, words, options);
  budget_.take(options.size());
  script_.commands.push_back({std::move(words), file_, 0, mode == Mode::kRun, std::move(options), {}, devices});
}

// A text that a shell reads again: of eval in this shell, of sh -c in another one.
void Interpreter::inner_text(const std::string& text, Mode mode, bool other_shell) {
  const std::size_t first = script_.commands.size();
  const std::string joined = with_flags_joined(text);
  const auto body = [&](Mode) {
    run(joined, file_, 0);
    return Outcome::kOpen;
  };
  other_shell ? own_shell(mode, body) : body(mode);
  for (std::size_t i = first; i < script_.commands.size(); ++i) {
    script_.commands[i].certain = mode == Mode::kRun;
    script_.commands[i].line = 0;
  }
}

}  // namespace foretoken::io::shell
