// Fuzz target: reads any bytes as residuals. They must be accepted, or refused with ConfigError.
#include "sim/io/json/fuzz_document.h"
#include "sim/io/scenario/read_residuals.h"

namespace foretoken {
namespace {

const FuzzTarget kResiduals("residuals",
                            [](std::string_view text) { io::read_any_document(text, io::read_residuals); });

}  // namespace
}  // namespace foretoken
