// Times grouped products over weights of 4 bits.
#include "sim/cost/kernels/narrow_experts.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"

namespace foretoken::cost {
namespace {

double filled_up(std::int64_t width, std::int64_t multiple) {
  return real((width + multiple - 1) / multiple * multiple);
}

/// Returns the rows of an expert with those that fill up its last block. Source: vllm-project/vllm,
/// fused_marlin_moe.py, which takes the first size of which the mean rows fill less than 0.9.
double rows_in_blocks(std::int64_t rows, const std::vector<std::int64_t>& sizes) {
  if (sizes.empty()) return real(rows);
  constexpr double kFullest = 0.9;
  const auto fits = [&](std::int64_t size) { return real(rows) < kFullest * real(size); };
  const auto found = std::find_if(sizes.begin(), sizes.end(), fits);
  if (found != sizes.end()) return real(*found);
  return real(rows) + real(sizes.back()) / 2;
}

}  // namespace

Seconds narrow_experts_time(const NarrowExperts& shape, const NarrowExpertsLaw& law) {
  expects(shape.experts >= 1 && shape.rows >= 1 && shape.outputs >= 1 && shape.inputs >= 1,
          "a product of experts has an expert, a row, an output and an input");
  const double weights =
      real(shape.experts) * filled_up(shape.outputs, law.blocks.outputs) * filled_up(shape.inputs, law.blocks.inputs);
  const double memory = (Bytes(weights * shape.weight_bytes) / law.bandwidth).value();
  const double compute = (Flop(2 * rows_in_blocks(shape.rows, law.blocks.rows) * weights) / law.rate).value();
  // The larger time is taken out of the power, which would otherwise be too small a number at a high sharpness.
  const double longer = std::max(memory, compute), shorter = std::min(memory, compute);
  const double joined = std::pow(1 + std::pow(shorter / longer, law.sharpness), 1 / law.sharpness);
  return law.launch + real(shape.choices) * law.expert + Seconds(longer * joined);
}

}  // namespace foretoken::cost
