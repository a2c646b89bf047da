// Names the keys of a question, and applies edits to it.
#include "sim/job/patch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/base/check.h"
#include "sim/job/scale.h"

namespace foretoken::job {
namespace {

// Names of all keys except the degrees of axes.
constexpr std::pair<Key, std::string_view> kNames[] = {
    {Key::kGpus, "gpus"},
    {Key::kVirtualPipeline, "parallelism.virtual_pipeline"},
    {Key::kEncoderPipeline, "parallelism.encoder_pipeline"},
    {Key::kSequenceParallel, "parallelism.sequence_parallel"},
    {Key::kLayersPerStage, "parallelism.layers_per_stage"},
    {Key::kSchedule, "schedule"},
    {Key::kMicroBatch, "batch.micro"},
    {Key::kMicrobatchGroup, "batch.microbatch_group"},
    {Key::kRecompute, "recompute"},
    {Key::kZeroStage, "optimizer.zero_stage"},
    {Key::kGradReduce, "overlap.grad_reduce"},
    {Key::kParamGather, "overlap.param_gather"},
    {Key::kP2pOverlap, "overlap.p2p"},
    {Key::kTensorOverlap, "overlap.tensor_parallel"},
    {Key::kExchangeOverlap, "moe.overlap"},
    {Key::kDispatcher, "moe.dispatcher"},
    {Key::kPrecision, "precision"},
    {Key::kGradients, "precision_recipe.gradients"},
    {Key::kOffloadOptimizer, "offload.optimizer"},
    {Key::kOffloadParameters, "offload.parameters"},
    {Key::kOffloadActivations, "offload.activations"},
    {Key::kArithmeticRate, "profile.gemm, profile.attention"},
    {Key::kMemoryBandwidth, "profile.memory_bound, profile.gemm"},
    {Key::kLaunchTime, "profile launch_us"},
    {Key::kHostTime, "runtime host times"},
    {Key::kNvlinkRate, "cluster.node.nvlink.gb_per_s_per_gpu"},
    {Key::kPcieRate, "cluster.node.pcie_gb_per_s"},
    {Key::kNodeLatency, "profile.nvlink, profile.pcie"},
    {Key::kNicRate, "cluster.node.nics.gb_per_s"},
    {Key::kNetworkLatency, "profile.network, profile.point_to_point"}};

// Returns the names by key.
std::vector<std::string> names_of_keys() {
  std::vector<std::string> names(kKeys);
  for (const auto& [key, name] : kNames) names[static_cast<std::size_t>(key)] = name;
  for (const auto& [axis, name] : kAxisNames)
    names[static_cast<std::size_t>(key_of(axis))] = fmt::format("parallelism.{}", name);
  return names;
}

// Returns the choices in the order of keys, without degrees that no job has.
std::vector<Key> stated_choices() {
  std::vector<Key> keys;
  for (int number = 0; number < kChoiceKeys; ++number) {
    const auto key = static_cast<Key>(number);
    const std::optional<Axis> axis = axis_of(key);
    const auto is_stated = [&](const auto& row) { return row.first == *axis; };
    if (!axis || std::ranges::any_of(kDegrees, is_stated) || std::ranges::any_of(kExpertDegrees, is_stated))
      keys.push_back(key);
  }
  return keys;
}

bool is_searched(Key key) {
  constexpr Key kOther[] = {Key::kVirtualPipeline, Key::kEncoderPipeline, Key::kSequenceParallel, Key::kSchedule,
                            Key::kMicroBatch,      Key::kMicrobatchGroup, Key::kRecompute,        Key::kZeroStage,
                            Key::kGradReduce,      Key::kParamGather,     Key::kP2pOverlap,       Key::kTensorOverlap,
                            Key::kExchangeOverlap, Key::kDispatcher};
  // The data-parallel degrees follow from the GPUs and the other degrees.
  constexpr AxisSet kFollow{Axis::kData, Axis::kExpertData};
  const std::optional<Axis> axis = axis_of(key);
  return std::ranges::find(kOther, key) != std::end(kOther) || (axis && !kFollow.contains(*axis));
}

std::vector<Key> searched_choices() {
  std::vector<Key> keys = stated_choices();
  std::erase_if(keys, [](Key key) { return !is_searched(key); });
  return keys;
}

bool is_none(const Value& value) { return std::holds_alternative<std::monostate>(value); }

template <class Held, class T>
T held(const Value& value) {
  expects(std::holds_alternative<Held>(value), "an edit holds a value of its key's kind");
  return static_cast<T>(*std::get_if<Held>(&value));
}

void put(std::optional<int>& field, const Value& value) {
  field = is_none(value) ? std::nullopt : std::optional(held<std::int64_t, int>(value));
}
void put(std::optional<std::int64_t>& field, const Value& value) {
  field = is_none(value) ? std::nullopt : std::optional(held<std::int64_t, std::int64_t>(value));
}
void put(std::optional<bool>& field, const Value& value) {
  field = is_none(value) ? std::nullopt : std::optional(held<bool, bool>(value));
}
void put(std::optional<schedule::Schedule>& field, const Value& value) {
  field = is_none(value) ? std::nullopt : std::optional(held<schedule::Schedule, schedule::Schedule>(value));
}
// Another granularity takes the defaults of method, layers and modules.
void put(std::optional<Recompute>& field, const Value& value) {
  field.reset();
  if (!is_none(value))
    field.emplace().granularity = held<model::RecomputeGranularity, model::RecomputeGranularity>(value);
}

void put(std::vector<int>& field, const Value& value) {
  field = is_none(value) ? std::vector<int>{} : held<std::vector<int>, std::vector<int>>(value);
}

void put(std::optional<Precision>& field, const Value& value) {
  field = is_none(value) ? std::nullopt : std::optional(held<Precision, Precision>(value));
}
void put(std::optional<model::Dispatcher>& field, const Value& value) {
  field = is_none(value) ? std::nullopt : std::optional(held<model::Dispatcher, model::Dispatcher>(value));
}
// A stated source of scales holds for fp8 alone, and would be refused beside another precision. An open precision keeps
// it for the fp8 that may be tried.
void put_precision(Choices& choices, const Value& value) {
  put(choices.precision, value);
  if (choices.recipe && choices.precision.value_or(Precision::kFp8) != Precision::kFp8) choices.recipe->fp8.reset();
}
// Stated gradients have no second copy.
void put_gradients(std::optional<AskedRecipe>& recipe, const Value& value) {
  if (!recipe) recipe.emplace();
  recipe->gradient_bytes = is_none(value) ? std::nullopt : std::optional(held<std::int64_t, double>(value));
  recipe->extra_gradient_bytes.reset();
}

// Returns the part that the key offloads, if it is such a key.
Offloaded Offload::*offloaded_by(Key key) {
  if (key == Key::kOffloadOptimizer) return &Offload::optimizer;
  if (key == Key::kOffloadParameters) return &Offload::parameters;
  return key == Key::kOffloadActivations ? &Offload::activations : nullptr;
}

// A fraction of a part goes to the host.
void put_offloaded(std::optional<Offload>& offload, Offloaded Offload::*part, const Value& value) {
  if (!offload) offload.emplace();
  (*offload).*part = is_none(value) ? Offloaded{} : Offloaded{.fraction = held<double, double>(value)};
}

void apply_to_overlap(const Edit& edit, AskedOverlap& overlap) {
  switch (edit.key) {
    case Key::kGradReduce:
      return put(overlap.grad_reduce, edit.value);
    case Key::kParamGather:
      return put(overlap.param_gather, edit.value);
    case Key::kP2pOverlap:
      return put(overlap.p2p, edit.value);
    case Key::kTensorOverlap:
      return put(overlap.tensor_parallel, edit.value);
    case Key::kExchangeOverlap:
      return put(overlap.exchanges, edit.value);
    default:
      break;
  }
}

void apply_to_choices(const Edit& edit, Choices& choices) {
  AskedParallelism& degrees = choices.parallelism;
  if (const auto axis = axis_of(edit.key)) return put(degrees.degrees[*axis], edit.value);
  if (const auto part = offloaded_by(edit.key)) return put_offloaded(choices.offload, part, edit.value);
  switch (edit.key) {
    case Key::kGpus:
      choices.gpus = held<std::int64_t, int>(edit.value);
      return;
    case Key::kVirtualPipeline:
      return put(degrees.virtual_pipeline, edit.value);
    case Key::kEncoderPipeline:
      return put(degrees.encoder_pipeline, edit.value);
    case Key::kSequenceParallel:
      return put(degrees.sequence_parallel, edit.value);
    case Key::kLayersPerStage:
      return put(degrees.layers_per_stage, edit.value);
    case Key::kSchedule:
      return put(choices.schedule, edit.value);
    case Key::kMicroBatch:
      return put(choices.batch.micro, edit.value);
    case Key::kMicrobatchGroup:
      return put(choices.batch.microbatch_group, edit.value);
    case Key::kRecompute:
      return put(choices.recompute, edit.value);
    case Key::kZeroStage:
      return put(choices.zero_stage, edit.value);
    case Key::kDispatcher:
      return put(choices.dispatcher, edit.value);
    case Key::kPrecision:
      return put_precision(choices, edit.value);
    case Key::kGradients:
      return put_gradients(choices.recipe, edit.value);
    default:
      return apply_to_overlap(edit, choices.overlap);
  }
}

// Writes a value in JSON.
struct Spelled {
  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(model::RecomputeGranularity value) const {
    return fmt::format("\"{}\"", model::name_of(value));
  }
  std::string operator()(Precision value) const { return fmt::format("\"{}\"", foretoken::name_of(value)); }
  std::string operator()(model::Dispatcher value) const { return fmt::format("\"{}\"", model::name_of(value)); }
  std::string operator()(const std::vector<int>& value) const { return fmt::format("[{}]", fmt::join(value, ",")); }
  std::string operator()(const schedule::Schedule& value) const {
    if (value.made) return R"({"search": true})";
    if (value.only_shape) return fmt::format("{{\"file\": \"{}\"}}", value.name);
    return fmt::format("\"{}\"", value.name);
  }
};

}  // namespace

std::string_view name_of(Key key) {
  static const std::vector<std::string> kNamesOfKeys = names_of_keys();
  return kNamesOfKeys.at(static_cast<std::size_t>(key));
}

bool is_about_experts(Key key) {
  constexpr AxisSet kAxesOfExperts{Axis::kExpert, Axis::kExpertTensor};
  const std::optional<Axis> axis = axis_of(key);
  return key == Key::kDispatcher || key == Key::kExchangeOverlap || (axis && kAxesOfExperts.contains(*axis));
}

std::span<const Key> choice_keys() {
  static const std::vector<Key> kChoices = stated_choices();
  return kChoices;
}

std::span<const Key> searched_keys() {
  static const std::vector<Key> kSearched = searched_choices();
  return kSearched;
}

std::span<const Key> requested_keys() {
  static constexpr Key kRequested[] = {Key::kPrecision, Key::kGradients, Key::kOffloadOptimizer,
                                       Key::kOffloadParameters, Key::kOffloadActivations};
  return kRequested;
}

bool is_open(const Choices& choices, Key key) {
  if (!is_searched(key) && std::ranges::find(requested_keys(), key) == requested_keys().end()) return false;
  const AskedParallelism& degrees = choices.parallelism;
  if (const auto axis = axis_of(key)) return !degrees.degrees[*axis];
  if (const auto part = offloaded_by(key)) return !choices.offload || !((*choices.offload).*part).any();
  switch (key) {
    case Key::kVirtualPipeline:
      return !degrees.virtual_pipeline;
    case Key::kEncoderPipeline:
      return !degrees.encoder_pipeline && degrees.layers_per_stage.empty();  // a list says where the encoder ends
    case Key::kSequenceParallel:
      return !degrees.sequence_parallel;
    case Key::kSchedule:
      return !choices.schedule;
    case Key::kMicroBatch:
      return !choices.batch.micro;
    case Key::kRecompute:
      return !choices.recompute;
    case Key::kMicrobatchGroup:
      return !choices.batch.microbatch_group;
    case Key::kZeroStage:
      return !choices.zero_stage;
    case Key::kGradReduce:
      return !choices.overlap.grad_reduce;
    case Key::kParamGather:
      return !choices.overlap.param_gather;
    case Key::kP2pOverlap:
      return !choices.overlap.p2p;
    case Key::kTensorOverlap:
      return !choices.overlap.tensor_parallel;
    case Key::kExchangeOverlap:
      return !choices.overlap.exchanges;
    case Key::kDispatcher:
      return !choices.dispatcher;
    case Key::kPrecision:
      return !choices.precision;
    case Key::kGradients:
      return !choices.recipe || !choices.recipe->gradient_bytes;
    default:
      return false;
  }
}

void apply(const Edit& edit, Question& question) {
  if (is_choice(edit.key)) return apply_to_choices(edit, question.choices);
  scale(edit.key, held<double, double>(edit.value), question);
}

Question with(Question question, const Patch& patch) {
  for (const Edit& edit : patch) apply(edit, question);
  return question;
}

std::string as_set(const Edit& edit) {
  expects(is_choice(edit.key), "only choices are keys of a scenario");
  return fmt::format("{}={}", name_of(edit.key), std::visit(Spelled{}, edit.value));
}

std::string in_words(const Edit& edit) {
  expects(is_choice(edit.key), "only choices are keys of a scenario");
  return fmt::format("{} {}", name_of(edit.key), std::visit(Spelled{}, edit.value));
}

}  // namespace foretoken::job
