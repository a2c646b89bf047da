// Times whole layers: binds the listed kernels to memory, and replays them as one graph.
#include <chrono>
#include <cmath>
#include <map>
#include <string_view>

#include "calibration/import/layer_work.h"
#include "calibration/measure/gpu/benches.h"
#include "calibration/measure/gpu/cuda_check.h"
#include "calibration/measure/gpu/kernels/kernels.h"

namespace foretoken::gpu {
namespace {

using measured::Holds;
using measured::LayerPart;
using measured::LayerSample;
using measured::LayerTensor;
using measured::LayerWork;

constexpr float kKeep = 0.9F, kWeightDeviation = 1.0F / 64;
constexpr std::chrono::milliseconds kUntilSustained{500};  // an H200's clock settles within 300 ms under full load
constexpr int kReplaysInFlight = 4;
constexpr std::size_t kSpareBytes = std::size_t{1} << 30;  // for graphs and libraries

std::size_t bytes_of(const LayerTensor& tensor) {
  return Pieces::aligned(static_cast<std::size_t>(tensor.elements) * static_cast<std::size_t>(tensor.bytes));
}

/// The memory of a layer's tensors, filled as they say.
class Tensors {
 public:
  Tensors(const LayerWork& work, std::size_t bytes, cudaStream_t stream) : memory_(bytes) {
    Pieces pieces(memory_.data());
    for (const LayerTensor& tensor : work.tensors) {
      auto* data = pieces.take<std::byte>(bytes_of(tensor));
      fill(tensor, data, stream);
      places_.push_back(data);
    }
    check(cudaStreamSynchronize(stream), "tensors of a layer");
  }
  template <class T>
  [[nodiscard]] T* at(std::size_t tensor) const {
    return reinterpret_cast<T*>(places_[tensor]);
  }

 private:
  static void fill(const LayerTensor& tensor, std::byte* data, cudaStream_t stream) {
    const std::size_t bytes = bytes_of(tensor);
    switch (tensor.holds) {
      case Holds::kNothing:
      case Holds::kGradients:
        check(cudaMemsetAsync(data, 0, bytes, stream), "cudaMemsetAsync");
        break;
      case Holds::kActivations:
        fill_normal(data, bytes, Precision::kBf16, stream);
        break;
      case Holds::kWeights:
        fill_normal(data, bytes, Precision::kBf16, stream, kWeightDeviation);
        break;
      case Holds::kMask:
        check(cudaMemsetAsync(data, 1, bytes, stream), "cudaMemsetAsync");
        break;
    }
  }

  Memory memory_;
  std::vector<std::byte*> places_;
};

/// A part's tensors by their place among its arguments.
struct Bound {
  const LayerPart& part;
  const Tensors& tensors;
  const LayerSample& layer;
  cudaStream_t stream;

  [[nodiscard]] const Bf16* in(std::size_t i) const { return tensors.at<Bf16>(part.reads[i]); }
  [[nodiscard]] Bf16* out(std::size_t i) const { return tensors.at<Bf16>(part.writes[i]); }
  [[nodiscard]] float* sums(std::size_t i) const { return tensors.at<float>(part.writes[i]); }
  [[nodiscard]] float scale() const {
    return static_cast<float>(std::sqrt(static_cast<double>(layer.heads) / static_cast<double>(layer.hidden)));
  }
  [[nodiscard]] HeadShape heads() const {
    return {layer.batch, layer.sequence, layer.heads / layer.tensor, layer.hidden / layer.heads};
  }
};

using Runner = void (*)(const Bound&, Extent);

void run_split(const Bound& b, Extent) {
  Bf16* out[3] = {};
  for (std::size_t i = 0; i < b.part.writes.size(); ++i) out[i] = b.out(i);
  split_heads(b.in(0), out, static_cast<int>(b.part.writes.size()), b.heads(), b.stream);
}
void run_merge(const Bound& b, Extent) {
  const Bf16* in[3] = {};
  for (std::size_t i = 0; i < b.part.reads.size(); ++i) in[i] = b.in(i);
  merge_heads(in, b.out(0), static_cast<int>(b.part.reads.size()), b.heads(), b.stream);
}

const std::map<std::string_view, Runner>& runners() {
  static const std::map<std::string_view, Runner> all{
      {"add", [](const Bound& b, Extent e) { add(b.in(0), b.in(1), b.out(0), e, b.stream); }},
      {"bias_gelu", [](const Bound& b, Extent e) { bias_gelu(b.in(0), b.in(1), b.out(0), e, b.stream); }},
      {"dropout_add",
       [](const Bound& b, Extent e) {
         auto* mask = b.tensors.at<std::uint8_t>(b.part.writes[1]);
         dropout_add(b.in(0), b.in(1), b.out(0), mask, kKeep, 1, e, b.stream);
       }},
      {"dropout_backward",
       [](const Bound& b, Extent e) {
         dropout_backward(b.in(0), b.tensors.at<std::uint8_t>(b.part.reads[1]), b.out(0), kKeep, e, b.stream);
       }},
      {"gelu_backward",
       [](const Bound& b, Extent e) { gelu_backward(b.in(0), b.in(1), b.in(2), b.out(0), e, b.stream); }},
      {"layer_norm", [](const Bound& b, Extent e) { layer_norm(b.in(0), b.in(1), b.in(2), b.out(0), e, b.stream); }},
      {"layer_norm_backward",
       [](const Bound& b, Extent e) {
         layer_norm_backward(b.in(0), b.in(1), b.in(2), b.out(0), b.sums(1), b.sums(2), e, b.stream);
       }},
      {"masked_softmax",
       [](const Bound& b, Extent e) { masked_softmax(b.in(0), b.out(0), b.scale(), true, e, b.stream); }},
      {"merge_heads", run_merge},
      {"rms_norm", [](const Bound& b, Extent e) { rms_norm(b.in(0), b.in(1), b.out(0), e, b.stream); }},
      {"rms_norm_backward",
       [](const Bound& b, Extent e) {
         rms_norm_backward(b.in(0), b.in(1), b.in(2), b.out(0), b.sums(1), e, b.stream);
       }},
      {"softmax_backward",
       [](const Bound& b, Extent e) { softmax_backward(b.in(0), b.out(0), b.scale(), e, b.stream); }},
      {"split_heads", run_split},
      {"swiglu", [](const Bound& b, Extent e) { swiglu(b.in(0), b.out(0), e, b.stream); }},
      {"swiglu_backward", [](const Bound& b, Extent e) { swiglu_backward(b.in(0), b.in(1), b.out(0), e, b.stream); }}};
  return all;
}

/// Describes the layer's products to cuBLASLt, by part. Returns nothing when one of them cannot run.
std::optional<std::map<const LayerPart*, Product>> products_of(const LayerWork& work, const CublasLt& library,
                                                               std::size_t scratch) {
  std::map<const LayerPart*, Product> all;
  for (const LayerPart& part : work.parts) {
    const auto* gemm = std::get_if<measured::GemmSample>(&part.work);
    if (gemm == nullptr) continue;
    auto product = Product::make(library, *gemm, scratch);
    if (!product) return std::nullopt;
    all.emplace(&part, std::move(*product));
  }
  return all;
}

/// Replays the layer until the clocks are those of a long run, and then as often as a good median takes.
measured::Timing timed(const Graph& graph, cudaStream_t stream) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + kUntilSustained;
  while (Clock::now() < end) {
    for (int i = 0; i < kReplaysInFlight; ++i) graph.replay(stream);
    check(cudaStreamSynchronize(stream), "layer");
  }
  return time_replays(graph, stream, 1, kReplaysInFlight, {.relative_noise = 0.005});
}

}  // namespace

std::optional<LayerSample> time_layer(Workbench& bench, const CublasLt& library, LayerSample sample) {
  if (sample.hidden > kLongestRow || sample.sequence > kLongestRow || sample.hidden / sample.heads % 8 != 0)
    return std::nullopt;
  const LayerWork work = measured::layer_work(sample);
  std::size_t bytes = 0, free = 0, total = 0;
  for (const LayerTensor& tensor : work.tensors) bytes += bytes_of(tensor);
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  if (bytes + kSpareBytes > free) return std::nullopt;
  const auto products = products_of(work, library, bench.scratch().bytes());
  if (!products) return std::nullopt;
  const Tensors tensors(work, bytes, bench.stream());
  const auto launch = [&] {
    for (const LayerPart& part : work.parts) {
      const Bound bound{part, tensors, sample, bench.stream()};
      if (const auto* kernel = std::get_if<measured::KernelSample>(&part.work))
        runners().at(kernel->kernel)(bound, {kernel->rows, kernel->columns});
      else
        products->at(&part).run(library, bound.in(0), bound.in(1), bound.out(0), bench.scratch(), bench.stream());
    }
  };
  launch();  // loads the kernels
  check(cudaStreamSynchronize(bench.stream()), "layer");
  const Graph graph(bench.stream(), launch);
  sample.time = timed(graph, bench.stream());
  return sample;
}

}  // namespace foretoken::gpu
