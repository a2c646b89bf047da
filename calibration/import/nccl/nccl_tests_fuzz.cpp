// Fuzz target: reads any bytes as the output of nccl-tests, text or JSON. They must be accepted, or refused with
// ConfigError.
#include "calibration/import/nccl/nccl_tests_json.h"
#include "calibration/import/nccl/nccl_tests_text.h"
#include "sim/base/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  const std::string_view text = fuzz_text(data, size);
  return must_read_or_refuse([&] {
    if (text.starts_with('{'))
      (void)measured::parse_nccl_tests_json(text, "fuzz");
    else
      (void)measured::parse_nccl_tests_text(text, "fuzz");
  });
}
