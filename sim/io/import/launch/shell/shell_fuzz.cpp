// Fuzz target: reads any bytes as a script. They must be read, or refused with a complaint; nothing may run.
#include "sim/base/fuzz.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken {
namespace {

const FuzzTarget kShell("shell", [](std::string_view text) {
  io::Findings findings;
  (void)io::shell::read_script_text(std::string(text), "fuzz", "/nonexistent", {}, findings);
  findings.throw_if_wrong();
});

}  // namespace
}  // namespace foretoken
