// What can be said of a configuration before it is replayed: its memory exactly, its step time from below.
#pragma once

#include "sim/base/units.h"
#include "sim/des/time.h"
#include "sim/job/job.h"
#include "sim/schedule/program.h"
#include "sim/step/passes/passes.h"

namespace foretoken::search {

/// The allocator's peak of the fullest stage, as simulate reports it: memory depends on the order of passes, not on
/// their times.
[[nodiscard]] Bytes peak_memory(const job::Job& job, const schedule::Program& program);

/// Whether simulate would say that this peak fits.
[[nodiscard]] bool fits(const job::Job& job, Bytes peak);

/// No replay of `job` ends earlier.
///
/// A stage cannot start before the first micro-batch has come down to it, works off all its passes one after the other,
/// and after its last one a gradient still climbs to the first stage; for every stage s, with forward and backward
/// times f, b of chunk 0, message times c and all passes of a stage W,
///
///   end(s) >= sum over r < s of (f_r + c_r) + W_s,   end(r) >= end(r+1) + c + b_r,
///
/// and what follows the pipeline ends no earlier than with these ends, since it only adds and takes the largest.
/// Holds for every schedule of passes whose virtual stage k p + r stands on stage r. Proof and test:
/// docs/user/search.md.
[[nodiscard]] des::Duration least_step_time(const job::Job& job, const step::Passes& passes);

}  // namespace foretoken::search
