// Fuzz target: reads any bytes as NCCL's XML of a host. They must be accepted, or refused with ConfigError.
#include "sim/base/fuzz.h"
#include "sim/io/import/machine.h"

namespace foretoken {
namespace {

const FuzzTarget kTopologyXml("topology_xml", [](std::string_view text) {
  io::Findings findings;
  (void)io::read_topology_xml(text, "fuzz", findings);
  findings.throw_if_wrong();
});

}  // namespace
}  // namespace foretoken
