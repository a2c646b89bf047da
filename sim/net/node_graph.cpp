// One node as a graph: its GPUs, NVLink, PCIe switches and NICs.
#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "sim/base/check.h"
#include "sim/net/fabric.h"

namespace foretoken::net {
namespace {

// NVLink 2 cables between the GPUs of a DGX-1 with V100 (`nvidia-smi topo -m`: NV1 and NV2); six a GPU.
constexpr std::array<std::array<int, 8>, 8> kCubeMesh = {{{0, 1, 1, 2, 2, 0, 0, 0},
                                                          {1, 0, 2, 1, 0, 2, 0, 0},
                                                          {1, 2, 0, 2, 0, 0, 1, 0},
                                                          {2, 1, 2, 0, 0, 0, 0, 1},
                                                          {2, 0, 0, 0, 0, 1, 1, 2},
                                                          {0, 2, 0, 0, 1, 0, 2, 1},
                                                          {0, 0, 1, 0, 1, 2, 0, 2},
                                                          {0, 0, 0, 1, 2, 1, 2, 0}}};
constexpr int kCablesOfAGpu = 6;

class NodeBuilder {
 public:
  NodeBuilder(const Cluster& cluster, NodeGraph& node) : cluster_(cluster), node_(node) {
    node_.gpus = cluster.links.gpus;
    node_.nics = cluster.links.nics;
    for (int i = 0; i < node_.gpus; ++i) add(DeviceKind::kGpu, i);
    for (int i = 0; i < node_.nics; ++i) add(DeviceKind::kNic, i);
    add_nvlink();
    for (int host = 0; host * cluster.gpus_per_node < node_.gpus; ++host) add_host(host);
  }

 private:
  DeviceId add(DeviceKind kind, int index) { return boost::add_vertex(Device{kind, 0, index}, node_.graph); }
  void connect(DeviceId a, DeviceId b, LinkKind kind, BytesPerSecond capacity) {
    if (capacity.value() <= 0) return;
    boost::add_edge(a, b, Link{node_.links++, kind, capacity, Seconds(0)}, node_.graph);
    boost::add_edge(b, a, Link{node_.links++, kind, capacity, Seconds(0)}, node_.graph);
  }
  void add_nvlink();
  void add_cables();
  void add_host(int host);
  void add_sockets(int host);
  DeviceId add_tree(const PcieTree& tree, int host, DeviceKind kind);

  const Cluster& cluster_;
  NodeGraph& node_;
  int sockets_ = 0, bridges_ = 0;
};

void NodeBuilder::add_nvlink() {
  const BytesPerSecond rate = cluster_.links.nvlink_per_gpu;
  if (!cluster_.wiring.cables.empty()) {
    add_cables();
  } else if (cluster_.nvlink_fabric == "nvswitch") {
    const DeviceId crossbar = add(DeviceKind::kNvSwitch, 0);
    for (int i = 0; i < node_.gpus; ++i) connect(node_.gpu(i), crossbar, LinkKind::kNvlink, rate);
  } else if (cluster_.nvlink_fabric == "hybrid-cube-mesh") {
    expects(node_.gpus == 8, "a hybrid cube mesh has eight GPUs");
    for (std::size_t i = 0; i < kCubeMesh.size(); ++i)
      for (std::size_t j = i + 1; j < kCubeMesh.size(); ++j)
        connect(i, j, LinkKind::kNvlink, kCubeMesh[i][j] / static_cast<double>(kCablesOfAGpu) * rate);
  } else if (cluster_.nvlink_fabric == "bridge") {
    for (int i = 0; i + 1 < node_.gpus; i += 2) connect(node_.gpu(i), node_.gpu(i + 1), LinkKind::kNvlink, rate);
  }
}

// The GPU with the most cables has the whole rate.
void NodeBuilder::add_cables() {
  std::map<int, int> cables;
  for (const auto& [a, b, count] : cluster_.wiring.cables) {
    cables[a] += count;
    cables[b] += count;
  }
  const int most =
      std::max_element(cables.begin(), cables.end(), [](auto x, auto y) { return x.second < y.second; })->second;
  for (int first = 0; first < node_.gpus; first += cluster_.gpus_per_node)
    for (const auto& [a, b, count] : cluster_.wiring.cables)
      connect(node_.gpu(first + a), node_.gpu(first + b), LinkKind::kNvlink,
              count / static_cast<double>(most) * cluster_.links.nvlink_per_gpu);
}

DeviceId NodeBuilder::add_tree(const PcieTree& tree, int host, DeviceKind kind) {
  const DeviceId here = add(kind, kind == DeviceKind::kHost ? sockets_++ : bridges_++);
  const BytesPerSecond pcie = cluster_.links.pcie_per_gpu;
  const int nics = node_.nics / std::max(1, node_.gpus / cluster_.gpus_per_node);  // of a host
  for (const int i : tree.gpus) connect(node_.gpu(host * cluster_.gpus_per_node + i), here, LinkKind::kPcie, pcie);
  for (const int i : tree.nics)
    connect(node_.nic(host * nics + i), here, LinkKind::kPcie, std::max(pcie, cluster_.links.nic));
  for (const PcieTree& below : tree.switches)
    connect(add_tree(below, host, DeviceKind::kPcieSwitch), here, LinkKind::kPcie, pcie);
  return here;
}

void NodeBuilder::add_sockets(int host) {
  std::vector<DeviceId> roots;
  for (const PcieTree& socket : cluster_.wiring.sockets) {
    const DeviceId root = add_tree(socket, host, DeviceKind::kHost);
    for (const DeviceId other : roots) connect(other, root, LinkKind::kPcie, cluster_.links.pcie_per_gpu);
    roots.push_back(root);
  }
}

void NodeBuilder::add_host(int host) {
  if (!cluster_.wiring.sockets.empty()) return add_sockets(host);
  const int gpus = cluster_.gpus_per_node;
  const int hosts = std::max(1, node_.gpus / gpus);
  const int nics = node_.nics / hosts;
  const int switches = std::clamp(nics, 1, gpus);
  const BytesPerSecond pcie = cluster_.links.pcie_per_gpu;
  const DeviceId root = add(DeviceKind::kHost, host);
  for (int s = 0; s < switches; ++s) {
    const DeviceId bridge = add(DeviceKind::kPcieSwitch, host * switches + s);
    connect(bridge, root, LinkKind::kPcie, pcie);
    for (int i = 0; i < gpus; ++i)
      if (i * switches / gpus == s) connect(node_.gpu(host * gpus + i), bridge, LinkKind::kPcie, pcie);
    for (int i = 0; i < nics; ++i)  // a NIC's own port is as wide as the NIC where several share a GPU's switch
      if (i * switches / nics == s)
        connect(node_.nic(host * nics + i), bridge, LinkKind::kPcie, std::max(pcie, cluster_.links.nic));
  }
}

}  // namespace

void build_node(const Cluster& cluster, NodeGraph& node) { NodeBuilder(cluster, node); }

}  // namespace foretoken::net
