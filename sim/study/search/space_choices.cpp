// Lists the values of the keys that change neither degrees nor batch: sequence parallelism, recomputation, shards of
// the optimizer, precision, gradients and overlaps.
#include <algorithm>
#include <array>
#include <span>

#include "sim/job/hidden_exchanges.h"
#include "sim/job/rules/precision_recipe.h"
#include "sim/job/rules/rules.h"
#include "sim/study/search/space.h"

namespace foretoken::search {

using job::Key;
using model::RecomputeGranularity;

namespace {

constexpr std::array kLeastStages{1, 3, 0};  // by part of job::kOffloadedParts

}  // namespace

int least_zero_stage(const job::Offload& offload) {
  int least = 0;
  for (std::size_t part = 0; part < kLeastStages.size(); ++part)
    if ((offload.*job::kOffloadedParts[part].second).any()) least = std::max(least, kLeastStages[part]);
  return least;
}

std::vector<bool> Space::sequence_parallel_choices(const Candidate& candidate) const {
  const std::optional<bool> stated = question_->asked().choices.parallelism.sequence_parallel;
  if (stated) return {*stated};
  if (candidate.degrees[Axis::kTensor] == 1) return {false};
  return question_->asked().model.experts ? std::vector{true} : std::vector{false, true};  // experts need it
}

std::vector<RecomputeGranularity> Space::recompute_choices() const {
  const std::optional<job::Recompute>& stated = question_->asked().choices.recompute;
  if (stated) return {stated->granularity};
  return {RecomputeGranularity::kNone, RecomputeGranularity::kSelective, RecomputeGranularity::kFull};
}

std::vector<int> Space::zero_stage_choices(const Candidate& candidate) const {
  const job::Question& asked = question_->asked();
  std::vector<int> stages;
  if (asked.choices.zero_stage) {
    stages = {*asked.choices.zero_stage};
  } else {
    const int replicas = product(candidate.degrees, net::kReplicaAxes);
    const job::Offload stated = asked.choices.offload.value_or(job::Offload{});
    const bool moves_parameters = is_open(Key::kOffloadParameters) || stated.parameters.any();
    const bool shards_alone = moves_parameters || is_open(Key::kOffloadOptimizer) || stated.optimizer.any();
    // Parameters are sharded only for runtimes that do so by default, where they go to the host, and up to the stage of
    // the scenario: its software can do that.
    const bool shards_parameters = asked.runtime.default_zero_stage >= 2 || moves_parameters;
    const int most_shards = shards_parameters ? 3 : std::max(1, options_.stated_zero_stage);
    const int most = replicas == 1 && !shards_alone ? 0 : most_shards;
    for (int stage = least_zero_stage(stated); stage <= most; ++stage) stages.push_back(stage);
  }
  std::erase_if(stages, [&](int stage) { return !job::pipeline_allows(stage, candidate.degrees[Axis::kPipeline]); });
  return stages;
}

// Returns the precisions that GPU and profile have, bf16 first.
std::vector<std::optional<Precision>> Space::precision_choices() const {
  if (!is_open(Key::kPrecision)) return {std::nullopt};
  const job::Question& asked = question_->asked();
  std::vector<std::optional<Precision>> precisions;
  for (const Precision each : {Precision::kBf16, Precision::kFp16, Precision::kFp8, Precision::kNvfp4})
    if (asked.cluster.gpu.peak_of(each) && asked.profile.gemm.contains(each)) precisions.emplace_back(each);
  return precisions;
}

// Gradients have the runtime's bytes or 16 bits. Where the runtime reduces 16 bits there is one choice.
std::vector<bool> Space::short_gradient_choices(const Candidate& candidate) const {
  if (!is_open(Key::kGradients)) return {false};
  const job::Choices& choices = question_->asked().choices;
  const Precision precision = candidate.precision.value_or(choices.precision.value_or(Precision::kBf16));
  const job::PrecisionRecipe usual = job::default_recipe(precision, question_->asked().runtime);
  return usual.gradient_bytes + usual.extra_gradient_bytes > 2 ? std::vector{false, true} : std::vector{false};
}

// Each searched part stays or goes to the host. One replica has nothing to shard, so its states are sharded only where
// the host takes them: a higher stage is the same run.
std::vector<Offloads> Space::offload_choices(const Candidate& candidate) const {
  const job::Choices& asked = question_->asked().choices;
  std::vector<Offloads> all = {{}};
  for (std::size_t part = 0; part < kOffloadKeys.size(); ++part) {
    if (!is_open(kOffloadKeys[part]) || candidate.zero_stage < kLeastStages[part]) continue;
    const std::size_t before = all.size();
    for (std::size_t i = 0; i < before; ++i) {
      all.push_back(all[i]);
      all.back()[part] = true;
    }
  }
  // FSDP's optimizer states stand where its parameters do.
  if (question_->asked().runtime.fully_sharded && is_open(Key::kOffloadOptimizer))
    std::erase_if(all, [](const Offloads& offloads) { return offloads[0] != offloads[1]; });
  if (asked.zero_stage || product(candidate.degrees, net::kReplicaAxes) > 1) return all;
  const int stated = least_zero_stage(asked.offload.value_or(job::Offload{}));
  std::erase_if(all, [&](const Offloads& offloads) {
    int least = stated;
    for (std::size_t part = 0; part < offloads.size(); ++part)
      if (offloads[part]) least = std::max(least, kLeastStages[part]);
    return candidate.zero_stage > least;
  });
  return all;
}

// The conditions of --overlap-moe-expert-parallel-comm (Megatron-Core, transformer_config.py).
bool Space::may_overlap_exchanges(const Candidate& candidate) const {
  const job::Question& asked = question_->asked();
  const bool interleaves = candidate.degrees[Axis::kPipeline] == 1 || candidate.virtual_pipeline > 1;
  if (!candidate.dispatcher || !interleaves || asked.model.prediction_layers > 1) return false;
  if (schedules_[static_cast<std::size_t>(candidate.schedule)].pairs_passes) return false;  // they hide them already
  const auto modules = asked.choices.recompute ? asked.choices.recompute->modules : model::SelectiveModules{};
  return !job::why_exchanges_stay({.expert = candidate.degrees[Axis::kExpert],
                                   .dispatcher = *candidate.dispatcher,
                                   .recomputes_experts = job::recomputes_experts(candidate.recompute, modules),
                                   .shared_expert_overlap = asked.routing && asked.routing->shared_expert_overlap,
                                   .shards_gradients = candidate.zero_stage >= 2});
}

std::vector<job::Overlap> Space::overlaps(const Candidate& candidate) const {
  const job::Question& asked = question_->asked();
  static constexpr std::array kOnOff{true, false};
  const auto choices_of = [&](Key key, bool has_effect) {
    return is_open(key) && has_effect ? std::span<const bool>(kOnOff) : std::span<const bool>(kOnOff).last(1);
  };
  const schedule::Schedule& chosen = schedules_[static_cast<std::size_t>(candidate.schedule)];
  // Stages that update by themselves reduce their gradients between passes.
  const bool waits = !chosen.without_flush && !asked.post_validation;
  const bool replicates = product(candidate.degrees, net::kReplicaAxes) > 1;
  const bool posts_as_megatron = chosen.posting == schedule::Posting::kAsInMegatron;
  const int tensor = candidate.degrees[Axis::kTensor];
  // Both ways to overlap need the ranks' memory in one NVLink domain, and sequence parallelism (Megatron-LM,
  // arguments.py; torch/distributed/_symmetric_memory/__init__.py).
  const int domain = net::domain_of_job(asked.cluster, candidate.gpus, tensor);
  const bool overlaps_tensor = tensor > 1 && candidate.sequence_parallel && domain % tensor == 0;
  std::vector<job::Overlap> overlaps;
  const std::span<const bool> exchanges = choices_of(Key::kExchangeOverlap, may_overlap_exchanges(candidate));
  for (const bool beside : choices_of(Key::kTensorOverlap, overlaps_tensor))
    for (const bool p2p : choices_of(Key::kP2pOverlap, candidate.virtual_pipeline > 1 && posts_as_megatron))
      for (const bool reduce : choices_of(Key::kGradReduce, replicates && waits)) {
        const bool reduces_beside = is_open(Key::kGradReduce)
                                        ? reduce
                                        : asked.choices.overlap.grad_reduce.value_or(asked.runtime.overlap_grad_reduce);
        // Megatron-LM takes --overlap-param-gather only with --overlap-grad-reduce (arguments.py).
        for (const bool gather :
             choices_of(Key::kParamGather, replicates && candidate.zero_stage > 0 && reduces_beside))
          for (const bool exchange : exchanges)
            overlaps.push_back({.grad_reduce = reduce,
                                .param_gather = gather,
                                .p2p = p2p,
                                .tensor_parallel = beside,
                                .exchanges = exchange});
      }
  return overlaps;
}

}  // namespace foretoken::search
