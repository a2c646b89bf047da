// Reads `offload` of a scenario.
//
//   "offload": {"optimizer": "cpu", "parameters": "nvme", "activations": {"layers": 4}, "delayed_update": true}
//
// A part is "cpu", "nvme", a fraction that goes to the host, or an object {"to", "fraction" or "layers"}.
#include "sim/io/scenario/read_offload.h"

#include <nlohmann/json.hpp>
#include <optional>

namespace foretoken::io {
namespace {

constexpr Range kPart{.low = 0, .high = 1};

job::Tier read_tier(const Node& node) {
  return node.as_one_of<job::Tier>({{"cpu", job::Tier::kHost}, {"nvme", job::Tier::kDisk}});
}

job::Offloaded read_part_object(const Node& node) {
  node.allow_only({"to", "fraction", "layers"});
  job::Offloaded part{.fraction = 1};
  if (node.has("to")) part.to = read_tier(node.child("to"));
  if (node.has("fraction") && node.has("layers")) node.complain("layers", "expected either layers or fraction");
  part.fraction = node.find_number("fraction", kPart).value_or(1);
  if (const auto layers = node.find_whole("layers", {.low = 0, .high = 100'000}))
    part.layers = static_cast<int>(*layers);
  return part;
}

job::Offloaded read_part(const Node& node) {
  if (node.is_text()) return {.fraction = 1, .layers = {}, .to = read_tier(node)};
  if (node.value().is_object()) return read_part_object(node.as_object());
  if (node.value().is_number()) return {.fraction = node.as_number(kPart)};
  node.expected(R"("cpu", "nvme", a fraction from 0 to 1, or {"layers": N})");
  return {};
}

}  // namespace

void read_offload(const Node& root, job::Question& question) {
  const std::optional<Node> node = root.find_object("offload");
  if (!node) return;
  node->allow_only({"optimizer", "parameters", "activations", "delayed_update"});
  job::Offload& offload = question.choices.offload.emplace();
  for (const auto& [key, part] : job::kOffloadedParts)
    if (node->has(key)) offload.*part = read_part(node->child(key));
  offload.delayed_update = node->boolean_or("delayed_update", false);
}

}  // namespace foretoken::io
