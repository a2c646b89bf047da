// Reads NCCL's tuning constants by version.
#include "sim/io/hardware/read_nccl.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/memo.h"
#include "sim/base/parse_number.h"
#include "sim/base/text.h"
#include "sim/io/json/document.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io {
namespace {

using cost::NcclAlgorithm;
using cost::NcclTuning;

constexpr DataKind kNccl{"NCCL version", "calibration/nccl"};
constexpr Range kTuningLatency{.low = 0, .high = 1e6};
constexpr Range kTuningRate{.low = 0, .high = 1e6};
constexpr Range kTuningFactor{.low = 0, .high = 10};

/// Reads "2.28.9" as three numbers. Returns nothing for another text.
std::optional<std::array<int, 3>> parts_of(std::string_view version) {
  std::array<int, 3> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && !version.starts_with('.')) return std::nullopt;
    if (i > 0) version.remove_prefix(1);
    const auto part = take_number<int>(version, 0);
    if (!part) return std::nullopt;
    parts[i] = *part;
  }
  return version.empty() ? std::optional(parts) : std::nullopt;
}

NcclTuning::ByProtocol by_protocol(const Node& node, std::string_view key) {
  const std::vector<double> values = node.numbers(key, kTuningLatency);
  NcclTuning::ByProtocol result{};
  if (values.size() != result.size()) {
    node.complain(key, fmt::format("expected three values: LL, LL128, Simple; found {}", values.size()));
    return result;
  }
  std::copy(values.begin(), values.end(), result.begin());
  return result;
}

std::map<NcclAlgorithm, NcclTuning::ByProtocol> by_algorithm(const Node& node) {
  std::map<NcclAlgorithm, NcclTuning::ByProtocol> result;
  node.allow_only({"tree", "ring", "nvls", "nvls_tree", "pat"});
  for (const auto& [key, algorithm] : {std::pair{"tree", NcclAlgorithm::kTree},
                                       {"ring", NcclAlgorithm::kRing},
                                       {"nvls", NcclAlgorithm::kNvls},
                                       {"nvls_tree", NcclAlgorithm::kNvlsTree},
                                       {"pat", NcclAlgorithm::kPat}})
    if (node.has(key)) result[algorithm] = by_protocol(node, key);
  return result;
}

NcclTuning::Rates rates(const Node& node, std::string_view key) {
  NcclTuning::Rates result;
  for (const Node& row : node.array(key)) {
    auto& values = result.emplace_back();
    const std::vector<Node> columns = row.as_array();
    if (columns.size() != values.size()) {
      row.complain(fmt::format("expected rates for 1, 2 and 3 or more nodes, found {}", columns.size()));
      continue;
    }
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = columns[i].as_number(kTuningRate);
  }
  return result;
}

void read_rules(const Node& rules, NcclTuning& tuning) {
  tuning.ampere_bus_cap = rules.find_number("ampere_bus_cap_gb_per_s", kTuningRate);
  tuning.ring_ll = rules.number("ring_ll_fraction", kTuningFactor);
  tuning.ring_ll_one_node = rules.number("ring_ll_fraction_one_node", kTuningFactor);
  tuning.ring_ll128_fraction = rules.number("ring_ll128_fraction", kTuningFactor);
  tuning.ring_ll128_one_gpu_a_node = rules.number("ring_ll128_fraction_one_gpu_a_node", kTuningFactor);
  tuning.tree_fraction = rules.number("tree_fraction", kTuningFactor);
  tuning.tree_ll128_across_nodes = rules.number("tree_ll128_fraction_across_nodes", kTuningFactor);
  tuning.plain_tree = rules.number("plain_tree_fraction", kTuningFactor);
  tuning.ring_extra_network_steps = rules.boolean("ring_extra_network_steps");
  tuning.ll_hop_factor = rules.number("ll_hop_factor_across_nodes", kTuningFactor);
  tuning.network_overhead_floor = rules.boolean("network_overhead_floor");
  const std::vector<double> plateau = rules.numbers("plateau_factor", kTuningFactor);
  if (plateau.size() == 2) {
    tuning.plateau_before_ampere = plateau[0];
    tuning.plateau = plateau[1];
  } else {
    rules.complain("plateau_factor", "expected two values: before Ampere, from Ampere on");
  }
  tuning.plateau_counts_channels = rules.boolean("plateau_counts_channels");
  tuning.one_gpu_a_node_uses_tree_latency = rules.boolean("one_gpu_a_node_uses_tree_network_latency");
  tuning.pat_fraction = rules.find_number("pat_fraction", kTuningFactor);
  const std::string model = rules.text("nvls_model");
  tuning.nvls_model = model == "none" || model.empty() ? '-' : model.front();
  if (rules.has("nvls_efficiency")) {
    const std::vector<double> both = rules.numbers("nvls_efficiency", kTuningFactor);
    if (both.size() == 2)
      tuning.nvls_efficiency = {both[0], both[1]};
    else
      rules.complain("nvls_efficiency", "expected two values: Hopper, Blackwell");
  } else if (tuning.nvls_model == 'D') {
    rules.complain("nvls_efficiency", "missing; NVLS model D has one");
  }
  tuning.nvls_tree_corrected_on_blackwell = rules.boolean("nvls_tree_correction_on_blackwell");
  tuning.nvls_gathers = rules.boolean("nvls_gathers");
  tuning.message_channel_rate = rules.find_number("message_channel_gb_per_s", kTuningRate);
}

std::array<double, 4> cable_rates(const Node& node) {
  constexpr std::string_view kKey = "nvlink_gb_per_s_per_link";
  const std::vector<double> cables = node.numbers(kKey, kTuningRate);
  std::array<double, 4> rates{};
  if (cables.size() == rates.size())
    std::copy(cables.begin(), cables.end(), rates.begin());
  else
    node.complain(kKey, "expected one rate each for Volta, Ampere, Hopper and Blackwell");
  return rates;
}

NcclTuning read_version(const Node& node) {
  NcclTuning tuning;
  tuning.version = node.text("version");
  tuning.base = by_algorithm(node.object("base_latency_us"));
  const Node hops = node.object("hop_latency_us");
  tuning.nvlink_hop = by_algorithm(hops.object("nvlink"));
  tuning.pci_hop = by_algorithm(hops.object("pci"));
  tuning.network_hop = by_algorithm(hops.object("net"));
  const std::vector<Node> corrections = node.array("tree_correction");
  for (std::size_t p = 0; p < std::min(corrections.size(), tuning.tree_correction.size()); ++p)
    for (const Node& factor : corrections[p].as_array())
      tuning.tree_correction[p].push_back(factor.as_number({.low = 0, .high = 1, .above_low = true}));
  tuning.ll_max = rates(node, "ll_max_gb_per_s");
  tuning.ring_ll128 = rates(node, "ring_ll128_gb_per_s_per_channel");
  tuning.tree_ll128 = rates(node, "tree_ll128_gb_per_s_per_channel");
  tuning.tree = rates(node, "tree_gb_per_s_per_channel");
  tuning.nvls_tree = rates(node, "nvls_tree_gb_per_s_per_channel");
  tuning.nvlink_per_link = cable_rates(node);
  read_rules(node.object("rules"), tuning);
  return tuning;
}

/// A release with constants.
struct Release {
  std::string name;  ///< "2.28.9"
  std::array<int, 3> parts{};
};

/// Returns all releases, the oldest first.
std::vector<Release> known_releases() {
  std::vector<Release> releases;
  for (std::string& name : list_names(kNccl))
    if (const auto parts = parts_of(name)) releases.push_back({std::move(name), *parts});
  if (releases.empty()) throw ConfigError({{"NCCL", "", unknown_name(kNccl, "2.28.9")}});
  std::ranges::sort(releases, {}, &Release::parts);
  return releases;
}

/// Returns the newest release up to `version`; the newest one for an empty version.
const Release& release_of(const std::vector<Release>& releases, std::string_view version) {
  if (version.empty()) return releases.back();
  const auto wanted = parts_of(version);
  if (!wanted)
    throw ConfigError({{"NCCL", "", fmt::format("expected a version such as 2.28.9, found {}", in_quotes(version))}});
  const auto is_later = [&](const Release& release) {
    return std::pair(release.parts[0], release.parts[1]) > std::pair((*wanted)[0], (*wanted)[1]);
  };
  const auto later = std::ranges::find_if(releases, is_later);
  if (later == releases.begin())
    throw ConfigError(
        {{"NCCL", "",
          fmt::format("expected {} or newer, found {}: no constants are known", releases.front().name, version)}});
  return *std::prev(later);
}

/// The file of a release.
struct ReleaseFile {
  std::string shown, text;
};

ReleaseFile read_release_file(const Release& release, std::vector<ReadFile>& files) {
  const auto path = find_data_file(kNccl, release.name);
  if (!path) throw ConfigError({{"NCCL", "", unknown_name(kNccl, release.name)}});
  Findings findings;
  std::string shown = printable(path->string());
  auto text = read_text_file(*path, shown, findings);
  findings.throw_if_wrong();
  files.insert(files.end(), findings.files.begin(), findings.files.end());
  return {std::move(shown), std::move(*text)};
}

/// Reads one value of a release: `read(root)`.
template <class Read>
auto read_from(const ReleaseFile& file, Read read) {
  Findings findings;
  const auto document = document_from_text(file.text, file.shown, findings);
  findings.throw_if_wrong();
  auto value = read(document->root(findings).as_object());
  findings.throw_if_wrong();
  return value;
}

}  // namespace

cost::NcclTuning read_nccl_tuning(std::string_view version) {
  std::vector<ReadFile> unused;
  return read_nccl_tuning(version, unused);
}

cost::NcclTuning read_nccl_tuning(std::string_view version, std::vector<ReadFile>& files) {
  static Memo<std::pair<std::string, std::string>, NcclTuning> known;  // by the texts of both files
  const std::vector<Release> releases = known_releases();
  const Release& release = release_of(releases, version);
  const ReleaseFile file = read_release_file(release, files);
  const bool is_newest = release.name == releases.back().name;
  const ReleaseFile newest = is_newest ? file : read_release_file(releases.back(), files);
  return known.get({file.text, newest.text}, [&] {
    NcclTuning tuning = read_from(file, read_version);
    tuning.nvlink_reached = is_newest ? tuning.nvlink_per_link : read_from(newest, cable_rates);
    return tuning;
  });
}

}  // namespace foretoken::io
