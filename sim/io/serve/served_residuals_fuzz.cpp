// Fuzz target: reads any bytes as residuals of services. They must be accepted, or refused with ConfigError.
#include "sim/io/json/fuzz_document.h"
#include "sim/io/serve/served_residuals.h"

namespace foretoken {
namespace {

const FuzzTarget kServedResiduals("served_residuals", [](std::string_view text) {
  io::read_any_document(text, io::read_served_residuals);
});

}  // namespace
}  // namespace foretoken
