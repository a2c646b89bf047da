// Times layers of experts, and finds whose laws hold.
#include "sim/cost/kernels/expert_layer.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"

namespace foretoken::cost {

const ExpertLayerLaw* ExpertLayerLaws::of(int expert_ranks) const {
  const auto& wanted = expert_ranks > 1 ? spread : one_rank;
  const auto& other = expert_ranks > 1 ? one_rank : spread;
  return wanted ? &*wanted : other ? &*other : nullptr;
}

Seconds expert_layer_time(const ExpertLayer& layer, const ExpertLayerLaw& law) {
  expects(layer.experts >= 1 && layer.met >= 1 && layer.rows >= 1 && layer.hidden >= 1 && layer.weights > 0,
          "a layer of experts has an expert, a row and weights");
  const double weights = real(layer.met) * layer.weights, rows = real(layer.met) * real(layer.rows);
  const double memory = (Bytes(weights * layer.weight_bytes) / law.bandwidth).value();
  const double compute = (Flop(2 * real(layer.rows) * weights) / law.rate).value();
  // The larger time is taken out of the power, which would otherwise be too small a number at a high sharpness.
  const double longer = std::max(memory, compute), shorter = std::min(memory, compute);
  const double products = longer * std::pow(1 + std::pow(shorter / longer, law.sharpness), 1 / law.sharpness);
  const double hidden = real(layer.hidden);
  return law.launch + real(layer.experts) * law.expert + rows * hidden * law.row + layer.tokens * hidden * law.token +
         Seconds(products);
}

FoundExperts experts_or_stand_in(std::string_view engine, Precision precision, const EngineExperts& all) {
  for (const std::string_view owner :
       {engine, std::string_view("vllm"), std::string_view("trt-llm"), std::string_view("sglang")}) {
    const auto laws = all.find(owner);
    if (laws == all.end()) continue;
    if (const auto found = laws->second.find(precision); found != laws->second.end())
      return {laws->first, &found->second};
  }
  return {};
}

}  // namespace foretoken::cost
