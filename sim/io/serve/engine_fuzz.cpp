// Fuzz target: reads any bytes as an engine of inference. They must be accepted, or refused with ConfigError.
#include "sim/base/fuzz.h"
#include "sim/io/json/document.h"
#include "sim/io/serve/read_engine.h"

namespace foretoken {
namespace {

const FuzzTarget kEngine("engine", [](std::string_view text) {
  io::Findings findings;
  const auto document = io::document_from_text(text, "fuzz", findings);
  if (document) (void)io::read_engine(document->root(findings));
  findings.throw_if_wrong();
});

}  // namespace
}  // namespace foretoken
