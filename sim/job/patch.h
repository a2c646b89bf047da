// The same question otherwise: a list of edits, each a key and its new value.
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
  kFirstDegree,  ///< the first of one key an axis: key_of
  kVirtualPipeline = kFirstDegree + static_cast<int>(kAxes),
  kSequenceParallel,
  kLayersPerStage,
  kSchedule,
  kMicroBatch,
  kMicrobatchGroup,
  kRecompute,
  kZeroStage,
  kGradReduce,
  kParamGather,
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

/// The key of an axis's degree.
[[nodiscard]] constexpr Key key_of(Axis axis) {
  return static_cast<Key>(static_cast<int>(Key::kFirstDegree) + static_cast<int>(axis));
}
/// The axis whose degree the key is.
[[nodiscard]] constexpr std::optional<Axis> axis_of(Key key) {
  const int axis = static_cast<int>(key) - static_cast<int>(Key::kFirstDegree);
  return axis >= 0 && axis < static_cast<int>(kAxes) ? std::optional(static_cast<Axis>(axis)) : std::nullopt;
}

/// A whole number, a switch, a factor, or what a key's name stands for. `std::monostate` removes a statement: the
/// default holds again.
using Value = std::variant<std::monostate, std::int64_t, bool, double, model::RecomputeGranularity, schedule::Schedule>;

struct Edit {
  Key key;
  Value value;
};

using Patch = std::vector<Edit>;

/// True for keys of Question::choices.
[[nodiscard]] constexpr bool is_choice(Key key) { return static_cast<int>(key) < kChoiceKeys; }

/// "parallelism.tensor"; of a property the place where it is stated: "profile launch_us".
[[nodiscard]] std::string_view name_of(Key key);

/// Every choice key that a question can state, in the order in which they are named.
[[nodiscard]] std::span<const Key> choice_keys();

/// The choices that a search may make: those without a statement in the question.
[[nodiscard]] std::span<const Key> searched_keys();
[[nodiscard]] bool is_open(const Choices& choices, Key key);

/// Precondition, here and below: the value is of the key's kind (a whole number for a degree, a factor for a rate,
/// ...); only an optional choice can be removed.
void apply(const Edit& edit, Question& question);

/// `question` with every edit, in their order.
[[nodiscard]] Question with(Question question, const Patch& patch);

/// "parallelism.tensor=4", as `--set` takes it. Precondition: a choice.
[[nodiscard]] std::string as_set(const Edit& edit);

/// "parallelism.tensor 4", for people. Precondition: a choice.
[[nodiscard]] std::string in_words(const Edit& edit);

}  // namespace foretoken::job
