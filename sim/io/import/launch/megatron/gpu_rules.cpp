// Counts the GPUs that a launcher or a scheduler states.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "sim/base/noun.h"
#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/megatron/rules.h"

namespace foretoken::io::launch::megatron {
namespace {

constexpr std::initializer_list<const char*> kOfMachine = {"nproc-per-node", "gpus-per-node", "gres", "num-gpus",
                                                           "ntasks-per-node"};

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

// deepspeed --include localhost:0,1@other:0,1: the GPUs by host. A host without numbers has all of its GPUs.
std::optional<std::int64_t> included_gpus(const Flags& flags) {
  if (flags.find("include") == nullptr) return std::nullopt;
  const auto text = flags.text("include", "");
  if (!text) return std::nullopt;
  std::int64_t gpus = 0;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('@', at), text->size());
    const std::string_view host = std::string_view(*text).substr(at, end - at);
    at = end + 1;
    const std::size_t colon = host.find(':');
    if (colon == host.npos || colon + 1 == host.size()) return std::nullopt;
    gpus += 1 + std::ranges::count(host.substr(colon), ',');
  }
  return gpus > 0 ? std::optional(gpus) : std::nullopt;
}

// All GPUs together: of DeepSpeed's hosts, of Slurm's job, or one for each of srun's processes.
std::optional<std::int64_t> gpus_of_all_nodes(const Flags& flags, std::string& from) {
  if (const auto included = included_gpus(flags)) {
    from = flags.from("include");
    return included;
  }
  for (const char* name : {"gpus", "ntasks", "world-size"})
    if (flags.find(name) != nullptr) return first_count(flags, {name}, from);
  return std::nullopt;
}

}  // namespace

void map_gpus(const Flags& flags) {
  Report& report = flags.report();
  std::string from;
  const bool nodes_stated =
      flags.find("nnodes") != nullptr || flags.find("nodes") != nullptr || flags.find("num-nodes") != nullptr;
  const auto each = first_count(flags, kOfMachine, from);
  std::optional<std::int64_t> gpus;
  if (from.empty() || flags.find("include") != nullptr) gpus = gpus_of_all_nodes(flags, from);
  if (!gpus) {
    const auto nodes = first_count(flags, {"nnodes", "nodes", "num-nodes"}, from);
    if (!each || (nodes_stated && !nodes)) return report.ask("gpus", "the launch does not state its GPUs");
    gpus = *each * nodes.value_or(1);
  }
  double least = 1;  // products of three counts may not fit into 64 bits
  for (const char* key : {"parallelism.tensor", "parallelism.pipeline", "parallelism.context"})
    least *= static_cast<double>(report.whole(key).value_or(1));
  const auto degree = [&](const char* key) { return static_cast<double>(report.whole(key).value_or(1)); };
  const double experts =
      degree("parallelism.expert") * degree("parallelism.pipeline") *
      (report.has("parallelism.expert_tensor") ? degree("parallelism.expert_tensor") : degree("parallelism.tensor"));
  const bool of_experts = degree("parallelism.expert") > 1 && experts > least;
  if (static_cast<double>(*gpus) < (of_experts ? experts : least))
    return report.ask("gpus",
                      fmt::format("{} {} not enough: {} is {:g}; state --gpus N ({})", with_noun(*gpus, "GPU"),
                                  *gpus == 1 ? "is" : "are",
                                  of_experts ? "expert tensor x expert x pipeline" : "tensor x pipeline x context",
                                  of_experts ? experts : least, from));
  const bool launched = from.find(kWithoutLauncher) == std::string::npos;
  report.map("gpus", *gpus, launched ? from : "python alone, which is one process");
  if (each && *each > 0 && launched && !report.gpus_of_machine) report.gpus_of_machine = each;
}

std::optional<std::int64_t> gpus_of_machine(std::vector<Argument> counts) {
  std::erase_if(counts, [](const Argument& one) { return one.place.ends_with(kWithoutLauncher); });
  Report own;
  std::string from;
  const auto gpus = first_count(Flags(std::move(counts), own), kOfMachine, from);
  return gpus && *gpus > 0 ? gpus : std::nullopt;
}

std::optional<std::int64_t> gpus_of_counts(std::vector<Argument> counts) {
  if (counts.empty()) return std::nullopt;
  Report own;
  map_gpus(Flags(std::move(counts), own));
  constexpr std::int64_t kMost = 1 << 24;  // far beyond the largest cluster; products of it fit into 64 bits
  const auto gpus = own.whole("gpus");
  return gpus && *gpus <= kMost ? gpus : std::nullopt;
}

}  // namespace foretoken::io::launch::megatron
