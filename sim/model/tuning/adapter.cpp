// Adapters of arXiv:1902.00751 section 2.1: a narrow product, an activation and a wide product behind attention and
// behind the MLP, added to their outputs. Each has 2 m h + h + m parameters, for a width of m.
#include <algorithm>

#include "sim/model/blocks/parts.h"
#include "sim/model/op_writer.h"
#include "sim/model/tuning/parts.h"

namespace foretoken::model {
namespace {

constexpr WholeProduct kAdapterDown{"adapter down", "adapter down input gradient", "adapter down weight gradient"};
constexpr WholeProduct kAdapterUp{"adapter up", "adapter up input gradient", "adapter up weight gradient"};

}  // namespace

// Behind a row-parallel product each rank has R tokens of the whole hidden size.
void add_adapter(BlockOps& block, const Transformer& model, const Cut& cut, const Op& product, std::vector<Op>& ops) {
  const std::string_view base = block[*product.weights.begin()].name;
  if (base != "projection" && base != "fc2") return;
  const std::int64_t hidden = model.hidden, width = model.tuning.rank;
  const TensorId stream = *product.writes.begin();
  const double bytes = kHalf * cut.region * real(width);
  const TensorId narrow = block.add(Tensor{.name = "adapter before its activation", .bytes = bytes});
  const TensorId active = block.add(Tensor{.name = "adapter behind its activation", .bytes = bytes});
  const TensorId wide = block.add(Tensor{.name = "adapter output", .bytes = cut.residual_bytes(real(hidden))});
  const auto whole = [&](WholeProduct names, std::int64_t n, std::int64_t k, TensorId reads, TensorId writes) {
    names.n = n;
    names.k = k;
    names.precision = cut.wide_precision();
    ops.push_back({.name = names.forward,
                   .role = OpRole::kLinear,
                   .work = whole_product(cut, names),
                   .weights = add_whole_weight(block, names.forward, n, k),
                   .reads = {reads},
                   .writes = {writes},
                   .saves = {reads}});
  };
  whole(kAdapterDown, width, hidden, stream, narrow);
  ops.push_back({.name = "adapter activation",
                 .role = OpRole::kActivation,
                 .work = MemoryBound{2 * bytes, 3 * bytes, "adapter activation gradient"},
                 .reads = {narrow},
                 .writes = {active},
                 .saves = {narrow}});
  whole(kAdapterUp, hidden, width, active, wide);
  const double added = 3 * cut.residual_bytes(real(hidden));
  ops.push_back({.name = "add adapter",
                 .work = MemoryBound{added, added, "add adapter gradient"},
                 .reads = {stream, wide},
                 .writes = {stream}});
}

}  // namespace foretoken::model
