// DualPipe and DualPipeV: passes of both directions in pairs, and split backward passes where a stage would wait.
//
// A stage runs chunk `ahead`, whose input arrives first, and chunk `back`. In DualPipe these are parts of two copies of
// the model. In DualPipeV they are the two chunks of a V, which is half of DualPipe's ring cut out. A stage has h
// stages before it in the direction of `ahead`, in a half of H stages. The order follows DeepSeek's code in its eight
// steps (github.com/deepseek-ai/DualPipe, dualpipe/dualpipe.py and dualpipe/dualpipev.py; arXiv:2412.19437,
// section 3.2.1).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>

#include "sim/schedule/flush/flush.h"
#include "sim/schedule/flush/two_way.h"
#include "sim/schedule/flush/v_shape.h"

namespace foretoken::schedule {
namespace {

/// The part of one stage in the schedule.
struct Seat {
  int half = 1;              ///< H
  int before = 0;            ///< h
  Chunk ahead, back;         ///< the two chunks of the stage
  int each = 1;              ///< micro-batches of each chunk
  std::array<int, 2> first;  ///< number of the first micro-batch, by chunk
  [[nodiscard]] int after() const { return half - before - 1; }
};

/// Writes the passes of one stage. Every kind of pass goes through the micro-batches of its chunk in order.
class DualWriter {
 public:
  explicit DualWriter(const Seat& seat) : first_(seat.first) {}

  void forward(Chunk chunk) { add(OpKind::kForward, chunk, forwards_); }
  void backward(Chunk chunk) { add(OpKind::kBackward, chunk, backwards_); }
  void pair(Chunk forward, Chunk backward) {
    add(OpKind::kPairedForward, forward, forwards_);
    add(OpKind::kPairedBackward, backward, backwards_);
  }
  void input(Chunk chunk) {
    add(OpKind::kBackwardInput, chunk, backwards_);
    waiting_.push_back(ops_.back());
  }
  /// Writes the oldest backward for weight that waits.
  void weight() {
    StageOp op = waiting_.front();
    waiting_.pop_front();
    op.kind = OpKind::kBackwardWeight;
    ops_.push_back(op);
  }
  [[nodiscard]] StageProgram take() { return std::move(ops_); }

 private:
  using Counts = std::array<int, 2>;
  void add(OpKind kind, Chunk chunk, Counts& done) {
    ops_.push_back({kind, id_of<MicroBatch>(first_[chunk.index()] + done[chunk.index()]++), chunk});
  }

  Counts first_, forwards_{}, backwards_{};
  std::deque<StageOp> waiting_;  // backwards for input whose backward for weight is due
  StageProgram ops_;
};

// Returns true when the i-th backward of step 6 is split: those of the second half are. The steps are written so that
// `back` goes first.
bool is_split(const Seat& seat, int i, Chunk chunk) {
  const int middle = (seat.before + 1) / 2;
  if (i != middle) return i > middle;
  return seat.before % 2 == 1 || chunk == seat.ahead;
}

void drain(DualWriter& write, const Seat& seat) {
  for (int i = 0; i < seat.after(); ++i) {  // step 5
    write.backward(seat.back);
    write.pair(seat.back, seat.ahead);
  }
  for (int i = 0; i <= seat.before; ++i)  // step 6
    for (const Chunk chunk : {seat.back, seat.ahead}) {
      if (is_split(seat, i, chunk)) {
        write.input(chunk);
      } else {
        write.backward(chunk);
      }
    }
  for (int i = 0; i < seat.after(); ++i) {  // step 7
    write.weight();
    write.input(seat.ahead);
  }
  for (int i = 0; i <= seat.before; ++i) write.weight();  // step 8
}

StageProgram dual_stage(const Seat& seat) {
  DualWriter write(seat);
  for (int i = 0; i < 2 * seat.after(); ++i) write.forward(seat.ahead);  // step 1
  for (int i = 0; i <= seat.before; ++i) {                               // step 2
    write.forward(seat.ahead);
    write.forward(seat.back);
  }
  for (int i = 0; i < seat.after(); ++i) {  // step 3
    write.input(seat.back);
    write.weight();
    write.forward(seat.back);
  }
  for (int i = 0; i < seat.each - 2 * seat.half + seat.before + 1; ++i) {  // step 4
    if (i == 0 && seat.after() == 0) {  // no pair here, so that the next stage gets its input sooner
      write.forward(seat.ahead);
      write.backward(seat.back);
    } else {
      write.pair(seat.ahead, seat.back);
    }
    write.pair(seat.back, seat.ahead);
  }
  drain(write, seat);
  return write.take();
}

Program dual_pipe_program(PipelineShape shape) {
  Program program{.placement = two_way_place(shape), .stages = {}};
  for (int stage = 0; stage < shape.stages; ++stage) {
    const bool lower = stage < shape.stages / 2;
    program.stages.push_back(dual_stage({.half = shape.stages / 2,
                                         .before = std::min(stage, shape.stages - 1 - stage),
                                         .ahead = lower ? Chunk{0} : Chunk{1},
                                         .back = lower ? Chunk{1} : Chunk{0},
                                         .each = shape.microbatches / 2,
                                         .first = {0, shape.microbatches / 2}}));
  }
  return program;
}

Program dual_pipe_v_program(PipelineShape shape) {
  Program program{.placement = v_place(shape), .stages = {}};
  for (int stage = 0; stage < shape.stages; ++stage)
    program.stages.push_back(dual_stage({.half = shape.stages,
                                         .before = stage,
                                         .ahead = kDown,
                                         .back = kUp,
                                         .each = shape.microbatches,
                                         .first = {0, 0}}));
  return program;
}

std::optional<std::string> enough_rule(PipelineShape shape) {
  if (shape.microbatches >= 2 * shape.stages) return std::nullopt;
  return fmt::format("expected at least {} micro-batches (twice the pipeline stages), found {}; try {}",
                     2 * shape.stages, shape.microbatches, 2 * shape.stages);
}

std::optional<std::string> dual_pipe_rule(PipelineShape shape) {
  if (auto wrong = two_way_rule(shape)) return wrong;
  if (auto wrong = enough_rule(shape)) return wrong;
  if (shape.microbatches % 2 == 0) return std::nullopt;
  return fmt::format("expected an even number of micro-batches, half of them each way, found {}; try {}",
                     shape.microbatches, shape.microbatches + 1);
}

std::optional<std::string> dual_pipe_v_rule(PipelineShape shape) {
  if (auto wrong = v_rule(shape)) return wrong;
  return enough_rule(shape);
}

}  // namespace

Schedule dual_pipe() {
  return {.name = "dualpipe",
          .description = "two copies of the model, with pairs of passes that hide exchanges (arXiv:2412.19437)",
          .interleaves = true,
          .splits_backward = true,
          .pairs_passes = true,
          .copies = 2,
          .build = dual_pipe_program,
          .place = two_way_place,
          .own_rule = dual_pipe_rule};
}

Schedule dual_pipe_v() {
  return {.name = "dualpipe-v",
          .description = "one copy of the model in a V, with the pairs of dualpipe (deepseek-ai/DualPipe)",
          .interleaves = true,
          .splits_backward = true,
          .pairs_passes = true,
          .build = dual_pipe_v_program,
          .place = v_place,
          .own_rule = dual_pipe_v_rule};
}

}  // namespace foretoken::schedule
