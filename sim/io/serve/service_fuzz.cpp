// Fuzz target: reads any bytes as a question about serving. They must be accepted, or refused with ConfigError.
#include "sim/base/fuzz.h"
#include "sim/io/serve/read_service.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return foretoken::must_read_or_refuse(
      [&] { (void)foretoken::io::read_service_text(foretoken::fuzz_text(data, size), "fuzz"); });
}
