// Which process of a job this is, as the launcher (mpirun, srun, torchrun) tells it through the environment.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace foretoken::measure {

/// A place in a job of one process per GPU.
struct JobPlace {
  int rank = 0, size = 1;
  int local_rank = 0;  ///< on its node: the GPU it takes
  std::string job;     ///< tells this job from others that share a folder
  friend bool operator==(const JobPlace&, const JobPlace&) = default;
};

/// Looks up an environment variable; std::nullopt when it is not set.
using Environment = std::function<std::optional<std::string>(const char*)>;
[[nodiscard]] std::optional<std::string> process_environment(const char* name);

/// Nothing when no launcher started this process, or only one of them. Throws ConfigError when the launcher's variables
/// contradict each other.
[[nodiscard]] std::optional<JobPlace> job_place(const Environment& environment);

}  // namespace foretoken::measure
