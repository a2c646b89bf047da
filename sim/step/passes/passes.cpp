// Makes the forward and backward passes of model chunks.
//
// Kernels of a pass run in order on the compute stream. A blocking collective runs on its communication stream after
// the kernel before it, and the next kernel waits for it. A collective beside the next kernel lets that kernel run and
// delays the one after it. An op cannot start before the host has issued it, which takes host time.
#include "sim/step/passes/passes.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "sim/base/check.h"
#include "sim/base/intervals.h"
#include "sim/job/layout.h"
#include "sim/job/parts.h"

namespace foretoken::step {
namespace {

using des::Duration;
using des::Instant;
using des::TaskId;

// Stands in for a graph: tells the start and the end of tasks without a run. A task starts when the tasks before it
// have ended, as in a run. All of them are known once the next task is added.
class TimedTasks {
 public:
  void reserve(std::size_t tasks) { spans_.reserve(tasks); }
  des::StreamId add_stream() {
    free_.emplace_back();
    return {static_cast<std::uint32_t>(free_.size() - 1)};
  }
  TaskId add_occupy(des::StreamId stream, Duration duration) {
    end_last();
    spans_.push_back({free_[stream.value].ps, 0});
    last_ = {stream, duration};
    return {static_cast<std::uint32_t>(spans_.size() - 1)};
  }
  void add_dependency(TaskId before, TaskId after) {
    expects(after.value + 1 == spans_.size() && before < after, "a timed task waits for those added before it");
    std::int64_t& start = spans_.back().begin;
    start = std::max(start, spans_[before.value].end);
  }
  // Returns the spans of all tasks. No more can be added.
  [[nodiscard]] const std::vector<Interval>& spans() {
    end_last();
    return spans_;
  }

 private:
  void end_last() {
    if (!last_) return;
    Interval& span = spans_.back();
    const Instant end = later({span.begin}, last_->duration);
    span.end = end.ps;
    free_[last_->stream.value] = end;
    last_.reset();
  }

  struct Last {
    des::StreamId stream;
    Duration duration;
  };
  std::vector<Instant> free_;  // by stream
  std::vector<Interval> spans_;
  std::optional<Last> last_;  // the task whose end is open
};

// Walks the ops of a pass, and records the tasks that the next kernel must wait for.
template <class Graph>
class OpEmitter {
 public:
  OpEmitter(Graph& graph, const PassStreams& streams, const std::vector<TaskId>& after)
      : graph_(graph), streams_(streams), wait_(after), host_wait_(after) {}

  // Makes room for the tasks of `ops` ops.
  void reserve(std::size_t ops) { tasks_.reserve(2 * ops); }

  void emit(const TimedOp& op) {
    std::optional<TaskId> issued;
    if (op.host.ps > 0) {
      issued = graph_.add_occupy(streams_.host, op.host);
      depend(*issued, host_wait_);
      host_wait_.clear();
      tasks_.push_back({*issued, nullptr});
    }
    const TaskId task = graph_.add_occupy(op.axis ? streams_.comm[*op.axis].value() : streams_.compute, op.duration);
    if (issued) graph_.add_dependency(*issued, task);
    tasks_.push_back({task, &op});
    depend(task, wait_);
    if (!op.axis) {
      wait_.swap(beside_);
      beside_.clear();
      last_compute_ = task;
      return;
    }
    if (last_compute_) graph_.add_dependency(*last_compute_, task);
    if (op.beside_next) {
      beside_.push_back(task);
    } else {
      wait_.assign(1, task);
    }
  }

  // Makes the next kernel of the compute stream wait for `gate`, too.
  void gate(const std::vector<TaskId>& gate) { wait_.insert(wait_.end(), gate.begin(), gate.end()); }

  void end_block(std::vector<TaskId>* block_ends) {
    expects(beside_.empty(), "a collective beside a kernel ends before its block does");
    if (block_ends != nullptr) block_ends->push_back(last());
  }

  // Returns the last kernel, or the blocking collective after it. A part of a pass may begin with a block without ops.
  [[nodiscard]] TaskId last() {
    static const TimedOp kNoKernel{.name = "nothing"};
    if (tasks_.empty()) emit(kNoKernel);
    return wait_.empty() ? *last_compute_ : wait_.back();
  }

  [[nodiscard]] std::vector<EmittedOp> take() { return std::move(tasks_); }

 private:
  void depend(TaskId task, const std::vector<TaskId>& on) {
    for (const TaskId before : on) graph_.add_dependency(before, task);
  }

  Graph& graph_;
  const PassStreams& streams_;
  std::vector<TaskId> wait_;       // the next kernel waits for these
  std::vector<TaskId> beside_;     // the kernel after the next one waits for these
  std::vector<TaskId> host_wait_;  // the host's first op waits for these
  std::optional<TaskId> last_compute_;
  std::vector<EmittedOp> tasks_;
};

// Returns the ops of a backward pass of a block, with or without the recomputation that the job asks for.
const TimedOps& backward_ops(const TimedBlock& block, schedule::OpKind kind, bool recomputing) {
  if (kind == schedule::OpKind::kPairedBackward) return recomputing ? block.pair.recomputing : block.pair.backward;
  const TimedBackward& backward = recomputing ? block.recomputing : block.backward;
  if (kind == schedule::OpKind::kBackwardInput) return backward.for_input;
  if (kind == schedule::OpKind::kBackwardWeight) return backward.for_weight;
  return backward.whole;
}

PassBlocks forward_blocks(const LayerBlocks& blocks, const PassMake& make) {
  const auto ops_of = [&](const TimedBlock& block) {
    return make.kind == schedule::OpKind::kPairedForward ? &block.pair.forward : &block.forward;
  };
  PassBlocks pass;
  if (make.embedding) pass.push_back(ops_of(blocks.embedding));
  for (const model::LayerCount& run : make.layers)
    pass.insert(pass.end(), static_cast<std::size_t>(run.count),
                ops_of(blocks.layers[static_cast<std::size_t>(run.kind)]));
  if (make.head) pass.push_back(ops_of(blocks.head));
  return pass;
}

// Goes from the last layer to the first. The first layers recompute.
PassBlocks backward_blocks(const LayerBlocks& blocks, const PassMake& make) {
  PassBlocks pass;
  int recomputing = make.recomputed;
  if (make.embedding) pass.push_back(&backward_ops(blocks.embedding, make.kind, false));
  for (const model::LayerCount& run : make.layers) {
    const TimedBlock& layer = blocks.layers[static_cast<std::size_t>(run.kind)];
    for (int i = 0; i < run.count; ++i) pass.push_back(&backward_ops(layer, make.kind, recomputing-- > 0));
  }
  if (make.head) pass.push_back(&backward_ops(blocks.head, make.kind, false));
  std::reverse(pass.begin(), pass.end());
  return pass;
}

PassMake make_of(const job::Job& job, const job::ChunkContents& contents, schedule::OpKind kind) {
  PassMake make{.kind = kind, .layers = contents.layers, .embedding = contents.embedding, .head = contents.head};
  if (unpaired(kind) != schedule::OpKind::kForward)
    make.recomputed = job::recomputed_layers(job, contents.layer_count());
  return make;
}

}  // namespace

namespace {

template <class Graph>
PassStreams streams_in(Graph& graph, AxisSet axes) {
  PassStreams streams{.compute = graph.add_stream(), .host = graph.add_stream(), .comm = {}};
  for (const auto& [axis, name] : kAxisNames)
    if (axes.contains(axis)) streams.comm[axis] = graph.add_stream();
  return streams;
}

std::size_t ops_of(const PassBlocks& blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), std::size_t{0},
                         [](std::size_t sum, const TimedOps* block) { return sum + block->size(); });
}

// Adds a span to others. One that starts where the last ends goes on with it.
void append(std::vector<Interval>& spans, const Interval& next) {
  if (!spans.empty() && spans.back().end == next.begin)
    spans.back().end = next.end;
  else
    spans.push_back(next);
}

template <class Graph>
EmittedPass emit_into(Graph& graph, const PassStreams& streams, const PassBlocks& blocks,
                      const std::vector<TaskId>& after, const BlockHooks& hooks) {
  OpEmitter<Graph> emitter(graph, streams, after);
  emitter.reserve(ops_of(blocks));
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (hooks.gates != nullptr && b < hooks.gates->size()) emitter.gate((*hooks.gates)[b]);
    for (const TimedOp& op : *blocks[b]) emitter.emit(op);
    emitter.end_block(hooks.ends);
  }
  const TaskId last = emitter.last();
  return {emitter.take(), last};
}

}  // namespace

PassStreams add_pass_streams(des::TaskGraph& graph, AxisSet axes) { return streams_in(graph, axes); }

EmittedPass emit_kernels(des::TaskGraph& graph, const PassStreams& streams, const PassBlocks& blocks,
                         const std::vector<TaskId>& after, const BlockHooks& hooks) {
  return emit_into(graph, streams, blocks, after, hooks);
}

PassTiming time_pass(const PassBlocks& blocks) {
  PassTiming timing;
  for (const TimedOps* block : blocks)
    for (const TimedOp& op : *block)
      if (op.axis) timing.axes = timing.axes | *op.axis;
  TimedTasks tasks;
  tasks.reserve(2 * ops_of(blocks));
  const PassStreams streams = streams_in(tasks, timing.axes);
  std::vector<TaskId> ends;
  const EmittedPass pass = emit_into(tasks, streams, blocks, {}, {.gates = nullptr, .ends = &ends});
  const std::vector<Interval>& spans = tasks.spans();
  std::vector<Interval> compute;
  PerAxis<std::vector<Interval>> comm;
  for (const Interval& span : spans) timing.total.ps = std::max(timing.total.ps, span.end);
  for (const EmittedOp& emitted : pass.tasks)
    if (emitted.op != nullptr) append(emitted.op->axis ? comm[*emitted.op->axis] : compute, spans[emitted.task.value]);
  Coverage coverage;
  timing.compute = {coverage.add(std::move(compute))};
  for (const auto& [axis, name] : kAxisNames)
    if (!comm[axis].empty()) timing.comm[axis] = {coverage.add(std::move(comm[axis]))};
  timing.host = timing.total - Duration{coverage.covered()};
  for (const TaskId end : ends) timing.block_ends.push_back(Duration{spans[end.value].end});
  return timing;
}

PassBlocks PassLibrary::blocks_of(const PassMake& make) const {
  expects(schedule::traits(make.kind).is_pass && make.kind != schedule::OpKind::kRecompute,
          "passes of other kinds have no kernels yet");
  return unpaired(make.kind) == schedule::OpKind::kForward ? forward_blocks(blocks_, make)
                                                           : backward_blocks(blocks_, make);
}

const PassLibrary::Entry& PassLibrary::entry(const PassMake& make) {
  return entries_.get(make, [&] {
    PassBlocks blocks = blocks_of(make);
    PassTiming timing = time_pass(blocks);
    return Entry{std::move(blocks), std::move(timing)};
  });
}

// Chunks that hold the same as the chunk before them have its passes.
void Passes::add_entries(const job::Job& job) {
  entries_.resize(libraries_.size() * static_cast<std::size_t>(chunks_) * schedule::kOpKinds);
  const job::Layout layout(job);
  job::ChunkContents before;
  const PassLibrary* library_before = nullptr;
  for (const Stage stage : ids<Stage>(job.parallelism.pipeline)) {
    const bool same_library = libraries_[stage] == library_before;
    library_before = libraries_[stage];
    for (const Chunk chunk : ids<Chunk>(chunks_)) {
      job::ChunkContents contents = layout.contents(stage, chunk);
      const std::size_t at = index(stage, chunk, schedule::OpKind{});
      if ((same_library || chunk > Chunk{0}) && contents == before) {
        std::copy_n(&entries_[at - schedule::kOpKinds], schedule::kOpKinds, &entries_[at]);
        continue;
      }
      for (const schedule::OpKind kind : kinds_)
        entries_[at + static_cast<std::size_t>(kind)] = &libraries_[stage]->entry(make_of(job, contents, kind));
      before = std::move(contents);
    }
  }
}

Passes::Passes(const job::Job& job, PassLibrary& library)
    : libraries_(job.parallelism.pipeline, &library),
      chunks_(job.parallelism.virtual_pipeline),
      kinds_(pass_kinds(job.schedule)) {
  add_entries(job);
}

Passes::Passes(const job::Job& job) : chunks_(job.parallelism.virtual_pipeline), kinds_(pass_kinds(job.schedule)) {
  const job::Parts parts(job);
  for (const job::Job* part : parts.all()) {
    own_.push_back(std::make_unique<PassLibrary>(time_blocks(*part)));
    for (int stage = 0; stage < part->parallelism.pipeline; ++stage) libraries_.push_back(own_.back().get());
  }
  add_entries(job);
}

Seconds Passes::layer_forward(Stage stage) const {
  return des::to_seconds(time_pass({&libraries_[stage]->blocks().layers.front().forward}).total);
}

Seconds Passes::layer_backward(Stage stage) const {
  return des::to_seconds(time_pass({&libraries_[stage]->blocks().layers.front().recomputing.whole}).total);
}

}  // namespace foretoken::step
