// Slurm's options in the comments of a script: #SBATCH --nodes=4.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace foretoken::io::shell {

/// Returns the options of the #SBATCH lines of `text`: "--nodes" is "4". The last of several wins.
[[nodiscard]] std::map<std::string, std::string> slurm_directives(std::string_view text);

}  // namespace foretoken::io::shell
