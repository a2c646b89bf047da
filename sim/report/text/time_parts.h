// Lists the parts of a step's time: their JSON keys, their words, and their fields in a time split.
#pragma once

#include <array>
#include <string_view>

#include "sim/base/check.h"
#include "sim/observe/stage_times.h"

namespace foretoken::report {

enum class TimeKind : std::uint8_t { kCompute, kComm, kOptimizer, kBubble, kHost, kOther };

struct TimePart {
  std::string_view key;     ///< "tensor_parallel_comm"
  std::string_view name;    ///< "tensor"
  std::string_view words;   ///< "tensor-parallel communication"
  std::string_view change;  ///< the words where two steps are compared
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
    }
    contract_broken("every part is in a split", __FILE__, __LINE__);
  }
};

/// The parts in the order of every answer.
inline constexpr std::array kTimeParts{
    TimePart{"compute", "compute", "compute", "compute", TimeKind::kCompute},
    TimePart{"tensor_parallel_comm", "tensor", "tensor-parallel communication", "tensor-parallel communication",
             TimeKind::kComm, Axis::kTensor},
    TimePart{"context_parallel_comm", "context", "context-parallel communication", "context-parallel communication",
             TimeKind::kComm, Axis::kContext},
    TimePart{"pipeline_comm", "pipeline", "pipeline communication", "pipeline messages", TimeKind::kComm,
             Axis::kPipeline},
    TimePart{"data_parallel_comm", "data", "data-parallel communication", "data-parallel communication",
             TimeKind::kComm, Axis::kData},
    TimePart{"optimizer", "optimizer", "optimizer", "optimizer", TimeKind::kOptimizer},
    TimePart{"bubble", "bubble", "bubble (waiting for another stage)", "pipeline bubble", TimeKind::kBubble},
    TimePart{"host", "host", "host (waiting for launches)", "host", TimeKind::kHost},
    TimePart{"other", "other", "other", "other", TimeKind::kOther}};

}  // namespace foretoken::report
