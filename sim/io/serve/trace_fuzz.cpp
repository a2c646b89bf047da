// Fuzz target: reads any bytes as requests of a trace. They must be accepted, or refused with ConfigError.
#include "sim/base/fuzz.h"
#include "sim/io/serve/read_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return foretoken::must_read_or_refuse([&] {
    foretoken::io::Findings findings;
    (void)foretoken::io::read_trace(foretoken::fuzz_text(data, size), "fuzz", findings);
    findings.throw_if_wrong();
  });
}
