// Times the memory-bound kernels: the place of each one's data, and its launch on a copy of them.
#include <map>
#include <string_view>

#include "calibration/measure/gpu/benches.h"
#include "calibration/measure/gpu/cuda_check.h"
#include "calibration/measure/gpu/kernels/kernels.h"

namespace foretoken::gpu {
namespace {

constexpr std::size_t kHalf = 2, kFloat = 4;

/// The bytes that one kernel needs of inputs and outputs, and its launch on these.
struct Bench {
  std::size_t input_bytes, output_bytes;
  std::function<void(Pieces in, Pieces out, Extent extent, cudaStream_t stream)> launch;
};

std::size_t halves(Extent extent) { return Pieces::aligned(static_cast<std::size_t>(extent.elements()) * kHalf); }
std::size_t floats(Extent extent) { return Pieces::aligned(static_cast<std::size_t>(extent.elements()) * kFloat); }
std::size_t row(Extent extent) { return Pieces::aligned(static_cast<std::size_t>(extent.columns) * kHalf); }
std::size_t words(Extent extent) { return Pieces::aligned(static_cast<std::size_t>(extent.rows) * kFloat); }

/// Returns kernels that read one tensor and write one of the same shape, with up to two rows of parameters.
Bench simple(std::string_view name, Extent extent) {
  if (name == "copy")
    return {halves(extent), halves(extent), [](Pieces in, Pieces out, Extent e, cudaStream_t s) {
              copy(in.take<Bf16>(halves(e)), out.take<Bf16>(halves(e)), e, s);
            }};
  if (name == "cast_from_fp32")
    return {floats(extent), halves(extent), [](Pieces in, Pieces out, Extent e, cudaStream_t s) {
              cast(in.take<float>(floats(e)), out.take<Bf16>(halves(e)), e, s);
            }};
  if (name == "layer_norm")
    return {halves(extent) + 2 * row(extent), halves(extent), [](Pieces in, Pieces out, Extent e, cudaStream_t s) {
              const Bf16* x = in.take<Bf16>(halves(e));
              const Bf16* weight = in.take<Bf16>(row(e));
              layer_norm(x, weight, in.take<Bf16>(row(e)), out.take<Bf16>(halves(e)), e, s);
            }};
  if (name == "rms_norm")
    return {halves(extent) + row(extent), halves(extent), [](Pieces in, Pieces out, Extent e, cudaStream_t s) {
              const Bf16* x = in.take<Bf16>(halves(e));
              rms_norm(x, in.take<Bf16>(row(e)), out.take<Bf16>(halves(e)), e, s);
            }};
  if (name == "bias_gelu")
    return {halves(extent) + row(extent), halves(extent), [](Pieces in, Pieces out, Extent e, cudaStream_t s) {
              const Bf16* x = in.take<Bf16>(halves(e));
              bias_gelu(x, in.take<Bf16>(row(e)), out.take<Bf16>(halves(e)), e, s);
            }};
  if (name == "swiglu")
    return {2 * halves(extent), halves(extent), [](Pieces in, Pieces out, Extent e, cudaStream_t s) {
              swiglu(in.take<Bf16>(2 * halves(e)), out.take<Bf16>(halves(e)), e, s);
            }};
  if (name == "masked_softmax")
    return {halves(extent), halves(extent), [](Pieces in, Pieces out, Extent e, cudaStream_t s) {
              masked_softmax(in.take<Bf16>(halves(e)), out.take<Bf16>(halves(e)), 0.125F, true, e, s);
            }};
  throw std::invalid_argument("unknown kernel " + std::string(name));
}

Bench bench_of(std::string_view name, Extent extent) {
  if (name == "dropout_add")
    return {2 * halves(extent), halves(extent) + halves(extent), [](Pieces in, Pieces out, Extent e, cudaStream_t s) {
              const Bf16* x = in.take<Bf16>(halves(e));
              const Bf16* residual = in.take<Bf16>(halves(e));
              Bf16* y = out.take<Bf16>(halves(e));
              dropout_add(x, residual, y, out.take<std::uint8_t>(halves(e)), 0.9F, 1, e, s);
            }};
  // Targets come from the region of outputs. It holds zeros or results of earlier kernels, so it is cleared first.
  if (name == "cross_entropy")
    return {halves(extent), halves(extent) + 2 * words(extent), [](Pieces in, Pieces out, Extent e, cudaStream_t s) {
              const auto* targets = out.take<std::int32_t>(words(e));
              float* loss = out.take<float>(words(e));
              cross_entropy(in.take<Bf16>(halves(e)), targets, loss, out.take<Bf16>(halves(e)), e, s);
            }};
  if (name == "adam")
    return {floats(extent), 3 * floats(extent) + halves(extent), [](Pieces in, Pieces out, Extent e, cudaStream_t s) {
              AdamState state{};
              state.master = out.take<float>(floats(e));
              state.first = out.take<float>(floats(e));
              state.second = out.take<float>(floats(e));
              state.weight = out.take<Bf16>(halves(e));
              adam(in.take<float>(floats(e)), state, {}, e, s);
            }};
  return simple(name, extent);
}

}  // namespace

std::optional<measured::KernelSample> time_kernel(Workbench& bench, measured::KernelSample sample) {
  const Extent extent{sample.rows, sample.columns};
  const Bench one = bench_of(sample.kernel, extent);
  const auto copies = bench.copies(one.input_bytes, one.output_bytes, !sample.cold);
  if (!copies) return std::nullopt;
  const Memory& in = bench.inputs(Precision::kBf16);
  // Optimizer states and targets must be valid numbers. Zeros are.
  const std::size_t used = static_cast<std::size_t>(*copies) * one.output_bytes;
  check(cudaMemsetAsync(bench.outputs().data(), 0, used, bench.stream()), "cudaMemsetAsync");
  sample.time = time_launches(bench.stream(), *copies, [&](int copy) {
    const auto i = static_cast<std::size_t>(copy);
    one.launch(Pieces(in.data() + i * one.input_bytes), Pieces(bench.outputs().data() + i * one.output_bytes), extent,
               bench.stream());
  });
  return sample;
}

}  // namespace foretoken::gpu
