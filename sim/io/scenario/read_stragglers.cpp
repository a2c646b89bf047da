// Reads the differences between the GPUs of a job: a switch, or the numbers.
#include <nlohmann/json.hpp>

#include "sim/io/scenario/scenario_parts.h"

namespace foretoken::io {
void read_stragglers(const Node& root, job::Question& question) {
  job::Stragglers& how = question.stragglers;
  constexpr Range kRelativeSpread{.low = 0, .high = 0.2};
  if (!root.has("stragglers") || root.child("stragglers").value().is_boolean()) {
    how.on = root.boolean_or("stragglers", false);
  } else if (!root.child("stragglers").value().is_object()) {
    root.child("stragglers").expected("true, false or an object");
  } else {
    const Node node = root.object("stragglers");
    node.allow_only({"gpu_spread", "slow_nodes", "slow_node_factor", "jitter", "seed"});
    how.on = true;
    how.gpu_spread = node.number_or("gpu_spread", how.gpu_spread, kRelativeSpread);
    how.slow_nodes = node.number_or("slow_nodes", how.slow_nodes, kFraction);
    how.slow_node_factor = node.number_or("slow_node_factor", how.slow_node_factor, {.low = 1, .high = 100});
    how.jitter = node.number_or("jitter", how.jitter, kRelativeSpread);
    how.seed = static_cast<std::uint64_t>(
        node.whole_or("seed", static_cast<std::int64_t>(how.seed), {.low = 0, .high = std::int64_t{1} << 53}));
  }
}

}  // namespace foretoken::io
