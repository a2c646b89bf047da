// Finds the GPUs that variables of a script name.
#include "sim/io/import/launch/megatron/counts_by_name.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::launch::megatron {
namespace {

constexpr std::string_view kLaunchers[] = {"torchrun", "deepspeed", "accelerate", "srun", "jsrun"};

// DeepSpeed's launcher takes the hosts of a file where no flag states them. Scripts then name their GPUs in NUM_GPUS.
const shell::Texts* gpus_by_name(const shell::Script& script, const std::vector<std::string>& words,
                                 const std::vector<Argument>& counts) {
  if (last_of(counts, "num-gpus") != nullptr || last_of(counts, "num-nodes") != nullptr) return nullptr;
  if (words.empty() || std::filesystem::path(words[0]).filename() != "deepspeed" || !script.scheduler.empty())
    return nullptr;
  const shell::Texts* const count = script.variables.find("NUM_GPUS");
  return count != nullptr && count->size() == 1 && whole_of(count->front()) ? count : nullptr;
}

// python alone is one process, unless mpirun or another script starts it on every GPU: flags say so, or variables that
// come from outside.
bool starts_elsewhere(const shell::Script& script, const std::vector<Argument>& arguments) {
  for (const Argument& one : arguments)
    if (one.name == "use-mpi" || one.name == "world-size" || one.name == "rank") return true;
  return std::ranges::any_of(std::array{"WORLD_SIZE", "RANK", "LOCAL_RANK", "NUM_GPUS"}, [&](const char* name) {
    const shell::Texts* const values = script.variables.find(name);
    return values != nullptr && std::ranges::any_of(*values, shell::is_unknown);
  });
}

// Returns true where a word in front of the program, or the program itself, starts the processes.
bool is_launched(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = std::filesystem::path(words[i]).filename().string();
    if (std::ranges::find(kLaunchers, name) != std::end(kLaunchers) || name.starts_with("torch.distributed"))
      return true;
    if (name.ends_with(".py") || (i > 0 && words[i - 1] == "-m")) break;
  }
  return false;
}

// Without a launcher, torch.distributed takes the number of processes from WORLD_SIZE (the method env://).
const shell::Texts* world_by_name(const shell::Script& script, const shell::Command& command,
                                  const std::vector<Argument>& counts) {
  const bool bare =
      std::ranges::all_of(counts, [](const Argument& one) { return one.place.ends_with(kWithoutLauncher); });
  if (!bare || is_launched(command.words) || !command.scheduler.empty()) return nullptr;
  const shell::Texts* const world = script.variables.find("WORLD_SIZE");
  const shell::Texts* const rank = script.variables.find("RANK");
  const bool known =
      world != nullptr && rank != nullptr && world->size() == 1 && whole_of(world->front()).value_or(0) > 0;
  return known ? world : nullptr;
}

void drop_bare_count(std::vector<Argument>& counts) {
  std::erase_if(counts, [](const Argument& one) { return one.place.ends_with(kWithoutLauncher); });
}

}  // namespace

void add_counts_by_name(const shell::Script& script, const shell::Command& command,
                        const std::vector<Argument>& program, std::vector<Argument>& counts) {
  if (const shell::Texts* const world = world_by_name(script, command, counts)) {
    drop_bare_count(counts);
    counts.push_back({"world-size", *world, "WORLD_SIZE of the script"});
  }
  if (starts_elsewhere(script, program)) drop_bare_count(counts);
  if (const shell::Texts* const count = gpus_by_name(script, command.words, counts))
    counts.push_back({"num-gpus", *count, "NUM_GPUS of the script"});
}

}  // namespace foretoken::io::launch::megatron
