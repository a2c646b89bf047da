// Turns a job back into its question.
#include "sim/job/question.h"

namespace foretoken::job {
namespace {

AskedParallelism asked(const Parallelism& p) {
  AskedParallelism parallelism{.degrees = {},
                               .virtual_pipeline = p.virtual_pipeline,
                               .sequence_parallel = p.sequence_parallel,
                               .exchange = p.exchange,
                               .embedding_and_head_as_layers = p.embedding_and_head_as_layers,
                               .layers_per_stage = p.layers_per_stage,
                               .encoder_pipeline = p.encoder_pipeline};
  // The data-parallel degree follows from the others.
  for (const auto& [axis, degree] : kDegrees)
    if (axis != Axis::kData) parallelism.degrees[axis] = p.*degree;
  for (const auto& [axis, degree] : kExpertDegrees) parallelism.degrees[axis] = p.*degree;
  return parallelism;
}

AskedRecipe asked(const PrecisionRecipe& recipe, Precision precision) {
  return {.weight_bytes = recipe.weight_bytes,
          .gradient_bytes = recipe.gradient_bytes,
          .extra_gradient_bytes = recipe.extra_gradient_bytes,
          .reduce_bytes = recipe.reduce_bytes,
          .master_bytes = recipe.master_bytes,
          .moment_bytes = recipe.moment_bytes,
          .fp8 = precision == Precision::kFp8 ? std::optional(recipe.fp8) : std::nullopt,
          .fp8_attention = recipe.fp8_attention};
}

std::vector<AskedPool> asked(const std::vector<StageGroup>& groups, int ranks_a_stage) {
  std::vector<AskedPool> pools;
  for (const StageGroup& group : groups)
    pools.push_back({.gpus = group.stages * ranks_a_stage, .cluster = group.cluster, .profile = group.profile});
  return pools;
}

Choices choices_of(const Job& job) {
  return {.gpus = job.gpus,
          .parallelism = asked(job.parallelism),
          .schedule = job.schedule,
          .batch = {.micro = job.batch.micro,
                    .global = job.batch.global,
                    .sequence_length = job.batch.sequence_length,
                    .microbatch_group = job.batch.microbatch_group,
                    .masked_fraction = job.batch.masked_fraction,
                    .packed = job.batch.packed,
                    .decoder_sequence_length = job.batch.decoder_sequence_length},
          .recompute = job.recompute,
          .zero_stage = job.optimizer.zero_stage,
          .overlap = {.grad_reduce = job.overlap.grad_reduce,
                      .param_gather = job.overlap.param_gather,
                      .p2p = job.overlap.p2p,
                      .tensor_parallel = job.overlap.tensor_parallel,
                      .exchanges = job.overlap.exchanges},
          .offload = job.offload,
          .dispatcher = job.routing.dispatcher,
          .precision = job.precision,
          .recipe = asked(job.recipe, job.precision)};
}

}  // namespace

Question question_of(const Job& job) {
  return {.file = {},
          .name = job.name,
          .model = job.model,
          .dropout = std::nullopt,
          .cluster = job.cluster,
          .profile = job.profile,
          .pools = asked(job.groups, job.gpus / job.parallelism.pipeline),
          .runtime = job.runtime,
          .choices = choices_of(job),
          .attention = AttentionChoice{job.attention, job.flash_kernel},
          .cuda_graphs = job.cuda_graphs,
          .compile = job.compile,
          .routing = job.model.experts ? std::optional(job.routing) : std::nullopt,
          .optimizer = job.optimizer.name,
          .paged_optimizer = job.optimizer.paged,
          .post_validation = job.optimizer.post_validation,
          .tuning = job.model.tuning.freezes() ? std::optional(job.model.tuning) : std::nullopt,
          .imperfections = job.imperfections,
          .stragglers = job.stragglers,
          .run = job.run,
          .notes = {}};
}

}  // namespace foretoken::job
