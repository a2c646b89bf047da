// Rules that ask another room or the hardware: the schedule's own conditions, precisions, profiles, slow placements.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/noun.h"
#include "sim/io/json/text.h"
#include "sim/io/scenario/scenario_rules.h"
#include "sim/net/cables.h"
#include "sim/schedule/catalogue.h"

namespace foretoken::io {
namespace {

using job::Job;

/// One kind of node and its costs.
struct Hardware {
  const net::Cluster& cluster;
  const cost::Profile& profile;
};

std::vector<Hardware> hardware_of(const Job& scenario) {
  if (scenario.groups.empty()) return {{scenario.cluster, scenario.profile}};
  std::vector<Hardware> all;
  for (const job::StageGroup& group : scenario.groups) all.push_back({group.cluster, group.profile});
  return all;
}

/// Names of the precisions that a map of rates or laws has.
template <class Map>
std::string precisions_of(const Map& map) {
  std::vector<std::string> names;
  names.reserve(map.size());
  for (const auto& [precision, value] : map) names.emplace_back(in_quotes(name_of(precision)));
  return either(names);
}

void check_precision(const Node& root, const Sound& sound, const Job& scenario, const Hardware& hardware) {
  const net::Gpu& gpu = hardware.cluster.gpu;
  const std::string name = in_quotes(name_of(scenario.precision));
  if (sound.cluster && !gpu.peak_of(scenario.precision)) {
    root.complain("precision", fmt::format("GPU {} has no {} rate; expected {}", in_quotes(gpu.name), name,
                                           precisions_of(gpu.peak)));
  } else if (sound.profile && !hardware.profile.gemm.contains(scenario.precision)) {
    root.complain("precision",
                  fmt::format("profile {} has no {} matrix products; expected {}", in_quotes(hardware.profile.name),
                              name, precisions_of(hardware.profile.gemm)));
  }
}

// A GPU whose stated rate is not the one that its profile was fitted at: costs stay the profile's.
void warn_of_another_rate(const Job& scenario, const Hardware& hardware, std::vector<std::string>& warnings) {
  const auto stated = hardware.cluster.gpu.peak_of(scenario.precision);
  const auto found = hardware.profile.gemm.find(scenario.precision);
  if (!stated || found == hardware.profile.gemm.end()) return;
  const auto* law = std::get_if<cost::TileWaveLaw>(&found->second.law);
  if (law == nullptr || std::abs(*stated / law->peak - 1) < 0.01) return;
  warnings.push_back(
      fmt::format("the GPU states {:.4g} TFLOP/s, but profile {} was fitted at {:.4g}: times are the "
                  "profile's, MFU is of the stated rate",
                  stated->value() / 1e12, in_quotes(hardware.profile.name), law->peak.value() / 1e12));
}

void warn_of_slow_placements(const Job& scenario, const Hardware& hardware, std::vector<std::string>& warnings) {
  const int tensor = scenario.parallelism.tensor;
  const int domain = std::min(hardware.cluster.links.gpus, scenario.gpus);
  if (tensor > domain) {
    warnings.push_back(
        fmt::format("tensor {} is wider than the {} that {} NVLink: its collectives cross the network in every layer",
                    tensor, with_noun(domain, "GPU"), domain == 1 ? "shares" : "share"));
  } else if (domain % tensor != 0) {
    warnings.push_back(fmt::format("tensor {} does not divide the {} GPUs of a node: some tensor groups span two nodes",
                                   tensor, domain));
  }
}

// Bridged pairs and meshes join some GPUs of a node and not others.
void warn_of_missing_cables(const Job& scenario, const net::Cluster& cluster, std::vector<std::string>& warnings) {
  if (scenario.parallelism.data == 0) return;  // the degrees do not make up the GPUs
  const net::RankGrid grid = scenario.grid();
  for (const auto& [axis, name] : kAxisNames) {
    if (!net::kStageAxes.contains(axis)) continue;
    const AxisSet axes = axis == Axis::kData ? net::kReplicaAxes : axis;  // gradients are reduced over both
    if (!net::lacks_cables(cluster, grid.groups(axes))) continue;
    warnings.push_back(
        fmt::format("no ring of NVLink cables joins the GPUs of every {}-parallel group inside a node: "
                    "its collectives go over PCIe",
                    name));
  }
}

}  // namespace

/// The schedule's own rules, and a bound on what can be replayed.
void check_schedule(const Node& root, const Job& scenario) {
  constexpr std::int64_t kMostPasses = 10'000'000;  // forward and backward passes of one pipeline: two gigabytes
  const auto schedule = schedule::find_schedule(scenario.schedule);
  if (!schedule) return;
  const std::int64_t microbatches = scenario.batch.global / (scenario.batch.micro * scenario.parallelism.data);
  const std::int64_t chunks = std::int64_t{scenario.parallelism.pipeline} * scenario.parallelism.virtual_pipeline;
  if (microbatches > kMostPasses / (2 * chunks)) {
    root.child("batch").complain("global", fmt::format("{} micro-batches over {} chunks are more than can be simulated "
                                                       "({} passes)",
                                                       microbatches, chunks, kMostPasses));
    return;
  }
  const auto wrong = schedule::why_not(*schedule, {.stages = scenario.parallelism.pipeline,
                                                   .microbatches = static_cast<int>(microbatches),
                                                   .chunks = scenario.parallelism.virtual_pipeline,
                                                   .group = scenario.batch.microbatch_group});
  if (wrong) root.complain("schedule", *wrong);
}

/// The schedule's name, and that it interleaves exactly when stages hold several chunks.
bool schedule_known(const Node& root, Job& scenario) {
  const bool chunks = scenario.parallelism.virtual_pipeline > 1;
  scenario.schedule = root.text_or("schedule", chunks ? "interleaved-1f1b" : "1f1b");
  const auto schedule = schedule::find_schedule(scenario.schedule);
  if (!schedule) {
    std::vector<std::string> names;
    for (const schedule::Schedule& known : schedule::all_schedules()) names.emplace_back(known.name);
    if (root.child("schedule").is_text())
      root.complain("schedule", fmt::format("unknown schedule {}{}; there are {}", in_quotes(scenario.schedule),
                                            did_you_mean(scenario.schedule, names), fmt::join(names, ", ")));
    return false;
  }
  if (schedule->interleaves == chunks) return true;
  const std::string name = in_quotes(scenario.schedule);
  if (schedule->interleaves) {
    root.complain("schedule", fmt::format("{} needs parallelism.virtual_pipeline of at least 2, found 1", name));
  } else {
    root.complain("schedule", fmt::format("{} does not interleave, but parallelism.virtual_pipeline is {}; try "
                                          "\"interleaved-1f1b\"",
                                          name, scenario.parallelism.virtual_pipeline));
  }
  return false;
}

void check_hardware(const Node& root, const Sound& sound, Job& scenario) {
  std::vector<std::string> warnings;
  for (const Hardware& hardware : hardware_of(scenario)) {
    const auto& [cluster, profile] = hardware;
    check_precision(root, sound, scenario, hardware);
    if (sound.cluster && sound.profile && profile.gpu != cluster.gpu.name)
      warnings.push_back(fmt::format("profile {} describes GPU {}, but the cluster's GPU is {}",
                                     in_quotes(profile.name), in_quotes(profile.gpu), in_quotes(cluster.gpu.name)));
    if (sound.cluster && sound.profile) warn_of_another_rate(scenario, hardware, warnings);
    if (sound.cluster && sound.parallelism) warn_of_slow_placements(scenario, hardware, warnings);
    if (sound.cluster && sound.parallelism) warn_of_missing_cables(scenario, cluster, warnings);
    if (sound.profile && scenario.flash_kernel != FlashKernel::kFastest && profile.attention.flash2.empty())
      root.complain("attention", fmt::format("profile {} has no laws of FlashAttention-2; expected \"flash\" or "
                                             "\"unfused\", found {}",
                                             in_quotes(profile.name),
                                             in_quotes(model::name_of(scenario.attention, scenario.flash_kernel))));
  }
  for (std::string& warning : warnings)  // two kinds of nodes may say the same
    if (std::find(scenario.warnings.begin(), scenario.warnings.end(), warning) == scenario.warnings.end())
      scenario.warnings.push_back(std::move(warning));
  if (sound.parallelism && scenario.parallelism.sequence_parallel && scenario.parallelism.tensor == 1) {
    scenario.parallelism.sequence_parallel = false;
    scenario.warnings.push_back("sequence_parallel is ignored: it needs tensor of at least 2 (as in Megatron-LM)");
  }
  if (scenario.parallelism.context > 1 && scenario.attention != model::AttentionKind::kFlash)
    root.complain("attention", fmt::format("expected \"flash\": context {} is supported with it only",
                                           scenario.parallelism.context));
}

}  // namespace foretoken::io
