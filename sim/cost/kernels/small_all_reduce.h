// The time of small all-reduces inside a node, by the kernels of serving engines.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"

namespace foretoken::cost {

/// The library or engine whose kernels sum over tensor ranks.
enum class AllReduceKernels : std::uint8_t { kNccl, kTrtLlm, kVllm, kSglang };
inline constexpr AllReduceKernels kEngineKernels[] = {AllReduceKernels::kTrtLlm, AllReduceKernels::kVllm,
                                                      AllReduceKernels::kSglang};
[[nodiscard]] std::string_view name_of(AllReduceKernels kernels);  ///< "nccl", "trt-llm", "vllm", "sglang"

/// The kernels of one message inside a node that sums a small buffer over ranks in one launch, as serving engines have
/// them (one-shot and two-shot all-reduce). Sizes between two rows are interpolated on logarithms.
struct SmallAllReduce {
  struct Row {
    Bytes payload{};
    Seconds time{};
  };
  int ranks = 2;
  std::vector<Row> rows{};  ///< ascending sizes, two or more
};

/// The tables of one engine's kernels on one kind of GPU.
struct SmallAllReduces {
  std::string source;
  std::vector<SmallAllReduce> tables;  ///< by ranks, ascending

  /// Returns the table of so many ranks, or null.
  [[nodiscard]] const SmallAllReduce* over(int ranks) const;
};
using EngineAllReduces = std::map<AllReduceKernels, SmallAllReduces>;

/// Returns the wanted kernels where they have a table of so many ranks. Otherwise the first of the others that has one
/// stands in, in the order of kEngineKernels. Nothing: no engine has a table.
[[nodiscard]] std::optional<AllReduceKernels> kernels_or_stand_in(AllReduceKernels wanted, int ranks,
                                                                  const EngineAllReduces& engines);

/// Returns the time of a small all-reduce inside a node by these kernels, or nothing where they have no table of that
/// many ranks or it ends below the size.
[[nodiscard]] std::optional<Seconds> small_all_reduce_time(Bytes payload, int ranks, AllReduceKernels kernels,
                                                           const EngineAllReduces& engines);

}  // namespace foretoken::cost
