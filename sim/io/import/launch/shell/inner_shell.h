// Commands that start a shell of their own: srun bash -c '...'.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sim/io/import/launch/shell/variables.h"

namespace foretoken::io::shell {

/// Returns the place of the text behind the shell at words[shell]: bash -c TEXT, bash -x -c TEXT, bash -lc TEXT,
/// bash -eo pipefail -c TEXT, bash --rcfile FILE -c TEXT. Nothing where the shell runs a file.
[[nodiscard]] std::optional<std::size_t> text_of_shell(const Texts& words, std::size_t shell);

/// A text that a shell on another machine reads, with the options of its job.
struct TextOfJob {
  std::string text{};
  std::map<std::string, std::string> options{};
};

/// Returns the text of `ssh HOST TEXT`, of `submit_job --gpu 8 --nodes 4 -c TEXT` and of `ngc batch run --commandline
/// TEXT`; nothing for other commands.
[[nodiscard]] std::optional<TextOfJob> text_of_job(const Texts& words);

/// Returns the words before words[shell] of a launcher of PyTorch's processes: deepspeed --num_nodes 8 bash -c TEXT.
/// Empty where none stands there.
[[nodiscard]] Texts launcher_before(const Texts& words, std::size_t shell);

/// Returns the name of the launcher that the words begin with: "mpirun" for MPI's commands, "flux run". Empty for
/// others.
[[nodiscard]] std::string_view process_launcher(const Texts& words);

/// Returns the number of processes, each with a GPU, that MPI or Flux states before words[end]: mpirun -n 4 bash -c.
[[nodiscard]] std::optional<std::string> count_of_processes(const Texts& words, std::size_t end);

/// Returns true for a command that starts others on many hosts, or in a container elsewhere: srun, mpirun, flux, pdsh,
/// ssh, kubectl. It decides how many processes there are.
[[nodiscard]] bool starts_processes(const std::string& word);

/// Returns the place of a script directly behind a launcher of processes and its options: `srun -N 4 train.sh`. Nothing
/// where another program stands there, as in `srun python train.py --hook hook.sh`.
[[nodiscard]] std::optional<std::size_t> script_behind_launcher(const Texts& words);

}  // namespace foretoken::io::shell
