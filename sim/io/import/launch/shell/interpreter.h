// Walks over the tokens of a script and keeps its variables.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/import/launch/shell/condition.h"
#include "sim/io/import/launch/shell/expand.h"
#include "sim/io/import/launch/shell/lexer.h"
#include "sim/io/import/launch/shell/script.h"
#include "sim/io/import/launch/shell/streams.h"

namespace foretoken::io::shell {

class Interpreter {
 public:
  Interpreter(Script& script, Budget& budget, Findings& findings)
      : script_(script),
        budget_(budget),
        findings_(findings),
        expander_(script.variables, budget, [this](std::string_view command) { return output_of(command); }) {}

  /// Reads a text as a script of its own.
  void run(const std::string& text, const std::string& file, int first_line = 1);

  /// Takes the options of the shell in the first line of a script: #!/bin/bash -eu.
  void options_of_first_line(std::string_view text);

 private:
  [[nodiscard]] std::string with_lines_continued(const std::string& text);
  using Tokens = std::vector<Token>;
  enum class Mode : std::uint8_t { kRun, kOpen, kSkip };  ///< kOpen: inside an open condition

  // Control flow. Every function reads from at_, and leaves it behind what it read.
  Outcome list(Mode mode, std::initializer_list<std::string_view> ends);
  Outcome statement(Mode mode);
  Outcome compound(Mode mode);
  Outcome if_clause(Mode mode);
  [[nodiscard]] bool counts_unstated_arguments(std::size_t first) const;
  [[nodiscard]] bool asks_for_variable(std::size_t first) const;
  [[nodiscard]] bool shifts() const;
  bool exits(Mode mode, const std::function<void(Mode)>& body);
  Outcome again(std::size_t begin, const std::function<Outcome()>& clause);
  Outcome case_clause(Mode mode);
  void note_option(const std::string& word, std::string_view pattern);
  Outcome for_clause(Mode mode);
  Outcome while_clause(Mode mode);
  bool function_definition(Mode mode);
  Outcome function_call(const std::string& name, const Texts& words, Mode mode);
  void open_branch(Mode mode, const Texts& reasons, const std::function<void(Mode)>& body);
  void open_rounds(Mode mode, const std::function<void(Mode)>& round);
  Outcome own_shell(Mode mode, const std::function<Outcome(Mode)>& body);
  void note_alternative(const std::string& name, const Texts& value, const Texts& reasons);
  void forget_changes(const Variables& before, const Texts& reasons);
  void note_open_words(const Texts& words);
  using Ends = std::vector<std::map<std::string, Texts>>;  ///< the variables at the end of each branch
  void note_end(bool skipped, Ends& ends);
  void keep_agreed(const Ends& ends);
  [[nodiscard]] bool in_pipeline();

  // break, continue, return and exit: what follows is skipped up to the end of the loop, function or shell.
  enum class Jump : std::uint8_t { kNone, kContinue, kBreak, kReturn, kExit };
  bool jump(const Texts& words);
  bool loop_ends();

  // Command substitutions (printed.cpp).
  /// An output up to here.
  struct Mark {
    std::size_t size = 0;
    bool known = true, errors = false;
  };
  [[nodiscard]] std::optional<std::string> output_of(std::string_view command);
  [[nodiscard]] Mark output_so_far() const;
  void take_back_output(Mark mark);
  void add_output(const Printed& own, const Streams& streams);
  Outcome redirected(Mode mode);
  Outcome part_of_pipeline(Mode mode, bool reads);

  // One command.
  struct Simple {
    Texts raw{}, assignments{};
    int line = 0;
    std::string document = "";            ///< a here document
    std::string template_text = "";       ///< the same, before its variables are replaced; empty where none is
    bool appends = false;                 ///< to the target
    Streams streams{};                    ///< where it prints
    std::string input = "", target = "";  ///< the files that the command reads and writes
    std::optional<std::string> here = std::nullopt;  ///< a here string
  };
  Simple simple_words(Mode mode);
  Outcome simple(Mode mode);
  Outcome double_brackets(Mode mode);
  Outcome decided(const Texts& words, bool patterns);
  Outcome perform(const Texts& words, Mode mode);
  Outcome perform_and_print(const Texts& words, const Simple& command, const Texts& empties, Mode mode);
  std::optional<Outcome> print(const Texts& words);
  void redirect_shell(const Simple& command);
  void end_if_failed(Outcome outcome);
  [[nodiscard]] static bool lists_names(const Texts& raw);
  Outcome builtin(const Texts& words, Mode mode, bool& known);
  void declare(const Texts& raw, Mode mode);
  [[nodiscard]] std::string with_known_name(const std::string& word);
  void environment(const Texts& words, Mode mode);
  void set_options(const Texts& words);
  void shift(const Texts& words);
  Outcome getopts(const Texts& words);
  Outcome let(const Texts& words);
  bool read_here_string(const Texts& words, std::string_view text);
  void take_input(const Texts& words);
  void hide(const std::string& name, bool empties);
  [[nodiscard]] bool has_list(std::string_view name) const;
  [[nodiscard]] Texts empties_among(const Texts& raw);
  [[nodiscard]] Texts unset_in(std::string_view word);
  void assign(std::string_view raw, Mode mode);
  void assign_in_table(const std::string& name, std::string_view place, std::string_view value, bool appends);
  [[nodiscard]] std::optional<std::string> pattern_of_expression(std::string_view word);
  [[nodiscard]] Texts with_known_tests(Texts words);
  void take_as_empty(std::string& word);
  [[nodiscard]] bool is_beside(const std::string& path, bool folder) const;
  void redirection(Mode mode, Simple* command = nullptr);
  void note_document(const Token& token, Mode mode, Simple& command);
  struct Found {
    std::string text{}, place{}, folder{};  ///< the file, and the folder at which its path begins
  };
  void source(const Texts& words, Mode mode);
  void start_script(const std::string& path, const Texts& arguments, Mode mode);
  void start_by_launcher(const Texts& words, std::size_t shell, std::size_t file, Mode mode);
  void start_text(const Found& file, const Texts& arguments, Mode mode);
  bool start_piped_job(const Texts& words, const std::string& text, Mode mode);
  void inner_text(const std::string& text, Mode mode, bool other_shell);
  [[nodiscard]] std::optional<std::string> known_value(const char* variable) const;
  void add_counts_of_variables(std::int64_t devices, Texts& words, std::map<std::string, std::string>& options) const;
  void record(Texts words, Mode mode);
  void edit(const Texts& words, const Simple& command);  ///< takes over the files that a command writes
  [[nodiscard]] std::optional<std::string> text_made(const Texts& words, const Simple& command);
  [[nodiscard]] std::optional<std::string> echoed(const Texts& words, const Simple& command);
  void write_into(const std::string& place, const std::string& text, bool appends, const Simple& command);
  void note_unread(const std::string& place, const Simple& command);
  void keep_piped(std::optional<std::string> text);
  [[nodiscard]] std::string with_variables(const std::string& text, const std::optional<std::string>& format);
  void scheduler_options(const Texts& words);
  [[nodiscard]] std::optional<Found> found_file(const std::string& path, int levels);
  [[nodiscard]] std::optional<std::string> text_of_file(const std::string& path);
  [[nodiscard]] std::optional<std::string> text_at(const std::string& path);
  [[nodiscard]] std::optional<std::string> text_beside(const std::string& path);
  [[nodiscard]] std::optional<std::string> text_near(const std::string& path);

  [[nodiscard]] bool is(std::string_view word) const;
  [[nodiscard]] bool ended() const { return budget_.spent || at_ >= tokens_->size(); }

  Script& script_;
  Budget& budget_;
  Findings& findings_;
  Expander expander_;
  const Tokens* tokens_ = nullptr;
  std::size_t at_ = 0;
  std::string file_ = "";
  std::map<std::string, Tokens, std::less<>> functions_{};
  int depth_ = 0;
  std::set<std::string> files_;               // that were read
  Texts started_{};                           ///< the scripts that are read now, each started by the one before
  Texts launcher_{};                          ///< stands before the shell of a text: deepspeed bash -c "python a.py"
  std::map<std::string, std::string> job_{};  ///< Slurm's options in the text of a started script
  Printed* printed_ = nullptr;                ///< takes the output; null outside a command substitution
  std::optional<std::string> input_ = std::nullopt;  ///< what a command of a substitution reads, where it is known
  std::optional<std::string> fed_ = std::nullopt;    ///< what the part of its pipeline before a | prints
  Texts printed_empties_{};                          ///< reasons for words that substitutions print as empty
  Jump jump_ = Jump::kNone;
  Jump doubt_ = Jump::kNone;                         ///< a jump that an open branch may have made
  std::set<std::string> removed_{};                  ///< files that rm takes away
  std::optional<std::string> piped_ = std::nullopt;  ///< the text that the command before a | writes
  std::size_t option_at_ = 1;                        ///< the next letter in the word of getopts
  int levels_ = 1;                                   ///< of break and continue
  int loops_ = 0, sources_ = 0;
  Texts open_reasons_{};           ///< why the conditions that were read last are open
  bool misses_settings_ = false;   ///< a file of the repository that is sourced is not there
  bool counts_arguments_ = false;  ///< the text has $#
  int asked_unset_ = 0;            ///< the conditions so far that a variable that nobody sets has decided
  Texts tested_empty_{};           ///< the variables without a value for which the last conditions asked
  bool failure_ends_ = false;      ///< set -e in a substitution: the shell ends at a command that fails
  int conditions_ = 0;             ///< around the command that is read: if and while ask for its outcome
  bool unset_fails_ = false;       ///< set -u: the shell ends at a variable that nobody sets
  bool takes_as_set_ = false;      ///< a clause is read again, a branch of which exits for want of a variable
  bool exit_fails_ = false;        ///< the last exit had a status other than 0
  Outcome returned_ = Outcome::kOpen;

  /// A variable as it was before a function hid it.
  struct Hidden {
    std::optional<Texts> value{};
    std::optional<NamedTexts> table{};
    std::optional<std::string> reference{};
  };
  std::vector<std::map<std::string, Hidden>> locals_{};  ///< of each function
};

}  // namespace foretoken::io::shell
