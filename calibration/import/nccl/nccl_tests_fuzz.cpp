// Fuzz target: reads any bytes as the output of nccl-tests, text or JSON. They must be accepted, or refused with
// ConfigError.
#include "calibration/import/nccl/nccl_tests_json.h"
#include "calibration/import/nccl/nccl_tests_text.h"
#include "sim/base/fuzz.h"

namespace foretoken {
namespace {

const FuzzTarget kNcclTests("nccl_tests", [](std::string_view text) {
  if (text.starts_with('{'))
    (void)measured::parse_nccl_tests_json(text, "fuzz");
  else
    (void)measured::parse_nccl_tests_text(text, "fuzz");
});

}  // namespace
}  // namespace foretoken
