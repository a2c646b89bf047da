// Messages between neighbouring pipeline stages: what one carries, and how long it takes.
#pragma once

#include "sim/job/parts.h"
#include "sim/step/communication.h"
#include "sim/step/pipeline/lower_pipeline.h"

namespace foretoken::step {

/// One pipeline message of one rank.
[[nodiscard]] Bytes message_bytes(const job::Job& job);

/// A message from stage `from` to its neighbour `to`; the last stage and the first are neighbours, too.
[[nodiscard]] Communication message_between(const job::Job& job, const job::Parts& parts, Stage from, Stage to,
                                            Purpose purpose);

/// Times of the messages between stages.
[[nodiscard]] MessageDurations message_durations(const job::Job& job);

}  // namespace foretoken::step
