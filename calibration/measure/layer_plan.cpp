// Chooses the whole layers to measure.
#include <array>

#include "calibration/measure/plan.h"
#include "calibration/measure/spread.h"

namespace foretoken::measure {
namespace {

using measured::LayerFamily;
using measured::LayerSample;

struct Width {
  LayerFamily family;
  std::int64_t hidden, ffn, heads;
};
// GPT-3's table 2.1 (arXiv:2005.14165) in the sizes of Megatron-LM's table 1 (arXiv:2104.04473): ffn = 4 x hidden.
// Llama 2's sizes (arXiv:2307.09288), and one of 2048 in their proportions; the 70B with as many key/value heads as
// heads.
constexpr std::array kWidths{Width{LayerFamily::kGpt, 1024, 4096, 16},    Width{LayerFamily::kGpt, 2048, 8192, 16},
                             Width{LayerFamily::kGpt, 4096, 16384, 32},   Width{LayerFamily::kGpt, 6144, 24576, 48},
                             Width{LayerFamily::kGpt, 12288, 49152, 96},  Width{LayerFamily::kLlama, 2048, 5632, 16},
                             Width{LayerFamily::kLlama, 4096, 11008, 32}, Width{LayerFamily::kLlama, 5120, 13824, 40},
                             Width{LayerFamily::kLlama, 8192, 28672, 64}};

struct Tokens {
  std::int64_t batch, sequence;
};
constexpr std::array kTokens{Tokens{1, 2048}, Tokens{4, 2048}, Tokens{1, 4096}};

}  // namespace

std::vector<LayerSample> layer_plan(PlanSize size) {
  std::vector<LayerSample> plan;
  for (const Width& width : kWidths)
    for (const Tokens& tokens : kTokens)
      for (const std::int64_t tensor : {1, 2, 8})
        for (const bool backward : {false, true}) {
          if (size.quick && (tokens.batch > 1 || tokens.sequence > 2048 || tensor == 2)) continue;
          plan.push_back({.family = width.family,
                          .backward = backward,
                          .batch = tokens.batch,
                          .sequence = tokens.sequence,
                          .hidden = width.hidden,
                          .ffn = width.ffn,
                          .heads = width.heads,
                          .tensor = tensor});
        }
  spread(plan, plan.size());
  return plan;
}

}  // namespace foretoken::measure
