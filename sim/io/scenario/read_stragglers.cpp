// How GPUs of a job differ: a switch, or the numbers.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/io/scenario/scenario_parts.h"

namespace foretoken::io {
namespace {

std::string in_words(const job::Stragglers& how) {
  std::string words = fmt::format("stragglers: kernels vary by {:.3g} % between GPUs", 100 * how.gpu_spread);
  if (how.jitter > 0) words += fmt::format(" and by {:.3g} % from pass to pass", 100 * how.jitter);
  if (how.slow_nodes > 0)
    words +=
        fmt::format(", {:.3g} % of the nodes take {:.3g} times as long", 100 * how.slow_nodes, how.slow_node_factor);
  return words + fmt::format("; drawn with seed {} (docs/operator/stragglers.md)", how.seed);
}

}  // namespace

void read_stragglers(const Node& root, job::Job& scenario) {
  job::Stragglers& how = scenario.stragglers;
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
  if (!how.on) return;
  scenario.assumptions.push_back(in_words(how));
  scenario.warnings.push_back(
      "stragglers: a runtime's numbers were fitted on whole steps with the stragglers that they had, so drawing them "
      "may count them twice; no validated run had them on, and the interval is that of runs without them");
}

}  // namespace foretoken::io
