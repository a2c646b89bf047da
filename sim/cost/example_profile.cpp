// Rounded A100 constants, written by hand for tests.
#include "sim/cost/example_profile.h"

namespace foretoken::cost {
namespace {

// Source: A100-SXM4-80GB datasheet (312 TFLOP/s dense, 108 multiprocessors, 2039 GB/s); tile law fitted on the
// ai-dynamo/aiconfigurator SGLang 0.5.10 GEMM table.
GemmLaw example_gemm() {
  return {.law = TileWaveLaw{.peak = teraflops(312),
                             .multiprocessors = 108,
                             .efficiency = 0.871,
                             .prologue_k = 195,
                             .small_tile_loss = 0.077,
                             .memory_bandwidth = gigabytes_per_second(2039 * 0.62),
                             .launch = microseconds(3.7)},
          .weight_gradient_factor = 1.04,
          .evidence = {.source = "ai-dynamo/aiconfigurator SGLang 0.5.10 bf16 table"}};
}

// Source: flash-attention repository, assets/*.png, A100 forward + backward. The forward pass is 1.16 times as fast per
// operation as the backward pass (arXiv:2307.08691: 73 % and 63 % of peak).
AttentionLaws example_attention() {
  const auto law = [](int head_dim, bool causal, double forward, double backward, double half_length) {
    return AttentionLaw{.head_dim = head_dim,
                        .causal = causal,
                        .forward = {teraflops(forward), half_length},
                        .backward = {teraflops(backward), half_length},
                        .evidence = {.source = "flash-attention repository series"}};
  };
  return {.laws = {law(64, true, 195.7, 168.7, 505), law(128, true, 215.6, 185.9, 484),
                   law(64, false, 198.4, 171.1, 178), law(128, false, 228.3, 196.8, 185)},
          .multiprocessors = 108,
          .launch = microseconds(2)};
}

// Source: nccl-tests on 8 A100 with NVLink3 (public tables of vTrain and aiconfigurator). Broadcast is set like
// all-gather.
InsideNodeLaw example_nvlink() {
  const auto curve = [](CollectiveKind kind, int ranks, double latency_us, double gb, double spread) {
    return CollectiveCurve{.kind = kind,
                           .ranks = ranks,
                           .latency = microseconds(latency_us),
                           .bandwidth = gigabytes_per_second(gb),
                           .spread = spread,
                           .plateau = gigabytes_per_second(235)};
  };
  using enum CollectiveKind;
  InsideNodeLaw law{.reference = gigabytes_per_second(300)};
  for (const CollectiveKind kind : {kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast, kReduce}) {
    const double part = kind == kAllReduce ? 1 : 14.0 / 21.0;
    law.curves.push_back(curve(kind, 2, part * 9, 190, 2.2e-3));
    law.curves.push_back(curve(kind, 4, part * 12, 233, 4.3e-3));
    law.curves.push_back(curve(kind, 8, part * 21, 229, 4.3e-3));
  }
  return law;
}

// Source: nccl-tests on two 64 GB/s PCIe 5 cards reaches 38.6 GB/s, four or eight 25 GB/s (aiconfigurator).
InsideNodeLaw example_pcie() {
  using enum CollectiveKind;
  InsideNodeLaw law{.reference = gigabytes_per_second(64)};
  for (const CollectiveKind kind : {kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast, kReduce}) {
    for (const int ranks : {2, 4, 8}) {
      const BytesPerSecond rate = gigabytes_per_second(ranks == 2 ? 38.6 : 25);
      law.curves.push_back({.kind = kind,
                            .ranks = ranks,
                            .latency = microseconds(10.0 + 2.0 * ranks),
                            .bandwidth = rate,
                            .plateau = rate});
    }
  }
  return law;
}

// Source: NVIDIA/deepops nccl-tests logs, 2 and 4 nodes of 8 A100 with 8 HDR NICs.
AcrossNodesLaw example_network() {
  using enum CollectiveKind;
  AcrossNodesLaw law{.lone_rank_factor = 0.85 / 0.92};
  for (const CollectiveKind kind : {kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast, kReduce}) {
    const double part = kind == kAllReduce ? 1 : 0.6;
    law.curves.push_back({.kind = kind,
                          .latency = microseconds(part * 47),
                          .latency_per_doubling = microseconds(part * 10),
                          .efficiency = 1,
                          .spread = 0.0112,
                          .plateau_efficiency = 0.95});
  }
  return law;
}

}  // namespace

Profile example_a100_profile() {
  const GemmLaw gemm = example_gemm();
  return {.name = "example-a100",
          .gpu = "a100-sxm4-80gb",
          .notes = {"written by hand, for tests only"},
          .gemm = {{Precision::kFp16, gemm}, {Precision::kBf16, gemm}},
          .attention = example_attention(),
          .memory_bound = {.bandwidth = gigabytes_per_second(2039), .efficiency = 0.80, .launch = microseconds(2)},
          .nvlink = example_nvlink(),
          .pcie = example_pcie(),
          .network = example_network(),
          .point_to_point = {
              .nvlink = {microseconds(10), 0.5}, .pcie = {microseconds(10), 0.6}, .network = {microseconds(15), 0.8}}};
}

}  // namespace foretoken::cost
