// Fuzz target: reads any bytes as the log of a training run.
#include "sim/base/fuzz.h"
#include "sim/io/import/log/read_log.h"

namespace foretoken {
namespace {

const FuzzTarget kTrainingLog("training_log", [](std::string_view text) {
  io::Findings findings;
  (void)io::log::read_log_text(text, "fuzz", findings);
  findings.throw_if_wrong();
});

}  // namespace
}  // namespace foretoken
