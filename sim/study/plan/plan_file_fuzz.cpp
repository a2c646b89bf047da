// Fuzz target: reads any bytes as a plan. They must be accepted, or refused with ConfigError.
#include "sim/base/fuzz.h"
#include "sim/study/plan/plan_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  return must_read_or_refuse([&] { (void)study::read_plan_file(fuzz_file(fuzz_text(data, size))); });
}
