// Fuzz target: reads any bytes as a table of products or of other kernels. They must be accepted, or refused with
// ConfigError.
#include "calibration/import/exchange_csv.h"
#include "calibration/import/gemm_csv.h"
#include "calibration/import/kernel_csv.h"
#include "sim/base/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  const std::string_view text = fuzz_text(data, size);
  return must_read_or_refuse([&] {
    const std::string_view header = text.substr(0, text.find('\n'));
    if (measured::is_exchange_csv(header))
      (void)measured::parse_exchange_csv(text, "fuzz");
    else if (measured::is_kernel_csv(header))
      (void)measured::parse_kernel_csv(text, "fuzz");
    else
      (void)measured::parse_gemm_csv(text, "fuzz");
  });
}
