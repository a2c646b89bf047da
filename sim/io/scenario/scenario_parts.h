// The parts of a scenario that stand in the scenario file itself: how to train, as opposed to what and where.
#pragma once

#include "sim/io/json/node.h"
#include "sim/job/job.h"

namespace foretoken::io {

void read_parallelism(const Node& root, job::Job& scenario);  ///< `data` stays 0 when it is not stated
void read_batch(const Node& root, job::Job& scenario);
void read_recompute(const Node& root, job::Job& scenario);
void read_optimizer(const Node& root, job::Job& scenario);
void read_run(const Node& root, job::Job& scenario);        ///< after the cluster: its price is the default
void read_precision(const Node& root, job::Job& scenario);  ///< after the runtime: recipe and gradients
void read_attention(const Node& root, job::Job& scenario);  ///< after model and runtime: also dropout
void read_overlap(const Node& root, job::Job& scenario);    ///< after optimizer, schedule and runtime
void read_stragglers(const Node& root, job::Job& scenario);

}  // namespace foretoken::io
