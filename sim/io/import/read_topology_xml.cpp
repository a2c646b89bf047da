// Reads NCCL's topology dump: <system><cpu><pci>...<gpu><nvlink/></gpu>, <nic><net/></nic>.
//
// NCCL writes these attributes (src/graph/xml.cc). A slot has link_speed "16.0 GT/s PCIe" and link_width, which is 0
// where a virtual machine hides it. An nvlink has target, count and tclass (PCI class: 0x0680 a switch, 0x03 a GPU). A
// net has its speed in Mbit/s.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <pugixml.hpp>
#include <set>

#include "sim/base/parse_number.h"
#include "sim/base/text.h"
#include "sim/io/import/machine.h"

namespace foretoken::io {
namespace {

constexpr int kDeepest = 32;        // elements inside each other; real dumps have about ten
constexpr int kMostDevices = 4096;  // GPUs and NICs

struct Nvlink {
  std::string target, tclass;
  int count = 0;
};

struct FoundGpu {
  int dev = 0, sm = 0;
  std::string bus;
  std::optional<BytesPerSecond> pcie;
  std::vector<Nvlink> nvlinks;
};

struct FoundNic {
  int dev = 0;
  MachineNic nic;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// Returns a slot's rate: GT/s times lanes, less the line code (8b/10b up to PCIe 2, 128b/130b from PCIe 3 on).
std::optional<BytesPerSecond> slot_rate(const pugi::xml_node& pci) {
  std::string_view speed = pci.attribute("link_speed").as_string();
  const double giga_transfers = take_number<double>(speed).value_or(0);
  const int stated = pci.attribute("link_width").as_int();
  const int lanes = stated == 0 ? 16 : stated;  // as NCCL takes it (src/graph/topo.cc, ncclTopoAddPci)
  if (!(giga_transfers >= 2 && giga_transfers <= 1024) || lanes < 1 || lanes > 32) return std::nullopt;
  const double code = giga_transfers < 8 ? 8.0 / 10 : 128.0 / 130;
  return gigabytes_per_second(giga_transfers * lanes * code / 8);
}

class DumpReader {
 public:
  DumpReader(const std::string& file, Findings& findings) : file_(file), findings_(findings) {}

  std::optional<Machine> read(std::string_view text) {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
    if (!parsed) {
      const auto line =
          1 + std::count(text.begin(), text.begin() + std::min<std::ptrdiff_t>(parsed.offset, std::ssize(text)), '\n');
      complain(fmt::format("no XML: {} in line {}; is the file cut off?", parsed.description(), line));
      return std::nullopt;
    }
    const pugi::xml_node system = document.child("system");
    if (!system) {
      complain(fmt::format("expected NCCL's <system>, found {}; NCCL_TOPO_DUMP_FILE writes one",
                           in_quotes(document.first_child().name())));
      return std::nullopt;
    }
    std::set<std::string> hosts, numa;
    for (const pugi::xml_node cpu : system.children("cpu")) {
      hosts.insert(cpu.attribute("host_hash").as_string());
      if (!numa.insert(cpu.attribute("numaid").as_string()).second && hosts.size() == 1)
        complain(fmt::format("two <cpu> with numaid {}", in_quotes(cpu.attribute("numaid").as_string())));
      net::PcieTree socket = tree_of(cpu, 0);
      if (!is_empty(socket)) machine_.sockets.push_back(std::move(socket));
    }
    if (wrong_ == 0) refuse_what_hangs_nowhere(system);
    if (hosts.size() > 1) complain(fmt::format("expected one host, found {}; dump the file of one node", hosts.size()));
    if (gpus_.empty() && wrong_ == 0)
      complain("no <gpu>: a template for NCCL_TOPO_FILE? Expected what NCCL_TOPO_DUMP_FILE wrote in a run on the GPUs");
    if (wrong_ > 0) return std::nullopt;
    number_devices();
    read_nvlinks();
    machine_.source = "NCCL topology dump";
    return wrong_ > 0 ? std::nullopt : std::optional(std::move(machine_));
  }

 private:
  void complain(const std::string& message) {
    findings_.complaints.push_back({file_, "", message});
    ++wrong_;
  }
  static bool is_empty(const net::PcieTree& tree) {
    return tree.gpus.empty() && tree.nics.empty() && tree.switches.empty();
  }
  static bool same_chip(const pugi::xml_node& a, const pugi::xml_node& b) {
    const auto same = [&](const char* key) {
      return std::string_view(a.attribute(key).as_string()) == b.attribute(key).as_string();
    };
    return std::string_view(a.name()) == "pci" && std::string_view(b.name()) == "pci" && a.attribute("device") &&
           same("vendor") && same("device");
  }

  static bool is_device(const pugi::xml_node& element) {
    const std::string_view name = element.name();
    return name == "gpu" || name == "net";
  }

  /// Complains about devices outside of all sockets: a socket joins only the devices below it.
  void refuse_what_hangs_nowhere(const pugi::xml_node& system) {
    const pugi::xml_node lost = system.find_node([&](const pugi::xml_node& element) {
      return is_device(element) && !placed_.contains(element.internal_object());
    });
    if (!lost) return;
    const bool gpu = std::string_view(lost.name()) == "gpu";
    complain(
        fmt::format("{} {} hangs on no <cpu>: no other GPU or NIC can reach it; expected every <gpu> and <net> "
                    "below a <cpu>, as NCCL_TOPO_DUMP_FILE writes them",
                    gpu ? "GPU" : "NIC", in_quotes(lost.attribute(gpu ? "dev" : "name").as_string())));
  }

  /// Returns the devices below an element. Until they are numbered, they hold their place in gpus_ and nics_.
  net::PcieTree tree_of(const pugi::xml_node& element, int depth) {
    net::PcieTree tree;
    if (depth == kDeepest) {
      complain(fmt::format("more than {} elements inside each other; expected a dump of NCCL", kDeepest));
      return tree;
    }
    for (const pugi::xml_node child : element.children()) {
      if (wrong_ > 0) break;
      const std::string_view name = child.name();
      if (is_device(child)) placed_.insert(child.internal_object());
      if (name == "gpu")
        add_gpu(child, tree);
      else if (name == "net")
        add_nic(child, tree);
      else if (name == "nic")
        splice(tree_of(child, depth + 1), tree);
      else if (name == "pci")
        add_below(tree_of(child, depth + 1), same_chip(child, element), tree);
    }
    return tree;
  }

  static void splice(net::PcieTree&& from, net::PcieTree& to) {
    to.gpus.insert(to.gpus.end(), from.gpus.begin(), from.gpus.end());
    to.nics.insert(to.nics.end(), from.nics.begin(), from.nics.end());
    std::move(from.switches.begin(), from.switches.end(), std::back_inserter(to.switches));
  }

  /// Adds a bridge. A bridge with one device below it, or inside a chip, is no switch of its own.
  static void add_below(net::PcieTree&& below, bool same_chip, net::PcieTree& tree) {
    if (is_empty(below)) return;
    const std::size_t things = below.gpus.size() + below.nics.size() + below.switches.size();
    if (same_chip || things == 1)
      splice(std::move(below), tree);
    else
      tree.switches.push_back(std::move(below));
  }

  void add_gpu(const pugi::xml_node& element, net::PcieTree& tree) {
    const pugi::xml_node slot = element.parent();
    FoundGpu gpu{element.attribute("dev").as_int(-1),
                 element.attribute("sm").as_int(),
                 lower(slot.attribute("busid").as_string()),
                 slot_rate(slot),
                 {}};
    if (gpu.dev < 0) return complain("a <gpu> without its number dev");
    for (const FoundGpu& other : gpus_)
      if (other.dev == gpu.dev) return complain(fmt::format("two <gpu> with dev {}", gpu.dev));
    for (const pugi::xml_node link : element.children("nvlink")) {
      const int count = link.attribute("count").as_int();
      if (count < 1 || count > 1024)
        return complain(fmt::format("GPU {}: expected 1 to 1024 NVLinks in count, found {}", gpu.dev,
                                    in_quotes(link.attribute("count").as_string())));
      gpu.nvlinks.push_back(
          {lower(link.attribute("target").as_string()), lower(link.attribute("tclass").as_string()), count});
    }
    if (gpus_.size() == kMostDevices) return complain(fmt::format("more than {} GPUs", kMostDevices));
    tree.gpus.push_back(static_cast<int>(gpus_.size()));
    gpus_.push_back(std::move(gpu));
  }

  void add_nic(const pugi::xml_node& element, net::PcieTree& tree) {
    FoundNic found{element.attribute("dev").as_int(),
                   {printable(element.attribute("name").as_string(), 64), std::nullopt}};
    const double mbit = element.attribute("speed").as_double();  // Mbit/s
    if (mbit > 0 && mbit <= 1e8) found.nic.rate = gigabytes_per_second(mbit / 8000);
    for (const FoundNic& other : nics_)
      if (other.nic.name == found.nic.name)
        return complain(fmt::format("two <net> named {}", in_quotes(found.nic.name)));
    if (nics_.size() == kMostDevices) return complain(fmt::format("more than {} NICs", kMostDevices));
    tree.nics.push_back(static_cast<int>(nics_.size()));
    nics_.push_back(std::move(found));
  }

  /// Numbers GPUs and NICs by dev, as the CUDA runtime does.
  template <class Found>
  static std::vector<int> numbers(std::vector<Found>& found) {
    std::vector<std::size_t> order(found.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return found[a].dev < found[b].dev; });
    std::vector<int> number(found.size());
    std::vector<Found> sorted;
    for (const std::size_t i : order) {
      number[i] = static_cast<int>(sorted.size());
      sorted.push_back(std::move(found[i]));
    }
    found = std::move(sorted);
    return number;
  }

  static void renumber(net::PcieTree& tree, const std::vector<int>& gpus, const std::vector<int>& nics) {
    for (int& gpu : tree.gpus) gpu = gpus[static_cast<std::size_t>(gpu)];
    for (int& nic : tree.nics) nic = nics[static_cast<std::size_t>(nic)];
    std::sort(tree.gpus.begin(), tree.gpus.end());
    std::sort(tree.nics.begin(), tree.nics.end());
    for (net::PcieTree& below : tree.switches) renumber(below, gpus, nics);
  }

  void number_devices() {
    const std::vector<int> gpus = numbers(gpus_), nics = numbers(nics_);
    for (net::PcieTree& socket : machine_.sockets) renumber(socket, gpus, nics);
    machine_.gpus = static_cast<int>(gpus_.size());
    for (const FoundNic& found : nics_) machine_.nics.push_back(found.nic);
    for (const FoundGpu& gpu : gpus_) {
      if (gpu.pcie) machine_.pcie = machine_.pcie ? std::min(*machine_.pcie, *gpu.pcie) : *gpu.pcie;
      if (gpu.sm <= 0) continue;
      if (machine_.sm && *machine_.sm != gpu.sm)
        return complain(
            fmt::format("GPU {} is sm {}, others are sm {}; expected GPUs of one kind", gpu.dev, gpu.sm, *machine_.sm));
      machine_.sm = gpu.sm;
    }
  }

  void read_nvlinks() {
    std::map<std::string, int> at;  // bus id -> GPU
    for (std::size_t i = 0; i < gpus_.size(); ++i) at[gpus_[i].bus] = static_cast<int>(i);
    std::map<std::pair<int, int>, int> cables;
    std::vector<int> to_switch(gpus_.size(), 0);
    int elsewhere = 0;
    for (std::size_t i = 0; i < gpus_.size(); ++i)
      for (const Nvlink& link : gpus_[i].nvlinks) {
        const auto peer = at.find(link.target);
        if (link.tclass.starts_with("0x068000"))
          to_switch[i] += link.count;
        else if (peer != at.end() && peer->second != static_cast<int>(i))
          cables[{static_cast<int>(i), peer->second}] += link.count;
        else
          elsewhere += link.count;
      }
    if (elsewhere > 0)
      machine_.notes.push_back(
          fmt::format("{} NVLinks lead to a CPU or to GPUs that the dump does not hold: left out", elsewhere));
    machine_.links_to_switch = to_switch.front();
    for (std::size_t i = 0; i < to_switch.size(); ++i)
      if (to_switch[i] != to_switch.front())
        return complain(fmt::format("GPU {} has {} NVLinks to switches, GPU 0 has {}; expected all alike", i,
                                    to_switch[i], to_switch.front()));
    if (machine_.links_to_switch > 0 && !cables.empty())
      return complain("NVLinks both to switches and straight to GPUs; expected one or the other");
    for (const auto& [pair, count] : cables) {
      const auto back = cables.find({pair.second, pair.first});
      if (back == cables.end() || back->second != count)
        return complain(fmt::format("GPU {} has {} NVLinks to GPU {}, which has {} back", pair.first, count,
                                    pair.second, back == cables.end() ? 0 : back->second));
      if (pair.first < pair.second) machine_.cables.push_back({pair.first, pair.second, count});
    }
  }

  const std::string& file_;
  Findings& findings_;
  int wrong_ = 0;
  Machine machine_;
  std::vector<FoundGpu> gpus_;
  std::vector<FoundNic> nics_;
  std::set<const void*> placed_;  // elements of GPUs and NICs below a socket
};

}  // namespace

std::optional<Machine> read_topology_xml(std::string_view text, const std::string& file, Findings& findings) {
  return DumpReader(file, findings).read(text);
}

}  // namespace foretoken::io
