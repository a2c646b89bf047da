// The part of a stage's parameters and activations that stands outside its GPU.
#pragma once

#include "sim/job/job.h"
#include "sim/step/memory/parameters.h"

namespace foretoken::step {

/// Returns the part of a stage's parameters, from 0 to 1, that `offloaded` moves. `parameters` counts those of a GPU.
[[nodiscard]] double offloaded_share(const job::Job& job, const LocalParameters& parameters, Stage stage,
                                     const job::Offloaded& offloaded);

/// Returns the parameters that the host updates for one GPU of a stage. `trained` counts those of a GPU.
[[nodiscard]] double updated_on_host(const job::Job& job, const LocalParameters& trained, Stage stage);

/// Returns true when gradients leave for the host while the backward pass makes them.
[[nodiscard]] bool streams_gradients(const job::Job& job);

/// Returns the bytes of a parameter that lives on the host, as it is copied to the GPU: FSDP copies its master weights,
/// which are its shards.
[[nodiscard]] double copied_weight_bytes(const job::Job& job);

}  // namespace foretoken::step
