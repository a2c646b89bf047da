// Fuzz target: reads any bytes as arguments of Megatron-LM, separated by spaces.
#include <sstream>

#include "sim/base/fuzz.h"
#include "sim/io/import/launch/fuzz_report.h"
#include "sim/io/import/launch/read_launch.h"

namespace foretoken {
namespace {

const FuzzTarget kArguments("arguments", [](std::string_view text) {
  io::launch::Launch launch;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) launch.words.push_back(word);
  io::Findings findings;
  const io::launch::Report report = io::launch::read_launch(launch, findings);
  findings.throw_if_wrong();
  io::launch::must_print(report);
});

}  // namespace
}  // namespace foretoken
