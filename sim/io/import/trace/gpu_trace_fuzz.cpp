// Fuzz target: reads any bytes as a trace of the PyTorch profiler.
#include "sim/base/fuzz.h"
#include "sim/io/import/trace/gpu_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  return must_read_or_refuse([&] {
    io::Findings findings;
    (void)io::trace::read_trace_text(fuzz_text(data, size), "fuzz", findings);
    findings.throw_if_wrong();
  });
}
