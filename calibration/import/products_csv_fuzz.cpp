// Fuzz target: reads any bytes as a table of products or of other kernels. They must be accepted, or refused with
// ConfigError.
#include "calibration/import/exchange_csv.h"
#include "calibration/import/gemm_csv.h"
#include "calibration/import/kernel_csv.h"
#include "sim/base/fuzz.h"

namespace foretoken {
namespace {

const FuzzTarget kProductsCsv("products_csv", [](std::string_view text) {
  const std::string_view header = text.substr(0, text.find('\n'));
  if (measured::is_exchange_csv(header))
    (void)measured::parse_exchange_csv(text, "fuzz");
  else if (measured::is_kernel_csv(header))
    (void)measured::parse_kernel_csv(text, "fuzz");
  else
    (void)measured::parse_gemm_csv(text, "fuzz");
});

}  // namespace
}  // namespace foretoken
