// Fuzz target: reads any bytes as an engine of inference. They must be accepted, or refused with ConfigError.
#include "sim/base/fuzz.h"
#include "sim/io/json/document.h"
#include "sim/io/serve/read_engine.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return foretoken::must_read_or_refuse([&] {
    foretoken::io::Findings findings;
    const auto document = foretoken::io::document_from_text(foretoken::fuzz_text(data, size), "fuzz", findings);
    if (document) (void)foretoken::io::read_engine(document->root(findings));
    findings.throw_if_wrong();
  });
}
