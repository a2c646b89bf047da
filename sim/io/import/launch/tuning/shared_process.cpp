// Tells a launch whose processes have several GPUs each.
#include "sim/io/import/launch/tuning/shared_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>

#include "sim/base/text.h"
#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/megatron/rules.h"
#include "sim/io/import/launch/tuning/swift.h"

namespace foretoken::io::launch::tuning {
namespace {

namespace fs = std::filesystem;

/// Tasks of Slurm that start python, and the GPUs of their job.
struct SlurmTasks {
  std::int64_t tasks, gpus;
  const char* from;
};

/// Returns the tasks where they are stated and fewer than the GPUs. A launcher keeps one task on each node and starts
/// further processes: nothing is returned for it.
std::optional<SlurmTasks> too_few_tasks(const shell::Command& command, std::vector<Argument> counts) {
  constexpr const char *kAll = "ntasks", *kEach = "ntasks-per-node";
  const bool launches = std::ranges::any_of(command.words, [](const std::string& word) {
    const std::string name = fs::path(word).filename().string();
    constexpr std::string_view kLaunchers[] = {"torchrun", "deepspeed", "accelerate", "llamafactory-cli"};
    return std::ranges::find(kLaunchers, name) != std::end(kLaunchers) || word.starts_with("torch.distributed");
  });
  if (launches) return std::nullopt;
  // --ntasks comes before --ntasks-per-node: sbatch(1).
  const bool all = last_of(counts, kAll) != nullptr;
  const auto stated = whole_of(value_of(counts, all ? kAll : kEach));
  const bool spread = !all && last_of(counts, "nodes") != nullptr;
  const auto nodes = spread ? whole_of(value_of(counts, "nodes")) : 1;
  std::erase_if(counts, [](const Argument& one) { return one.name == kAll || one.name == kEach; });
  const auto gpus = megatron::gpus_of_counts(std::move(counts));
  if (!stated || !nodes || !gpus || *stated < 1 || *stated * *nodes >= *gpus) return std::nullopt;
  return SlurmTasks{*stated * *nodes, *gpus, all ? "--ntasks" : "--ntasks-per-node"};
}

// Options of accelerate that choose its devices, or several machines.
bool chooses_devices(const shell::Command& command) {
  return std::ranges::any_of(command.words, [](const std::string& word) {
    return word.starts_with("--gpu_ids") || word.starts_with("--num_machines");
  });
}

}  // namespace

bool refuse_shared_process(const shell::Command& command, const std::vector<Argument>& counts, Report& report) {
  const bool swift = is_swift(command);
  const bool alone =
      std::ranges::any_of(counts, [](const Argument& count) { return count.place.ends_with(kWithoutLauncher); });
  const bool by_accelerate = std::ranges::any_of(
      command.words, [](const std::string& word) { return fs::path(word).filename() == "accelerate"; });
  const auto slurms = alone || swift ? std::nullopt : too_few_tasks(command, counts);
  const std::int64_t gpus = slurms ? slurms->gpus : command.devices;
  // NPROC_PER_NODE, or --num_processes of accelerate, below the visible devices: each process deals its layers out to
  // several. Where accelerate has no count its file states one.
  const bool states_each = swift && last_of(counts, "nnodes") == nullptr && !chooses_devices(command);
  const std::int64_t each =
      states_each ? whole_of(value_of(counts, by_accelerate ? "gpus" : "nproc-per-node")).value_or(0) : 0;
  const bool dealt = each > 0 && each < command.devices;
  if (gpus < 2 || (!slurms && (swift ? !dealt && (by_accelerate || !counts.empty()) : !alone))) return false;
  const std::int64_t some = slurms ? slurms->tasks : dealt ? each : 1;
  const std::string processes = some > 1 ? fmt::format("{} processes", some) : std::string("one process");
  report.refuse(slurms ? slurms->from : "CUDA_VISIBLE_DEVICES",
                fmt::format("{} for {} GPUs, which {}; {}; state --gpus {} for a process for each", processes, gpus,
                            swift ? "hold a part of the layers each and work in turns"
                                  : "share a batch (DataParallel) or the layers (device_map)",
                            dealt   ? by_accelerate ? "--num_processes states them" : "NPROC_PER_NODE states them"
                            : swift ? "NPROC_PER_NODE is not set"
                                    : "python alone starts it",
                            gpus),
                command.place());
  return true;
}

}  // namespace foretoken::io::launch::tuning
