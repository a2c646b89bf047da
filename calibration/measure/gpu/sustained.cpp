// Runs one product for long, to see clocks fall under load.
#include <algorithm>
#include <cmath>

#include "calibration/import/sample_json.h"
#include "calibration/measure/gpu/benches.h"
#include "calibration/measure/gpu/cuda_check.h"
#include "calibration/measure/gpu/sensors.h"

namespace foretoken::gpu {
namespace {

constexpr std::int64_t kSide = 8192;
constexpr Seconds kFine{0.01}, kCoarse{0.1}, kFineFor{0.3};

/// One stretch of launches between two events.
struct Stretch {
  Event begin, end;
  int launches = 0;
};

}  // namespace

std::string sustained_work(Precision precision) { return measured::product_work(precision) + std::to_string(kSide); }

std::vector<measured::ClockSample> sustained_run(Workbench& bench, const CublasLt& library, Precision precision,
                                                 Seconds length, const std::function<bool()>& stopped) {
  measured::GemmSample gemm;
  gemm.shape = {.m = kSide, .n = kSide, .k = kSide, .precision = precision};
  const auto timed = time_gemm(bench, library, gemm);
  const auto product = Product::make(library, gemm, bench.scratch().bytes());
  if (!timed || !product) return {};
  const Seconds one = timed->time.median;
  const std::byte* x = bench.inputs(precision).data();
  const auto run = [&](Stretch& stretch, Seconds wanted) {
    stretch.launches = std::max(1, static_cast<int>(std::lround(wanted / one)));
    stretch.begin.record(bench.stream());
    for (int i = 0; i < stretch.launches; ++i)
      product->run(library, x, x + Pieces::aligned(product->x_bytes()), bench.outputs().data(), bench.scratch(),
                   bench.stream());
    stretch.end.record(bench.stream());
  };
  const Sensors sensors(bench.device().bus_id);
  std::vector<measured::ClockSample> samples;
  Seconds at;
  Stretch stretches[2];  // the GPU works on one while the host reads the other
  run(stretches[0], kFine);
  for (std::size_t i = 0; at < length; ++i) {
    Stretch& now = stretches[i % 2];
    run(stretches[(i + 1) % 2], at < kFineFor ? kFine : kCoarse);
    now.end.wait();
    const Seconds took = now.end.since(now.begin);
    at += took;
    const Reading reading = sensors.read();
    measured::ClockSample sample{sustained_work(precision), at, now.launches * gemm.shape.flop() / took, {}, {}, {}};
    sample.sm_mhz = reading.sm_mhz;
    sample.watts = reading.watts;
    sample.celsius = reading.celsius;
    samples.push_back(std::move(sample));
    if (stopped()) samples.clear();
    if (samples.empty()) break;
  }
  check(cudaStreamSynchronize(bench.stream()), "sustained run");
  return samples;
}

}  // namespace foretoken::gpu
