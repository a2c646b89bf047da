// The V schedules of "Pipeline Parallelism with Controllable Memory" (arXiv:2405.15362): a pattern, repeated, squeezed.
//
// Time goes in slots, one pass each. The pattern says in which slots a stage runs the four passes of micro-batch 0:
// forward down, forward up, backward for input up, backward for input down. Micro-batch i follows 6 slots later. The
// backwards for weight take the free slots, oldest first. This holds the memory of the steady state, but warm-up and
// drain have many free slots. There, every pass moves to the earliest free slot that its inputs allow, unless the
// fullest stage would then hold more activations than the pattern does:
//
//   1. Squeeze warm-up and drain, with backwards for weight as passes like the others. Place these anew.
//   2. Run the order with passes of one slot and free messages: idle slots close.
//   3. Squeeze the drain once more without backwards for weight, and place these anew.
//
// Warm-up ends when stage 0 has the first backward for input down; drain begins after its last forward down.
#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "sim/base/check.h"
#include "sim/schedule/flush/flush.h"
#include "sim/schedule/flush/v_shape.h"

namespace foretoken::schedule {
namespace {

constexpr int kPeriod = 6;  // two chunks of a forward, a backward for input and a backward for weight

/// The passes of a micro-batch on a stage in the order of their pattern. Weights follow.
enum class VPass : std::uint8_t { kForwardDown, kForwardUp, kInputUp, kInputDown, kWeightUp, kWeightDown, kNone };
constexpr std::size_t kVPasses = 6;

constexpr bool is_forward(VPass pass) { return pass <= VPass::kForwardUp; }
constexpr bool is_input(VPass pass) { return pass == VPass::kInputUp || pass == VPass::kInputDown; }
constexpr bool is_weight(VPass pass) { return pass == VPass::kWeightUp || pass == VPass::kWeightDown; }
constexpr VPass weight_after(VPass input) { return input == VPass::kInputUp ? VPass::kWeightUp : VPass::kWeightDown; }

StageOp op_of(VPass pass, int microbatch) {
  const bool up = pass == VPass::kForwardUp || pass == VPass::kInputUp || pass == VPass::kWeightUp;
  const OpKind kind = is_forward(pass) ? OpKind::kForward
                      : is_input(pass) ? OpKind::kBackwardInput
                                       : OpKind::kBackwardWeight;
  return {kind, id_of<MicroBatch>(microbatch), up ? kUp : kDown};
}

/// One slot of a stage.
struct Cell {
  VPass pass = VPass::kNone;
  int microbatch = 0;
  [[nodiscard]] bool empty() const { return pass == VPass::kNone; }
};
using Slots = std::vector<Cell>;

/// Activations that a stage holds, and backwards for input whose backward for weight has no slot yet.
struct Held {
  int activations = 0, pending = 0;
  friend bool operator==(const Held&, const Held&) = default;
};

/// Returns what the stage holds in a slot. With `fills`, a free slot takes a pending backward for weight. A backward
/// for weight frees its activations at the end of its slot.
Held held_after(Held before, const Cell& cell, bool fills) {
  if (is_forward(cell.pass)) ++before.activations;
  if (is_weight(cell.pass)) --before.activations;
  if (fills && is_input(cell.pass)) ++before.pending;
  if (fills && cell.empty() && before.pending > 0) {
    --before.pending;
    --before.activations;
  }
  return before;
}

int most_held(const Slots& slots, bool fills) {
  Held held;
  int most = 0;
  for (const Cell& cell : slots) {
    held = held_after(held, cell, fills);
    most = std::max(most, held.activations);
  }
  return most;
}

void drop_weights(Slots& slots) {
  for (Cell& cell : slots)
    if (is_weight(cell.pass)) cell = {};
}

/// Puts every backward for weight into the first free slot after its backward for input, oldest first.
void place_weights(Slots& slots) {
  drop_weights(slots);
  std::vector<Cell> pending;
  std::size_t placed = 0;
  for (std::size_t at = 0; at < slots.size() || placed < pending.size(); ++at) {
    if (at == slots.size()) slots.emplace_back();
    Cell& cell = slots[at];
    if (is_input(cell.pass)) pending.push_back({weight_after(cell.pass), cell.microbatch});
    if (cell.empty() && placed < pending.size()) cell = pending[placed++];
  }
}

/// The slots of all stages, and the slot of every pass.
class Slotted {
 public:
  Slotted(std::vector<Slots> stages, int microbatches) : stages_(std::move(stages)), microbatches_(microbatches) {}

  /// Moves passes of warm-up and drain forward. With `fills` only those of the drain, and there are no backwards for
  /// weight: they count as placed by place_weights().
  void squeeze(bool fills);
  /// Gives every pass the slot in which it runs when passes take one slot and messages none.
  void run();
  void place_all_weights() {
    for (Slots& slots : stages_) place_weights(slots);
  }
  void drop_all_weights() {
    for (Slots& slots : stages_) drop_weights(slots);
  }
  [[nodiscard]] StageProgram ops_of(std::size_t stage) const {
    StageProgram ops;
    for (const Cell& cell : stages_[stage])
      if (!cell.empty()) ops.push_back(op_of(cell.pass, cell.microbatch));
    return ops;
  }

 private:
  /// A pass that another waits for: on which stage, and which.
  struct Before {
    std::size_t stage;
    VPass pass;
  };
  [[nodiscard]] static std::size_t kind(VPass pass) { return static_cast<std::size_t>(pass); }
  [[nodiscard]] std::size_t index(std::size_t stage, VPass pass, int microbatch) const {
    return (stage * kVPasses + kind(pass)) * static_cast<std::size_t>(microbatches_) +
           static_cast<std::size_t>(microbatch);
  }
  void find_slots();
  [[nodiscard]] Before before(std::size_t stage, VPass pass) const;
  [[nodiscard]] int earliest(std::size_t stage, const Cell& cell) const;
  void count(std::size_t stage, const Cell& cell);
  void hoist(std::size_t stage, std::size_t from, bool fills, int limit);
  [[nodiscard]] bool holds(std::size_t stage, std::size_t from, std::size_t to, bool fills, int limit) const;
  [[nodiscard]] std::size_t length() const;

  std::vector<Slots> stages_;
  int microbatches_;
  std::vector<int> slot_;                // [stage][pass][micro-batch]
  std::vector<std::vector<Held>> held_;  // [stage][slot]

  /// The slots of the backwards for input and for weight that a squeeze has placed, in order.
  struct Backwards {
    std::vector<int> inputs, weights;
  };
  std::vector<Backwards> backwards_;  // [stage]
};

void Slotted::find_slots() {
  slot_.assign(stages_.size() * kVPasses * static_cast<std::size_t>(microbatches_), -1);
  for (std::size_t stage = 0; stage < stages_.size(); ++stage)
    for (std::size_t at = 0; at < stages_[stage].size(); ++at) {
      const Cell& cell = stages_[stage][at];
      if (!cell.empty()) slot_[index(stage, cell.pass, cell.microbatch)] = static_cast<int>(at);
    }
}

std::size_t Slotted::length() const {
  std::size_t longest = 0;
  for (const Slots& slots : stages_) longest = std::max(longest, slots.size());
  return longest;
}

/// Returns the pass whose result `pass` of the same micro-batch needs. The first forward of all needs none: itself.
Slotted::Before Slotted::before(std::size_t stage, VPass pass) const {
  const bool first = stage == 0, last = stage + 1 == stages_.size();
  switch (pass) {
    case VPass::kForwardDown:
      return {first ? stage : stage - 1, pass};
    case VPass::kForwardUp:
      return last ? Before{stage, VPass::kForwardDown} : Before{stage + 1, pass};
    case VPass::kInputUp:
      return first ? Before{stage, VPass::kForwardUp} : Before{stage - 1, pass};
    case VPass::kInputDown:
      return last ? Before{stage, VPass::kInputUp} : Before{stage + 1, pass};
    case VPass::kWeightUp:
      return {stage, VPass::kInputUp};
    default:
      return {stage, VPass::kInputDown};
  }
}

/// Returns the first slot that the inputs of a pass allow, and the same pass of the micro-batch before it. The n-th
/// backward for weight follows the n-th for input, whichever they are: place_weights() names them.
int Slotted::earliest(std::size_t stage, const Cell& cell) const {
  if (is_weight(cell.pass)) {
    const auto& [inputs, weights] = backwards_[stage];
    return std::max(inputs[weights.size()], weights.empty() ? -1 : weights.back()) + 1;
  }
  int after = -1;
  const Before needed = before(stage, cell.pass);
  if (needed.stage != stage || needed.pass != cell.pass)
    after = slot_[index(needed.stage, needed.pass, cell.microbatch)];
  if (cell.microbatch > 0) after = std::max(after, slot_[index(stage, cell.pass, cell.microbatch - 1)]);
  return after + 1;
}

/// Notes a backward pass that has its place.
void Slotted::count(std::size_t stage, const Cell& cell) {
  const int slot = slot_[index(stage, cell.pass, cell.microbatch)];
  auto& [inputs, weights] = backwards_[stage];
  if (is_input(cell.pass)) inputs.insert(std::upper_bound(inputs.begin(), inputs.end(), slot), slot);
  if (is_weight(cell.pass)) weights.push_back(slot);
}

/// Returns true when the stage holds at most `limit` once the pass in slot `from` stands in slot `to`.
bool Slotted::holds(std::size_t stage, std::size_t from, std::size_t to, bool fills, int limit) const {
  const Slots& slots = stages_[stage];
  Held held = to == 0 ? Held{} : held_[stage][to - 1];
  for (std::size_t at = to; at < slots.size(); ++at) {
    held = held_after(held, at == to ? slots[from] : at == from ? Cell{} : slots[at], fills);
    if (held.activations > limit) return false;
    if (at > from && held == held_[stage][at]) return true;
  }
  return true;
}

void Slotted::hoist(std::size_t stage, std::size_t from, bool fills, int limit) {
  Slots& slots = stages_[stage];
  const Cell cell = slots[from];
  for (auto to = static_cast<std::size_t>(earliest(stage, cell)); to < from; ++to) {
    if (!slots[to].empty() || !holds(stage, from, to, fills, limit)) continue;
    slots[to] = cell;
    slots[from] = {};
    slot_[index(stage, cell.pass, cell.microbatch)] = static_cast<int>(to);
    for (std::size_t at = to; at < slots.size(); ++at) {
      const Held held = held_after(at == 0 ? Held{} : held_[stage][at - 1], slots[at], fills);
      if (at > from && held == held_[stage][at]) return;
      held_[stage][at] = held;
    }
    return;
  }
}

void Slotted::squeeze(bool fills) {
  find_slots();
  int limit = 0;
  held_.clear();
  backwards_.assign(stages_.size(), {});
  for (const Slots& slots : stages_) {
    limit = std::max(limit, most_held(slots, fills));
    Held held;
    for (std::vector<Held>& all = held_.emplace_back(); const Cell& cell : slots)
      all.push_back(held = held_after(held, cell, fills));
  }
  enum class Phase : std::uint8_t { kWarmUp, kSteady, kDrain } phase = Phase::kWarmUp;
  const std::vector<Slots> original = stages_;
  for (std::size_t at = 0, end = length(); at < end; ++at)
    for (std::size_t stage = 0; stage < original.size(); ++stage) {
      if (at >= original[stage].size() || original[stage][at].empty()) continue;
      const Cell& cell = original[stage][at];
      const auto& [pass, microbatch] = cell;
      if (phase == Phase::kWarmUp && stage == 0 && pass == VPass::kInputDown) phase = Phase::kSteady;
      const bool stays = phase == Phase::kSteady || (phase == Phase::kWarmUp && fills);
      if (phase == Phase::kSteady && pass == VPass::kForwardDown && microbatch + 1 == microbatches_)
        phase = Phase::kDrain;
      if (!stays) hoist(stage, at, fills, limit);
      count(stage, cell);
    }
}

void Slotted::run() {
  std::vector<int> ends(slot_.size(), 0);
  std::vector<int> free(stages_.size(), 0);
  std::vector<Slots> packed(stages_.size());
  for (std::size_t at = 0, end = length(); at < end; ++at)
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      if (at >= stages_[stage].size() || stages_[stage][at].empty()) continue;
      const Cell cell = stages_[stage][at];
      const Before needed = before(stage, cell.pass);
      const int start = std::max(free[stage], ends[index(needed.stage, needed.pass, cell.microbatch)]);
      ends[index(stage, cell.pass, cell.microbatch)] = free[stage] = start + 1;
      packed[stage].resize(static_cast<std::size_t>(start) + 1);
      packed[stage].back() = cell;
    }
  stages_ = std::move(packed);
}

/// The slots of micro-batch 0 on a stage: forward down, forward up, backward for input up and down.
using Pattern = std::array<int, 4>;
using PatternOf = Pattern (*)(int stages, int stage);

// arXiv:2405.15362 section 3, as its authors' code has them. Where the up and the down slots would collide, the
// backwards start later.
Pattern v_min_pattern(int stages, int stage) {
  const int later = stages % 3 == 0 ? 2 : 0;
  return {stage, 2 * stages - 1 - stage, 2 * stages + later + stage, 4 * stages + later - 1 - stage};
}

Pattern v_half_pattern(int stages, int stage) {
  const int later = stages % 2 == 0 ? 3 : 0;
  return {2 * stage, 3 * stages - 2 - stage, 3 * stages + later + 2 * stage - 1, 6 * stages + later - 2 - stage};
}

Pattern v_zb_pattern(int stages, int stage) {
  const int turn = 6 * (stages - 1);
  return {4 * stage, turn + 1 - 2 * stage, turn + 2 + 4 * stage, 2 * turn + 3 - 2 * stage};
}

Slots repeated(const Pattern& pattern, int microbatches) {
  Slots slots(static_cast<std::size_t>(pattern.back() + kPeriod * (microbatches - 1) + 1));
  for (std::size_t pass = 0; pass < pattern.size(); ++pass)
    for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
      Cell& cell = slots[static_cast<std::size_t>(pattern[pass] + kPeriod * microbatch)];
      expects(cell.empty(), "the passes of a pattern take different slots of a period");
      cell = {static_cast<VPass>(pass), microbatch};
    }
  place_weights(slots);
  return slots;
}

Program patterned(PipelineShape shape, PatternOf pattern) {
  std::vector<Slots> stages;
  for (int stage = 0; stage < shape.stages; ++stage)
    stages.push_back(repeated(pattern(shape.stages, stage), shape.microbatches));
  Slotted slotted(std::move(stages), shape.microbatches);
  slotted.squeeze(false);
  slotted.place_all_weights();
  slotted.run();
  slotted.drop_all_weights();
  slotted.squeeze(true);
  slotted.place_all_weights();
  Program program{.placement = v_place(shape), .stages = {}};
  for (const Stage stage : ids<Stage>(shape.stages)) program.stages.push_back(slotted.ops_of(stage.index()));
  return program;
}

Schedule v_schedule(std::string name, std::string description, std::function<Program(PipelineShape)> build) {
  return {.name = std::move(name),
          .description = std::move(description),
          .interleaves = true,
          .splits_backward = true,
          .build = std::move(build),
          .place = v_place,
          .own_rule = v_rule};
}

}  // namespace

Schedule v_zb() {
  return v_schedule("v-zb", "two chunks in a V, squeezed from a pattern, in the memory of 1f1b (arXiv:2405.15362)",
                    [](PipelineShape shape) { return patterned(shape, v_zb_pattern); });
}

Schedule v_half() {
  return v_schedule("v-half", "two chunks in a V with split backwards, in half the memory of 1f1b (arXiv:2405.15362)",
                    [](PipelineShape shape) { return patterned(shape, v_half_pattern); });
}

Schedule v_min() {
  return v_schedule("v-min", "two chunks in a V with split backwards, in a third of the memory (arXiv:2405.15362)",
                    [](PipelineShape shape) { return patterned(shape, v_min_pattern); });
}

}  // namespace foretoken::schedule
