// Makes a cluster file from the links of a machine.
#include "sim/io/import/machine_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/base/text.h"
#include "sim/net/cables.h"

namespace foretoken::io {
namespace {

using MachineJson = nlohmann::ordered_json;

/// Returns the architecture of a compute capability (CUDA C++ Programming Guide, compute capabilities).
std::string_view architecture_of(int sm) {
  constexpr std::pair<int, std::string_view> kFirst[] = {{70, "volta"}, {75, "turing"}, {80, "ampere"},
                                                         {89, "ada"},   {90, "hopper"}, {100, "blackwell"}};
  std::string_view name;
  for (const auto& [first, architecture] : kFirst)
    if (sm >= first) name = architecture;
  return name;
}

class ClusterWriter {
 public:
  ClusterWriter(const Machine& machine, const net::Gpu& gpu, const MachineChoices& choices, const std::string& file,
                Findings& findings)
      : machine_(machine), gpu_(gpu), choices_(choices), file_(file), findings_(findings), notes_(machine.notes) {}

  MachineJson cluster() {
    check_gpu();
    choose_nics();
    MachineJson node = {{"gpus", machine_.gpus}};
    add_nvlink(node);
    node["pcie_gb_per_s"] = pcie_rate();
    if (!nics_.empty()) node["nics"] = {{"count", nics_.size()}, {"gb_per_s", nic_rate()}};
    node["sockets"] = MachineJson::array();
    for (const net::PcieTree& socket : machine_.sockets)
      if (const MachineJson tree = json_of(socket); !tree.empty()) node["sockets"].push_back(tree);
    MachineJson json = {{"name", choices_.name}, {"gpu", choices_.gpu}, {"node", std::move(node)}};
    add_fabric(json);
    json["source"] = fmt::format("{}: {}", machine_.source, file_);
    if (!notes_.empty()) json["notes"] = fmt::format("{}.", fmt::join(notes_, ". "));
    return json;
  }

 private:
  void complain(const std::string& message) { findings_.complaints.push_back({file_, "", message}); }
  static double gb(BytesPerSecond rate) { return rate.value() / 1e9; }

  void check_gpu() {
    if (!machine_.sm) return;
    const std::string_view found = architecture_of(*machine_.sm);
    if (!found.empty() && found != gpu_.architecture)
      complain(fmt::format("its GPUs are sm {} ({}), but {} is {}; name the right one with --gpu", *machine_.sm, found,
                           gpu_.name, gpu_.architecture));
  }

  /// Returns the number of NVLinks that the busiest GPU uses.
  [[nodiscard]] int links_used() const { return std::max(machine_.links_to_switch, net::most_cables(machine_.cables)); }

  [[nodiscard]] std::string_view kind_of_mesh() const {
    std::map<int, std::multiset<int>> peers;
    for (const auto& [a, b, count] : machine_.cables) {
      peers[a].insert(count);
      peers[b].insert(count);
    }
    const auto all = [&](auto&& holds) {
      return std::all_of(peers.begin(), peers.end(), [&](const auto& gpu) { return holds(gpu.second); });
    };
    if (all([](const auto& p) { return p.size() == 1; })) return "bridge";
    const bool cube = peers.size() == 8 && all([](const auto& p) { return p == std::multiset{1, 1, 2, 2}; });
    return cube ? "hybrid-cube-mesh" : "mesh";
  }

  void add_nvlink(MachineJson& node) {
    const int used = links_used();
    if (used == 0 && choices_.domain_gpus)
      complain(
          fmt::format("shows no NVLink, but --domain-gpus asks for an NVLink domain of {}", *choices_.domain_gpus));
    if (used == 0) return;
    if (!gpu_.nvlink) {
      complain(fmt::format("shows NVLink, but the file of {} has no \"nvlink\": {{\"links\", \"gb_per_s_per_link\"}}",
                           gpu_.name));
      return;
    }
    if (used > gpu_.nvlink->count)
      complain(fmt::format("a GPU uses {} NVLinks, but {} has {}; name the right one with --gpu", used, gpu_.name,
                           gpu_.nvlink->count));
    MachineJson nvlink = {{"fabric", machine_.links_to_switch > 0 ? "nvswitch" : kind_of_mesh()},
                          {"gb_per_s_per_gpu", used * gb(gpu_.nvlink->each)}};
    if (choices_.domain_gpus) nvlink["domain_gpus"] = *choices_.domain_gpus;
    for (const auto& [a, b, count] : machine_.cables) nvlink["cables"].push_back({a, b, count});
    node["nvlink"] = std::move(nvlink);
  }

  double pcie_rate() {
    if (choices_.pcie) return gb(*choices_.pcie);
    if (machine_.pcie) return gb(*machine_.pcie);
    if (!gpu_.pcie) {
      complain(fmt::format("neither it nor the file of {} has the PCIe rate; give --pcie-gb-per-s", gpu_.name));
      return 1;
    }
    notes_.push_back(fmt::format("PCIe at the GPU's own rate: {} does not show the slots", machine_.source));
    return gb(*gpu_.pcie);
  }

  void choose_nics() {
    const auto nearest = net::nearest_nics(machine_.sockets, machine_.gpus);
    std::set<int> near;
    for (const std::vector<int>& nics : nearest) near.insert(nics.begin(), nics.end());
    for (const std::string& wanted : choices_.nics)
      if (std::none_of(machine_.nics.begin(), machine_.nics.end(), [&](const auto& nic) { return nic.name == wanted; }))
        complain(fmt::format("has no NIC {}; it has {}", in_quotes(wanted), names([](int) { return true; })));
    const auto is_chosen = [&](int nic) {
      const std::string& name = machine_.nics[static_cast<std::size_t>(nic)].name;
      return choices_.nics.empty() ? near.contains(nic)
                                   : std::find(choices_.nics.begin(), choices_.nics.end(), name) != choices_.nics.end();
    };
    for (int nic = 0; nic < static_cast<int>(machine_.nics.size()); ++nic)
      if (is_chosen(nic)) new_number_.emplace(nic, static_cast<int>(new_number_.size()));
    for (const auto& [nic, number] : new_number_) nics_.push_back(machine_.nics[static_cast<std::size_t>(nic)]);
    if (nics_.empty()) return;
    notes_.push_back(fmt::format("NICs in order: {}", names(is_chosen)));
    if (nics_.size() < machine_.nics.size())
      notes_.push_back(fmt::format("Left out, {}: {}",
                                   choices_.nics.empty() ? "every GPU has a nearer one" : "not chosen",
                                   names([&](int nic) { return !is_chosen(nic); })));
  }

  template <class Wanted>
  [[nodiscard]] std::string names(Wanted&& wanted) const {
    std::vector<std::string> all;
    for (int nic = 0; nic < static_cast<int>(machine_.nics.size()); ++nic)
      if (wanted(nic)) all.push_back(machine_.nics[static_cast<std::size_t>(nic)].name);
    return all.empty() ? "none" : fmt::format("{}", fmt::join(all, ", "));
  }

  double nic_rate() {
    if (choices_.nic_rate) return gb(*choices_.nic_rate);
    std::set<double> rates;
    bool unknown = false;
    for (const MachineNic& nic : nics_) {
      if (nic.rate) rates.insert(gb(*nic.rate));
      unknown = unknown || !nic.rate;
    }
    if (unknown)
      complain("does not give the rate of a NIC; give --nic-gb-per-s (25 for 200 Gb/s, 50 for 400 Gb/s)");
    else if (rates.size() > 1)
      complain(fmt::format("its NICs have {} GB/s; choose NICs of one rate with --nics, or give --nic-gb-per-s",
                           fmt::join(rates, ", ")));
    return rates.empty() ? 1 : *rates.begin();
  }

  void add_fabric(MachineJson& json) {
    if (choices_.fabric != nullptr)
      json["fabric"] = *choices_.fabric;
    else if (!nics_.empty())
      complain("does not show the network above the nodes; name a cluster with the same one: --fabric CLUSTER");
  }

  /// Writes a tree as JSON; empty when no device of it remains.
  [[nodiscard]] MachineJson json_of(const net::PcieTree& tree) const {
    MachineJson json = MachineJson::object();
    if (!tree.gpus.empty()) json["gpus"] = tree.gpus;
    for (const int nic : tree.nics)
      if (const auto number = new_number_.find(nic); number != new_number_.end())
        json["nics"].push_back(number->second);
    for (const net::PcieTree& below : tree.switches)
      if (const MachineJson inner = json_of(below); !inner.empty()) json["switches"].push_back(inner);
    return json;
  }

  const Machine& machine_;
  const net::Gpu& gpu_;
  const MachineChoices& choices_;
  const std::string& file_;
  Findings& findings_;
  std::vector<std::string> notes_;
  std::map<int, int> new_number_;  // of each chosen NIC
  std::vector<MachineNic> nics_;
};

/// Writes a value, on one line where it fits.
void write(const MachineJson& value, int indent, std::string& out) {
  constexpr std::size_t kLine = 100;
  const std::string flat = value.dump();
  if (!value.is_structured()) {
    out += flat;
    return;
  }
  const bool one_line = indent > 0 && flat.size() <= kLine;
  const auto new_line = [&](int depth) {
    return one_line ? "" : '\n' + std::string(static_cast<std::size_t>(2 * depth), ' ');
  };
  std::string separator = new_line(indent + 1);
  out += value.is_array() ? '[' : '{';
  for (const auto& [key, member] : value.items()) {
    out += separator;
    if (value.is_object()) out += MachineJson(key).dump() + ": ";
    write(member, indent + 1, out);
    separator = one_line ? ", " : ',' + new_line(indent + 1);
  }
  out += new_line(indent) + (value.is_array() ? ']' : '}');
}

}  // namespace

nlohmann::ordered_json cluster_of(const Machine& machine, const net::Gpu& gpu, const MachineChoices& choices,
                                  const std::string& file, Findings& findings) {
  return ClusterWriter(machine, gpu, choices, file, findings).cluster();
}

std::string compact_text(const nlohmann::ordered_json& value) {
  std::string out;
  write(value, 0, out);
  return out + '\n';
}

}  // namespace foretoken::io
