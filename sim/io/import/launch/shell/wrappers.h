// Programs that start the rest of their words, and change nothing about it: nohup, uv run, conda run.
#pragma once

#include "sim/io/import/launch/shell/variables.h"

namespace foretoken::io::shell {

/// Returns the command that such programs start: `uv run --no-sync python a.py` becomes `python a.py`, and
/// `uv run -m train` becomes `python -m train`. Other words, and a program of them without a command, stay.
[[nodiscard]] Texts without_wrappers(Texts words);

/// Puts a shell before a script that a launcher of processes starts: srun -N 4 bash train.sh.
[[nodiscard]] Texts with_shell_before_script(Texts words);

}  // namespace foretoken::io::shell
