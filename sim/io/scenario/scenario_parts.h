// Reads the parts of a scenario about the way of training. Model and cluster have files of their own.
#pragma once

#include "sim/io/json/node.h"
#include "sim/job/question.h"

namespace foretoken::io {

void read_parallelism(const Node& root, job::Question& question);
/// Reads `moe`: the way in which tokens find their experts.
void read_routing(const Node& root, job::Question& question);
void read_batch(const Node& root, job::Question& question);
void read_recompute(const Node& root, job::Question& question);
void read_training(const Node& root, job::Question& question);  ///< fine-tuning
void read_optimizer(const Node& root, job::Question& question);
void read_run(const Node& root, job::Question& question);
void read_precision(const Node& root, job::Question& question);  ///< also the recipe
void read_attention(const Node& root, job::Question& question);  ///< also dropout
void read_execution(const Node& root, job::Question& question);  ///< CUDA graphs, compiler
void read_overlap(const Node& root, job::Question& question);
void read_stragglers(const Node& root, job::Question& question);
void read_schedule(const Node& root, job::Question& question);  ///< a name of the catalogue, or a file

}  // namespace foretoken::io
