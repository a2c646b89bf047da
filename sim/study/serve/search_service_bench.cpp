// Measures the speed of services: requests of one run, and configurations of a search.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "sim/io/serve/read_service.h"
#include "sim/study/serve/search_service.h"

namespace foretoken::study {
namespace {

serve::Service service_of(const char* name, const std::vector<std::string>& sets) {
  return io::read_service_file(std::string(FORETOKEN_SOURCE_DIR "/scenarios/serve/") + name + ".json", sets);
}

// Llama 3 70B on 8 H100 under Poisson arrivals.
void requests_of_a_run(benchmark::State& state) {
  const serve::Service service = service_of("llama-3-70b-8-h100", {"requests.count=" + std::to_string(state.range(0))});
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(serve::predict(service));
  state.counters["requests/s"] =
      benchmark::Counter(static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(requests_of_a_run)->Arg(10'000)->Unit(benchmark::kMillisecond);

// Llama 3 70B on a fleet that is mostly idle.
void requests_of_a_fleet(benchmark::State& state) {
  const serve::Service service =
      service_of("llama-3-70b-8-h100", {"requests.count=10000", "gpus=" + std::to_string(state.range(0))});
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(serve::predict(service));
}
BENCHMARK(requests_of_a_fleet)->Arg(1 << 17)->Unit(benchmark::kMillisecond);

// The chat of Llama 3 70B on 8 H100.
void configurations_of_a_search(benchmark::State& state) {
  const serve::Service service = service_of("llama-3-70b-chat-8-h100", {});
  std::size_t tried = 0;
  for ([[maybe_unused]] auto _ : state) tried += search_service(service, {}, {}, 1, {}).tried;
  state.counters["configurations"] = benchmark::Counter(static_cast<double>(tried), benchmark::Counter::kAvgIterations);
  state.counters["configurations/s"] = benchmark::Counter(static_cast<double>(tried), benchmark::Counter::kIsRate);
}
BENCHMARK(configurations_of_a_search)->Unit(benchmark::kMillisecond);

// Llama 3 70B on many H100 under Poisson arrivals.
void search_of_many_gpus(benchmark::State& state) {
  const serve::Service service = service_of("llama-3-70b-8-h100", {});
  const ServiceSpace space{.gpus = {static_cast<int>(state.range(0))}};
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(search_service(service, space, {}, 1, {}).tried);
}
BENCHMARK(search_of_many_gpus)->Arg(80)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foretoken::study
