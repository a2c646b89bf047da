// Fuzz target: reads any bytes as NCCL's XML of a host. They must be accepted, or refused with ConfigError.
#include "sim/base/fuzz.h"
#include "sim/io/import/machine.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  return must_read_or_refuse([&] {
    io::Findings findings;
    (void)io::read_topology_xml(fuzz_text(data, size), "fuzz", findings);
    findings.throw_if_wrong();
  });
}
