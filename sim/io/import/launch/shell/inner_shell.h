// Commands that start a shell of their own: srun bash -c '...'.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "sim/io/import/launch/shell/variables.h"

namespace foretoken::io::shell {

/// Returns the place of the text behind the shell at words[shell]: bash -c TEXT, bash -x -c TEXT, bash -lc TEXT,
/// bash -eo pipefail -c TEXT. Nothing where the shell runs a file.
[[nodiscard]] std::optional<std::size_t> text_of_shell(const Texts& words, std::size_t shell);

/// Returns the number of processes, each with a GPU, that MPI or Flux states before words[end]: mpirun -n 4 bash -c.
[[nodiscard]] std::optional<std::string> processes_of_mpi(const Texts& words, std::size_t end);

/// Returns true for srun, MPI's, Flux's and pdsh's commands: they decide how many processes there are.
[[nodiscard]] bool starts_processes(const std::string& word);

}  // namespace foretoken::io::shell
