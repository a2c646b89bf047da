// Speed of the event queue under the hold model: take the earliest event, schedule it again later, with a fixed number
// pending.
#include <benchmark/benchmark.h>

#include <array>
#include <random>
#include <vector>

#include "sim/des/event_queue.h"

namespace foretoken::des {
namespace {

/// Takes one event at a time out of the queue. The queue itself returns all events of an instant together.
class OneByOne {
 public:
  void push(Instant at, TaskId task) { queue_.push(at, task); }

  TaskId pop() {
    if (next_ == due_.size()) {
      due_.clear();
      next_ = 0;
      queue_.pop_instant(due_);
    }
    return due_[next_++];
  }

  Instant now() const { return queue_.now(); }

 private:
  EventQueue queue_;
  std::vector<TaskId> due_;
  std::size_t next_ = 0;
};

/// Draws exponential delays with a mean of a millisecond: nearly all times differ.
std::vector<std::int64_t> spread_delays() {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> delay(1e-9);
  std::vector<std::int64_t> delays(1 << 16);
  for (auto& d : delays) d = static_cast<std::int64_t>(delay(random)) + 1;
  return delays;
}

/// Draws from four durations, as when streams repeat the same few tasks: many times are equal.
std::vector<std::int64_t> repeated_delays() {
  std::mt19937_64 random(2);
  std::vector<std::int64_t> delays(1 << 16);
  for (auto& d : delays)
    d = std::array<std::int64_t, 4>{1'234'000'000, 2'468'000'000, 41'000'000, 7'500'000}[random() % 4];
  return delays;
}

void hold(benchmark::State& state, const std::vector<std::int64_t>& delays) {
  const auto pending = static_cast<std::size_t>(state.range(0));
  const std::size_t mask = delays.size() - 1;
  OneByOne queue;
  std::size_t draw = 0;
  for (std::size_t i = 0; i < pending; ++i) queue.push({delays[draw++ & mask]}, {static_cast<std::uint32_t>(i)});

  const auto pop_and_push = [&] {
    const TaskId task = queue.pop();
    queue.push({queue.now().ps + delays[draw++ & mask]}, task);
  };
  for (std::size_t i = 0; i < 4 * pending; ++i) pop_and_push();  // settle
  for (auto _ : state) pop_and_push();
  state.SetItemsProcessed(state.iterations());
}

void BM_Spread(benchmark::State& state) { hold(state, spread_delays()); }
void BM_Repeated(benchmark::State& state) { hold(state, repeated_delays()); }

void sizes(benchmark::internal::Benchmark* bench) {
  for (const int pending : {64, 100, 1000, 10'000, 100'000}) bench->Arg(pending);
}

BENCHMARK(BM_Spread)->Apply(sizes);
BENCHMARK(BM_Repeated)->Apply(sizes);

}  // namespace
}  // namespace foretoken::des
