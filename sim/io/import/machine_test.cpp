// Tests that real machines (testdata/machines) become the right graphs, and complaints about other texts.
#include "sim/io/import/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/io/hardware/read_cluster.h"
#include "sim/io/import/machine_cluster.h"
#include "sim/io/json/data_path.h"
#include "sim/io/json/document.h"
#include "sim/net/fabric.h"
#include "sim/net/router.h"

namespace foretoken::io {
namespace {

using net::DeviceKind;
using net::LinkKind;
using testing::HasSubstr;

std::string contents(const std::string& name) {
  std::ifstream in(FORETOKEN_SOURCE_DIR "/sim/io/testdata/machines/" + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  return {std::istreambuf_iterator<char>(in), {}};
}

net::Gpu gpu_named(const std::string& name) {
  Findings findings;
  const auto document = document_from_file(*find_data_file(kGpus, name), findings);
  net::Gpu gpu = read_gpu(document->root(findings));
  findings.throw_if_wrong();
  return gpu;
}

std::optional<Machine> machine_of(const std::string& text, const net::Gpu& gpu, Findings& findings) {
  if (text.starts_with("<")) return read_topology_xml(text, "t", findings);
  const auto links = gpu.nvlink ? std::optional(gpu.nvlink->count) : std::nullopt;
  return read_topology_matrix(text, "t", links, findings);
}

/// Returns the cluster of a file, through its JSON.
net::Cluster cluster_from(const std::string& file, const net::Gpu& gpu, MachineChoices choices) {
  Findings findings;
  const auto machine = machine_of(contents(file), gpu, findings);
  const nlohmann::json fabric = {{"kind", "fat-tree"}, {"hop_latency_us", 0.6}};
  choices.fabric = &fabric;
  choices.gpu = "a100-sxm4-80gb";  // the link rates are already in the file
  findings.throw_if_wrong();
  const std::string text = compact_text(cluster_of(*machine, gpu, choices, "t", findings));
  findings.throw_if_wrong();
  const auto document = document_from_text(text, "t.json", findings);
  const net::Cluster cluster = read_cluster(document->root(findings));
  findings.throw_if_wrong();
  return cluster;
}

MachineChoices with_nics(std::vector<std::string> names) {
  MachineChoices choices;
  choices.nics = std::move(names);
  return choices;
}

struct Graph {
  std::map<DeviceKind, int> devices;
  std::map<double, int> nvlinks;  ///< GB/s each way -> cables between two devices
  std::vector<std::vector<int>> near;
};

Graph graph_of(const net::Cluster& cluster) {
  net::NodeGraph node;
  net::build_node(cluster, node);
  Graph graph;
  for (net::DeviceId v = 0; v < boost::num_vertices(node.graph); ++v) ++graph.devices[node.graph[v].kind];
  net::for_each_edge(node.graph, [&](auto edge) {
    if (node.graph[edge].kind == LinkKind::kNvlink && boost::source(edge, node.graph) < boost::target(edge, node.graph))
      ++graph.nvlinks[node.graph[edge].capacity.value() / 1e9];
  });
  const net::Fabric fabric(cluster, 2);
  const net::Router router(fabric);
  for (const net::FabricGpu gpu : ids<net::FabricGpu>(node.gpus)) {
    graph.near.push_back(router.nics_near(gpu));
  }
  return graph;
}

struct RealMachine {
  const char* what;
  const char* file;
  const char* gpu;
  double nic_gb_per_s;  // 0: the file gives it
  const char* nvlink;
  int switches, sockets, pcie_switches, nics;
  double nic, pcie;
  std::map<double, int> nvlinks;
  std::vector<std::vector<int>> near;
};

const std::vector<std::vector<int>> kPairs = {{0, 1}, {0, 1}, {2, 3}, {2, 3}, {4, 5}, {4, 5}, {6, 7}, {6, 7}};
const std::vector<std::vector<int>> kEachItsOwn = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};

const RealMachine kMachines[] = {
    {"DGX A100: two GPUs and two adapters a switch; four adapters are for storage",
     "dgx-a100.txt",
     "a100-sxm4-80gb",
     25,
     "nvswitch",
     1,
     4,
     4,
     8,
     25,
     31,
     {{300, 8}},
     kPairs},
    {"H100: every GPU with its adapter behind a switch",
     "hgx-h100.txt",
     "h100-sxm5-80gb",
     50,
     "nvswitch",
     1,
     2,
     8,
     8,
     50,
     63,
     {{450, 8}},
     kEachItsOwn},
    {"four H100 without a switch: 3 x 6 links are all that a GPU has",
     "h100-4gpu-mesh.txt",
     "h100-sxm5-80gb",
     50,
     "mesh",
     0,
     4,
     4,
     4,
     50,
     63,
     {{150, 6}},
     {{0}, {1}, {2}, {3}}},
    {"hybrid cube mesh: eight cables of one link, eight of two",
     "v100-cube-mesh.txt",
     "v100-sxm2-32gb",
     12.5,
     "hybrid-cube-mesh",
     0,
     2,
     2,
     2,
     12.5,
     15.75,
     {{25, 8}, {50, 8}},
     {{0}, {0}, {0}, {0}, {1}, {1}, {1}, {1}}},
    {"bridged pairs of PCIe cards and one adapter",
     "a100-pcie-bridges.txt",
     "a100-pcie-80gb",
     25,
     "bridge",
     0,
     1,
     0,
     1,
     25,
     31,
     {{300, 4}},
     {{0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}}},
    {"PCIe only: two cards share a switch",
     "l20-pcie.txt",
     "a100-pcie-80gb",
     0,
     "none",
     0,
     1,
     1,
     0,
     0,
     31,
     {},
     {{}, {}, {}, {}}},
    {"H100 in a virtual machine: slots of width 0, adapters numbered backwards",
     "ibm-h100.xml",
     "h100-sxm5-80gb",
     0,
     "nvswitch",
     1,
     2,
     8,
     8,
     25,
     32.0 * 16 * 128 / 130 / 8,
     {{450, 8}},
     {{7}, {6}, {5}, {4}, {3}, {2}, {1}, {0}}},
    {"bridged pairs, a socket each; the adapter is nearest to GPU 0 and as far from the others",
     "azure-ncv4.xml",
     "a100-pcie-80gb",
     0,
     "bridge",
     0,
     4,
     0,
     1,
     12.5,
     31,
     {{300, 2}},
     {{0}, {0}, {0}, {0}}},
    {"a switch chip that shows as bridges inside bridges; storage adapters of two rates are left out",
     "dgx-a100-part.xml",
     "a100-sxm4-80gb",
     0,
     "nvswitch",
     1,
     1,
     1,
     1,
     25,
     16.0 * 16 * 128 / 130 / 8,
     {{300, 2}},
     {{0}, {0}}}};

TEST(Machine, RealOnesBecomeTheGraphsTheyAre) {
  for (const RealMachine& m : kMachines) {
    SCOPED_TRACE(m.what);
    MachineChoices choices;
    if (m.nic_gb_per_s > 0) choices.nic_rate = gigabytes_per_second(m.nic_gb_per_s);
    const net::Cluster cluster = cluster_from(m.file, gpu_named(m.gpu), choices);
    EXPECT_EQ(cluster.nvlink_fabric, m.nvlink);
    EXPECT_EQ(cluster.links.nics, m.nics);
    EXPECT_DOUBLE_EQ(cluster.links.nic.value() / 1e9, m.nic);
    EXPECT_NEAR(cluster.links.pcie_per_gpu.value() / 1e9, m.pcie, 1e-9);
    Graph graph = graph_of(cluster);
    EXPECT_EQ(graph.devices[DeviceKind::kNvSwitch], m.switches);
    EXPECT_EQ(graph.devices[DeviceKind::kHost], m.sockets);
    EXPECT_EQ(graph.devices[DeviceKind::kPcieSwitch], m.pcie_switches);
    EXPECT_EQ(graph.nvlinks, m.nvlinks);
    EXPECT_EQ(graph.near, m.near);
  }
}

TEST(Machine, AWorkstationWithOneBridgeAndAGpuWithout) {
  net::Gpu a6000 = gpu_named("a100-pcie-80gb");
  a6000.name = "rtx-a6000";
  a6000.nvlink = {.count = 4, .each = gigabytes_per_second(14.0625)};
  Graph graph = graph_of(cluster_from("a6000-workstation.txt", a6000, {}));
  EXPECT_EQ(graph.nvlinks, (std::map<double, int>{{56.25, 1}}));
  EXPECT_EQ(graph.devices[DeviceKind::kHost], 1);
}

TEST(Machine, NicsCanBeChosenByName) {
  MachineChoices choices = with_nics({"mlx5_4", "mlx5_5"});
  choices.nic_rate = gigabytes_per_second(12.5);
  const net::Cluster cluster = cluster_from("dgx-a100.txt", gpu_named("a100-sxm4-80gb"), choices);
  EXPECT_EQ(cluster.links.nics, 2);
  EXPECT_EQ(cluster.wiring.sockets.size(), 5U) << "the one of the storage adapters stays";
}

std::string complaint_about(const std::string& text, const std::string& gpu, MachineChoices choices = {}) {
  Findings findings;
  const net::Gpu datasheet = gpu_named(gpu);
  const auto machine = machine_of(text, datasheet, findings);
  if (findings.complaints.empty()) (void)cluster_of(*machine, datasheet, choices, "t", findings);
  std::string all;
  for (const Complaint& complaint : findings.complaints.listed()) all += complaint.line() + '\n';
  return all;
}

struct Hostile {
  const char* what;
  std::string text, complaint;
};

TEST(Machine, WhatIsNoMatrixIsSaidInOneLine) {
  const std::string head = "\tGPU0\tGPU1\tNIC0\n";
  const std::string good = head + "GPU0\t X \tNV12\tPIX\nGPU1\tNV12\t X \tSYS\nNIC0\tPIX\tSYS\t X \n";
  const Hostile cases[] = {
      {"empty", "", "t: no line \"GPU0 GPU1 ...\": expected what nvidia-smi topo -m prints\n"},
      {"a legend alone", "Legend:\n  X = Self\n",
       "t: no line \"GPU0 GPU1 ...\": expected what nvidia-smi topo -m prints\n"},
      {"cut between rows", good.substr(0, good.find("NIC0\tPIX")), "t:1: no row of \"NIC0\"; is the text cut off?\n"},
      {"cut inside a row", good.substr(0, good.size() - 10),
       "t:4: the row of NIC0 has 1 of 3 cells; is the text cut off?\n"},
      {"asymmetric", head + "GPU0\tX\tNV12\tPIX\nGPU1\tSYS\tX\tSYS\nNIC0\tPIX\tSYS\tX\n",
       "t:1: GPU1 to GPU0 is SYS, but back it is NV12\n"},
      {"unknown word", head + "GPU0\tX\tNV12\tPIXNODE\n",
       "t:2: GPU0 to NIC0: expected X, NV#, PIX, PXB, PHB, NODE or SYS, found \"PIXNODE\"\n"},
      {"links beyond counting", head + "GPU0\tX\tNV99999999999\tPIX\n",
       "t:2: GPU0 to GPU1: expected X, NV#, PIX, PXB, PHB, NODE or SYS, found \"NV99999999999\"\n"},
      {"a column twice", "\tGPU0\tGPU0\n", "t:1: two columns of \"GPU0\"\n"},
      {"a row twice", head + "GPU0\tX\tNV12\tPIX\nGPU0\tX\tNV12\tPIX\n", "t:3: a second row of GPU0\n"},
      {"no way from one to the other", head + "GPU0\tX\tN/A\tPIX\n",
       "t:2: GPU0 cannot reach GPU1: N/A stands between them; expected a matrix of devices that all work, run it again "
       "when they do\n"},
      {"no self", head + "GPU0\tPIX\tNV12\tPIX\n",
       "t:2: GPU0 to GPU0: X stands for the device itself, and only there\n"},
      {"more links than the GPU has", "\tGPU0\tGPU1\nGPU0\tX\tNV18\nGPU1\tNV18\tX\n",
       "t: a GPU shows 18 NVLinks, 18 to one other, but has 12; is it another GPU?\n"}};
  for (const Hostile& c : cases) {
    SCOPED_TRACE(c.what);
    EXPECT_EQ(complaint_about(c.text, "a100-sxm4-80gb"), c.complaint);
  }
  std::string wide = "\t";
  for (int i = 0; i < 600; ++i) wide += "GPU" + std::to_string(i) + "\t";
  EXPECT_EQ(complaint_about(wide, "a100-sxm4-80gb"), "t:1: expected at most 512 GPUs and NICs, found 600\n");
}

std::string dump(const std::string& inside) {
  return "<system version=\"1\"><cpu numaid=\"0\">" + inside + "</cpu></system>";
}

std::string times(int count, std::string_view text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

std::vector<Hostile> hostile_dumps() {
  const std::string gpu =
      R"(<pci busid="0000:01:00.0"><gpu dev="0" sm="80"><nvlink target="0000:02:00.0" count="12" tclass="0x030200"/></gpu></pci>)";
  const std::string whole = contents("ibm-h100.xml");
  const std::string deep = times(100000, "<pci>");
  const std::string bomb =
      R"(<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;">]>)" +
      dump("&c;&c;&c;");
  return {
      {"another document", "<html/>", "t: expected NCCL's <system>, found \"html\"; NCCL_TOPO_DUMP_FILE writes one\n"},
      {"entities inside entities, which nobody expands", bomb, "t: no <gpu>: a template for NCCL_TOPO_FILE?"},
      {"nothing in it", dump(""), "t: no <gpu>: a template for NCCL_TOPO_FILE?"},
      {"deep", dump(deep + std::string("</pci>")), "t: no XML"},
      {"a GPU twice", dump(gpu + gpu), "t: two <gpu> with dev 0\n"},
      {"links to nowhere and back", dump(gpu + R"(<pci busid="0000:02:00.0"><gpu dev="1" sm="80"/></pci>)"),
       "t: GPU 0 has 12 NVLinks to GPU 1, which has 0 back\n"},
      {"a GPU on no socket",
       R"(<system><cpu numaid="0"><pci busid="1"><gpu dev="0" sm="80"/></pci></cpu><pci busid="2"><gpu dev="1" sm="80"/></pci></system>)",
       "t: GPU \"1\" hangs on no <cpu>: no other GPU or NIC can reach it; expected every <gpu> and <net> below a "
       "<cpu>, as NCCL_TOPO_DUMP_FILE writes them\n"},
      {"all GPUs on no socket", R"(<system><pci busid="2"><gpu dev="1" sm="80"/></pci></system>)",
       "t: GPU \"1\" hangs on no <cpu>"},
      {"a NIC below what is no bridge",
       dump(R"(<pci busid="1"><gpu dev="0" sm="80"/></pci><bridge><nic><net name="mlx5_0"/></nic></bridge>)"),
       "t: NIC \"mlx5_0\" hangs on no <cpu>"},
      {"negative links", dump(R"(<pci busid="1"><gpu dev="0"><nvlink count="-4"/></gpu></pci>)"),
       "t: GPU 0: expected 1 to 1024 NVLinks in count, found \"-4\"\n"},
      {"two hosts", R"(<system><cpu host_hash="1" numaid="0"/><cpu host_hash="2" numaid="0"/></system>)",
       "t: expected one host, found 2; dump the file of one node\n"},
      {"another GPU", dump(R"(<pci busid="1"><gpu dev="0" sm="90"/></pci>)"),
       "t: its GPUs are sm 90 (hopper), but a100-sxm4-80gb is ampere; name the right one with --gpu\n"},
      {"cut off", whole.substr(0, whole.size() / 2), "is the file cut off?\n"}};
}

TEST(Machine, WhatIsNoDumpIsSaidInOneLine) {
  for (const Hostile& c : hostile_dumps()) {
    SCOPED_TRACE(c.what);
    const std::string found = complaint_about(c.text, "a100-sxm4-80gb");
    EXPECT_THAT(found, HasSubstr(c.complaint));
    EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 1);
  }
  EXPECT_EQ(complaint_about(dump(times(100000, "<pci>") + times(100000, "</pci>")), "a100-sxm4-80gb"),
            "t: more than 32 elements inside each other; expected a dump of NCCL\n");
}

TEST(Machine, MissingFactsAreAskedFor) {
  const std::string matrix = contents("hgx-h100.txt");
  EXPECT_EQ(complaint_about(matrix, "h100-sxm5-80gb"),
            "t: does not give the rate of a NIC; give --nic-gb-per-s (25 for 200 Gb/s, 50 for 400 Gb/s)\n"
            "t: does not show the network above the nodes; name a cluster with the same one: --fabric CLUSTER\n");
  EXPECT_THAT(complaint_about(contents("dgx-a100-part.xml"), "a100-sxm4-80gb", with_nics({"mlx5_4", "mlx5_5"})),
              HasSubstr("its NICs have 12.5, 25 GB/s; choose NICs of one rate with --nics, or give --nic-gb-per-s"));
  EXPECT_THAT(complaint_about(matrix, "h100-sxm5-80gb", with_nics({"mlx5_9"})),
              HasSubstr("has no NIC \"mlx5_9\"; it has NIC0, NIC1"));
}

}  // namespace
}  // namespace foretoken::io
