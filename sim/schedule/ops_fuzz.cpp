// Fuzz target: reads any words as ops of a schedule. An op that is read must come back from its own text.
#include "sim/base/fuzz.h"
#include "sim/schedule/op_text.h"

namespace foretoken {
namespace {

const FuzzTarget kOps("ops", [](std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (const auto op = schedule::parse_op(text.substr(0, end)))
      if (schedule::parse_op(schedule::to_text(*op, 2)) != op) std::abort();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
});

}  // namespace
}  // namespace foretoken
