// Counts the bytes that the optimizer moves, and its kernels.
#include "sim/step/replicas/optimizer_traffic.h"

#include <algorithm>

#include "sim/job/layout.h"
#include "sim/model/counts/matrices.h"
#include "sim/model/counts/parameters.h"
#include "sim/model/quantisation.h"
#include "sim/model/stacks/decoder.h"
#include "sim/step/replicas/replicas.h"

namespace foretoken::step {
namespace {

constexpr double kPasses = 3;  // over the main gradients: zero, scale, measure

// Quantised products read copies of 16-bit weights, written once a step.
double quantised_copies(const job::Job& job) {
  const model::LayerContext context = job.layer_context();
  const model::Cut cut(context);
  return cut.quantises() && job.recipe.weight_bytes > 1 ? model::quantise_whole_bytes(cut) : 0;
}

// Adam reads the gradient, reads and writes moments and master weights, and writes the weight. Without master weights
// it reads the weight too.
double least_traffic(const job::PrecisionRecipe& recipe) {
  const double weight = recipe.master_bytes > 0 ? recipe.weight_bytes : 2 * recipe.weight_bytes;
  return recipe.gradient_bytes + 2 * recipe.moment_bytes + 2 * recipe.master_bytes + weight;
}

// LAMB's two kernels (NVIDIA/apex, csrc/multi_tensor_lamb.cu) move more than Adam's one: the update is written, read
// for its norm and read again (12 B in fp32), and the weights are read for their norm and read again (8 B).
//
// Adafactor reads the gradient for the means of rows and columns and again for the size of its update, and the weights
// for theirs (arXiv:1804.04235 algorithms 4 and 5): 12 B in fp32.
double further_traffic(const job::Job& job) {
  if (job.optimizer.name == "adafactor") return 12;
  return job.optimizer.name == "lamb" ? 20 : 0;
}

// Returns the runtime's eager Adam where this job uses it.
const job::UnfusedAdam* unfused_adam(const job::Job& job) {
  const std::optional<job::UnfusedAdam>& adam = job.runtime.unfused_adam;
  if (!adam || job.optimizer.name != "adam") return nullptr;
  return std::ranges::find(adam->precisions, job.precision) == adam->precisions.end() ? nullptr : &*adam;
}

double update_traffic(const job::Job& job) {
  if (const job::UnfusedAdam* adam = unfused_adam(job)) return adam->bytes;
  const job::PrecisionRecipe& recipe = job.recipe;
  const double counted = job.runtime.optimizer_bytes;
  const double saved = 2 * (8 - recipe.moment_bytes) + 2 * (4 - recipe.master_bytes);
  const double least = least_traffic(recipe) - kPasses * recipe.gradient_bytes;
  return std::max(counted - saved, std::clamp(least, 0.0, counted)) + further_traffic(job);
}

int trained_tensors(const job::Job& job, Stage stage) {
  const model::DecoderOps blocks = model::decoder_ops(job.model, job.layer_context());
  const auto trained = [](const model::BlockOps& block) { return stored_tensors(model::trained_weights(block)); };
  int tensors = 0;
  for (const model::LayerCount& run : job::layers_of(job, stage))
    tensors += run.count * trained(blocks.layers[static_cast<std::size_t>(run.kind)].ops);
  if (stage == job::stage_of_embedding(job)) tensors += trained(blocks.embedding);
  if (stage == job::stage_of_head(job)) tensors += trained(blocks.head);
  return tensors;
}

Bytes traffic_over(const job::Job& job, double parameters, double ranks) {
  const int zero = job.optimizer.zero_stage;
  const double passes = kPasses * job.recipe.gradient_bytes;
  return Bytes(parameters * (quantised_copies(job) + passes / (zero >= 2 ? ranks : 1) +
                             update_traffic(job) / (zero >= 1 ? ranks : 1)));
}

}  // namespace

Bytes optimizer_traffic(const job::Job& job, double parameters) {
  return traffic_over(job, parameters, replica_group(job).ranks);
}

Bytes expert_optimizer_traffic(const job::Job& job, double parameters) {
  return traffic_over(job, parameters, job.grid().degree(Axis::kExpertData));
}

Seconds optimizer_issue_time(const job::Job& job, Stage stage) {
  const job::UnfusedAdam* adam = unfused_adam(job);
  if (adam == nullptr || job.cuda_graphs == job::CudaGraphs::kFull) return Seconds(0);
  const double tensors = trained_tensors(job, stage);
  const int ranks = job.optimizer.zero_stage >= 1 ? replica_group(job).ranks : 1;
  return (tensors / ranks * adam->kernels_per_tensor) * adam->host_per_kernel;
}

}  // namespace foretoken::step
