// Counts the GPUs that a launcher or a scheduler states.
#include <fmt/format.h>

#include "sim/io/import/launch/megatron/rules.h"

namespace foretoken::io::launch::megatron {
namespace {

// "4" and "gpu:a100:8"; not "1:4", a range of an elastic launch.
std::optional<std::int64_t> count_in(const std::string& text) {
  if (text.find(':') != std::string::npos && whole_of(text.substr(0, text.find(':')))) return std::nullopt;
  const std::size_t colon = text.rfind(':');
  return whole_of(colon == std::string::npos ? std::string_view(text) : std::string_view(text).substr(colon + 1));
}

std::optional<std::int64_t> first_count(const Flags& flags, std::initializer_list<const char*> names,
                                        std::string& from) {
  for (const char* name : names) {
    if (flags.find(name) == nullptr) continue;
    const auto text = flags.text(name, "gpus");
    const auto count = text ? count_in(*text) : std::nullopt;
    from += (from.empty() ? "" : ", ") + flags.from(name);
    return count;
  }
  return std::nullopt;
}

}  // namespace

void map_gpus(const Flags& flags) {
  Report& report = flags.report();
  std::string from;
  const bool nodes_stated =
      flags.find("nnodes") != nullptr || flags.find("nodes") != nullptr || flags.find("num-nodes") != nullptr;
  const auto each =
      first_count(flags, {"nproc-per-node", "gpus-per-node", "gres", "num-gpus", "ntasks-per-node"}, from);
  const auto nodes = first_count(flags, {"nnodes", "nodes", "num-nodes"}, from);
  if (!each || (nodes_stated && !nodes)) return report.ask("gpus", "the launch does not state its GPUs");
  const std::int64_t gpus = *each * nodes.value_or(1);
  double least = 1;  // products of three counts may not fit into 64 bits
  for (const char* key : {"parallelism.tensor", "parallelism.pipeline", "parallelism.context"})
    least *= static_cast<double>(report.whole(key).value_or(1));
  if (static_cast<double>(gpus) < least)
    return report.ask("gpus", fmt::format("{} GPUs are stated, but tensor x pipeline x context is {:g}: the number of "
                                          "nodes is a place to fill in",
                                          gpus, least));
  report.map("gpus", gpus, from);
}

}  // namespace foretoken::io::launch::megatron
