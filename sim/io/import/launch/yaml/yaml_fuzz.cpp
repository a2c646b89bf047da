// Fuzz target: reads any bytes as YAML, and as a functional test of Megatron-LM.
#include "sim/base/fuzz.h"
#include "sim/io/import/launch/fuzz_report.h"
#include "sim/io/import/launch/megatron/read_megatron.h"
#include "sim/io/import/launch/yaml/read_yaml.h"

namespace foretoken {
namespace {

const FuzzTarget kYaml("yaml", [](std::string_view text) {
  io::Findings findings;
  const auto document = io::launch::read_yaml(text, "fuzz", findings);
  findings.throw_if_wrong();
  io::launch::Report report;
  if (document->is_object()) io::launch::megatron::read_functional_test(*document, "fuzz", report);
  io::launch::must_print(report);
});

}  // namespace
}  // namespace foretoken
