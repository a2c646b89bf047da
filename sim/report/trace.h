// Writes a step as a timeline for ui.perfetto.dev and chrome://tracing.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/des/engine.h"
#include "sim/observe/memory_timeline.h"
#include "sim/report/metrics.h"
#include "sim/step/lower.h"

namespace foretoken::report {

/// The input of a trace. All of it must outlive the call.
struct TraceInput {
  const step::LoweredStep& step;
  const des::RunResult& run;
  const PerStage<observe::StageTimeline>& memory;
  const Metrics& metrics;
  std::string version;   ///< of the program
  std::string fidelity;  ///< "stage" or "kernel"
};

/// Takes the text piece by piece, in blocks of some 64 KiB.
using TextSink = std::function<void(std::string_view)>;

/// Writes the trace in the JSON form that Perfetto reads (importers/json/json_trace_tokenizer.cc).
///   process: a pipeline stage; of an unfolded run metrics.shown_gpus names its GPU
///   thread:  a stream, with nested slices
///   arrow:   from a message to the pass that receives it
///   counter: the live bytes of each kind
/// Times are whole nanoseconds, so slices that touch do not overlap.
void write_trace(const TraceInput& input, const TextSink& sink);

}  // namespace foretoken::report
