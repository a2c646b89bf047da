// Fuzz target: reads any bytes as requests of a trace. They must be accepted, or refused with ConfigError.
#include "sim/base/fuzz.h"
#include "sim/io/serve/read_trace.h"

namespace foretoken {
namespace {

const FuzzTarget kTrace("trace", [](std::string_view text) {
  io::Findings findings;
  (void)io::read_trace(text, "fuzz", findings);
  findings.throw_if_wrong();
});

}  // namespace
}  // namespace foretoken
