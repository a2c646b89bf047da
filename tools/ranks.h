// The processes that share a search: one alone, or the ranks of an MPI job.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace foretoken::tools {

/// Whether mpirun or the like started this process. Its standard output then is a terminal of the launcher, whatever
/// the user's is.
[[nodiscard]] bool is_launched_by_mpi();

/// Joins the MPI job for its lifetime when mpirun or srun started one; otherwise it is alone. Throws ConfigError when
/// this build cannot join the job that it is part of. At most one at a time.
class Ranks {
 public:
  Ranks();
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] std::size_t rank() const { return rank_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  /// The texts of all ranks, in order of rank, on rank 0; elsewhere none. Every rank must call it.
  [[nodiscard]] std::vector<std::string> gather(const std::string& text) const;
  /// The lowest rank that says true, or count(). Every rank must call it.
  [[nodiscard]] std::size_t first_where(bool here) const;

 private:
  std::size_t rank_ = 0, count_ = 1;
};

}  // namespace foretoken::tools
