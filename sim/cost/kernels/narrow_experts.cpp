// Times grouped products over weights of 4 bits.
#include "sim/cost/kernels/narrow_experts.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"

namespace foretoken::cost {

Seconds narrow_experts_time(const NarrowExperts& shape, const NarrowExpertsLaw& law) {
  expects(shape.experts >= 1 && shape.rows >= 1 && shape.outputs >= 1 && shape.inputs >= 1,
          "a product of experts has an expert, a row, an output and an input");
  const double weights = real(shape.experts) * real(shape.outputs) * real(shape.inputs);
  const double memory = (Bytes(weights * shape.weight_bytes) / law.bandwidth).value();
  const double compute = (Flop(2 * real(shape.rows) * weights) / law.rate).value();
  // The larger time is taken out of the power, which would otherwise be too small a number at a high sharpness.
  const double longer = std::max(memory, compute), shorter = std::min(memory, compute);
  const double joined = std::pow(1 + std::pow(shorter / longer, law.sharpness), 1 / law.sharpness);
  return law.launch + Seconds(longer * joined);
}

}  // namespace foretoken::cost
