// Fuzz target: reads any bytes as a profile. They must be accepted, or refused with ConfigError.
#include "sim/io/hardware/profile.h"
#include "sim/io/json/fuzz_document.h"

namespace foretoken {
namespace {

const FuzzTarget kProfile("profile", [](std::string_view text) { io::read_any_document(text, io::read_profile); });

}  // namespace
}  // namespace foretoken
