// Isotonic regression by pooling adjacent violators: values that fall too much are replaced by their mean.
#include "calibration/fit/numerics/monotone.h"

#include <cstddef>

namespace foretoken::fit {

std::vector<double> with_rises(std::vector<double> values, const std::vector<double>& least_rise) {
  struct Block {
    double sum;
    std::size_t count;
    [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Block> blocks;
  double shift = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    blocks.push_back({values[i] - shift, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back() = {blocks.back().sum + last.sum, blocks.back().count + last.count};
    }
    if (i < least_rise.size()) shift += least_rise[i];
  }
  std::size_t i = 0;
  shift = 0;
  for (const Block& block : blocks)
    for (std::size_t left = block.count; left > 0; --left, ++i) {
      values[i] = block.mean() + shift;
      if (i < least_rise.size()) shift += least_rise[i];
    }
  return values;
}

}  // namespace foretoken::fit
