// Enumerates nested choices from the outside in: GPUs, degrees, chunks and schedule, micro-batch, then the rest.
//
// Most combinations cannot be valid: degrees that do not divide the GPUs, layers that do not split, batches that do not
// divide. They are left out here; making a job checks all other rules (sim/job/rules). Choices without effect are left
// out too: sequence parallelism or shards over one rank.
#include "sim/study/search/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/job/deepep.h"
#include "sim/job/layout.h"
#include "sim/job/rules/precision_recipe.h"
#include "sim/job/rules/rules.h"
#include "sim/schedule/catalogue.h"

namespace foretoken::search {
namespace {

using job::Key;
using model::RecomputeGranularity;

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    low.push_back(d);
    if (d * d != number) high.push_back(number / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

// Returns the stated degree if it divides `number`, or all divisors when none is stated.
template <class Degree>
std::vector<std::int64_t> choices(const std::optional<Degree>& stated, std::int64_t number) {
  if (!stated) return divisors(number);
  return number % *stated == 0 ? std::vector<std::int64_t>{*stated} : std::vector<std::int64_t>{};
}

// A stated schedule stands as it is: the catalogue need not have it.
std::vector<schedule::Schedule> schedules_of(const job::Question& question, const SpaceOptions& options) {
  const job::Choices& asked = question.choices;
  if (asked.schedule && asked.schedule->made)
    throw ConfigError({{"search", "/schedule",
                        "expected the name of a schedule, found one to make for every configuration; try null"}});
  if (asked.schedule) return {*asked.schedule};
  std::vector<schedule::Schedule> schedules;
  for (const std::string& name : options.schedules.empty() ? default_schedules(question) : options.schedules)
    schedules.push_back(schedule::schedule_named(name));
  return schedules;
}

void expect_layers_to_deal_out(const job::Question& question) {
  const job::AskedParallelism& stated = question.choices.parallelism;
  if (question.model.encoder_decoder)
    throw ConfigError({{question.name, "/model",
                        fmt::format("expected no encoder beside a decoder with --partition pipedream, found {}; a "
                                    "search tries parallelism.encoder_pipeline without it",
                                    in_quotes(question.model.name))}});
  const auto refuse = [&](const char* key, const char* expected) {
    throw ConfigError({{question.name, fmt::format("/parallelism/{}", key),
                        fmt::format("expected {} with --partition pipedream, which deals the layers out", expected)}});
  };
  if (!stated.layers_per_stage.empty()) refuse("layers_per_stage", "no list");
  if (stated.embedding_and_head_as_layers) refuse("embedding_and_head_as_layers", "false");
}

// Deals layers out as evenly as whole layers allow.
std::vector<int> nearly_even(std::int64_t layers, int stages) {
  std::vector<int> counts(static_cast<std::size_t>(stages), static_cast<int>(layers / stages));
  for (std::int64_t stage = 0; stage < layers % stages; ++stage) ++counts[static_cast<std::size_t>(stage)];
  return counts;
}

}  // namespace

std::vector<std::pair<std::string_view, int>> degrees_by_key(const Candidate& candidate) {
  std::vector<std::pair<std::string_view, int>> degrees;
  for (const auto& [axis, member] : job::kDegrees) {
    degrees.emplace_back(name_of(axis), candidate.degrees[axis]);
    if (axis == Axis::kPipeline) degrees.emplace_back("virtual_pipeline", candidate.virtual_pipeline);
  }
  if (candidate.dispatcher)
    for (const auto& [axis, member] : job::kExpertDegrees) degrees.emplace_back(name_of(axis), candidate.degrees[axis]);
  return degrees;
}

std::vector<std::string> default_schedules(const job::Question& question) {
  if (!question.post_validation) return {"1f1b", "interleaved-1f1b"};
  std::vector<std::string> names;
  for (const schedule::Schedule& each : schedule::all_schedules())
    if (each.splits_backward && each.copies == 1) names.push_back(each.name);
  return names;
}

Space::Space(const io::OpenScenario& question, SpaceOptions options)
    : question_(&question), options_(std::move(options)), schedules_(schedules_of(question.asked(), options_)) {
  for (const Key key : job::choice_keys()) open_[static_cast<std::size_t>(key)] = leaves_open(key);
  const job::Choices& asked = question.asked().choices;
  if (options_.gpus.empty()) options_.gpus = {asked.gpus};
  if (options_.partition == Partition::kPipeDream) expect_layers_to_deal_out(question.asked());
  for (const int gpus : options_.gpus) add_cuts(gpus);
  deal_by_time();
}

bool has_no_choice(const model::Transformer& model, const job::Runtime& runtime, Key key) {
  const job::OverlapSwitches& switches = runtime.switches;
  if (key == Key::kEncoderPipeline) return !model.encoder_decoder;
  if (job::is_about_experts(key) && !model.experts) return true;
  switch (key) {
    case Key::kExchangeOverlap:
      return !switches.exchanges;
    case Key::kDispatcher:
      return runtime.dispatchers.size() < 2;
    case Key::kGradReduce:
      return !switches.grad_reduce;
    case Key::kParamGather:
      return !switches.param_gather;
    case Key::kP2pOverlap:
      return !switches.p2p;
    case Key::kTensorOverlap:
      return !switches.tensor_parallel;
    case Key::kOffloadOptimizer:
      return !runtime.offload.optimizer;
    case Key::kOffloadParameters:
      return !runtime.offload.parameters;
    case Key::kOffloadActivations:
      return !runtime.offload.activations;
    default:
      return false;
  }
}

bool Space::leaves_open(Key key) const {
  const job::Question& asked = question_->asked();
  if (!job::is_open(asked.choices, key) || has_no_choice(asked.model, asked.runtime, key)) return false;
  const std::span<const Key> on_request = job::requested_keys();
  return std::ranges::find(on_request, key) == on_request.end() ||
         std::ranges::find(options_.requested, key) != options_.requested.end();
}

std::vector<Key> Space::searched() const {
  std::vector<Key> keys;
  for (const Key key : job::choice_keys())
    if (is_open(key)) keys.push_back(key);
  return keys;
}

// Returns true when layers can be cut `degree` times along the axis, for any other choices.
bool Space::cuts_layer(Axis axis, std::int64_t degree) const {
  const job::Question& asked = question_->asked();
  if (axis != Axis::kTensor) return job::sequence_fits(asked, axis, degree);
  if (!is_open(job::key_of(axis))) return true;
  if (!job::tensor_divides(asked.model, degree)) return false;
  return options_.cross_node_tensor || net::domains_hold(asked.cluster, degree);
}

void Space::add_cuts(int gpus) {
  std::vector<Candidate> cut = {{.gpus = gpus}};
  for (const auto& [axis, name] : job::kDegrees) {
    if (!net::kLayerAxes.contains(axis)) continue;
    std::vector<Candidate> before = std::move(cut);
    cut.clear();
    for (Candidate& candidate : before)
      for (const std::int64_t degree : choices(question_->asked().choices.parallelism.degrees[axis],
                                               gpus / product(candidate.degrees, net::kLayerAxes))) {
        if (!cuts_layer(axis, degree)) continue;
        cut.push_back(candidate);
        cut.back().degrees[axis] = static_cast<int>(degree);
      }
  }
  for (const Candidate& candidate : cut) add_pipelines(candidate);
}

void Space::add_pipelines(Candidate candidate) {
  const job::Question& asked = question_->asked();
  const job::AskedParallelism& stated = asked.choices.parallelism;
  const std::int64_t layers = asked.model.layers;
  const int rest = candidate.gpus / product(candidate.degrees, net::kLayerAxes);
  job::Parallelism shape{.embedding_and_head_as_layers = stated.embedding_and_head_as_layers,
                         .layers_per_stage = stated.layers_per_stage,
                         .encoder_pipeline = stated.encoder_pipeline};
  if (asked.model.encoder_decoder) shape.encoder_layers = asked.model.encoder_decoder->encoder_layers;
  for (const std::int64_t pipeline : choices(stated.degrees[Axis::kPipeline], rest)) {
    if (pipeline > layers + 2) break;
    const int data = rest / static_cast<int>(pipeline);
    if (stated.degrees[Axis::kData].value_or(data) != data) continue;
    if (asked.choices.batch.global % data != 0) continue;
    const int first = stated.virtual_pipeline.value_or(1);
    constexpr int kMostCopies = 2;  // of the model in two-way schedules: each of them has a chunk on every stage
    const int most = std::max(kMostCopies, static_cast<int>((layers + 2) / pipeline));
    const int last = stated.virtual_pipeline.value_or(most);
    for (int chunks = first; chunks <= last; ++chunks) {
      shape.pipeline = static_cast<int>(pipeline);
      shape.virtual_pipeline = chunks;
      candidate.degrees[Axis::kPipeline] = shape.pipeline;
      candidate.degrees[Axis::kData] = data;
      candidate.virtual_pipeline = chunks;
      add_encoder_stages(candidate, shape);
    }
  }
}

// Tries every number of stages that leaves one to the decoder. Without a pipeline both halves share the only stage.
void Space::add_encoder_stages(Candidate candidate, job::Parallelism shape) {
  if (!is_open(Key::kEncoderPipeline) || shape.pipeline == 1) return add_batches(candidate, shape);
  for (int stages = 1; stages < shape.pipeline; ++stages) {
    candidate.encoder_pipeline = stages;
    shape.encoder_pipeline = stages;
    add_batches(candidate, shape);
  }
}

// `shape` deals out the layers.
void Space::add_batches(Candidate candidate, job::Parallelism shape) {
  const std::int64_t layers = question_->asked().model.layers;
  for (std::size_t s = 0; s < schedules_.size(); ++s) {
    if (schedules_[s].interleaves != (candidate.virtual_pipeline > 1)) continue;
    candidate.schedule = static_cast<int>(s);
    shape.copies = schedules_[s].copies;
    candidate.layers_per_stage.clear();
    if (job::deal_layers(layers, shape)) add_micro_batches(candidate);
    if (!deals_by_time(candidate)) continue;
    candidate.layers_per_stage = nearly_even(layers, candidate.degrees[Axis::kPipeline]);  // until they are timed
    add_micro_batches(candidate);
  }
}

void Space::add_micro_batches(Candidate candidate) {
  const job::AskedBatch& batch = question_->asked().choices.batch;
  const std::int64_t data = candidate.degrees[Axis::kData];
  for (const std::int64_t micro : choices(batch.micro, batch.global / data)) {
    const std::int64_t microbatches = batch.global / data / micro;
    if (microbatches > std::numeric_limits<int>::max()) continue;
    const auto group = group_for(candidate.schedule, {.stages = candidate.degrees[Axis::kPipeline],
                                                      .microbatches = static_cast<int>(microbatches),
                                                      .chunks = candidate.virtual_pipeline,
                                                      .group = batch.microbatch_group.value_or(0)});
    if (!group) continue;
    candidate.micro = micro;
    candidate.microbatch_group = *group;
    add_group(candidate);
  }
}

// Returns the group of micro-batches for a shape: 0 where the stated or the usual one works, else the smallest one that
// does. Small groups need least memory, and larger ones save no time.
std::optional<int> Space::group_for(int schedule, schedule::PipelineShape shape) {
  const schedule::Schedule& chosen = schedules_[static_cast<std::size_t>(schedule)];
  if (!why_not(chosen, shape)) return 0;
  if (!chosen.interleaves || !is_open(Key::kMicrobatchGroup)) return std::nullopt;
  const auto [place, is_new] =
      groups_that_work_.try_emplace(std::tuple(schedule, shape.stages, shape.microbatches), std::nullopt);
  if (!is_new) return place->second;
  for (shape.group = shape.stages + 1; shape.group <= shape.microbatches && !place->second; ++shape.group)
    if (!why_not(chosen, shape)) place->second = shape.group;
  return place->second;
}

// Megatron-Core takes a capacity factor and shared experts beside exchanges with all-to-all only
// (transformer_config.py). DeepEP is tried where profiles know its times and NVLink stays inside a host
// (Megatron-Bridge, training/flex_dispatcher_backend.py: "only applicable to Ampere, Hopper, and Blackwell
// (B200/B300)").
std::vector<model::Dispatcher> Space::dispatchers_of(int expert, int expert_tensor) const {
  using model::Dispatcher;
  const job::Question& asked = question_->asked();
  if (!is_open(Key::kDispatcher)) return {asked.choices.dispatcher.value_or(job::Routing{}.dispatcher)};
  const auto& known = asked.runtime.dispatchers;
  const auto has = [&](Dispatcher dispatcher) { return std::ranges::count(known, dispatcher) > 0; };
  const bool moves = expert * expert_tensor > 1;
  const bool any = !asked.routing || (!asked.routing->capacity_factor && !asked.routing->shared_expert_overlap);
  if (!moves || !any) return {has(Dispatcher::kAllToAll) ? Dispatcher::kAllToAll : known.front()};
  std::vector<Dispatcher> dispatchers = known;
  const bool spans_hosts = asked.cluster.links.gpus > asked.cluster.gpus_per_node;
  const bool known_times = !job::why_no_deepep(asked.profile, /*crosses=*/true);
  if ((spans_hosts || !known_times) && dispatchers.size() > 1) std::erase(dispatchers, Dispatcher::kDeepEp);
  return dispatchers;
}

std::vector<Space::ExpertChoice> Space::expert_choices(const Candidate& candidate) const {
  const job::Question& asked = question_->asked();
  if (!asked.model.experts) return {{}};
  const PerAxis<std::optional<int>>& stated = asked.choices.parallelism.degrees;
  const std::int64_t ranks = product(candidate.degrees, net::kStageAxes);
  const bool any_width = options_.cross_node_tensor || !is_open(job::key_of(Axis::kExpertTensor));
  std::vector<ExpertChoice> all;
  for (const std::int64_t expert : choices(stated[Axis::kExpert], asked.model.experts->count))
    for (const std::int64_t tensor : choices(stated[Axis::kExpertTensor], asked.model.experts->width)) {
      if (ranks % (expert * tensor) != 0 || (!any_width && !net::domains_hold(asked.cluster, tensor))) continue;
      ExpertChoice choice{static_cast<int>(expert), static_cast<int>(tensor)};
      for (const model::Dispatcher dispatcher : dispatchers_of(choice.expert, choice.expert_tensor)) {
        choice.dispatcher = dispatcher;
        all.push_back(choice);
      }
    }
  return all;
}

void Space::add_group(Candidate candidate) {
  const std::size_t begin = candidates_.size();
  for (const ExpertChoice& experts : expert_choices(candidate)) {
    candidate.degrees[Axis::kExpert] = experts.expert;
    candidate.degrees[Axis::kExpertTensor] = experts.expert_tensor;
    candidate.dispatcher = experts.dispatcher;
    add_executions(candidate);
  }
  if (candidates_.size() > begin) groups_.push_back({begin, candidates_.size()});
}

void Space::add_executions(Candidate candidate) {
  const std::vector<RecomputeGranularity> recomputes = recompute_choices();
  const std::vector<int> zero_stages = zero_stage_choices(candidate);
  for (const std::optional<Precision> precision : precision_choices()) {
    candidate.precision = precision;
    for (const bool short_gradients : short_gradient_choices(candidate))
      for (const bool sequence_parallel : sequence_parallel_choices(candidate))
        for (const RecomputeGranularity recompute : recomputes)
          for (const int zero_stage : zero_stages) {
            candidate.short_gradients = short_gradients;
            candidate.sequence_parallel = sequence_parallel;
            candidate.recompute = recompute;
            candidate.zero_stage = zero_stage;
            for (const Offloads& offloads : offload_choices(candidate)) {
              candidate.offloads = offloads;
              candidates_.push_back(candidate);
            }
          }
  }
}

job::Patch Space::patch_of(const Candidate& candidate, const job::Overlap& overlap) const {
  job::Patch patch;
  patch.reserve(job::kChoiceKeys);
  patch.push_back({Key::kGpus, std::int64_t{candidate.gpus}});
  const auto choose = [&](Key key, const auto& value) {
    if (is_open(key)) patch.push_back({key, value});
  };
  for (const auto& [axis, degree] : job::kDegrees) choose(job::key_of(axis), std::int64_t{candidate.degrees[axis]});
  if (candidate.dispatcher) {
    for (const auto& [axis, degree] : job::kExpertDegrees)
      choose(job::key_of(axis), std::int64_t{candidate.degrees[axis]});
    choose(Key::kDispatcher, *candidate.dispatcher);
    choose(Key::kExchangeOverlap, overlap.exchanges);
  }
  choose(Key::kVirtualPipeline, std::int64_t{candidate.virtual_pipeline});
  if (candidate.encoder_pipeline > 0) choose(Key::kEncoderPipeline, std::int64_t{candidate.encoder_pipeline});
  choose(Key::kSequenceParallel, candidate.sequence_parallel);
  choose(Key::kSchedule, schedules_[static_cast<std::size_t>(candidate.schedule)]);
  choose(Key::kMicroBatch, candidate.micro);
  choose(Key::kRecompute, candidate.recompute);
  choose(Key::kZeroStage, std::int64_t{candidate.zero_stage});
  if (candidate.microbatch_group > 0) choose(Key::kMicrobatchGroup, std::int64_t{candidate.microbatch_group});
  choose(Key::kGradReduce, overlap.grad_reduce);
  choose(Key::kParamGather, overlap.param_gather);
  choose(Key::kP2pOverlap, overlap.p2p);
  choose(Key::kTensorOverlap, overlap.tensor_parallel);
  if (candidate.precision) choose(Key::kPrecision, *candidate.precision);
  for (std::size_t part = 0; part < candidate.offloads.size(); ++part)
    if (candidate.offloads[part]) choose(kOffloadKeys[part], 1.0);
  if (!candidate.layers_per_stage.empty()) patch.push_back({Key::kLayersPerStage, candidate.layers_per_stage});
  if (candidate.short_gradients) choose(Key::kGradients, std::int64_t{2});
  // A stated overlap of parameter gathers applies only to choices with gathers. Without sharding it has no effect.
  if (is_open(Key::kZeroStage) && candidate.zero_stage == 0) patch.push_back({Key::kParamGather, {}});
  return patch;
}

}  // namespace foretoken::search
