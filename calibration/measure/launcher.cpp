// Reads the environment variables of launchers.
#include "calibration/measure/launcher.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "sim/base/error.h"
#include "sim/base/parse_number.h"

namespace foretoken::measure {
namespace {

/// The variables of one launcher. All variables of `job` that are set make up the name of the job.
struct Launcher {
  const char *name, *rank, *size, *local_rank;
  std::array<const char*, 3> job;
};
// The most specific launcher comes first. srun sets SLURM_*, and an mpirun inside an allocation finds these set, too.
constexpr std::array kLaunchers{
    Launcher{"Open MPI",
             "OMPI_COMM_WORLD_RANK",
             "OMPI_COMM_WORLD_SIZE",
             "OMPI_COMM_WORLD_LOCAL_RANK",
             {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID"}},
    Launcher{"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", {"PMI_JOBID", "HYDI_CONTROL_FD", "SLURM_JOB_ID"}},
    Launcher{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"}},
    Launcher{
        "Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_STEPID"}}};

int number(const Launcher& launcher, const char* variable, const std::optional<std::string>& text) {
  if (const auto value = text ? parse_number<int>(*text, 0) : std::nullopt) return *value;
  throw ConfigError({{"environment", "",
                      fmt::format("{} set {} to \"{}\": expected a number from 0", launcher.name, variable,
                                  text.value_or("(nothing)"))}});
}

std::string job_of(const Launcher& launcher, const Environment& environment) {
  std::string job;
  for (const char* variable : launcher.job)
    if (const auto text = environment(variable)) (job += job.empty() ? "" : "-") += *text;
  for (char& c : job)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.') c = '_';
  return job.empty() ? "job" : job;
}

}  // namespace

std::optional<std::string> process_environment(const char* name) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here sets variables
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

std::optional<JobPlace> job_place(const Environment& environment) {
  for (const Launcher& launcher : kLaunchers) {
    const auto size_text = environment(launcher.size), rank_text = environment(launcher.rank);
    if (!size_text || !rank_text) continue;
    const int size = number(launcher, launcher.size, size_text);
    if (size <= 1) continue;
    JobPlace place{.rank = number(launcher, launcher.rank, rank_text),
                   .size = size,
                   .local_rank = number(launcher, launcher.local_rank, environment(launcher.local_rank)),
                   .job = job_of(launcher, environment)};
    if (place.rank >= size)
      throw ConfigError({{"environment", "", fmt::format("{}: rank {} of {}", launcher.name, place.rank, size)}});
    return place;
  }
  return std::nullopt;
}

}  // namespace foretoken::measure
