// Fuzz target: reads any bytes as a profile. They must be accepted, or refused with ConfigError.
#include "sim/io/hardware/profile.h"
#include "sim/io/json/fuzz_document.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  return io::must_read_document(data, size, io::read_profile);
}
