// Reads the GPUs and the machine of a submission.
//
// Names: mlcommons/training_results_v3.0 to v6.0, config_MACHINE_NODESxGPUSxMINIBS...sh. The parts of MACHINE are of
// each submitter: DGXB200, 1ccB200 (Lambda), XE9685Lx8B200-SXM-180GB (Dell), P8000G6H100 (Inventec).
#include "sim/io/import/launch/mlperf/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sim/base/text.h"

namespace foretoken::io::launch::mlperf {
namespace {

constexpr const char* kGpus = "gpus";
constexpr std::int64_t kUsualNode = 8;  // of a DGX or HGX

/// The cluster of a machine by its name in whole, and that of a GPU in any name. The first that fits counts.
struct Machine {
  std::string_view name, cluster;
  bool whole = false;
};
constexpr Machine kMachines[] = {{"DGXH100", "dgx-h100-ndr", true},
                                 {"DGXH200", "hgx-h200-ndr", true},
                                 {"DGXB200", "dgx-b200-ndr", true},
                                 {"DGXB300", "dgx-b300-xdr", true},
                                 {"GB200", "gb200-nvl72", true},
                                 {"GB300", "gb300-nvl72", true},
                                 {"DGXA100", "dgx-a100-80gb-hdr", true},
                                 {"H100", "dgx-h100-ndr"},
                                 {"H200", "hgx-h200-ndr"},
                                 {"B200", "dgx-b200-ndr"},
                                 {"B300", "dgx-b300-xdr"},
                                 {"A100", ""},
                                 {"L40S", ""}};

// Returns true where the name says a GPU: B200 of 1ccB200 and _B200_, but not GH200.
bool says(const std::string& file, std::string_view gpu) {
  for (std::size_t at = file.find(gpu); at != file.npos; at = file.find(gpu, at + 1)) {
    const std::size_t end = at + gpu.size();
    const bool longer = end < file.size() && file[end] >= '0' && file[end] <= '9';
    if (!longer && (at == 0 || file[at - 1] != 'G')) return true;
  }
  return false;
}

void map_machine(const std::string& file, std::optional<std::int64_t> each, Report& report) {
  const auto* const machine = std::ranges::find_if(kMachines, [&](const Machine& one) {
    return one.whole ? file.find(one.name) != file.npos : says(file, one.name);
  });
  if (machine != std::end(kMachines)) {
    const std::string name = fmt::format("the name of the file says {}", machine->name);
    if (machine->whole) return report.assume("cluster", machine->cluster, name);
    // Cards of PCIe have no switches between them.
    const bool card = file.find("NVL") != file.npos || lower_case(file).find("pci") != std::string::npos;
    if (card || machine->cluster.empty() || each.value_or(kUsualNode) != kUsualNode)
      return report.ask("cluster",
                        fmt::format("{}{}, and no cluster here is known by that; state one with --cluster "
                                    "NAME or FILE",
                                    name, card ? " as a card" : fmt::format(", {} a node", each.value_or(kUsualNode))));
    return report.assume("cluster", machine->cluster, name + "; the machine is taken as NVIDIA's with these GPUs");
  }
  if (const std::string_view amd = amd_gpu_in(file); !amd.empty())
    report.ask("cluster", fmt::format("the name of the file says {}, and GPUs of AMD have no profile here; state a "
                                      "cluster with --cluster NAME or FILE",
                                      amd));
}

// Returns a number that a variable states. Asks or refuses where it states none.
std::optional<std::int64_t> count_of(const Stated& stated, Report& report) {
  if (shell::is_unknown(stated.value)) {
    report.ask(kGpus, fmt::format("{} is {}", stated.from, printable(shell::why_unknown(stated.value), 120)));
    return std::nullopt;
  }
  const auto value = whole_of(stated.value);
  if (value && *value >= 1 && *value <= kMostCount) return value;
  report.refuse(stated.from, "expected a whole number from 1, found " + in_quotes(stated.value));
  return std::nullopt;
}

struct Shape {
  std::int64_t nodes = 0, each = 0;
};

// "_1x4x2": the nodes, the GPUs of each, and the batch.
std::optional<Shape> shape_in(const std::string& file) {
  constexpr std::string_view kDigits = "0123456789";
  for (std::size_t at = file.find('_'); at != file.npos; at = file.find('_', at + 1)) {
    const std::size_t first = std::min(file.find_first_not_of(kDigits, at + 1), file.size());
    if (first == at + 1 || first == file.size() || file[first] != 'x') continue;
    const std::size_t second = std::min(file.find_first_not_of(kDigits, first + 1), file.size());
    const auto nodes = whole_of(file.substr(at + 1, first - at - 1)),
               each = whole_of(file.substr(first + 1, second - first - 1));
    if (nodes && each && *nodes >= 1 && *each >= 1 && *each <= kMostCount) return Shape{*nodes, *each};
  }
  return std::nullopt;
}

// Returns the GPUs of a node where no variable states them, with the reason.
std::optional<std::pair<std::int64_t, std::string>> usual_gpus(const std::string& file, std::int64_t nodes,
                                                               bool incomplete, const std::optional<Stated>& fallback) {
  if (const auto shape = shape_in(file); shape && shape->nodes == nodes)
    return std::pair(shape->each, fmt::format("the name of the file says {}x{}", nodes, shape->each));
  if (incomplete) return std::nullopt;
  if (const auto own = fallback ? whole_of(fallback->value) : std::nullopt; own && *own >= 1 && *own <= kMostCount)
    return std::pair(*own, "the default is that of " + fallback->from);
  constexpr std::int64_t kGraceNode = 4;  // a tray of GB200 NVL72 has two boards of two GPUs
  const bool grace = file.find("GB200") != file.npos || file.find("GB300") != file.npos;
  const std::int64_t each = grace ? kGraceNode : kUsualNode;
  return std::pair(each, fmt::format("a node of NVIDIA's has {}", each));
}

}  // namespace

std::optional<std::int64_t> map_nodes(const Settings& settings, const std::string& file, bool incomplete,
                                      Report& report) {
  const auto stated_nodes = settings.find({"DGXNNODES"}), stated_each = settings.find({"DGXNGPU"});
  const bool unset = !stated_each || stated_each->is_default;  // run_and_time.sh has a default for every machine
  const std::int64_t nodes = stated_nodes ? count_of(*stated_nodes, report).value_or(0) : 0;  // 0: not known
  std::int64_t each = unset ? 0 : count_of(*stated_each, report).value_or(0);
  std::string assumed;
  if (nodes > 0 && unset) {
    if (const auto usual = usual_gpus(file, nodes, incomplete, stated_each)) {
      each = usual->first;
      assumed = fmt::format("DGXNNODES {} x {}: no file of the configuration sets DGXNGPU, and {}", nodes, each,
                            usual->second);
    } else {
      report.ask(kGpus, "no file that is here sets DGXNGPU, and one that is not there may");
    }
  }
  map_machine(file, each > 0 ? std::optional(each) : std::nullopt, report);
  if (nodes == 0 || each == 0) return std::nullopt;
  report.gpus_of_machine = each;
  if (assumed.empty())
    report.map(kGpus, nodes * each, fmt::format("DGXNNODES {} x DGXNGPU {}", nodes, each));
  else
    report.assume(kGpus, nodes * each, assumed);
  return nodes * each;
}

}  // namespace foretoken::io::launch::mlperf
