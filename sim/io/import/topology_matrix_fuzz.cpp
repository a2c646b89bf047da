// Fuzz target: reads any bytes as the matrix of nvidia-smi topo -m. They must be accepted, or refused with ConfigError.
#include "sim/base/fuzz.h"
#include "sim/io/import/machine.h"

namespace foretoken {
namespace {

const FuzzTarget kTopologyMatrix("topology_matrix", [](std::string_view text) {
  io::Findings findings;
  (void)io::read_topology_matrix(text, "fuzz", std::nullopt, findings);
  findings.throw_if_wrong();
});

}  // namespace
}  // namespace foretoken
