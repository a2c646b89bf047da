// Fuzz target: reads any bytes as a question about serving. They must be accepted, or refused with ConfigError.
#include "sim/base/fuzz.h"
#include "sim/io/serve/read_service.h"

namespace foretoken {
namespace {

const FuzzTarget kService("service", [](std::string_view text) { (void)io::read_service_text(text, "fuzz"); });

}  // namespace
}  // namespace foretoken
