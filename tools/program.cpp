// Parses the command line: subcommands, misspelt words, exit statuses.
//
// The parser collects unknown words instead of refusing them. The complaint can then suggest the word that was
// probably meant.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/io/json/data_path.h"
#include "sim/report/text/layout.h"
#include "tools/commands.h"
#include "tools/options/options.h"
#include "tools/output/output.h"

namespace foretoken::tools {
namespace {

constexpr int kWrongInput = 2, kOurFault = 3;

constexpr const char* kFirstExamples =
    "Examples:\n"
    "  foretoken simulate scenarios/gpt3-175b-1024-a100.json\n"
    "  foretoken simulate gpt3-175b-1024-a100 --set parallelism.pipeline=16 --set parallelism.data=8\n"
    "  foretoken explain gpt3-175b-1024-a100\n"
    "  foretoken compare gpt3-175b-1024-a100 --schedules gpipe,1f1b,interleaved:2\n"
    "  foretoken whatif gpt3-175b-1024-a100 --vary batch.micro=1,2,4 --tornado\n"
    "  foretoken import train.sh --cluster dgx-h100-ndr --out mine.json\n"
    "  foretoken search gpt3-175b-1024-a100 --free all\n"
    "  foretoken report gpt3-175b-1024-a100 -o report.html\n"
    "  foretoken plan gpt3-175b-1024-a100 --free all --gpus 256:4096:x2 --deadline 30d\n"
    "  foretoken diagnose train.log my.json\n"
    "  foretoken serve llama-3-70b-8-h100\n"
    "  foretoken schedule show 1f1b --stages 4 --microbatches 8\n"
    "  foretoken models list\n\n"
    "Exit status: 0 done; 1 the answer is no (it does not fit with --require-fit, an invalid schedule);\n"
    "2 the input or the environment is wrong; 3 a fault of the program; 130 interrupted by Ctrl-C: long\n"
    "commands then print what is done.\n";

// The subcommand that the command line reached, and its path: "foretoken schedule show".
struct Reached {
  const CLI::App* command;
  std::string path;
};

Reached reached(const CLI::App& program) {
  Reached at{&program, "foretoken"};
  for (auto parsed = at.command->get_subcommands(); !parsed.empty(); parsed = at.command->get_subcommands()) {
    at.command = parsed.front();
    at.path += ' ' + at.command->get_name();
  }
  return at;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> subcommand_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; }))
    if (!sub->get_name().empty()) names.push_back(sub->get_name());
  return names;
}

// Returns the message for a word that is no option, subcommand or argument.
std::string unknown_word(const Reached& at, const std::string& word) {
  const bool is_option = word.size() > 1 && word.front() == '-';
  const std::string name = is_option ? word.substr(0, word.find('=')) : word;
  const std::vector<std::string> known = is_option ? option_names(*at.command) : subcommand_names(*at.command);
  if (!is_option && known.empty()) return fmt::format("unexpected argument {}", in_quotes(word));
  return fmt::format("unknown {} {}{}", is_option ? "option" : "command", in_quotes(name),
                     meant_or_known(name, known, "see --help"));
}

// Returns a complaint for each unknown word.
std::vector<Complaint> leftovers(const CLI::App& program) {
  const Reached at = reached(program);
  std::vector<Complaint> complaints;
  std::vector<std::string> words = program.remaining(true);
  const bool wants_command = !subcommand_names(*at.command).empty();
  for (const std::string& word : words) {
    complaints.push_back({at.path, "", unknown_word(at, word)});
    if (wants_command && !word.starts_with('-')) break;  // the next words belong to the unknown command
  }
  return complaints;
}

// True when a word is a list such as "a,,b" or "a," of which the parser gave only `values`.
bool has_gap(std::span<const char* const> words, const std::vector<std::string>& values) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    if (word.starts_with("--")) word.remove_prefix(std::min(word.find('=') + 1, word.size()));
    if (!word.ends_with(',') && !word.starts_with(',') && word.find(",,") == word.npos) return false;
    while (word.starts_with(',')) word.remove_prefix(1);
    return word.substr(0, word.find(',')) == values.front();
  });
}

// Complains about empty words: a shell makes one of a variable that is not set. They must not count as "not given".
std::vector<Complaint> empty_values(const Reached& at, std::span<const char* const> words) {
  std::vector<Complaint> complaints;
  for (const CLI::Option* option : at.command->get_options()) {
    const auto& values = option->results();
    if (values.empty()) continue;
    const bool drops_one = option->get_delimiter() == ',' && has_gap(words, values);
    if (drops_one || std::find(values.begin(), values.end(), "") != values.end())
      complaints.push_back({at.path, "", fmt::format("{}: expected a value, found an empty one", option->get_name())});
  }
  return complaints;
}

// Returns the words of CLI11, but for an option that is stated twice: "--gpus: At Most 1 required but received 2".
std::string in_words(const CLI::ParseError& error) {
  const std::string words = printable(error.what(), 300);
  const std::size_t at = words.find(": At Most 1 required");
  return at == words.npos ? words : words.substr(0, at) + " is stated more than once; keep one";
}

void parse(CLI::App& program, int argc, const char* const* argv, const Action& chosen) {
  try {
    program.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    throw;
  } catch (const CLI::CallForVersion&) {
    throw;
  } catch (const CLI::ParseError& error) {
    std::vector<Complaint> complaints = leftovers(program);
    if (complaints.empty()) complaints.push_back({reached(program).path, "", in_words(error)});
    throw ConfigError(std::move(complaints));
  }
  if (std::vector<Complaint> complaints = leftovers(program); !complaints.empty())
    throw ConfigError(std::move(complaints));
  if (std::vector<Complaint> complaints = empty_values(reached(program), {argv, static_cast<std::size_t>(argc)});
      !complaints.empty())
    throw ConfigError(std::move(complaints));
  if (!chosen) {
    const Reached at = reached(program);
    throw ConfigError(
        {{at.path, "",
          fmt::format("expected a command: {}; try {} --help", either(subcommand_names(*at.command)), at.path)}});
  }
}

// Lets every subcommand take unknown words, so that parse() can complain about them.
void collect_unknown_words(CLI::App& command) {
  command.allow_extras();
  for (CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; })) collect_unknown_words(*sub);
}

// Breaks an example so that a shell reads the parts as one command.
std::string wrapped_example(const std::string& line, std::size_t columns) {
  const std::size_t end = line.rfind(' ', columns - 2);
  if (line.size() <= columns || end == line.npos || end < columns / 2) return line + '\n';
  return line.substr(0, end) + " \\\n" + wrapped_example("     " + line.substr(end), columns);
}

// Wraps the parser's help to the page: descriptions, examples and remarks.
std::string wrapped_help(const std::string& help, std::size_t columns) {
  constexpr std::size_t kDescription = 30;  // the column where the parser starts descriptions
  std::string text;
  for (std::size_t at = 0; at < help.size();) {
    const std::size_t end = std::min(help.find('\n', at), help.size());
    const std::string line = help.substr(at, end - at);
    at = end + 1;
    if (line.size() <= columns)
      text += line + '\n';
    else if (line.starts_with("  ") && line[kDescription - 1] == ' ' && !line.starts_with("  foretoken"))
      text += report::paragraph(line.substr(0, kDescription), line.substr(kDescription), columns);
    else if (line.starts_with("  "))
      text += wrapped_example(line, columns);
    else
      text += report::paragraph("", line, columns);
  }
  return text;
}

// Returns the words of our own command line. `foretoken import run.sh -- 8 --bf16` passes the words behind -- on.
std::span<const char* const> own_words(std::span<const char* const> words) {
  if (words.size() < 2 || std::string_view(words[1]) != "import") return words;
  const auto dashes =
      std::ranges::find(words, std::string_view("--"), [](const char* word) { return std::string_view(word); });
  return words.first(static_cast<std::size_t>(dashes - words.begin()));
}

struct CommandRow {
  std::vector<std::string_view> names;
  std::function<void()> add;
};

// Adds the command that the first word names, or all of them for another word. Adding all takes as long as the rest of
// a small prediction.
void add_commands(CLI::App& program, Action& chosen, std::string_view first, const std::vector<std::string>& passed) {
  const CommandRow rows[] = {
      {{"simulate"}, [&] { add_simulate(program, chosen); }},
      {{"compare"}, [&] { add_compare(program, chosen); }},
      {{"explain"}, [&] { add_explain(program, chosen); }},
      {{"whatif"}, [&] { add_whatif(program, chosen); }},
      {{"report"}, [&] { add_report(program, chosen); }},
      {{"schedule"}, [&] { add_schedule(program, chosen); }},
      {{"import"}, [&] { add_import(program, chosen, passed); }},
      {{"export"}, [&] { add_export(program, chosen); }},
      {{"search"}, [&] { add_search(program, chosen); }},
      {{"plan"}, [&] { add_plan(program, chosen); }},
      {{"diagnose"}, [&] { add_diagnose(program, chosen); }},
      {{"serve"}, [&] { add_serve(program, chosen); }},
      {{"models", "clusters", "profiles", "runtimes", "scenarios"}, [&] { add_lists(program, chosen); }},
      {{"validate"}, [&] { add_validate(program, chosen); }},
      {{"calibrate"}, [&] { add_calibrate(program, chosen); }},
      {{}, [&] { add_completion(program, chosen); }},  // these two describe the others
      {{}, [&] { add_man(program, chosen); }},
      {{"doctor"}, [&] { add_doctor(program, chosen); }}};
  for (const CommandRow& row : rows)
    if (std::ranges::find(row.names, first) != row.names.end()) return row.add();
  for (const CommandRow& row : rows) row.add();
}

int run(int all_words, const char* const* argv) {
  const std::span<const char* const> words(argv, static_cast<std::size_t>(all_words));
  const std::span<const char* const> own = own_words(words);
  const int argc = static_cast<int>(own.size());
  const auto passed = words.subspan(std::min(own.size() + 1, words.size()));
  CLI::App program("Predict time, memory and cost of training a transformer on a GPU cluster.", "foretoken");
  program.set_version_flag("--version", "foretoken " + std::string(version()));
  program.footer(kFirstExamples);
  Action chosen;
  add_commands(program, chosen, own.size() > 1 ? own[1] : "", {passed.begin(), passed.end()});
  collect_unknown_words(program);
  try {
    parse(program, argc, argv, chosen);
  } catch (const CLI::CallForHelp&) {
    const Reached at = reached(program);
    const std::size_t last = at.path.rfind(' ');
    print(wrapped_help(at.command->help(last == at.path.npos ? "" : at.path.substr(0, last)), page_columns()));
    return 0;
  } catch (const CLI::CallForVersion& call) {
    print(std::string(call.what()) + '\n');
    return 0;
  }
  return chosen();
}

// Says on standard error, once for a command, that files of the current folder replaced shipped ones.
class SaysHiddenFiles {
 public:
  SaysHiddenFiles() = default;
  SaysHiddenFiles(const SaysHiddenFiles&) = delete;
  SaysHiddenFiles& operator=(const SaysHiddenFiles&) = delete;
  ~SaysHiddenFiles() {
    try {
      for (const std::string& line : io::take_hidden()) print_error(line);
    } catch (const std::exception&) {
      return;  // a note is no reason to fail
    }
  }
};

constexpr std::string_view kOutOfMemory =
    "foretoken: out of memory; try fewer GPUs or threads, a folded run (no --unfolded), --collectives analytic or "
    "--fidelity stage\n";

// A failure is ignored: without standard error there is no place for a message.
void say_out_of_memory() { (void)!::write(STDERR_FILENO, kOutOfMemory.data(), kOutOfMemory.size()); }

// Ends the program where no handler is reached. A destructor of nlohmann::json takes memory; where none is left, its
// exception cannot leave it.
[[noreturn]] void end_outside_handlers() {
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    say_out_of_memory();
    std::_Exit(kWrongInput);
  } catch (...) {
    std::abort();
  }
  std::abort();
}

}  // namespace

std::string_view version() { return FORETOKEN_VERSION; }

int run_program(int argc, const char* const* argv) {
  std::set_terminate(end_outside_handlers);
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe shows as a failed write
  std::signal(SIGXFSZ, SIG_IGN);  // and so does a file that reaches the limit of its size
  hold_standard_streams();
  const SaysHiddenFiles at_the_end;
  try {
    return run(argc, argv);
  } catch (const ClosedPipe&) {
    return 0;
  } catch (const ConfigError& error) {
    print_complaints(error);
    return kWrongInput;
  } catch (const std::bad_alloc&) {
    say_out_of_memory();
    return kWrongInput;
  } catch (const std::exception& error) {
    print_error(fmt::format("foretoken: internal error: {}", error.what()));
    return kOurFault;
  }
}

}  // namespace foretoken::tools
