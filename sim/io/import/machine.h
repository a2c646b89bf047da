// Reads the links of a machine from `nvidia-smi topo -m`, or from the topology file that NCCL dumps.
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
  std::optional<BytesPerSecond> rate;  ///< where the source gives it
};

/// One node with its devices. NVLink is a number of links; the GPU's datasheet has their rate.
struct Machine {
  std::string source;  ///< "nvidia-smi topo -m", "NCCL topology dump"
  int gpus = 0;
  std::vector<MachineNic> nics;
  int links_to_switch = 0;                ///< NVLinks of each GPU to NVLink switches; 0 without switches
  std::vector<net::NvlinkCables> cables;  ///< NVLinks between two GPUs; empty with a switch
  std::vector<net::PcieTree> sockets;
  std::optional<BytesPerSecond> pcie;  ///< rate of the narrowest slot of a GPU, where the source gives it
  std::optional<int> sm;               ///< compute capability times 10, where the source gives it
  std::vector<std::string> notes;      ///< devices that are left out
};

/// Reads the matrix of `nvidia-smi topo -m`, with or without its legend and its escape sequences.
///
/// `links_of_gpu` is the number of NVLinks of one GPU, if known. With a switch every pair shows all links of a GPU. So
/// more links in a row than `links_of_gpu` mean a switch.
/// PIX becomes one switch, PXB switches below a switch, PHB or NODE one socket, and SYS two sockets. GPUs that show
/// only NVLink share a socket when their NUMA affinity is the same. Returns nothing, and complains with the line, when
/// the text is no such matrix.
[[nodiscard]] std::optional<Machine> read_topology_matrix(std::string_view text, const std::string& file,
                                                          std::optional<int> links_of_gpu, Findings& findings);

/// Reads the XML that NCCL writes to NCCL_TOPO_DUMP_FILE, of one host. PCIe bridges of one chip count as one switch, as
/// in NCCL (src/graph/topo.cc, ncclTopoFlattenBcmSwitches). Returns nothing, and complains, for other XML.
[[nodiscard]] std::optional<Machine> read_topology_xml(std::string_view text, const std::string& file,
                                                       Findings& findings);

}  // namespace foretoken::io
