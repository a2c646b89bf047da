// Pools of nccl-tests tables.
#include "calibration/fit/collectives/collective_profiles.h"

#include <algorithm>

#include "calibration/fit/laws/fit_collective.h"
#include "calibration/fit/numerics/residuals.h"

namespace foretoken::fit {
namespace {

bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// Tables of GPUs whose name begins with one of `gpus`: inside one NVLink domain, or across nodes over NICs (without
/// EFA, whose latency is several times that of InfiniBand and RoCE, and without reduction in the switches).
TablePool pool(const std::vector<CollectiveTable>& tables, std::vector<const char*> gpus, bool across, double reference,
               std::string source) {
  TablePool result{.tables = {}, .source = std::move(source), .reference_gb_per_s = reference};
  for (const CollectiveTable& table : tables) {
    if (table.message) continue;
    const bool ours =
        std::any_of(gpus.begin(), gpus.end(), [&](const char* gpu) { return table.gpu.starts_with(gpu); });
    if (!ours || (table.nodes > 1) != across) continue;
    if (across && (table.nic_gb_per_s <= 0 || holds(table.network, "EFA") || holds(table.network, "SHARP"))) continue;
    result.tables.push_back(table);
  }
  return result;
}

}  // namespace

cost::PointToPointLaw published_messages(double network_efficiency) {
  return {.nvlink = {microseconds(10), 0.5},  // A100 150 GB/s at activation sizes; 195 of 300 above 128 MiB
          .pcie = {microseconds(10), 0.6},    // 38.6 of 64 GB/s between two cards
          .network = {microseconds(15), network_efficiency}};
}

cost::InsideNodeLaw relabelled(cost::InsideNodeLaw law, double reference, const cost::Evidence& evidence) {
  const double factor = reference / (law.reference.value() / 1e9);
  law.reference = gigabytes_per_second(reference);
  for (cost::CollectiveCurve& curve : law.curves) {
    curve.bandwidth = BytesPerSecond(rounded(factor * curve.bandwidth.value()));
    curve.plateau = BytesPerSecond(rounded(factor * curve.plateau.value()));
    curve.evidence = evidence;
  }
  return law;
}

Collectives fit_collectives(const std::vector<CollectiveTable>& data) {
  Collectives c;
  c.ampere = fit_inside(
      pool(data, {"a100-sxm"}, false, 300, "nccl-tests on 8 A100 NVLink3: vTrain, aiconfigurator, SuperBench, Azure"));
  c.hopper = fit_inside(pool(data, {"h100", "h200"}, false, 450,
                             "nccl-tests on 8 H100 or H200 NVLink4: aiconfigurator, AWS, Azure, NVIDIA"));
  c.blackwell = fit_inside(pool(data, {"b200", "b300", "gb200", "gb300"}, false, 900,
                                "nccl-tests on B200, B300, GB200, GB300 NVLink5: aiconfigurator, ml-engineering"));
  c.volta = fit_inside(
      pool(data, {"v100"}, false, 150, "nccl-tests on 8 V100 hybrid cube mesh: vTrain; latency as A100"), &c.ampere);
  c.pcie = fit_inside(pool(data, {"rtx-pro-6000"}, false, 64, "nccl-tests on RTX PRO 6000, PCIe 5: aiconfigurator"));
  for (cost::CollectiveCurve& curve : c.pcie.curves) {  // the errors stay: they are those on the GPU they come from
    if (curve.evidence.provenance != cost::Provenance::kFitted) continue;
    curve.evidence.provenance = cost::Provenance::kScaled;
    curve.evidence.scaled_from = "rtx-pro-6000";
  }

  const TablePool ampere =
      pool(data, {"a100-sxm"}, true, 300,
           "nccl-tests on 2 and 4 nodes of 8 A100, InfiniBand HDR and RoCE: DeepOps, CoreWeave, OCI");
  const TablePool hopper =
      pool(data, {"h100", "h200"}, true, 450,
           "nccl-tests on 2 to 128 nodes of 8 H100 or H200, 400 Gb/s: nccl-tests issues, CoreWeave, OCI, GKE");
  const TablePool blackwell =
      pool(data, {"b200"}, true, 900, "nccl-tests on 2 nodes of 8 B200, 400 Gb/s: Vultr, dstack, GKE");
  const TablePool volta = pool(data, {"v100"}, true, 150, "nccl-tests on 2 nodes of 8 V100, 4 EDR: DeepOps");
  c.ampere_network = fit_across(ampere, c.ampere);
  const double gain = highest_two_node_gain(blackwell);
  // Two Hopper nodes are held back by NVLink, so only Blackwell shows how much a tree saves on the NICs.
  c.hopper_network =
      fit_across(hopper, c.hopper, {.two_node_gain = gain, .doubling = std::nullopt, .latency = std::nullopt});
  c.blackwell_network = fit_across(blackwell, c.blackwell,
                                   {.two_node_gain = gain,
                                    .doubling = c.hopper_network.curves.front().latency_per_doubling,
                                    .latency = std::nullopt});
  c.volta_network =
      checked(c.ampere_network, volta, c.volta, scaled_from("a100-sxm4-80gb", "the same part of the NIC rate"));
  return c;
}

}  // namespace foretoken::fit
