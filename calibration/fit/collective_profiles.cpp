// Pools of nccl-tests tables.
#include "calibration/fit/collective_profiles.h"

#include <algorithm>

#include "calibration/fit/fit_collective.h"
#include "calibration/fit/residuals.h"

namespace foretoken::fit {
namespace {

// ---- collectives
// -----------------------------------------------------------------------------------------------------

bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// Tables of GPUs whose name begins with one of `gpus`: inside one NVLink domain, or across nodes over NICs (without
/// EFA, whose latency is several times that of InfiniBand and RoCE).
TablePool pool(const Measurements& data, std::vector<const char*> gpus, bool across, double reference,
               std::string source) {
  TablePool result{.tables = {}, .source = std::move(source), .reference_gb_per_s = reference};
  for (CollectiveTable table : data.collectives) {
    if (holds(table.gpu, "PCIe")) continue;
    if (holds(table.network, "MNNVL")) {
      table.ranks_per_node = table.ranks;
      table.nodes = 1;
    }
    const bool ours =
        std::any_of(gpus.begin(), gpus.end(), [&](const char* gpu) { return table.gpu.starts_with(gpu); });
    if (!ours || (table.nodes > 1) != across) continue;
    if (across && (table.nic_gb_per_s <= 0 || holds(table.network, "EFA") || holds(table.network, "SHARP"))) continue;
    result.tables.push_back(std::move(table));
  }
  return result;
}

}  // namespace

cost::InsideNodeLaw relabelled(cost::InsideNodeLaw law, double reference, const std::string& source) {
  const double factor = reference / (law.reference.value() / 1e9);
  law.reference = gigabytes_per_second(reference);
  for (cost::CollectiveCurve& curve : law.curves) {
    curve.bandwidth = BytesPerSecond(rounded(factor * curve.bandwidth.value()));
    curve.plateau = BytesPerSecond(rounded(factor * curve.plateau.value()));
    curve.evidence = {.source = source};
  }
  return law;
}

Collectives fit_collectives(const Measurements& data) {
  Collectives c;
  c.ampere = fit_inside(
      pool(data, {"A100"}, false, 300, "nccl-tests on 8 A100 NVLink3: vTrain, aiconfigurator, SuperBench, Azure"));
  c.hopper = fit_inside(pool(data, {"H100", "H200"}, false, 450,
                             "nccl-tests on 8 H100 or H200 NVLink4: aiconfigurator, AWS, Azure, NVIDIA"));
  c.blackwell = fit_inside(pool(data, {"B200", "B300", "GB200", "GB300"}, false, 900,
                                "nccl-tests on B200, B300, GB200, GB300 NVLink5: aiconfigurator, ml-engineering"));
  c.volta = fit_inside(
      pool(data, {"V100"}, false, 150, "nccl-tests on 8 V100 hybrid cube mesh: vTrain; latency as A100"), &c.ampere);
  c.pcie = fit_inside(pool(data, {"RTX PRO 6000"}, false, 64, "nccl-tests on RTX PRO 6000, PCIe 5: aiconfigurator"));

  const TablePool ampere =
      pool(data, {"A100"}, true, 300,
           "nccl-tests on 2 and 4 nodes of 8 A100, InfiniBand HDR and RoCE: DeepOps, CoreWeave, OCI");
  const TablePool hopper =
      pool(data, {"H100", "H200"}, true, 450,
           "nccl-tests on 2 to 128 nodes of 8 H100 or H200, 400 Gb/s: nccl-tests issues, CoreWeave, OCI, GKE");
  const TablePool blackwell =
      pool(data, {"B200"}, true, 900, "nccl-tests on 2 nodes of 8 B200, 400 Gb/s: Vultr, dstack, GKE");
  const TablePool volta = pool(data, {"V100"}, true, 150, "nccl-tests on 2 nodes of 8 V100, 4 EDR: DeepOps");
  c.ampere_network = fit_across(ampere, c.ampere);
  const double gain = highest_two_node_gain(blackwell);
  // Two Hopper nodes are held back by NVLink, so only Blackwell shows how much a tree saves on the NICs.
  c.hopper_network = fit_across(hopper, c.hopper, {.two_node_gain = gain, .doubling = std::nullopt});
  c.blackwell_network =
      fit_across(blackwell, c.blackwell,
                 {.two_node_gain = gain, .doubling = c.hopper_network.curves.front().latency_per_doubling});
  c.volta_network = checked(c.ampere_network, volta, c.volta, "assumed: as a100-sxm4-80gb");
  return c;
}

}  // namespace foretoken::fit
