// Event queues under the hold model: take the earliest event, schedule it again later, with a fixed number pending.
#include <benchmark/benchmark.h>

#include <array>
#include <random>
#include <vector>

#include "sim/des/event_queue.h"
#include "sim/des/ladder_queue_bench.h"
#include "sim/des/queue_contenders_bench.h"
#include "sim/des/radix_heaps_bench.h"

namespace foretoken::des {
namespace {

/// The library's queue behind the contenders' one-event interface.
class Chosen {
 public:
  void push(contenders::Event event) { queue_.push({event.at}, {event.task}); }
  contenders::Event pop() {
    if (next_ == due_.size()) {
      due_.clear();
      next_ = 0;
      queue_.pop_instant(due_);
    }
    return {queue_.now().ps, due_[next_++].value};
  }

 private:
  EventQueue queue_;
  std::vector<TaskId> due_;
  std::size_t next_ = 0;
};

/// Exponential delays with a mean of a millisecond: nearly all times differ.
std::vector<std::int64_t> spread_delays() {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> delay(1e-9);
  std::vector<std::int64_t> delays(1 << 16);
  for (auto& d : delays) d = static_cast<std::int64_t>(delay(random)) + 1;
  return delays;
}

/// Four durations only, as when streams repeat the same few tasks: many times are equal.
std::vector<std::int64_t> repeated_delays() {
  std::mt19937_64 random(2);
  std::vector<std::int64_t> delays(1 << 16);
  for (auto& d : delays)
    d = std::array<std::int64_t, 4>{1'234'000'000, 2'468'000'000, 41'000'000, 7'500'000}[random() % 4];
  return delays;
}

template <class Queue>
void hold(benchmark::State& state, const std::vector<std::int64_t>& delays) {
  const auto pending = static_cast<std::size_t>(state.range(0));
  const std::size_t mask = delays.size() - 1;
  Queue queue;
  std::size_t draw = 0;
  for (std::size_t i = 0; i < pending; ++i) queue.push({delays[draw++ & mask], static_cast<std::uint32_t>(i)});
  for (std::size_t i = 0; i < 4 * pending; ++i) {  // settle
    const contenders::Event event = queue.pop();
    queue.push({event.at + delays[draw++ & mask], event.task});
  }
  for (auto _ : state) {
    const contenders::Event event = queue.pop();
    queue.push({event.at + delays[draw++ & mask], event.task});
  }
  state.SetItemsProcessed(state.iterations());
}

template <class Queue>
void BM_Spread(benchmark::State& state) {
  hold<Queue>(state, spread_delays());
}
template <class Queue>
void BM_Repeated(benchmark::State& state) {
  hold<Queue>(state, repeated_delays());
}

void sizes(benchmark::internal::Benchmark* bench) {
  for (const int pending : {64, 100, 1000, 10'000, 100'000}) bench->Arg(pending);
}

BENCHMARK(BM_Spread<contenders::BinaryHeap>)->Apply(sizes);
BENCHMARK(BM_Spread<contenders::QuaternaryHeap>)->Apply(sizes);
BENCHMARK(BM_Spread<contenders::LadderQueue>)->Apply(sizes);
BENCHMARK(BM_Spread<contenders::BinaryRadixHeap>)->Apply(sizes);
BENCHMARK(BM_Spread<contenders::DigitRadixHeap<3>>)->Apply(sizes);
BENCHMARK(BM_Spread<contenders::DigitRadixHeap<6>>)->Apply(sizes);
BENCHMARK(BM_Spread<Chosen>)->Apply(sizes);
BENCHMARK(BM_Repeated<contenders::BinaryHeap>)->Apply(sizes);
BENCHMARK(BM_Repeated<contenders::QuaternaryHeap>)->Apply(sizes);
BENCHMARK(BM_Repeated<contenders::LadderQueue>)->Apply(sizes);
BENCHMARK(BM_Repeated<contenders::BinaryRadixHeap>)->Apply(sizes);
BENCHMARK(BM_Repeated<contenders::DigitRadixHeap<3>>)->Apply(sizes);
BENCHMARK(BM_Repeated<contenders::DigitRadixHeap<6>>)->Apply(sizes);
BENCHMARK(BM_Repeated<Chosen>)->Apply(sizes);

}  // namespace
}  // namespace foretoken::des
