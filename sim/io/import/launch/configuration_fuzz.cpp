// Fuzz target: reads any bytes as a configuration file of every framework, by the ending that the first byte chooses.
#include "sim/base/fuzz.h"
#include "sim/io/import/launch/fuzz_report.h"
#include "sim/io/import/launch/read_launch.h"

namespace foretoken {
namespace {

const FuzzTarget kConfiguration("configuration", [](std::string_view text) {
  if (text.empty()) return;
  constexpr const char* kNames[] = {"a.yaml", "a.json", "a.csv", "a.toml"};
  io::Findings findings;
  io::launch::Launch launch;
  launch.row = "2";
  launch.sets = {"gpus=64"};
  const io::launch::Report report = io::launch::read_launch_text(
      std::string(text.substr(1)), kNames[static_cast<unsigned char>(text[0]) % 4], launch, findings);
  findings.throw_if_wrong();
  io::launch::must_print(report);
});

}  // namespace
}  // namespace foretoken
