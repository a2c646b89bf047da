// Counts the memory of a whole model, before any parallelism.
#include "sim/model/counts/parameters.h"
#include "sim/model/quantisation.h"
#include "sim/step/memory/memory.h"

namespace foretoken::step {

WholeModelMemory whole_model_memory(const job::Job& job) {
  const auto& recipe = job.recipe;
  const double trained_bytes =
      recipe.gradient_bytes + recipe.extra_gradient_bytes + recipe.master_bytes + recipe.moment_bytes;
  const std::int64_t encoder = job.parallelism.encoder_layers;  // of an encoder-decoder
  const model::LayerContext context = job.layer_context();
  const double tokens = encoder == 0 ? real(context.sequence) * real(job.model.layers)
                                     : real(context.sequence) * real(encoder) +
                                           real(context.other_half().sequence) * real(job.model.layers - encoder);
  const double per_sequence = 2.0 * tokens * real(job.model.hidden);
  const double narrow = model::narrow_parameters(job.model);
  const double all = model::total_parameters(job.model) + model::copied_parameters(job.model);
  const double weights = recipe.weight_bytes * (all - narrow) + job.model.tuning.narrow_bytes() * narrow;
  return {.state = Bytes(weights + trained_bytes * model::trained_parameters(job.model)),
          .batch_boundaries = Bytes(per_sequence * real(job.batch.global)),
          .microbatch_boundaries = Bytes(per_sequence * real(job.batch.micro))};
}

}  // namespace foretoken::step
