// ZB-V: two chunks a stage in a V, so that the first backward starts on stage 0 as soon as the model's end is reached.
//
// The order is PyTorch's ScheduleZBVZeroBubble. Stage r first runs forwards of chunk 0 until its chunk 1 can begin,
// then takes both chunks in turn. It is written for 2p - 1 micro-batches or more. For fewer it is built for 2p - 1, and
// the passes of the missing ones are dropped.
#include <algorithm>
#include <array>

#include "sim/schedule/flush/flush.h"
#include "sim/schedule/flush/v_shape.h"

namespace foretoken::schedule {
namespace {

/// Writes the passes of one stage. Every kind of pass goes through the micro-batches in order.
class ZbVWriter {
 public:
  ZbVWriter(int microbatches, int built) : microbatches_(microbatches), built_(built) {}
  void forward(Chunk chunk) { add(OpKind::kForward, chunk); }
  void input(Chunk chunk) { add(OpKind::kBackwardInput, chunk); }
  void weight(Chunk chunk) { add(OpKind::kBackwardWeight, chunk); }
  void backward(Chunk chunk) {
    input(chunk);
    weight(chunk);
  }
  [[nodiscard]] bool has(OpKind kind, Chunk chunk) const { return next(kind, chunk) < built_; }
  [[nodiscard]] StageProgram take() { return std::move(ops_); }

 private:
  [[nodiscard]] const int& next(OpKind kind, Chunk chunk) const {
    return next_[static_cast<std::size_t>(kind)][chunk.index()];
  }
  void add(OpKind kind, Chunk chunk) {
    int& at = next_[static_cast<std::size_t>(kind)][chunk.index()];
    if (at < microbatches_) ops_.push_back({kind, id_of<MicroBatch>(at), chunk});
    ++at;
  }
  int microbatches_, built_;
  std::array<std::array<int, 2>, kOpKinds> next_{};
  StageProgram ops_;
};

StageProgram zb_v_stage(PipelineShape shape, int stage) {
  const auto times = [](int count, auto&& what) {
    for (int i = 0; i < count; ++i) what();
  };
  const int after = shape.stages - stage;  // this stage and those after it
  ZbVWriter write(shape.microbatches, std::max(2 * shape.stages - 1, shape.microbatches));
  times(2 * after - 1, [&] { write.forward(kDown); });
  times(stage, [&] {
    write.forward(kUp);
    write.forward(kDown);
  });
  times(after, [&] {
    write.forward(kUp);
    write.backward(kUp);
  });
  while (write.has(OpKind::kForward, kUp)) {
    if (write.has(OpKind::kForward, kDown)) write.forward(kDown);
    write.backward(kDown);
    write.forward(kUp);
    write.backward(kUp);
  }
  times(stage, [&] {
    write.input(kDown);
    write.input(kUp);
  });
  times(after, [&] { write.backward(kDown); });
  while (write.has(OpKind::kBackwardWeight, kUp)) write.weight(kUp);
  while (write.has(OpKind::kBackwardWeight, kDown)) write.weight(kDown);
  return write.take();
}

Program zb_v_program(PipelineShape shape) {
  Program program{.placement = Placement::v_shaped(shape.stages), .stages = {}};
  for (int stage = 0; stage < shape.stages; ++stage) program.stages.push_back(zb_v_stage(shape, stage));
  return program;
}

}  // namespace

Schedule zb_v() {
  return {.name = "zb-v",
          .description = "two chunks in a V with split backwards, in the memory of 1f1b (arXiv:2401.10241)",
          .interleaves = true,
          .splits_backward = true,
          .build = zb_v_program,
          .place = v_place,
          .own_rule = v_rule};
}

}  // namespace foretoken::schedule
