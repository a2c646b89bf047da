// Fuzz target: reads any bytes as a scenario. They must be accepted, or refused with ConfigError.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/fuzz.h"
#include "sim/io/scenario/read_scenario.h"

/// Takes the text up to the first zero byte as the scenario, and the rest, cut at zero bytes, as overrides.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = foretoken::fuzz_text(data, size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  std::vector<std::string> sets;
  for (std::size_t at = end; at < input.size() && sets.size() < 8;) {
    const std::size_t next = std::min(input.find('\0', at + 1), input.size());
    sets.emplace_back(input.substr(at + 1, next - at - 1));
    at = next;
  }
  return foretoken::must_read_or_refuse(
      [&] { (void)foretoken::io::read_scenario_text(input.substr(0, end), "fuzz", sets); });
}
