// Times small all-reduces from tables.
#include "sim/cost/kernels/small_all_reduce.h"

#include <algorithm>
#include <cmath>

namespace foretoken::cost {

std::string_view name_of(AllReduceKernels kernels) {
  switch (kernels) {
    case AllReduceKernels::kTrtLlm:
      return "trt-llm";
    case AllReduceKernels::kVllm:
      return "vllm";
    case AllReduceKernels::kSglang:
      return "sglang";
    case AllReduceKernels::kNccl:
      break;
  }
  return "nccl";
}

const SmallAllReduce* SmallAllReduces::over(int ranks) const {
  const auto found =
      std::find_if(tables.begin(), tables.end(), [&](const SmallAllReduce& each) { return each.ranks == ranks; });
  return found == tables.end() ? nullptr : &*found;
}

std::optional<AllReduceKernels> kernels_or_stand_in(AllReduceKernels wanted, int ranks,
                                                    const EngineAllReduces& engines) {
  const auto has = [&](const auto& engine) { return engine.second.over(ranks) != nullptr; };
  const auto own = engines.find(wanted);
  if (own != engines.end() && has(*own)) return wanted;
  const auto other = std::find_if(engines.begin(), engines.end(), has);
  if (other == engines.end()) return std::nullopt;
  return other->first;
}

std::optional<Seconds> small_all_reduce_time(Bytes payload, int ranks, AllReduceKernels kernels,
                                             const EngineAllReduces& engines) {
  const auto engine = engines.find(kernels);
  const SmallAllReduce* const table = engine == engines.end() ? nullptr : engine->second.over(ranks);
  if (table == nullptr || payload > table->rows.back().payload) return std::nullopt;
  if (payload <= table->rows.front().payload) return table->rows.front().time;
  const auto above = std::find_if(table->rows.begin(), table->rows.end(),
                                  [&](const SmallAllReduce::Row& row) { return row.payload >= payload; });
  const SmallAllReduce::Row &high = *above, &low = *(above - 1);
  const double part = std::log(payload / low.payload) / std::log(high.payload / low.payload);
  return Seconds(low.time.value() * std::pow(high.time / low.time, part));
}

}  // namespace foretoken::cost
