// Fuzz target: reads any bytes as a scenario. They must be accepted, or refused with ConfigError.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/fuzz.h"
#include "sim/io/scenario/read_scenario.h"

namespace foretoken {
namespace {

// Takes the text up to the first zero byte as the scenario, and the rest, cut at zero bytes, as overrides.
const FuzzTarget kScenario("scenario", [](std::string_view text) {
  const std::size_t end = std::min(text.find('\0'), text.size());
  std::vector<std::string> sets;
  for (std::size_t at = end; at < text.size() && sets.size() < 8;) {
    const std::size_t next = std::min(text.find('\0', at + 1), text.size());
    sets.emplace_back(text.substr(at + 1, next - at - 1));
    at = next;
  }
  (void)io::read_scenario_text(text.substr(0, end), "fuzz", sets);
});

}  // namespace
}  // namespace foretoken
