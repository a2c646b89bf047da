// Makes the forward and backward passes of model chunks.
//
// Kernels of a pass run in order on the compute stream. A blocking collective runs on its communication stream after
// the kernel before it, and the next kernel waits for it. A collective beside the next kernel lets that kernel run and
// delays the one after it. An op cannot start before the host has issued it, which takes host time.
#include "sim/step/passes/passes.h"

#include <algorithm>
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

// Adds the tasks of a pass to a graph.
class KernelTasks {
 public:
  using Task = TaskId;
  using List = std::vector<Task>;

  KernelTasks(des::TaskGraph& graph, const PassStreams& streams) : graph_(graph), streams_(streams) {}

  // Adds the host's work for an op, after the host's work before it.
  Task issue(const TimedOp& op, const List& after) {
    const Task task = graph_.add_occupy(streams_.host, op.host);
    depend(task, after);
    emitted_.push_back({task, nullptr});
    return task;
  }
  // Adds an op after those before it on its stream.
  Task run(const TimedOp& op, const std::optional<Task>& issued, const List& after,
           const std::optional<Task>& last_compute) {
    const Task task = graph_.add_occupy(op.axis ? streams_.comm[*op.axis].value() : streams_.compute, op.duration);
    if (issued) graph_.add_dependency(*issued, task);
    emitted_.push_back({task, &op});
    depend(task, after);
    if (last_compute) graph_.add_dependency(*last_compute, task);
    return task;
  }
  [[nodiscard]] std::vector<EmittedOp> take() { return std::move(emitted_); }

 private:
  void depend(Task task, const List& on) {
    for (const Task before : on) graph_.add_dependency(before, task);
  }

  des::TaskGraph& graph_;
  const PassStreams& streams_;
  std::vector<EmittedOp> emitted_;
};

// Times the tasks of a pass. A task is the instant at which it ends: it starts when the tasks before it have ended, as
// in a run.
class TimedTasks {
 public:
  using Task = Instant;

  // Tasks to wait for: the latest of them counts.
  class List {
   public:
    void push_back(Task task) {
      latest_ = std::max(latest_, task);
      back_ = task;
    }
    void clear() { *this = {}; }
    void swap(List& other) { std::swap(*this, other); }
    [[nodiscard]] bool empty() const { return !back_.has_value(); }
    [[nodiscard]] Task back() const { return *back_; }
    [[nodiscard]] Instant latest() const { return latest_; }

   private:
    Instant latest_;
    std::optional<Task> back_;
  };

  Task issue(const TimedOp& op, const List& after) {
    host_ = later(std::max(host_, after.latest()), op.host);
    last_ = std::max(last_, host_);
    return host_;
  }
  Task run(const TimedOp& op, const std::optional<Task>& issued, const List& after,
           const std::optional<Task>& last_compute) {
    Stream& stream = op.axis ? comm_[*op.axis] : compute_;
    Instant start = std::max(stream.free, after.latest());
    if (issued) start = std::max(start, *issued);
    if (last_compute) start = std::max(start, *last_compute);
    stream.free = later(start, op.duration);
    last_ = std::max(last_, stream.free);
    if (!stream.spans.empty() && stream.spans.back().end == start.ps)  // it goes on where the last one ends
      stream.spans.back().end = stream.free.ps;
    else
      stream.spans.push_back({start.ps, stream.free.ps});
    return stream.free;
  }

  [[nodiscard]] Instant last() const { return last_; }
  [[nodiscard]] std::vector<Interval> take_compute() { return std::move(compute_.spans); }
  [[nodiscard]] std::vector<Interval> take_comm(Axis axis) { return std::move(comm_[axis].spans); }

 private:
  struct Stream {
    Instant free;
    std::vector<Interval> spans;
  };
  Stream compute_;
  PerAxis<Stream> comm_;
  Instant host_, last_;
};

// Walks the ops of a pass, and records the tasks that the next kernel must wait for.
template <class Tasks>
class OpEmitter {
 public:
  using Task = typename Tasks::Task;
  using List = typename Tasks::List;

  OpEmitter(Tasks& tasks, const List& after) : tasks_(tasks), wait_(after), host_wait_(after) {}

  void emit(const TimedOp& op) {
    has_begun_ = true;
    std::optional<Task> issued;
    if (op.host.ps > 0) {
      issued = tasks_.issue(op, host_wait_);
      host_wait_.clear();
    }
    const Task task = tasks_.run(op, issued, wait_, op.axis ? last_compute_ : std::nullopt);
    if (!op.axis) {
      wait_.swap(beside_);
      beside_.clear();
      last_compute_ = task;
      ends_apart_ = !wait_.empty();
      return;
    }
    if (op.beside_next) {
      beside_.push_back(task);
    } else {
      ends_apart_ = false;
      wait_.clear();
      wait_.push_back(task);
    }
  }

  // Makes the next kernel of the compute stream wait for `gate`, too.
  void gate(const List& gate) { wait_.insert(wait_.end(), gate.begin(), gate.end()); }

  void end_block(std::vector<Task>* block_ends) {
    expects(beside_.empty(), "a collective beside a kernel ends before its block does");
    if (block_ends != nullptr) block_ends->push_back(last());
  }

  // Returns the last kernel, or the blocking collective after it. A part of a pass may begin with a block without ops.
  // A kernel and a collective beside it end at different times, and an empty kernel waits for both.
  [[nodiscard]] Task last() {
    static const TimedOp kNoKernel{.name = "nothing"};
    if (!has_begun_ || ends_apart_) emit(kNoKernel);
    return wait_.empty() ? *last_compute_ : wait_.back();
  }

 private:
  Tasks& tasks_;
  List wait_;       // the next kernel waits for these
  List beside_;     // the kernel after the next one waits for these
  List host_wait_;  // the host's first op waits for these
  std::optional<Task> last_compute_;
  bool has_begun_ = false;
  bool ends_apart_ = false;  // wait_ holds collectives beside the last kernel
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

PassStreams add_pass_streams(des::TaskGraph& graph, AxisSet axes) {
  PassStreams streams{.compute = graph.add_stream(), .host = graph.add_stream(), .comm = {}};
  for (const auto& [axis, name] : kAxisNames)
    if (axes.contains(axis)) streams.comm[axis] = graph.add_stream();
  return streams;
}

EmittedPass emit_kernels(des::TaskGraph& graph, const PassStreams& streams, const PassBlocks& blocks,
                         const std::vector<TaskId>& after, const BlockHooks& hooks) {
  KernelTasks tasks(graph, streams);
  OpEmitter<KernelTasks> emitter(tasks, after);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (hooks.gates != nullptr && b < hooks.gates->size()) emitter.gate((*hooks.gates)[b]);
    for (const TimedOp& op : *blocks[b]) emitter.emit(op);
    emitter.end_block(hooks.ends);
  }
  const TaskId last = emitter.last();
  return {tasks.take(), last};
}

PassTiming time_pass(const PassBlocks& blocks) {
  TimedTasks tasks;
  OpEmitter<TimedTasks> emitter(tasks, {});
  PassTiming timing;
  std::vector<Instant> ends;
  for (const TimedOps* block : blocks) {
    for (const TimedOp& op : *block) {
      if (op.axis) timing.axes = timing.axes | *op.axis;
      emitter.emit(op);
    }
    emitter.end_block(&ends);
  }
  timing.total = tasks.last() - Instant{};
  Coverage coverage;
  timing.compute = {coverage.add(tasks.take_compute())};
  for (const auto& [axis, name] : kAxisNames)
    if (timing.axes.contains(axis)) timing.comm[axis] = {coverage.add(tasks.take_comm(axis))};
  timing.host = timing.total - Duration{coverage.covered()};
  for (const Instant end : ends) timing.block_ends.push_back(end - Instant{});
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
