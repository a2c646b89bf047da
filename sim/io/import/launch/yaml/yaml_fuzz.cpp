// Fuzz target: reads any bytes as YAML, and as a functional test of Megatron-LM.
#include "sim/base/fuzz.h"
#include "sim/io/import/launch/megatron/read_megatron.h"
#include "sim/io/import/launch/yaml/read_yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  return must_read_or_refuse([&] {
    io::Findings findings;
    const auto document = io::launch::read_yaml(fuzz_text(data, size), "fuzz", findings);
    findings.throw_if_wrong();
    io::launch::Report report;
    if (document->is_object()) io::launch::megatron::read_functional_test(*document, "fuzz", report);
    (void)report.json().dump(-1, ' ', false, io::launch::Json::error_handler_t::replace);
  });
}
