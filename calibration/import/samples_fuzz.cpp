// Fuzz target: reads any bytes as lines of samples. They must be accepted, or refused with ConfigError.
#include "calibration/import/sample_lines.h"
#include "sim/base/fuzz.h"

namespace foretoken {
namespace {

const FuzzTarget kSamples("samples", [](std::string_view text) { (void)measured::read_lines(text, "fuzz"); });

}  // namespace
}  // namespace foretoken
