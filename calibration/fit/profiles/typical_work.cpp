// Lists shapes of a 70-billion-parameter model with 4096 tokens, and squares.
#include "calibration/fit/profiles/typical_work.h"

#include <fmt/format.h>

#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

void add_products(std::vector<TypicalWork>& all) {
  constexpr GemmShape kShapes[] = {{.m = 16, .n = 8192, .k = 8192},    {.m = 512, .n = 512, .k = 512},
                                   {.m = 1024, .n = 1024, .k = 1024},  {.m = 4096, .n = 10240, .k = 8192},
                                   {.m = 4096, .n = 8192, .k = 28672}, {.m = 8192, .n = 8192, .k = 8192}};
  for (const Precision precision : {Precision::kFp16, Precision::kBf16, Precision::kFp8})
    for (GemmShape shape : kShapes) {
      shape.precision = precision;
      all.push_back({fmt::format("product {} {} x {} x {}", name_of(precision), shape.m, shape.n, shape.k),
                     [shape](const cost::Profile& profile) -> std::optional<Seconds> {
                       if (profile.gemm.count(shape.precision) == 0) return std::nullopt;
                       return cost::gemm_time(shape, profile);
                     }});
    }
}

void add_attention(std::vector<TypicalWork>& all) {
  for (const bool backward : {false, true})
    for (const std::int64_t length : {2048, 8192}) {
      AttentionShape shape{.batch = 8192 / length,
                           .heads = 16,
                           .kv_heads = 16,
                           .q_length = length,
                           .kv_length = length,
                           .backward = backward};
      all.push_back({fmt::format("attention {}, causal, {} tokens", backward ? "backward" : "forward", length),
                     [shape](const cost::Profile& profile) { return cost::attention_time(shape, profile); }});
      if (backward) continue;
      shape.kernel = FlashKernel::kServing;
      all.push_back({fmt::format("attention of engines, {} tokens", length),
                     [shape](const cost::Profile& profile) { return cost::attention_time(shape, profile); }});
    }
}

void add_collectives(std::vector<TypicalWork>& all) {
  constexpr std::pair<CollectiveKind, const char*> kKinds[] = {{CollectiveKind::kAllReduce, "all-reduce"},
                                                               {CollectiveKind::kAllGather, "all-gather"},
                                                               {CollectiveKind::kAllToAll, "all-to-all"}};
  for (const auto& [kind, name] : kKinds)
    for (const int nodes : {1, 2})
      for (const double mib : {0.0625, 4.0, 256.0}) {
        const CollectiveShape shape{
            kind, Bytes(mib * (1 << 20)), {.ranks = 8 * nodes, .nodes = nodes, .ranks_per_node = 8}};
        all.push_back({fmt::format("{} {} MiB, {} x 8 GPUs", name, mib, nodes), [shape](const cost::Profile& profile) {
                         return cost::collective_time(shape, eight_gpu_node(profile), profile);
                       }});
      }
}

}  // namespace

NodeLinks eight_gpu_node(const cost::Profile& profile) {
  return {.nvlink_per_gpu = profile.nvlink.reference,
          .pcie_per_gpu = profile.pcie.reference,
          .nic = gigabytes_per_second(50),
          .nics = 8,
          .gpus = 8,
          .oversubscription = 1,
          .hop_latency = Seconds(0)};
}

std::vector<TypicalWork> typical_work() {
  std::vector<TypicalWork> all;
  add_products(all);
  add_attention(all);
  all.push_back({"memory-bound, 256 MB",
                 [](const cost::Profile& profile) { return cost::memory_bound_time({Bytes(256e6)}, profile); }});
  add_collectives(all);
  return all;
}

}  // namespace foretoken::fit
