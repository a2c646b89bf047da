// Times matrix products.
#include <chrono>

#include "calibration/measure/gpu/benches.h"
#include "calibration/measure/gpu/cuda_check.h"

namespace foretoken::gpu {
namespace {

/// Longer products need fewer runs: their noise is small, and each heats the GPU.
constexpr measure::StoppingRule kRule{.relative_noise = 0.005, .fewest = 10, .most = 100, .longest = Seconds(0.25)};

}  // namespace

std::optional<measured::GemmSample> time_gemm(Workbench& bench, const CublasLt& library, measured::GemmSample sample) {
  const auto product = Product::make(library, sample, bench.scratch().bytes());
  if (!product) return std::nullopt;
  const std::size_t x = Pieces::aligned(product->x_bytes()), w = Pieces::aligned(product->w_bytes());
  const std::size_t y = Pieces::aligned(product->y_bytes());
  const auto copies = bench.copies(x + w, y);
  if (!copies) return std::nullopt;
  std::byte* const in = bench.inputs(sample.shape.precision).data();
  std::byte* const out = bench.outputs().data();
  sample.time = time_launches(
      bench.stream(), *copies,
      [&](int copy) {
        const auto i = static_cast<std::size_t>(copy);
        std::byte* const first = in + i * (x + w);
        product->run(library, first, first + x, out + i * y, bench.scratch(), bench.stream());
      },
      kRule);
  return sample;
}

void warm_up(Workbench& bench, const CublasLt& library) {
  measured::GemmSample sample;
  sample.shape = {.m = 4096, .n = 4096, .k = 4096};
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(500))
    if (!time_gemm(bench, library, sample)) throw GpuError("cuBLASLt cannot multiply bf16 matrices on this GPU");
}

}  // namespace foretoken::gpu
