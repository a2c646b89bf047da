// Measures the speed of a search: candidates considered, replays, and the whole.
#include <benchmark/benchmark.h>

#include <string>

#include "sim/base/process/keep_memory.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/predict.h"
#include "sim/study/search/searcher.h"

namespace foretoken::search {
namespace {

// Opens every key of GPT-3 175B on 1024 A100 with a batch of 1536.
io::OpenScenario open_175b() {
  return io::read_open_scenario_file(FORETOKEN_SOURCE_DIR "/scenarios/gpt3-175b-1024-a100.json",
                                     std::vector<std::string>{"parallelism=null", "schedule=null", "recompute=null",
                                                              "batch.micro=null", "optimizer=null", "overlap=null"});
}

// Opens every key but context of Qwen3 235B-A22B on 2048 H100 with a batch of 4096.
io::OpenScenario open_235b() {
  return io::read_open_scenario_text(R"({"model": "qwen3-235b-a22b", "cluster": "dgx-h100-ndr", "gpus": 2048,
                                         "batch": {"global": 4096, "sequence_length": 4096},
                                         "parallelism": {"context": 1}})",
                                     "question");
}

void search_all(benchmark::State& state, const io::OpenScenario& question) {
  keep_freed_memory();  // as the program does
  std::size_t considered = 0, replayed = 0;
  for ([[maybe_unused]] auto _ : state) {
    const Space space(question, {});
    const SearchResult result =
        run_search(space, {.prune = state.range(1) != 0, .threads = static_cast<std::size_t>(state.range(0))});
    considered += space.candidates().size();
    replayed += result.ranking.count(Verdict::kReplayed);
  }
  state.counters["candidates/s"] = benchmark::Counter(static_cast<double>(considered), benchmark::Counter::kIsRate);
  if (state.range(1) == 0)  // with pruning most of the time goes elsewhere
    state.counters["replays/s"] = benchmark::Counter(static_cast<double>(replayed), benchmark::Counter::kIsRate);
  state.counters["candidates"] =
      benchmark::Counter(static_cast<double>(considered), benchmark::Counter::kAvgIterations);
}
void whole_search(benchmark::State& state) { search_all(state, open_175b()); }
BENCHMARK(whole_search)
    ->ArgNames({"threads", "prune"})
    ->Args({1, 1})
    ->Args({2, 1})
    ->Args({1, 0})
    ->Args({2, 0})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void expert_search(benchmark::State& state) { search_all(state, open_235b()); }
BENCHMARK(expert_search)
    ->ArgNames({"threads", "prune"})
    ->Args({1, 1})
    ->Args({2, 1})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Makes one step of p = 8 stages and m = 192 micro-batches: 1F1B, or interleaved by 3.
job::Job step_of_192(std::int64_t chunks) {
  return io::read_scenario_file(
             FORETOKEN_SOURCE_DIR "/scenarios/gpt3-175b-1024-a100.json",
             std::vector<std::string>{"batch.global=3072", "schedule=null",
                                      "parallelism.virtual_pipeline=" + std::to_string(chunks), "overlap.p2p=null"})
      .job;
}

// Measures a typical replay of a search: it shares the pipeline's shape and the layers' times with another
// configuration.
void replay_once(benchmark::State& state) {
  const job::Job job = step_of_192(state.range(0));
  fast::Replayer replayer;
  std::vector<std::int64_t> scratch;
  for ([[maybe_unused]] auto _ : state) {
    const step::Passes passes = replayer.passes(job);
    benchmark::DoNotOptimize(replayer.step_time(job, passes, scratch));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(replay_once)->ArgName("chunks")->Arg(1)->Arg(3)->Unit(benchmark::kMicrosecond);

// Measures a first replay, which computes the times of layers and the order of the pipeline.
void replay_first(benchmark::State& state) {
  keep_freed_memory();  // as the program does
  const job::Job job = step_of_192(state.range(0));
  for ([[maybe_unused]] auto _ : state) {
    fast::Replayer replayer;
    std::vector<std::int64_t> scratch;
    benchmark::DoNotOptimize(replayer.step_time(job, replayer.passes(job), scratch));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(replay_first)->ArgName("chunks")->Arg(1)->Arg(3)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace foretoken::search
