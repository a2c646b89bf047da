// Builds one node as a graph: its GPUs, NVLink, PCIe switches and NICs.
#include <algorithm>
#include <vector>

#include "sim/net/cables.h"
#include "sim/net/fabric.h"

namespace foretoken::net {
namespace {

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
  DeviceId add(DeviceKind kind, int index) { return boost::add_vertex(Device{kind, FabricNode{}, index}, node_.graph); }
  void connect(DeviceId a, DeviceId b, LinkKind kind, BytesPerSecond capacity) {
    if (capacity.value() <= 0) return;
    boost::add_edge(a, b, Link{node_.links++, kind, capacity, Seconds(0)}, node_.graph);
    boost::add_edge(b, a, Link{node_.links++, kind, capacity, Seconds(0)}, node_.graph);
  }
  void add_nvlink();
  void add_cables();
  void add_host(int host);
  DeviceId add_tree(const PcieTree& tree, int host, DeviceKind kind);

  const Cluster& cluster_;
  NodeGraph& node_;
  int sockets_ = 0, bridges_ = 0;
};

void NodeBuilder::add_nvlink() {
  if (cluster_.nvlink_fabric != "nvswitch") return add_cables();
  const DeviceId crossbar = add(DeviceKind::kNvSwitch, 0);
  for (int i = 0; i < node_.gpus; ++i)
    connect(node_.gpu(i), crossbar, LinkKind::kNvlink, cluster_.links.nvlink_per_gpu);
}

// The GPU with the most cables has the whole rate.
void NodeBuilder::add_cables() {
  const std::vector<NvlinkCables> all = cables_of(cluster_);
  const int most = most_cables(all);
  for (int first = 0; first < node_.gpus; first += cluster_.gpus_per_node)
    for (const auto& [a, b, count] : all)
      connect(node_.gpu(first + a), node_.gpu(first + b), LinkKind::kNvlink,
              count / static_cast<double>(most) * cluster_.links.nvlink_per_gpu);
}

DeviceId NodeBuilder::add_tree(const PcieTree& tree, int host, DeviceKind kind) {
  const DeviceId here = add(kind, kind == DeviceKind::kHost ? sockets_++ : bridges_++);
  const BytesPerSecond pcie = cluster_.links.pcie_per_gpu;
  const int nics = node_.nics / std::max(1, node_.gpus / cluster_.gpus_per_node);  // NICs of a host
  for (const int i : tree.gpus) connect(node_.gpu(host * cluster_.gpus_per_node + i), here, LinkKind::kPcie, pcie);
  for (const int i : tree.nics)  // a NIC's port is as wide as the NIC where several share a GPU's switch
    connect(node_.nic(host * nics + i), here, LinkKind::kPcie, std::max(pcie, cluster_.links.nic));
  for (const PcieTree& below : tree.switches)
    connect(add_tree(below, host, DeviceKind::kPcieSwitch), here, LinkKind::kPcie, pcie);
  return here;
}

void NodeBuilder::add_host(int host) {
  const int hosts = std::max(1, node_.gpus / cluster_.gpus_per_node);
  std::vector<DeviceId> roots;
  for (const PcieTree& tree : pcie_trees(cluster_.wiring, cluster_.gpus_per_node, node_.nics / hosts)) {
    const DeviceId root = add_tree(tree, host, DeviceKind::kHost);
    for (const DeviceId other : roots) connect(other, root, LinkKind::kPcie, cluster_.links.pcie_per_gpu);
    roots.push_back(root);
  }
}

}  // namespace

void build_node(const Cluster& cluster, NodeGraph& node) { NodeBuilder(cluster, node); }

}  // namespace foretoken::net
