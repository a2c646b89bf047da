// Fuzz target: reads any bytes as a trace of the PyTorch profiler.
#include "sim/base/fuzz.h"
#include "sim/io/import/trace/gpu_trace.h"

namespace foretoken {
namespace {

const FuzzTarget kGpuTrace("gpu_trace", [](std::string_view text) {
  io::Findings findings;
  (void)io::trace::read_trace_text(text, "fuzz", findings);
  findings.throw_if_wrong();
});

}  // namespace
}  // namespace foretoken
