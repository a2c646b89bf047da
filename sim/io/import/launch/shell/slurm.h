// Slurm's options in the comments of a script: #SBATCH --nodes=4. The variables that follow from them.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace foretoken::io::shell {

/// Returns the options of the #SBATCH lines of `text`: "--nodes" is "4". The last of several wins.
[[nodiscard]] std::map<std::string, std::string> slurm_directives(std::string_view text);

/// Returns the variables that follow from options: "--nodes" 4 gives SLURM_NNODES and SLURM_JOB_NUM_NODES. An option
/// that is no whole number gives none.
///
/// Source: sbatch(1) of Slurm (SchedMD/slurm, doc/man/man1/sbatch.1), "OUTPUT ENVIRONMENT VARIABLES".
[[nodiscard]] std::map<std::string, std::string, std::less<>> slurm_variables(
    const std::map<std::string, std::string>& options);

}  // namespace foretoken::io::shell
