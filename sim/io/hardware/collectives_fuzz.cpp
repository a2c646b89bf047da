// Fuzz target: reads any bytes as measured collectives. They must be accepted, or refused with ConfigError.
#include "sim/base/fuzz.h"
#include "sim/io/hardware/collectives.h"
#include "sim/io/json/document.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  return must_read_or_refuse([&] {
    io::Findings findings;
    const auto document = io::document_from_text(fuzz_text(data, size), "fuzz", findings);
    findings.throw_if_wrong();
    (void)io::read_measured_collectives(document->root(findings));
    findings.throw_if_wrong();
  });
}
