// Fuzz target: reads any bytes as a cluster. They must be accepted, or refused with ConfigError.
#include "sim/io/hardware/read_cluster.h"
#include "sim/io/json/fuzz_document.h"

namespace foretoken {
namespace {

const FuzzTarget kCluster("cluster", [](std::string_view text) { io::read_any_document(text, io::read_cluster); });

}  // namespace
}  // namespace foretoken
