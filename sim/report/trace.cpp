// Writes a step as a trace. Passes are slices of the compute thread; at kernel fidelity their kernels lie inside them.
// A message is a slice of its sender's thread. It shares a bind_id with the pass that receives it.
#include "sim/report/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "sim/schedule/op_text.h"

namespace foretoken::report {
namespace {

using des::Instant;
using des::TaskId;
using schedule::Neighbour;
using step::Meaning;
using step::TaskMeaning;

// A thread of the trace: a stream of a GPU. Its place in the list is its number in the trace.
struct Thread {
  std::string name;
  des::StreamId stream;
};
constexpr std::size_t kPasses = 0;  // the place of the compute thread

std::vector<Thread> threads_of(const step::StageStreams& stage) {
  std::vector<Thread> threads{{"compute", stage.pass.compute}};
  for (const auto& [axis, name] : kAxisNames)
    if (const auto stream = stage.pass.comm[axis]) threads.push_back({fmt::format("{}-parallel", name), *stream});
  threads.push_back({"send forward", stage.send_forward});
  threads.push_back({"send backward", stage.send_backward});
  threads.push_back({"host", stage.pass.host});
  if (stage.moves) threads.push_back({"activations", *stage.moves});
  if (stage.offload) {
    const step::HostStreams& offload = *stage.offload;
    threads.insert(threads.end(), {{"copies to host", offload.to_host},
                                   {"copies from host", offload.from_host},
                                   {"copies to disk", offload.to_disk},
                                   {"copies from disk", offload.from_disk},
                                   {"update on host", offload.update}});
  }
  return threads;
}

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool is_send(const Meaning& meaning, const step::Workload& workload) {
  const step::Communication* row = workload.communication_of(meaning);
  return row != nullptr && is_message(row->purpose);
}

// Finds the task of a message by sender, chunk, direction and micro-batch.
class MessageIndex {
 public:
  MessageIndex(const step::Workload& workload, const schedule::Program& program)
      : chunks_(static_cast<std::size_t>(program.placement.chunks())),
        microbatches_(static_cast<std::size_t>(microbatches_of(program))) {
    tasks_.resize(workload.stages.size() * chunks_ * 2 * microbatches_);
    for (std::uint32_t task = 0; task < workload.meaning.size(); ++task) {
      const Meaning& m = workload.meaning[task];
      if (!is_send(m, workload)) continue;
      const Neighbour to = schedule::traits(m.pass).result_to.value();
      tasks_[at({{m.stage, m.chunk}, m.microbatch, to})] = TaskId{task};
    }
  }
  [[nodiscard]] std::optional<TaskId> of(const step::MessageKey& key) const { return tasks_[at(key)]; }

 private:
  [[nodiscard]] std::size_t at(const step::MessageKey& key) const {
    const std::size_t place = key.sender.stage.index() * chunks_ + key.sender.chunk.index();
    return (place * 2 + (key.to == Neighbour::kNext ? 0 : 1)) * microbatches_ + key.microbatch.index();
  }
  std::size_t chunks_, microbatches_;
  std::vector<std::optional<TaskId>> tasks_;
};

// The place of a stream in the trace.
struct Track {
  Stage stage = {};
  std::size_t thread = kPasses;
};

std::vector<Track> tracks_of(const step::Workload& workload) {
  std::vector<Track> tracks(workload.graph.streams());
  for (const Stage stage : workload.stages.ids()) {
    const std::vector<Thread> threads = threads_of(workload.stages[stage]);
    for (std::size_t thread = 0; thread < threads.size(); ++thread)
      tracks[threads[thread].stream.value] = {stage, thread};
  }
  return tracks;
}

// Writes events, separated by commas, in large blocks.
class EventWriter {
 public:
  explicit EventWriter(const TextSink& sink) : sink_(sink) {}

  template <class... Args>
  void put(fmt::format_string<Args...> form, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), form, std::forward<Args>(args)...);
  }
  void next() {
    constexpr std::size_t kBlock = std::size_t{1} << 16;
    if (buffer_.size() >= kBlock) flush();
    put("{}", first_ ? "\n" : ",\n");
    first_ = false;
  }
  // Begins a complete slice, up to its args.
  void slice(std::string_view name, std::string_view category, Track track, Instant begin, Instant end) {
    next();
    const std::int64_t from = to_ns(begin), to = to_ns(end);
    put(R"({{"ph":"X","name":"{}","cat":"{}","pid":{},"tid":{},"ts":{}.{:03},"dur":{}.{:03})", name, category,
        track.stage.number(), track.thread, from / 1000, from % 1000, (to - from) / 1000, (to - from) % 1000);
  }
  void flush() {
    sink_({buffer_.data(), buffer_.size()});
    buffer_.clear();
  }
  [[nodiscard]] static std::int64_t to_ns(Instant at) { return (at.ps + 500) / 1000; }

 private:
  const TextSink& sink_;
  fmt::memory_buffer buffer_;
  bool first_ = true;
};

void write_names(EventWriter& out, const PerStage<Gpu>& gpus, const step::Workload& workload,
                 const std::vector<bool>& used) {
  for (const Stage stage : workload.stages.ids()) {
    const std::string gpu = gpus.empty() ? "" : fmt::format(" (GPU {})", gpus[stage].number());
    out.next();
    out.put(R"({{"ph":"M","name":"process_name","pid":{0},"args":{{"name":"stage {0}{1}"}}}})", stage.number(), gpu);
    out.next();
    out.put(R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})", stage.number());
    const std::vector<Thread> threads = threads_of(workload.stages[stage]);
    for (std::size_t thread = 0; thread < threads.size(); ++thread) {
      if (!used[threads[thread].stream.value]) continue;
      out.next();
      out.put(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})", stage.number(), thread,
              threads[thread].name);
      out.next();
      out.put(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", stage.number(),
              thread, thread);
    }
  }
}

void write_passes(EventWriter& out, const TraceInput& input) {
  const step::Workload& workload = input.step.workload;
  const schedule::Placement& placement = input.step.program.placement;
  const MessageIndex messages(workload, input.step.program);
  for (const Stage stage : input.step.program.stages.ids())
    for (const step::PassTasks& pass : workload.passes[stage]) {
      out.slice(to_text(pass.op, placement.chunks()), schedule::traits(pass.op.kind).name, {stage, kPasses},
                input.run.start[pass.first.value], input.run.end[pass.last.value]);
      if (const schedule::Place* const sender = step::sender_to(placement, stage, pass.op))
        if (const auto message = messages.of(step::needed_by(pass.op, *sender)))
          out.put(R"(,"bind_id":"0x{:x}","flow_in":true)", message->value + 1);
      out.put(R"(,"args":{{"microbatch":{},"chunk":{}}}}})", pass.op.microbatch.number(), pass.op.chunk.number());
    }
}

// Writes all tasks but the passes: kernels, collectives, messages, the end of the step.
void write_tasks(EventWriter& out, const TraceInput& input, const std::vector<Track>& tracks) {
  const step::Workload& workload = input.step.workload;
  for (std::uint32_t task = 0; task < workload.meaning.size(); ++task) {
    const Meaning& meaning = workload.meaning[task];
    const bool part_of_pass = meaning.kind == TaskMeaning::kPass, sends = is_send(meaning, workload);
    if (part_of_pass && meaning.op == nullptr) continue;
    if (input.run.start[task] == input.run.end[task] && !sends) continue;
    for (const des::StreamId member : workload.graph.members(TaskId{task})) {
      const std::string_view category = step::name_of(meaning, workload);
      out.slice(meaning.op != nullptr ? meaning.op->name : category, category, tracks[member.value],
                input.run.start[task], input.run.end[task]);
      if (sends) {
        out.put(R"(,"bind_id":"0x{:x}","flow_out":true,"args":{{"microbatch":{},"chunk":{},"bytes":{:.0f}}})", task + 1,
                meaning.microbatch.number(), meaning.chunk.number(),
                workload.communication_of(meaning)->payload.value());
      } else if (part_of_pass) {
        out.put(R"(,"args":{{"microbatch":{},"chunk":{}}})", meaning.microbatch.number(), meaning.chunk.number());
      }
      out.put("}}");
    }
  }
}

void write_memory(EventWriter& out, const TraceInput& input) {
  for (const Stage stage : input.memory.ids()) {
    const StageMemory& fixed = input.metrics.memory.per_stage[stage];
    const Bytes other = fixed.other - input.memory[stage].transient_at_peak;
    out.next();
    out.put(R"({{"ph":"C","name":"memory bytes","pid":{},"ts":0,"args":{{"weights":{:.0f},"gradients":{:.0f},)"
            R"("optimizer":{:.0f},"workspaces":{:.0f}}}}})",
            stage.number(), fixed.weights.value(), fixed.gradients.value(), fixed.optimizer.value(), other.value());
    for (const observe::MemoryPoint& point : input.memory[stage].points) {
      const std::int64_t at = EventWriter::to_ns(point.at);
      out.next();
      out.put(R"({{"ph":"C","name":"memory bytes","pid":{},"ts":{}.{:03},"args":{{"activations":{:.0f},)"
              R"("short-lived":{:.0f}}}}})",
              stage.number(), at / 1000, at % 1000, point.activations.value(), point.transient.value());
    }
  }
}

// Returns for each stream true when it has a task.
std::vector<bool> streams_used(const step::Workload& workload) {
  std::vector<bool> used(workload.graph.streams());
  for (std::uint32_t task = 0; task < workload.meaning.size(); ++task)
    for (const des::StreamId member : workload.graph.members(TaskId{task})) used[member.value] = true;
  return used;
}

}  // namespace

void write_trace(const TraceInput& input, const TextSink& sink) {
  const step::Workload& workload = input.step.workload;
  const std::vector<Track> tracks = tracks_of(workload);
  EventWriter out(sink);
  out.put(R"({{"displayTimeUnit":"ms","metadata":{{"program":"foretoken","version":{},"scenario":{},"fidelity":{},)"
          R"("simulated_step_time_s":{}}},"traceEvents":[)",
          json_string(input.version), json_string(input.metrics.name), json_string(input.fidelity),
          input.metrics.simulated_step_time.value());
  write_names(out, input.metrics.shown_gpus, workload, streams_used(workload));
  write_passes(out, input);
  write_tasks(out, input, tracks);
  write_memory(out, input);
  out.put("\n]}}\n");
  out.flush();
}

}  // namespace foretoken::report
