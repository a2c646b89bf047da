// Fuzz target: reads any bytes as a runtime. They must be accepted, or refused with ConfigError.
#include "sim/io/json/fuzz_document.h"
#include "sim/io/scenario/read_runtime.h"

namespace foretoken {
namespace {

const FuzzTarget kRuntime("runtime", [](std::string_view text) { io::read_any_document(text, io::read_runtime); });

}  // namespace
}  // namespace foretoken
