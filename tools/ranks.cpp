// Ranks by MPI where the program is built with it.
#include "tools/ranks.h"

#include <cstdlib>

#include "sim/base/error.h"
#include "sim/base/parse_number.h"

#ifdef FORETOKEN_MPI
#include <mpi.h>

#include <algorithm>
#endif

namespace foretoken::tools {
namespace {

// Ranks that a launcher says there are, as text; Open MPI, then PMI (MPICH, Intel MPI, srun --mpi=pmi2).
const char* launched_size() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  return size != nullptr ? size : std::getenv("PMI_SIZE");
}

int launched_ranks() {
  const char* size = launched_size();
  return size == nullptr ? 1 : parse_number<int>(size).value_or(0);
}

}  // namespace

bool is_launched_by_mpi() { return launched_size() != nullptr; }

#ifdef FORETOKEN_MPI

Ranks::Ranks() {
  if (launched_ranks() <= 1) return;
  MPI_Init(nullptr, nullptr);
  int rank = 0, count = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  rank_ = static_cast<std::size_t>(rank);
  count_ = static_cast<std::size_t>(count);
}

Ranks::~Ranks() {
  int joined = 0;
  MPI_Initialized(&joined);
  if (joined != 0) MPI_Finalize();
}

std::vector<std::string> Ranks::gather(const std::string& text) const {
  if (count_ == 1) return {text};
  const int length = static_cast<int>(text.size());
  std::vector<int> lengths(count_), places(count_ + 1, 0);
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (std::size_t i = 0; i < count_; ++i) places[i + 1] = places[i] + lengths[i];
  std::string all(static_cast<std::size_t>(places.back()), '\0');
  MPI_Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), places.data(), MPI_CHAR, 0, MPI_COMM_WORLD);
  std::vector<std::string> texts;
  for (std::size_t i = 0; rank_ == 0 && i < count_; ++i)
    texts.push_back(all.substr(static_cast<std::size_t>(places[i]), static_cast<std::size_t>(lengths[i])));
  return texts;
}

std::size_t Ranks::first_where(bool here) const {
  int mine = static_cast<int>(here ? rank_ : count_), first = mine;
  if (count_ > 1) MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return static_cast<std::size_t>(first);
}

#else

Ranks::Ranks() {
  if (launched_ranks() > 1)
    throw ConfigError(
        {{"foretoken", "",
          "this build has no MPI, so every rank would do all of the work; install an MPI (libopenmpi-dev) "
          "and build again, or use --shard I/N"}});
}

Ranks::~Ranks() = default;

std::vector<std::string> Ranks::gather(const std::string& text) const { return {text}; }

std::size_t Ranks::first_where(bool here) const { return here ? rank_ : count_; }

#endif

}  // namespace foretoken::tools
