// Pads the vocabulary for tensor ranks.
#include "sim/model/transformer.h"

#include <algorithm>

#include "sim/base/check.h"

namespace foretoken::model {

std::int64_t padded_vocabulary(const Transformer& model, int tensor, bool pads) {
  expects(tensor > 0, "a tensor-parallel group has at least one rank");
  if (!pads) return std::max<std::int64_t>(1, model.vocabulary / tensor) * tensor;
  const std::int64_t multiple = std::int64_t{128} * tensor;
  return (model.vocabulary + multiple - 1) / multiple * multiple;
}

}  // namespace foretoken::model
