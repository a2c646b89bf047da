// A change of a question: a list of edits, each a key and its new value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/job/question.h"

namespace foretoken::job {

/// The keys that an edit can change.
enum class Key : std::uint8_t {
  // Choices, with a value.
  kGpus,
  kFirstDegree,  ///< one key for each axis follows from here; key_of finds it
  kVirtualPipeline = kFirstDegree + static_cast<int>(kAxes),
  kEncoderPipeline,
  kSequenceParallel,
  kLayersPerStage,
  kSchedule,
  kMicroBatch,
  kMicrobatchGroup,
  kRecompute,
  kZeroStage,
  kGradReduce,
  kParamGather,
  kP2pOverlap,
  kTensorOverlap,
  kExchangeOverlap,
  kDispatcher,
  kPrecision,
  kGradients,
  kOffloadOptimizer,
  kOffloadParameters,
  kOffloadActivations,
  // Properties of machines and software, with a factor.
  kArithmeticRate,
  kMemoryBandwidth,
  kLaunchTime,
  kHostTime,
  kNvlinkRate,
  kPcieRate,
  kNodeLatency,
  kNicRate,
  kNetworkLatency,
};
inline constexpr int kChoiceKeys = static_cast<int>(Key::kArithmeticRate);
inline constexpr int kKeys = static_cast<int>(Key::kNetworkLatency) + 1;

/// Returns the key of an axis's degree.
[[nodiscard]] constexpr Key key_of(Axis axis) {
  return static_cast<Key>(static_cast<int>(Key::kFirstDegree) + static_cast<int>(axis));
}
/// Returns the axis whose degree the key is, if it is one.
[[nodiscard]] constexpr std::optional<Axis> axis_of(Key key) {
  const int axis = static_cast<int>(key) - static_cast<int>(Key::kFirstDegree);
  return axis >= 0 && axis < static_cast<int>(kAxes) ? std::optional(static_cast<Axis>(axis)) : std::nullopt;
}

/// A whole number, a switch, a factor or fraction, a list of layers, or a value named by the key (recomputation,
/// schedule, precision, dispatcher). `std::monostate` removes a statement, so the default holds again.
using Value = std::variant<std::monostate, std::int64_t, bool, double, model::RecomputeGranularity, schedule::Schedule,
                           Precision, model::Dispatcher, std::vector<int>>;

struct Edit {
  Key key;
  Value value;
};

using Patch = std::vector<Edit>;

/// Returns true for keys of Question::choices.
[[nodiscard]] constexpr bool is_choice(Key key) { return static_cast<int>(key) < kChoiceKeys; }

/// Returns true for a choice that only models with experts have.
[[nodiscard]] bool is_about_experts(Key key);

/// Returns "parallelism.tensor". For a property it returns the place of its statement: "profile launch_us".
[[nodiscard]] std::string_view name_of(Key key);

/// Returns every choice key that a question can state, in the order in which they are named.
[[nodiscard]] std::span<const Key> choice_keys();

/// Returns the choices that a search makes where the question leaves them out.
[[nodiscard]] std::span<const Key> searched_keys();
/// Returns the choices that change the numbers of a training. A search makes them on request only.
[[nodiscard]] std::span<const Key> requested_keys();
/// Returns true for a choice of these lists without a statement in the question.
[[nodiscard]] bool is_open(const Choices& choices, Key key);

/// Applies one edit. Precondition, here and below: the value is of the key's kind, such as a whole number for a degree
/// or a factor for a rate. Only an optional choice can be removed.
void apply(const Edit& edit, Question& question);

/// Returns `question` with every edit, in their order.
[[nodiscard]] Question with(Question question, const Patch& patch);

/// Returns "parallelism.tensor=4", as `--set` takes it. Precondition: a choice.
[[nodiscard]] std::string as_set(const Edit& edit);

/// Returns "parallelism.tensor 4", for people. Precondition: a choice.
[[nodiscard]] std::string in_words(const Edit& edit);

}  // namespace foretoken::job
