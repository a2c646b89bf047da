// Fuzz target: reads any bytes as a plan. They must be accepted, or refused with ConfigError.
#include "sim/base/fuzz.h"
#include "sim/study/plan/plan_file.h"

namespace foretoken {
namespace {

const FuzzTarget kPlanFile("plan_file", [](std::string_view text) { (void)study::read_plan_file(fuzz_file(text)); });

}  // namespace
}  // namespace foretoken
