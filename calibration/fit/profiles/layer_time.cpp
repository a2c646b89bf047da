// Sums the laws of a layer's kernels.
#include "calibration/fit/profiles/layer_time.h"

#include <algorithm>
#include <vector>

#include "calibration/fit/numerics/residuals.h"
#include "calibration/import/layer_work.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

constexpr std::size_t kLeastLayers = 6;
constexpr int kRounds = 8;

cost::Profile with_factor(cost::Profile profile, double factor) {
  std::visit([factor](auto& law) { law.sustained_factor = factor; }, profile.gemm.at(Precision::kBf16).law);
  return profile;
}

/// Returns the median over layers of the products' measured over their predicted time.
double median_ratio(const std::vector<measured::LayerSample>& layers, const cost::Profile& profile) {
  std::vector<double> ratios;
  for (const auto& layer : layers) {
    const LayerTime time = layer_time(layer, profile);
    ratios.push_back((layer.time.median - time.others) / time.products);
  }
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

}  // namespace

LayerTime layer_time(const measured::LayerSample& sample, const cost::Profile& profile) {
  LayerTime time;
  for (const measured::LayerPart& part : measured::layer_work(sample).parts) {
    if (const auto* kernel = std::get_if<measured::KernelSample>(&part.work)) {
      time.others += cost::memory_bound_time({kernel->bytes}, profile);
      continue;
    }
    const auto& product = std::get<measured::GemmSample>(part.work);
    GemmShape shape = product.shape;
    shape.adds_to_bytes = product.adds_to_fp32 ? 4 : 0;
    time.products += cost::gemm_time(shape, profile);
  }
  return time;
}

std::optional<double> sustained_factor_of_layers(const measured::Samples& samples, const cost::Profile& profile) {
  if (!profile.gemm.contains(Precision::kBf16)) return std::nullopt;
  std::vector<measured::LayerSample> layers;
  for (const auto& sample : samples.layers)
    if (sample.time.median >= kLongLayer) layers.push_back(sample);
  if (layers.size() < kLeastLayers) return std::nullopt;
  double factor = 1;
  // The factor slows arithmetic, not launches and memory, so each round comes closer.
  for (int round = 0; round < kRounds; ++round) factor *= median_ratio(layers, with_factor(profile, factor));
  return std::max(1.0, rounded(factor, 3));
}

}  // namespace foretoken::fit
