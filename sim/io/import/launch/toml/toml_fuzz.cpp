// Fuzz target: reads any bytes as TOML, and as a configuration of torchtitan.
#include "sim/base/fuzz.h"
#include "sim/io/import/launch/toml/read_toml.h"
#include "sim/io/import/launch/torchtitan/read_torchtitan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  return must_read_or_refuse([&] {
    io::Findings findings;
    const auto document = io::launch::read_toml(fuzz_text(data, size), "fuzz", findings);
    findings.throw_if_wrong();
    io::launch::Report report;
    io::launch::torchtitan::read_torchtitan(*document, 64, report);
    (void)report.json().dump(-1, ' ', false, io::launch::Json::error_handler_t::replace);
  });
}
