// Fuzz target: reads any bytes as the log of a training run.
#include "sim/base/fuzz.h"
#include "sim/io/import/log/read_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  return must_read_or_refuse([&] {
    io::Findings findings;
    (void)io::log::read_log_text(fuzz_text(data, size), "fuzz", findings);
    findings.throw_if_wrong();
  });
}
