// Lists the parts of a step's time: their JSON keys, their words, and their fields in a time split.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sim/base/check.h"
#include "sim/observe/stage_times.h"

namespace foretoken::report {

enum class TimeKind : std::uint8_t { kCompute, kComm, kOptimizer, kBubble, kHost, kOther, kOffload };

struct TimePart {
  std::string key;     ///< "tensor_parallel_comm"
  std::string name;    ///< "tensor"
  std::string words;   ///< "tensor-parallel communication"
  std::string change;  ///< the words where two steps are compared
  TimeKind kind;
  Axis axis = Axis::kTensor;  ///< of communication

  template <class Time>
  [[nodiscard]] Time of(const observe::TimeSplit<Time>& split) const {
    switch (kind) {
      case TimeKind::kCompute:
        return split.compute;
      case TimeKind::kComm:
        return split.comm[axis];
      case TimeKind::kOptimizer:
        return split.optimizer;
      case TimeKind::kBubble:
        return split.bubble;
      case TimeKind::kHost:
        return split.host;
      case TimeKind::kOther:
        return split.other;
      case TimeKind::kOffload:
        return split.offload;
    }
    contract_broken("every part is in a split", __FILE__, __LINE__);
  }
};

/// Returns the parts of a split in the order of every answer. They add up to the step.
[[nodiscard]] std::span<const TimePart> time_parts();

/// Returns true for the parts that an answer with this split names: exchanges of experts, and offloading, only where
/// there are any.
template <class Time>
[[nodiscard]] bool is_named(const TimePart& part, const observe::TimeSplit<Time>& split) {
  if (part.kind == TimeKind::kOffload) return part.of(split) != Time{};
  return part.kind != TimeKind::kComm || part.axis != Axis::kExpert || part.of(split) != Time{};
}

}  // namespace foretoken::report
