// Scales each hardware property by a function.
#include "sim/job/scale.h"

#include <variant>
#include <vector>

#include "sim/base/check.h"

namespace foretoken::job {
namespace {

// The machines and the profile of one kind of node.
struct NodeKind {
  net::Cluster& cluster;
  cost::Profile& profile;
};

template <class F>
void for_each_gemm_law(const NodeKind& h, F change) {
  for (auto& [precision, gemm] : h.profile.gemm) std::visit(change, gemm.law);
}

void scale_rate(cost::TileWaveLaw& law, double factor) { law.peak = law.peak * factor; }
void scale_rate(cost::RooflineLaw& law, double factor) { law.compute_rate = law.compute_rate * factor; }

void scale_arithmetic(const NodeKind& h, double factor) {
  for_each_gemm_law(h, [factor](auto& law) { scale_rate(law, factor); });
  cost::AttentionLaws& attention = h.profile.attention;
  for (std::vector<cost::AttentionLaw>* laws : {&attention.laws, &attention.flash2, &attention.fp8, &attention.serving})
    for (cost::AttentionLaw& law : *laws) {
      law.forward.peak = law.forward.peak * factor;
      law.backward.peak = law.backward.peak * factor;
    }
}

void scale_memory(const NodeKind& h, double factor) {
  for_each_gemm_law(h, [factor](auto& law) { law.memory_bandwidth = law.memory_bandwidth * factor; });
  for (auto& [precision, gemm] : h.profile.gemm)
    if (gemm.grouped) gemm.grouped->memory_bandwidth = gemm.grouped->memory_bandwidth * factor;
  h.profile.memory_bound.bandwidth = h.profile.memory_bound.bandwidth * factor;
}

void scale_launch(const NodeKind& h, double factor) {
  for_each_gemm_law(h, [factor](auto& law) { law.launch = law.launch * factor; });
  h.profile.attention.launch = h.profile.attention.launch * factor;
  h.profile.memory_bound.launch = h.profile.memory_bound.launch * factor;
}

void scale_node_latency(const NodeKind& h, double factor) {
  for (cost::InsideNodeLaw* law : {&h.profile.nvlink, &h.profile.pcie})
    for (cost::CollectiveCurve& curve : law->curves) curve.latency = curve.latency * factor;
  for (cost::PointToPointLaw::Path* path : {&h.profile.point_to_point.nvlink, &h.profile.point_to_point.pcie})
    path->latency = path->latency * factor;
}

void scale_network_latency(const NodeKind& h, double factor) {
  for (cost::AcrossNodesCurve& curve : h.profile.network.curves) {
    curve.latency = curve.latency * factor;
    curve.latency_per_doubling = curve.latency_per_doubling * factor;
  }
  h.profile.point_to_point.network.latency = h.profile.point_to_point.network.latency * factor;
}

void scale_nvlink(const NodeKind& h, double factor) {
  h.cluster.links.nvlink_per_gpu = h.cluster.links.nvlink_per_gpu * factor;
}
void scale_pcie(const NodeKind& h, double factor) {
  h.cluster.links.pcie_per_gpu = h.cluster.links.pcie_per_gpu * factor;
}
void scale_nics(const NodeKind& h, double factor) { h.cluster.links.nic = h.cluster.links.nic * factor; }

void scale_host(Runtime& runtime, double factor) {
  runtime.host_per_layer_forward = runtime.host_per_layer_forward * factor;
  runtime.host_per_layer_backward = runtime.host_per_layer_backward * factor;
  if (runtime.unfused_adam) runtime.unfused_adam->host_per_kernel = runtime.unfused_adam->host_per_kernel * factor;
}

void scale_nodes(Key key, const NodeKind& h, double factor) {
  switch (key) {
    case Key::kArithmeticRate:
      return scale_arithmetic(h, factor);
    case Key::kMemoryBandwidth:
      return scale_memory(h, factor);
    case Key::kLaunchTime:
      return scale_launch(h, factor);
    case Key::kNvlinkRate:
      return scale_nvlink(h, factor);
    case Key::kPcieRate:
      return scale_pcie(h, factor);
    case Key::kNodeLatency:
      return scale_node_latency(h, factor);
    case Key::kNicRate:
      return scale_nics(h, factor);
    case Key::kNetworkLatency:
      return scale_network_latency(h, factor);
    default:
      contract_broken("a property of nodes is scaled", __FILE__, __LINE__);
  }
}

bool has_nvlink(const Question& question) {
  bool has = question.cluster.links.nvlink_per_gpu > BytesPerSecond(0);
  for (const AskedPool& pool : question.pools) has = has || pool.cluster.links.nvlink_per_gpu > BytesPerSecond(0);
  return has;
}

}  // namespace

void scale(Key key, double factor, Question& question) {
  if (key == Key::kHostTime) return scale_host(question.runtime, factor);
  scale_nodes(key, {question.cluster, question.profile}, factor);
  for (AskedPool& pool : question.pools) scale_nodes(key, {pool.cluster, pool.profile}, factor);
}

bool has_property(Key key, const Question& question) {
  if (key == Key::kNvlinkRate) return has_nvlink(question);
  const bool offloads = question.choices.offload && question.choices.offload->any();
  if (key == Key::kPcieRate) return offloads || !has_nvlink(question);
  if (key == Key::kNicRate || key == Key::kNetworkLatency)
    return !question.pools.empty() || question.choices.gpus > question.cluster.links.gpus;
  return true;
}

}  // namespace foretoken::job
