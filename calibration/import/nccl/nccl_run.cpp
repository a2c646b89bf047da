// Makes samples of a run of nccl-tests.
#include "calibration/import/nccl/nccl_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <set>

#include "sim/base/noun.h"

namespace foretoken::measured {
namespace {

// Longer names first: "all_reduce" holds "reduce".
constexpr std::array kBySpecificity{Collective::kReduceScatter, Collective::kAllReduce, Collective::kAllGather,
                                    Collective::kHypercube,     Collective::kBroadcast, Collective::kAllToAll,
                                    Collective::kSendRecv,      Collective::kScatter,   Collective::kGather,
                                    Collective::kReduce};

// Published tables agree with themselves within 2 %. The averages over ranks that nccl-tests prints leave the same.
constexpr double kAgreement = 0.03;

std::optional<Collective> collective_of_file(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  for (const Collective kind : kBySpecificity)
    if (name.find(name_of(kind)) != std::string::npos) return kind;
  return std::nullopt;
}

/// Returns the communicator of rank 0, and its spread over hosts.
std::optional<GroupShape> group_of(const NcclRun& run, const NcclTestsHints& hints, std::string& problem) {
  if (run.devices.empty()) {
    if (!hints.ranks) {
      problem = "no \"Rank\" lines say how many GPUs took part; give the number of ranks";
      return std::nullopt;
    }
    const int per_node = hints.ranks_per_node.value_or(*hints.ranks);
    if (per_node < 1 || *hints.ranks < 1 || *hints.ranks % per_node != 0) {
      problem = fmt::format("{} ranks do not fill nodes of {}", *hints.ranks, per_node);
      return std::nullopt;
    }
    return GroupShape{.ranks = *hints.ranks, .nodes = *hints.ranks / per_node, .ranks_per_node = per_node};
  }
  const int group = run.devices.front().group;
  std::map<std::string, int> per_host;
  std::map<std::string, std::set<int>> groups_of_host;
  for (const NcclDevice& device : run.devices) {
    groups_of_host[device.host].insert(device.group);
    if (device.group == group) ++per_host[device.host];
  }
  const auto& [host, per_node] = *per_host.begin();
  const bool equal_hosts = std::all_of(per_host.begin(), per_host.end(),
                                       [count = per_node](const auto& entry) { return entry.second == count; });
  if (!equal_hosts) {
    problem = "the nodes hold different numbers of ranks; measure again with equal numbers";
    return std::nullopt;
  }
  const int nodes = static_cast<int>(per_host.size());
  return GroupShape{.ranks = nodes * per_node,
                    .nodes = nodes,
                    .ranks_per_node = per_node,
                    .groups_per_node = static_cast<int>(groups_of_host[host].size())};
}

/// Says how time, rate and size contradict each other. Rounding of the printed digits is allowed for.
std::string disagreement(const NcclRow& row, const NcclResult& result, Collective kind, const GroupShape& group) {
  if (!(result.time_us > 0)) return fmt::format("time {} us is not above 0", result.time_us);
  if (result.time_us < kShortestUs || result.time_us > kLongestUs)
    return fmt::format("time: expected microseconds from {} to {}, found {}", kShortestUs, kLongestUs, result.time_us);
  const double shortest = std::max(result.time_us - result.time_step_us, 1e-9);
  const double expected = row.bytes / result.time_us * 1e-3;
  const double highest = row.bytes / shortest * 1e-3 * (1 + kAgreement) + result.rate_step_gb_per_s;
  const double lowest =
      row.bytes / (result.time_us + result.time_step_us) * 1e-3 * (1 - kAgreement) - result.rate_step_gb_per_s;
  if (result.algorithm_gb_per_s > highest || result.algorithm_gb_per_s < lowest)
    return fmt::format("{:.0f} bytes in {} us are {:.2f} GB/s, but algbw says {}", row.bytes, result.time_us, expected,
                       result.algorithm_gb_per_s);
  const double bus = result.algorithm_gb_per_s * bus_factor(kind, group.ranks);
  if (std::abs(result.bus_gb_per_s - bus) > kAgreement * bus + 2 * result.rate_step_gb_per_s)
    return fmt::format("busbw of {} over {} ranks would be {:.2f} GB/s, found {}", name_of(kind), group.ranks, bus,
                       result.bus_gb_per_s);
  return "";
}

/// Returns the time of a row. A time printed with two digits ("1.2e+07") follows more exactly from the rate.
Seconds best_time(const NcclRow& row, const NcclResult& result) {
  if (result.time_step_us > 0.01 * result.time_us && result.algorithm_gb_per_s > 0)
    return Seconds(row.bytes / (result.algorithm_gb_per_s * 1e9));
  return microseconds(result.time_us);
}

void add_rows(const NcclRun& run, Collective kind, const GroupShape& group, Samples& samples, Complaints& complaints) {
  int empty = 0;
  for (const NcclRow& row : run.rows) {
    if (row.bytes <= 0) {
      ++empty;
      continue;
    }
    for (const NcclResult& result : row.results) {
      if (const std::string problem = disagreement(row, result, kind, group); !problem.empty()) {
        complaints.push_back({row.where, "", problem});
        continue;
      }
      CollectiveSample sample;
      sample.kind = kind;
      sample.bytes = Bytes(row.bytes);
      sample.group = group;
      sample.in_place = result.in_place;
      if (!row.type.empty()) sample.type = row.type;
      sample.time.median = sample.time.p10 = sample.time.p90 = best_time(row, result);
      sample.time.runs = run.iterations;
      samples.add(std::move(sample));
    }
  }
  if (empty > 0) samples.notes.push_back(fmt::format("{}: {} of size 0 left out", run.where, with_noun(empty, "row")));
}

}  // namespace

std::optional<Collective> collective_of_program(std::string_view text) {
  for (const Collective kind : kBySpecificity) {
    const std::string program = fmt::format("{}_perf", name_of(kind));
    const std::size_t at = text.find(program);
    if (at == std::string_view::npos) continue;
    const bool inside_word =
        at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 || text[at - 1] == '_');
    if (!inside_word) return kind;
  }
  return std::nullopt;
}

void add_run(const NcclRun& run, const NcclTestsHints& hints, const std::string& file, Samples& samples,
             Complaints& complaints) {
  std::optional<Collective> kind = run.collective;
  if (!kind) kind = hints.collective;
  if (!kind) kind = collective_of_file(file);
  if (!kind) {
    complaints.push_back(
        {run.where, "", "the file does not name its collective; state it, or put it into the file's name"});
    return;
  }
  std::string problem;
  const auto group = group_of(run, hints, problem);
  if (!group) {
    complaints.push_back({run.where, "", problem});
    return;
  }
  Provenance origin{.source = file, .gpu = hints.gpu, .facts = run.facts};
  if (!run.devices.empty() && !run.devices.front().gpu.empty()) origin.gpu = run.devices.front().gpu;
  origin.facts.insert(origin.facts.begin(), {"tool", "nccl-tests"});
  samples.origins.push_back(std::move(origin));
  add_rows(run, *kind, *group, samples, complaints);
}

}  // namespace foretoken::measured
