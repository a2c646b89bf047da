// Times attention composed of batched products and a softmax kernel.
#include <cmath>
#include <limits>

#include "calibration/measure/gpu/benches.h"
#include "calibration/measure/gpu/kernels/kernels.h"

namespace foretoken::gpu {
namespace {

/// The products of one attention, forward and backward, with the sizes of their operands.
struct Composed {
  std::int64_t heads, queries, keys, head_dim;  ///< heads of all batches together
  std::optional<Product> scores, values, value_gradient, probability_gradient, query_gradient, key_gradient;

  Composed(const CublasLt& library, const AttentionShape& shape, std::size_t scratch)
      : heads(shape.batch * shape.heads), queries(shape.q_length), keys(shape.kv_length), head_dim(shape.head_dim) {
    const auto product = [&](std::int64_t m, std::int64_t n, std::int64_t k, GemmPass pass) {
      measured::GemmSample sample;
      sample.shape = {.m = m, .n = n, .k = k, .batch = heads, .pass = pass, .precision = Precision::kBf16};
      return Product::make(library, sample, scratch);
    };
    if (!shape.backward) {
      scores = product(queries, keys, head_dim, GemmPass::kForward);        // S = Q K^T
      values = product(queries, head_dim, keys, GemmPass::kInputGradient);  // O = P V
    } else {
      value_gradient = product(keys, head_dim, queries, GemmPass::kWeightGradient);  // dV = P^T dO
      probability_gradient = product(queries, keys, head_dim, GemmPass::kForward);   // dP = dO V^T
      query_gradient = product(queries, head_dim, keys, GemmPass::kInputGradient);   // dQ = dS K
      key_gradient = product(keys, head_dim, queries, GemmPass::kWeightGradient);    // dK = dS^T Q
    }
  }
  [[nodiscard]] bool possible(bool backward) const {
    return backward ? value_gradient && probability_gradient && query_gradient && key_gradient : scores && values;
  }
  [[nodiscard]] std::size_t token_bytes(std::int64_t tokens) const {  // of Q, K, V or O
    return Pieces::aligned(static_cast<std::size_t>(heads * tokens * head_dim) * 2);
  }
  [[nodiscard]] std::size_t score_bytes() const {
    return Pieces::aligned(static_cast<std::size_t>(heads * queries * keys) * 2);
  }
  [[nodiscard]] Extent score_rows() const { return {heads * queries, keys}; }
};

/// Everything that a launch needs.
struct Place {
  const CublasLt& cublas;
  const Memory& scratch;
  cudaStream_t stream;
  float scale;
};

void forward(const Composed& c, bool causal, Pieces in, Pieces out, const Place& at) {
  const auto* q = in.take<Bf16>(c.token_bytes(c.queries));
  const auto* k = in.take<Bf16>(c.token_bytes(c.keys));
  const auto* v = in.take<Bf16>(c.token_bytes(c.keys));
  auto* s = out.take<Bf16>(c.score_bytes());
  auto* o = out.take<Bf16>(c.token_bytes(c.queries));
  c.scores->run(at.cublas, q, k, s, at.scratch, at.stream);
  masked_softmax(s, s, at.scale, causal, c.score_rows(), at.stream);
  c.values->run(at.cublas, s, v, o, at.scratch, at.stream);
}

void backward(const Composed& c, Pieces in, Pieces out, const Place& at) {
  const auto* q = in.take<Bf16>(c.token_bytes(c.queries));
  const auto* k = in.take<Bf16>(c.token_bytes(c.keys));
  const auto* v = in.take<Bf16>(c.token_bytes(c.keys));
  const auto* o_gradient = in.take<Bf16>(c.token_bytes(c.queries));
  const auto* p = in.take<Bf16>(c.score_bytes());  // for the products, random numbers cost as much as probabilities
  auto* s_gradient = out.take<Bf16>(c.score_bytes());
  auto* q_gradient = out.take<Bf16>(c.token_bytes(c.queries));
  auto* k_gradient = out.take<Bf16>(c.token_bytes(c.keys));
  auto* v_gradient = out.take<Bf16>(c.token_bytes(c.keys));
  c.value_gradient->run(at.cublas, p, o_gradient, v_gradient, at.scratch, at.stream);
  c.probability_gradient->run(at.cublas, o_gradient, v, s_gradient, at.scratch, at.stream);
  softmax_backward(p, s_gradient, at.scale, c.score_rows(), at.stream);
  c.query_gradient->run(at.cublas, s_gradient, k, q_gradient, at.scratch, at.stream);
  c.key_gradient->run(at.cublas, s_gradient, q, k_gradient, at.scratch, at.stream);
}

}  // namespace

std::optional<measured::AttentionSample> time_composed_attention(Workbench& bench, const CublasLt& library,
                                                                 measured::AttentionSample sample) {
  const AttentionShape& shape = sample.shape;
  const bool fits_kernels = shape.kv_heads == shape.heads && shape.kv_length <= kLongestRow &&
                            shape.batch * shape.heads * shape.q_length <= std::numeric_limits<int>::max();
  if (!fits_kernels) return std::nullopt;
  const Composed composed(library, shape, bench.scratch().bytes());
  if (!composed.possible(shape.backward)) return std::nullopt;
  const std::size_t q = composed.token_bytes(composed.queries), k = composed.token_bytes(composed.keys);
  const std::size_t scores = composed.score_bytes();
  const std::size_t in = shape.backward ? 2 * q + 2 * k + scores : q + 2 * k;
  const std::size_t out = shape.backward ? scores + q + 2 * k : scores + q;
  const auto copies = bench.copies(in, out);
  if (!copies) return std::nullopt;
  const Place at{library, bench.scratch(), bench.stream(),
                 static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim)))};
  const Memory& inputs = bench.inputs(Precision::kBf16);
  sample.time = time_launches(bench.stream(), *copies, [&](int copy) {
    const auto i = static_cast<std::size_t>(copy);
    const Pieces from(inputs.data() + i * in), to(bench.outputs().data() + i * out);
    shape.backward ? backward(composed, from, to, at) : forward(composed, shape.causal, from, to, at);
  });
  return sample;
}

}  // namespace foretoken::gpu
