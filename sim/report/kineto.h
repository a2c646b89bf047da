// Writes a step as the PyTorch profiler would record it on one rank, for trace viewers and Holistic Trace Analysis.
#pragma once

#include "sim/report/trace.h"

namespace foretoken::report {

/// Writes the trace of the GPU of `stage`, in the JSON form of Kineto: kernels on streams of device 0, marked by one
/// ProfilerStep. Collectives and messages have the names and arguments of NCCL's: "Collective name", "Group size",
/// "In msg nelems", "dtype", and "bytes". With `fidelity` stage a pass is one kernel.
void write_kineto(const TraceInput& input, const job::Job& job, Stage stage, const TextSink& sink);

}  // namespace foretoken::report
