// Fuzz target: reads any bytes as measured collectives. They must be accepted, or refused with ConfigError.
#include "sim/io/hardware/collectives.h"
#include "sim/io/json/fuzz_document.h"

namespace foretoken {
namespace {

const FuzzTarget kCollectives("collectives", [](std::string_view text) {
  io::read_any_document(text, io::read_measured_collectives);
});

}  // namespace
}  // namespace foretoken
