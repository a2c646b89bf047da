// Fuzz target: reads any bytes as residuals of services. They must be accepted, or refused with ConfigError.
#include "sim/io/json/fuzz_document.h"
#include "sim/io/serve/served_residuals.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  return io::must_read_document(data, size, io::read_served_residuals);
}
