// The kinds of ops in pipeline schedules, and their meanings: a table with one row a kind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace foretoken::schedule {

/// The work of a stage on one micro-batch of one chunk. A backward pass is whole (kBackward) or has two parts. The
/// first part makes the gradient of its input, for which the previous virtual stage waits. The second makes the
/// gradient of its weights. A forward and a whole backward pass may be a pair: they run together, as one unit of the
/// stage, and hide each other's exchanges. The pair starts when the inputs of both are there. Both results exist when
/// it ends.
enum class OpKind : std::uint8_t {
  kForward,
  kBackward,
  kBackwardInput,
  kBackwardWeight,
  kRecompute,       ///< the forward pass again, to restore its activations
  kSendAway,        ///< activations leave the GPU
  kBringBack,       ///< activations return to the GPU
  kUpdate,          ///< the weights change, in schedules without a flush
  kPairedForward,   ///< the forward pass of a pair; its partner is the next op of the stage
  kPairedBackward,  ///< the whole backward pass of a pair; its partner is the op before it
};

inline constexpr std::size_t kOpKinds = 10;

/// The result of an op, for later ops of the same micro-batch.
enum class Result : std::uint8_t { kOutput, kInputGradient, kWeightGradient, kSentAway };

/// Several results at once.
class Results {
 public:
  constexpr Results() = default;
  template <class... More>
  constexpr explicit Results(Result first, More... more) : bits_((bit(first) | ... | bit(more))) {}
  [[nodiscard]] constexpr bool has(Result result) const { return (bits_ & bit(result)) != 0; }
  constexpr void add(Results more) { bits_ |= more.bits_; }

 private:
  [[nodiscard]] static constexpr unsigned bit(Result result) { return 1U << static_cast<unsigned>(result); }
  unsigned bits_ = 0;
};

/// A neighbour on the way of a micro-batch through the virtual stages.
enum class Neighbour : std::uint8_t { kPrevious, kNext };

[[nodiscard]] constexpr Neighbour opposite(Neighbour neighbour) {
  return neighbour == Neighbour::kPrevious ? Neighbour::kNext : Neighbour::kPrevious;
}

/// The effect of an op on the stored activations of its chunk and micro-batch.
enum class Stash : std::uint8_t { kKeeps, kStores, kFrees };

/// The meaning of one kind.
struct OpTraits {
  OpKind kind = OpKind::kForward;
  char letter = '?';           ///< its letter in texts, as in PyTorch's schedules: F, B, I, W
  std::string_view name = {};  ///< "forward"
  /// The neighbour that the input comes from, and the neighbour that the result goes to. Outputs go to the next virtual
  /// stage, input gradients to the previous one.
  std::optional<Neighbour> input_from = {}, result_to = {};
  std::optional<Result> follows = {};  ///< the result that its own virtual stage has to make first
  /// The result of the op. The last op of a chunk that makes weight gradients completes the gradients of the chunk.
  Results makes = {};
  Stash stash = Stash::kKeeps;
  bool is_pass = false;  ///< runs kernels on the compute stream
};

inline constexpr OpTraits kForwardTraits{.kind = OpKind::kForward,
                                         .letter = 'F',
                                         .name = "forward",
                                         .input_from = Neighbour::kPrevious,
                                         .result_to = Neighbour::kNext,
                                         .makes = Results(Result::kOutput),
                                         .stash = Stash::kStores,
                                         .is_pass = true};
inline constexpr OpTraits kBackwardTraits{.kind = OpKind::kBackward,
                                          .letter = 'B',
                                          .name = "backward",
                                          .input_from = Neighbour::kNext,
                                          .result_to = Neighbour::kPrevious,
                                          .follows = Result::kOutput,
                                          .makes = Results(Result::kInputGradient, Result::kWeightGradient),
                                          .stash = Stash::kFrees,
                                          .is_pass = true};

/// Returns the meaning of the same pass in a pair.
[[nodiscard]] constexpr OpTraits in_pair(OpTraits pass, OpKind kind, std::string_view name) {
  pass.kind = kind;
  pass.name = name;
  return pass;
}

/// One row a kind, in the order of OpKind.
inline constexpr std::array<OpTraits, kOpKinds> kOpTraits = {{
    kForwardTraits,
    kBackwardTraits,
    {.kind = OpKind::kBackwardInput,
     .letter = 'I',
     .name = "backward for input",
     .input_from = Neighbour::kNext,
     .result_to = Neighbour::kPrevious,
     .follows = Result::kOutput,
     .makes = Results(Result::kInputGradient),
     .is_pass = true},
    {.kind = OpKind::kBackwardWeight,
     .letter = 'W',
     .name = "backward for weight",
     .follows = Result::kInputGradient,
     .makes = Results(Result::kWeightGradient),
     .stash = Stash::kFrees,
     .is_pass = true},
    {.kind = OpKind::kRecompute, .letter = 'R', .name = "recompute", .follows = Result::kOutput, .is_pass = true},
    {.kind = OpKind::kSendAway,
     .letter = 'E',
     .name = "send away",
     .follows = Result::kOutput,
     .makes = Results(Result::kSentAway),
     .stash = Stash::kFrees},
    {.kind = OpKind::kBringBack,
     .letter = 'L',
     .name = "bring back",
     .follows = Result::kSentAway,
     .stash = Stash::kStores},
    {.kind = OpKind::kUpdate, .letter = 'U', .name = "update", .follows = Result::kWeightGradient},
    in_pair(kForwardTraits, OpKind::kPairedForward, "forward in a pair"),
    in_pair(kBackwardTraits, OpKind::kPairedBackward, "backward in a pair"),
}};

[[nodiscard]] constexpr const OpTraits& traits(OpKind kind) { return kOpTraits[static_cast<std::size_t>(kind)]; }

/// Returns the same pass outside a pair.
[[nodiscard]] constexpr OpKind unpaired(OpKind kind) {
  if (kind == OpKind::kPairedForward) return OpKind::kForward;
  return kind == OpKind::kPairedBackward ? OpKind::kBackward : kind;
}

/// Returns the data that come from that neighbour: outputs from the previous virtual stage, input gradients from the
/// next.
[[nodiscard]] constexpr Result result_from(Neighbour neighbour) {
  return neighbour == Neighbour::kPrevious ? Result::kOutput : Result::kInputGradient;
}

}  // namespace foretoken::schedule
