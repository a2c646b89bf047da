// Each hardware property as a function that scales it in a scenario. A rate that stands in several laws (memory
// bandwidth in matrix products and in element-wise kernels, say) is scaled in all of them.
#include "sim/study/otherwise/sensitivity.h"

#include <algorithm>
#include <variant>

#include "sim/base/check.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

using job::Job;

// One kind of node of a job, and its runtime.
struct Hardware {
  net::Cluster& cluster;
  cost::Profile& profile;
};

template <class F>
void for_each_gemm_law(const Hardware& h, F change) {
  for (auto& [precision, gemm] : h.profile.gemm) std::visit(change, gemm.law);
}

void scale_rate(cost::TileWaveLaw& law, double factor) { law.peak = law.peak * factor; }
void scale_rate(cost::RooflineLaw& law, double factor) { law.compute_rate = law.compute_rate * factor; }

void scale_arithmetic(const Hardware& h, double factor) {
  for_each_gemm_law(h, [factor](auto& law) { scale_rate(law, factor); });
  for (cost::AttentionLaw& law : h.profile.attention.laws) {
    law.forward.peak = law.forward.peak * factor;
    law.backward.peak = law.backward.peak * factor;
  }
}

void scale_memory(const Hardware& h, double factor) {
  for_each_gemm_law(h, [factor](auto& law) { law.memory_bandwidth = law.memory_bandwidth * factor; });
  h.profile.memory_bound.bandwidth = h.profile.memory_bound.bandwidth * factor;
}

void scale_launch(const Hardware& h, double factor) {
  for_each_gemm_law(h, [factor](auto& law) { law.launch = law.launch * factor; });
  h.profile.attention.launch = h.profile.attention.launch * factor;
  h.profile.memory_bound.launch = h.profile.memory_bound.launch * factor;
}

void scale_node_latency(const Hardware& h, double factor) {
  for (cost::InsideNodeLaw* law : {&h.profile.nvlink, &h.profile.pcie})
    for (cost::CollectiveCurve& curve : law->curves) curve.latency = curve.latency * factor;
  for (cost::PointToPointLaw::Path* path : {&h.profile.point_to_point.nvlink, &h.profile.point_to_point.pcie})
    path->latency = path->latency * factor;
}

void scale_network_latency(const Hardware& h, double factor) {
  for (cost::AcrossNodesCurve& curve : h.profile.network.curves) {
    curve.latency = curve.latency * factor;
    curve.latency_per_doubling = curve.latency_per_doubling * factor;
  }
  h.profile.point_to_point.network.latency = h.profile.point_to_point.network.latency * factor;
}

void scale_nvlink(const Hardware& h, double factor) {
  h.cluster.links.nvlink_per_gpu = h.cluster.links.nvlink_per_gpu * factor;
}
void scale_pcie(const Hardware& h, double factor) {
  h.cluster.links.pcie_per_gpu = h.cluster.links.pcie_per_gpu * factor;
}
void scale_nics(const Hardware& h, double factor) { h.cluster.links.nic = h.cluster.links.nic * factor; }

template <void (*Scale)(const Hardware&, double)>
void on_all_nodes(Job& s, double factor) {
  Scale({s.cluster, s.profile}, factor);
  for (job::StageGroup& group : s.groups) Scale({group.cluster, group.profile}, factor);
}

void scale_host(Job& s, double factor) {
  s.runtime.host_per_layer_forward = s.runtime.host_per_layer_forward * factor;
  s.runtime.host_per_layer_backward = s.runtime.host_per_layer_backward * factor;
}

bool always(const Job&) { return true; }
bool has_nvlink(const Job& s) {
  bool has = s.cluster.links.nvlink_per_gpu > BytesPerSecond(0);
  for (const job::StageGroup& group : s.groups) has = has || group.cluster.links.nvlink_per_gpu > BytesPerSecond(0);
  return has;
}
bool leaves_node(const Job& s) { return !s.groups.empty() || s.gpus > s.cluster.links.gpus; }

struct Property {
  std::string_view name, belongs;
  void (*scale)(Job&, double);
  bool (*exists)(const Job&);
};

constexpr Property kProperties[] = {
    {"GPU arithmetic rate", "profile.gemm, profile.attention", on_all_nodes<scale_arithmetic>, always},
    {"GPU memory bandwidth", "profile.memory_bound, profile.gemm", on_all_nodes<scale_memory>, always},
    {"kernel launch time", "profile launch_us", on_all_nodes<scale_launch>, always},
    {"host time to issue a layer", "runtime host times", scale_host, always},
    {"NVLink rate", "cluster.node.nvlink.gb_per_s_per_gpu", on_all_nodes<scale_nvlink>, has_nvlink},
    {"PCIe rate", "cluster.node.pcie_gb_per_s", on_all_nodes<scale_pcie>, [](const Job& s) { return !has_nvlink(s); }},
    {"latency inside a node", "profile.nvlink, profile.pcie", on_all_nodes<scale_node_latency>, always},
    {"network interface rate", "cluster.node.nics.gb_per_s", on_all_nodes<scale_nics>, leaves_node},
    {"network latency", "profile.network, profile.point_to_point", on_all_nodes<scale_network_latency>, leaves_node},
};

Seconds step_time_with(const Job& job, const Property& property, double factor) {
  Job changed = job;
  property.scale(changed, factor);
  return predict(changed).metrics.step_time;
}

}  // namespace

std::vector<Sensitivity> sensitivities(const Job& job, double part) {
  expects(part > 0 && part < 1, "a part of a hardware property lies between 0 and 1");
  std::vector<Sensitivity> all;
  for (const Property& property : kProperties)
    if (property.exists(job))
      all.push_back({.name = property.name,
                     .belongs = property.belongs,
                     .smaller = step_time_with(job, property, 1 - part),
                     .larger = step_time_with(job, property, 1 + part)});
  std::stable_sort(all.begin(), all.end(),
                   [](const Sensitivity& a, const Sensitivity& b) { return a.swing() > b.swing(); });
  return all;
}

}  // namespace foretoken::study
