// Times decode attention and small all-reduces.
#include "sim/cost/kernels/decode_attention.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"

namespace foretoken::cost {
namespace {

constexpr double kKeysOfAPart = 256;  // keys that one block of threads walks through, at most

}  // namespace

Seconds decode_attention_time(const DecodeShape& shape, const DecodeLaw& law) {
  expects(shape.sequences >= 1 && shape.cached_tokens >= 1, "every sequence attends to a token");
  const double width = real(shape.kv_heads) * real(shape.key_dim + shape.value_dim);
  const double queries = real(shape.sequences) * real(shape.heads) * real(shape.key_dim + shape.value_dim);
  const Bytes bytes(shape.cached_tokens * width * shape.cache_bytes + 2 * queries);
  const double memory = (bytes / law.bandwidth).value();
  const double walk = law.step.value() * std::log2(1 + shape.cached_tokens / real(shape.sequences) / kKeysOfAPart);
  const double p = law.sharpness;
  return law.launch + Seconds(std::pow(std::pow(memory, p) + std::pow(walk, p), 1 / p));
}

bool has_small_all_reduces(int ranks, const ServingLaws& laws) {
  return std::any_of(laws.all_reduces.begin(), laws.all_reduces.end(),
                     [&](const SmallAllReduce& each) { return each.ranks == ranks; });
}

std::optional<Seconds> small_all_reduce_time(Bytes payload, int ranks, const ServingLaws& laws) {
  const auto table = std::find_if(laws.all_reduces.begin(), laws.all_reduces.end(),
                                  [&](const SmallAllReduce& each) { return each.ranks == ranks; });
  if (table == laws.all_reduces.end() || payload > table->rows.back().payload) return std::nullopt;
  if (payload <= table->rows.front().payload) return table->rows.front().time;
  const auto above = std::find_if(table->rows.begin(), table->rows.end(),
                                  [&](const SmallAllReduce::Row& row) { return row.payload >= payload; });
  const SmallAllReduce::Row &high = *above, &low = *(above - 1);
  const double part = std::log(payload / low.payload) / std::log(high.payload / low.payload);
  return Seconds(low.time.value() * std::pow(high.time / low.time, part));
}

}  // namespace foretoken::cost
