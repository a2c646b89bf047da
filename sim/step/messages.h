// Messages between neighbouring pipeline stages: their bytes and their times.
#pragma once

#include "sim/job/parts.h"
#include "sim/step/communication.h"
#include "sim/step/pipeline/lower_pipeline.h"

namespace foretoken::step {

/// Returns the bytes of one pipeline message of one rank.
[[nodiscard]] Bytes message_bytes(const job::Job& job);

/// Returns a message from stage `from` to its neighbour `to`. The last stage and the first are neighbours, too.
[[nodiscard]] Communication message_between(const job::Job& job, const job::Parts& parts, Stage from, Stage to,
                                            Purpose purpose);

/// Returns the move of the activations of one micro-batch from `stage` to its partner, stage p-1-r, or back.
[[nodiscard]] Communication move_between(const job::Job& job, const job::Parts& parts, Stage stage, Bytes activations);

/// Returns the time of such a move on every stage; nothing where the schedule moves none.
[[nodiscard]] Table<Stage, des::Duration> move_durations(const job::Job& job);

/// Returns the times of the messages between stages.
[[nodiscard]] MessageDurations message_durations(const job::Job& job);

}  // namespace foretoken::step
