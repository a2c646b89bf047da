// Fuzz target: reads any bytes as the result file of the search that its first line names. They must be accepted, or
// refused with ConfigError.
#include "sim/base/fuzz.h"
#include "tools/output/search_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foretoken;
  const std::string_view text = fuzz_text(data, size);
  return must_read_or_refuse(
      [&] { (void)tools::read_search_file(fuzz_file(text), std::string(text.substr(0, text.find('\n')))); });
}
