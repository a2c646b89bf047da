// Fuzz target: reads any bytes as TOML, and as a configuration of torchtitan.
#include "sim/base/fuzz.h"
#include "sim/io/import/launch/fuzz_report.h"
#include "sim/io/import/launch/toml/read_toml.h"
#include "sim/io/import/launch/torchtitan/read_torchtitan.h"

namespace foretoken {
namespace {

const FuzzTarget kToml("toml", [](std::string_view text) {
  io::Findings findings;
  const auto document = io::launch::read_toml(text, "fuzz", findings);
  findings.throw_if_wrong();
  io::launch::Report report;
  io::launch::torchtitan::read_torchtitan(*document, 64, report);
  io::launch::must_print(report);
});

}  // namespace
}  // namespace foretoken
