// Fuzz target: reads any bytes as lines of samples. They must be accepted, or refused with ConfigError.
#include "calibration/import/sample_lines.h"
#include "sim/base/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  return must_read_or_refuse([&] { (void)measured::read_lines(fuzz_text(data, size), "fuzz"); });
}
