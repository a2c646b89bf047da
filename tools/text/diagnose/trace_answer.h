// Writes the answer of `foretoken diagnose` about a trace of the PyTorch profiler.
#pragma once

#include <optional>
#include <string>

#include "sim/report/text/layout.h"
#include "sim/study/diagnose/trace_times.h"

namespace foretoken::tools {

struct TraceAnswer {
  std::string file, gpu;
  study::TraceTimes times;
  std::optional<study::PredictedTimes> predicted{};  ///< with a scenario
  std::optional<study::Prediction> prediction{};
};

[[nodiscard]] std::string trace_answer_text(const TraceAnswer& answer, const report::Paint& paint);
[[nodiscard]] std::string trace_answer_json(const TraceAnswer& answer);

}  // namespace foretoken::tools
