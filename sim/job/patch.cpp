// One row a key: its name, and what it changes.
#include "sim/job/patch.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "sim/base/check.h"
#include "sim/job/scale.h"

namespace foretoken::job {
namespace {

constexpr std::array<std::string_view, kKeys> kNames = {"gpus",
                                                        "parallelism.tensor",
                                                        "parallelism.pipeline",
                                                        "parallelism.virtual_pipeline",
                                                        "parallelism.data",
                                                        "parallelism.context",
                                                        "parallelism.sequence_parallel",
                                                        "parallelism.layers_per_stage",
                                                        "schedule",
                                                        "batch.micro",
                                                        "batch.microbatch_group",
                                                        "recompute",
                                                        "optimizer.zero_stage",
                                                        "overlap.grad_reduce",
                                                        "overlap.param_gather",
                                                        "profile.gemm, profile.attention",
                                                        "profile.memory_bound, profile.gemm",
                                                        "profile launch_us",
                                                        "runtime host times",
                                                        "cluster.node.nvlink.gb_per_s_per_gpu",
                                                        "cluster.node.pcie_gb_per_s",
                                                        "profile.nvlink, profile.pcie",
                                                        "cluster.node.nics.gb_per_s",
                                                        "profile.network, profile.point_to_point"};

constexpr std::array<Key, kChoiceKeys> kChoices = [] {
  std::array<Key, kChoiceKeys> keys{};
  for (int key = 0; key < kChoiceKeys; ++key) keys[static_cast<std::size_t>(key)] = static_cast<Key>(key);
  return keys;
}();

constexpr std::array kSearched = {Key::kTensor,     Key::kPipeline,         Key::kVirtualPipeline,
                                  Key::kContext,    Key::kSequenceParallel, Key::kSchedule,
                                  Key::kMicroBatch, Key::kRecompute,        Key::kZeroStage};

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
// Another granularity has the defaults of method, layers and modules.
void put(std::optional<Recompute>& field, const Value& value) {
  field.reset();
  if (!is_none(value))
    field.emplace().granularity = held<model::RecomputeGranularity, model::RecomputeGranularity>(value);
}

void apply_to_choices(const Edit& edit, Choices& choices) {
  AskedParallelism& degrees = choices.parallelism;
  switch (edit.key) {
    case Key::kGpus:
      choices.gpus = held<std::int64_t, int>(edit.value);
      return;
    case Key::kTensor:
      return put(degrees.tensor, edit.value);
    case Key::kPipeline:
      return put(degrees.pipeline, edit.value);
    case Key::kVirtualPipeline:
      return put(degrees.virtual_pipeline, edit.value);
    case Key::kData:
      return put(degrees.data, edit.value);
    case Key::kContext:
      return put(degrees.context, edit.value);
    case Key::kSequenceParallel:
      return put(degrees.sequence_parallel, edit.value);
    case Key::kLayersPerStage:
      expects(is_none(edit.value), "an edit can only remove the list of layers");
      degrees.layers_per_stage.clear();
      return;
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
    case Key::kGradReduce:
      return put(choices.overlap.grad_reduce, edit.value);
    case Key::kParamGather:
      return put(choices.overlap.param_gather, edit.value);
    default:
      break;
  }
}

// A value in JSON.
struct Spelled {
  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(model::RecomputeGranularity value) const {
    return fmt::format("\"{}\"", model::name_of(value));
  }
  std::string operator()(const schedule::Schedule& value) const { return fmt::format("\"{}\"", value.name); }
};

}  // namespace

std::string_view name_of(Key key) { return kNames.at(static_cast<std::size_t>(key)); }

std::span<const Key> choice_keys() { return kChoices; }

std::span<const Key> searched_keys() { return kSearched; }

bool is_open(const Choices& choices, Key key) {
  const AskedParallelism& degrees = choices.parallelism;
  switch (key) {
    case Key::kTensor:
      return !degrees.tensor;
    case Key::kPipeline:
      return !degrees.pipeline;
    case Key::kVirtualPipeline:
      return !degrees.virtual_pipeline;
    case Key::kContext:
      return !degrees.context;
    case Key::kSequenceParallel:
      return !degrees.sequence_parallel;
    case Key::kSchedule:
      return !choices.schedule;
    case Key::kMicroBatch:
      return !choices.batch.micro;
    case Key::kRecompute:
      return !choices.recompute;
    case Key::kZeroStage:
      return !choices.zero_stage;
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
