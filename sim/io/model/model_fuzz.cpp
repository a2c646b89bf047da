// Fuzz target: reads any bytes as a model or a config.json. They must be accepted, or refused with ConfigError.
#include "sim/io/json/fuzz_document.h"
#include "sim/io/model/read_model.h"

namespace foretoken {
namespace {

const FuzzTarget kModel("model", [](std::string_view text) {
  io::read_any_document(text, [](const io::Node& node) { return io::read_model(node); });
});

}  // namespace
}  // namespace foretoken
