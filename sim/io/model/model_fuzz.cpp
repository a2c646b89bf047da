// Fuzz target: reads any bytes as a model or a config.json. They must be accepted, or refused with ConfigError.
#include "sim/io/json/fuzz_document.h"
#include "sim/io/model/read_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  return io::must_read_document(data, size, [](const io::Node& node) { return io::read_model(node); });
}
