// Bytes and parameters of one stage or pass, for tests that ask once.
#pragma once

#include "sim/step/memory/memory.h"

namespace foretoken::step {

inline StaticMemory static_memory(const job::Job& job, Stage stage) { return JobMemory(job).held(stage); }

inline PassMemory pass_memory(const job::Job& job, Stage stage, Chunk chunk) {
  return JobMemory(job).of_pass(stage, chunk);
}

inline double local_layer_parameters(const job::Job& job) { return LocalParameters(job).of_layer(0); }

inline double local_stage_parameters(const job::Job& job, Stage stage) { return LocalParameters(job).of_stage(stage); }

}  // namespace foretoken::step
