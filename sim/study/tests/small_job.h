// Builds small jobs on an A100 cluster that tests then spoil.
#pragma once

#include <string>

#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {

/// Returns a job of GPT-2 medium with `more` keys.
inline job::Job small_job(const std::string& more) {
  return io::read_scenario_text(
             R"({"model": {"base": "gpt2-medium", "tie_word_embeddings": false}, "runtime": "megatron-2021", "precision": "fp16", )" +
                 more + "}",
             "test", {})
      .job;
}

/// Returns the key of a DGX A100 cluster with a change.
inline std::string a100_with(const std::string& cluster_patch) {
  return R"("cluster": {"base": "dgx-a100-80gb-hdr")" + cluster_patch + "}";
}

/// Sums `time` over the tensor-parallel exchanges of one micro-batch of stage 0, in picoseconds.
template <class Time>
double tensor_sum_ps(const Prediction& prediction, const Time& time) {
  const auto& passes = *prediction.step.passes;
  double sum = 0;
  for (const auto kind : {schedule::OpKind::kForward, schedule::OpKind::kBackward})
    for (const step::TimedOps* block : passes.blocks(Stage{0}, Chunk{0}, kind))
      for (const step::TimedOp& op : *block)
        if (op.axis == Axis::kTensor) sum += 1e12 * time(passes.communications(Stage{0})[*op.communication]).value();
  return sum;
}

}  // namespace foretoken::study
