// Fuzz target: reads any bytes as the result file of the search that its first line names. They must be accepted, or
// refused with ConfigError.
#include "sim/base/fuzz.h"
#include "tools/output/search_log.h"

namespace foretoken {
namespace {

const FuzzTarget kSearchFile("search_file", [](std::string_view text) {
  (void)tools::read_search_file(fuzz_file(text), std::string(text.substr(0, text.find('\n'))));
});

}  // namespace
}  // namespace foretoken
