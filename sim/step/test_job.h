// A small job for tests of lowering and of its reports.
#pragma once

#include "sim/cost/example_profile.h"
#include "sim/cost/test_clusters.h"
#include "sim/job/job.h"

namespace foretoken::step {

/// Returns a GPT of `layers` layers with 16 heads and hidden size (and longest sequence) `hidden`, on DGX A100 nodes.
/// The test sets GPUs, degrees and batch.
inline job::Job test_job(int layers, int hidden) {
  job::Job s;
  s.model.layers = layers;
  s.model.hidden = hidden;
  s.model.heads = s.model.kv_heads = 16;
  s.model.head_dim = hidden / 16;
  s.model.ffn_hidden = 4 * hidden;
  s.model.vocabulary = 51200;
  s.model.max_positions = hidden;
  s.cluster.gpu.peak[Precision::kBf16] = teraflops(312);
  s.cluster.gpu.memory = Bytes(80e9);
  s.cluster.links = cost::dgx_a100();
  s.profile = cost::example_a100_profile();
  return s;
}

}  // namespace foretoken::step
