// The links of a machine as it reports them: `nvidia-smi topo -m`, or the topology file that NCCL dumps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "sim/io/json/node.h"
#include "sim/net/node_wiring.h"

namespace foretoken::io {

struct MachineNic {
  std::string name;                    ///< "mlx5_0"
  std::optional<BytesPerSecond> rate;  ///< where the source tells
};

/// One node as found. NVLink is a number of links; the GPU's datasheet has their rate.
struct Machine {
  std::string source;  ///< "nvidia-smi topo -m", "NCCL topology dump"
  int gpus = 0;
  std::vector<MachineNic> nics;
  int links_to_switch = 0;                ///< NVLinks of every GPU to NVLink switches; 0: none
  std::vector<net::NvlinkCables> cables;  ///< NVLinks straight between GPUs; filled only without a switch
  std::vector<net::PcieTree> sockets;
  std::optional<BytesPerSecond> pcie;  ///< the narrowest slot of a GPU, where the source tells
  std::optional<int> sm;               ///< compute capability times 10, where the source tells
  std::vector<std::string> notes;      ///< devices that were found and left out
};

/// The matrix of `nvidia-smi topo -m`, with or without its legend and its escape sequences. `links_of_gpu` is how many
/// NVLinks one GPU has, if known: more links in a row than that are links to a switch (every pair then shows all of a
/// GPU's links). PIX, PXB, PHB or NODE, and SYS become one switch, switches below a switch, one socket and two sockets;
/// GPUs with nothing but NVLink stand in one socket when their NUMA affinity is the same. Nothing, and a complaint with
/// the line, when the text is no such matrix.
[[nodiscard]] std::optional<Machine> read_topology_matrix(std::string_view text, const std::string& file,
                                                          std::optional<int> links_of_gpu, Findings& findings);

/// The XML that NCCL writes to NCCL_TOPO_DUMP_FILE, of one host. PCIe bridges of one chip count as one switch, as for
/// NCCL (src/graph/topo.cc, ncclTopoFlattenBcmSwitches). Nothing, and a complaint, when it is none.
[[nodiscard]] std::optional<Machine> read_topology_xml(std::string_view text, const std::string& file,
                                                       Findings& findings);

}  // namespace foretoken::io
