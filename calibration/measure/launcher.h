// The place of this process in its job, as the launcher (mpirun, srun, torchrun) states it in the environment.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace foretoken::measure {

/// A place in a job of one process per GPU.
struct JobPlace {
  int rank = 0, size = 1;
  int local_rank = 0;  ///< on its node: the GPU it takes
  std::string job;     ///< name that differs from other jobs in the same folder
  friend bool operator==(const JobPlace&, const JobPlace&) = default;
};

/// Looks up an environment variable; std::nullopt when it is not set.
using Environment = std::function<std::optional<std::string>(const char*)>;
[[nodiscard]] std::optional<std::string> process_environment(const char* name);

/// Returns nothing when no launcher started this process, or when it started only one. Throws ConfigError when the
/// launcher's variables contradict each other.
[[nodiscard]] std::optional<JobPlace> job_place(const Environment& environment);

}  // namespace foretoken::measure
