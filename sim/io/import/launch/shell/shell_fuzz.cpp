// Fuzz target: reads any bytes as a script. They must be read, or refused with a complaint; nothing may run.
#include "sim/base/fuzz.h"
#include "sim/io/import/launch/shell/script.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  return must_read_or_refuse([&] {
    io::Findings findings;
    (void)io::shell::read_script_text(std::string(fuzz_text(data, size)), "fuzz", "/nonexistent", {}, findings);
    findings.throw_if_wrong();
  });
}
