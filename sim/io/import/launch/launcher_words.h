// The options of the programs that start a training: srun, mpirun, torchrun, DeepSpeed's launcher, containers. Of them
// only the numbers of GPUs, nodes and processes say anything about the training.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch {

/// The end of the place of a count that stands for python alone.
inline constexpr const char* kWithoutLauncher = ", without a launcher";

/// A command in two parts.
struct LaunchedProgram {
  std::vector<Argument> counts{};      ///< of the launchers: --nnodes 4
  std::vector<Argument> options{};     ///< all flags of the launchers
  std::vector<std::string> others{};   ///< those that are no counts, as they are written: "--label"
  std::vector<std::string> program{};  ///< the program with its arguments; all words, where no program is found

  /// Returns true when a launcher has this flag.
  [[nodiscard]] bool has(std::string_view flag) const;
};

/// Takes the launchers' words off a command. The program is the last file ending in .py before the first flag that
/// `is_programs` calls one of the program's own.
[[nodiscard]] LaunchedProgram launched_program(std::vector<std::string> words, const std::string& place,
                                               const std::function<bool(std::string_view flag)>& is_programs);

/// Returns the counts of a command as flags: those of Slurm, then those of its launchers. A program that python alone
/// starts has one process.
[[nodiscard]] std::vector<Argument> counts_of(const shell::Command& command, const LaunchedProgram& launched);

/// Asks for the GPUs where a count of a launcher has no value: --num_nodes $NODES.
void ask_for_open_counts(const std::vector<Argument>& counts, Report& report);

/// Asks for the number of one of the `all` trainings that a script starts.
void ask_for_row(std::int64_t all, Report& report);

/// Notes that a script starts `all` trainings, of which `number` is read.
void note_left_out(std::int64_t number, std::int64_t all, Report& report);

/// Returns the words of a text that the shell would part.
[[nodiscard]] std::vector<std::string> words_of_text(std::string_view text);

/// Returns true for a word of which nothing is known: it may hold any flags.
[[nodiscard]] bool is_open_word(const std::string& word);

/// Notes the words of a command that are taken as empty, and the way to state them.
void note_empty_words(const shell::Command& command, Report& report);

/// A flag that decides about a key of the scenario.
struct Decisive {
  std::string_view flag, key;
};

/// Asks for the keys about which only a branch of an open condition decides: words of the program depend on a variable
/// that holds one of these flags in some branch, and the command has none for that key. Where only arguments of the
/// script decide about the branches, none is taken, and the default is assumed with that reason; not so for precision.
void ask_open_flags(const shell::Script& script, const std::vector<std::string>& program,
                    std::span<const Decisive> flags, Report& report);

/// Returns the way to state a value that is unknown for that reason: "behind --", or "with --env NAME=VALUE".
[[nodiscard]] const char* way_to_state(std::string_view reason);

/// Returns true for the options of launchers that state GPUs, nodes or processes: "nnodes".
[[nodiscard]] bool is_count(std::string_view flag);

}  // namespace foretoken::io::launch
