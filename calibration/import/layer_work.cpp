// Lists the kernels of a transformer layer without flash attention (arXiv:2205.05198, section 4.1, and the tensors that
// its backward pass keeps).
#include "calibration/import/layer_work.h"

#include <utility>

#include "calibration/import/kernel_work.h"

namespace foretoken::measured {
namespace {

using Id = std::size_t;

class Builder {
 public:
  explicit Builder(const LayerSample& s)
      : tokens_(s.batch * s.sequence),
        hidden_(s.hidden),
        ffn_(s.ffn / s.tensor),
        attention_(s.hidden / s.tensor),
        heads_(s.batch * s.heads / s.tensor),
        sequence_(s.sequence),
        head_dim_(s.hidden / s.heads),
        llama_(s.family == LayerFamily::kLlama) {}

  void forward() {
    const Id x = given("input", tokens_ * hidden_);
    const Id qkv = linear("qkv", norm("norm1", x), 3 * attention_, hidden_);
    const Id q = made("q", tokens_ * attention_), k = made("k", tokens_ * attention_);
    const Id v = made("v", tokens_ * attention_), scores = made("scores", score_elements());
    kernel("split_heads", tokens_, 3 * attention_, {qkv}, {q, k, v});
    on_heads(GemmPass::kForward, sequence_, sequence_, head_dim_, q, k, scores);  // S = Q K^T
    kernel("masked_softmax", heads_ * sequence_, sequence_, {scores}, {scores});
    const Id heads = made("heads", tokens_ * attention_), context = made("context", tokens_ * attention_);
    on_heads(GemmPass::kInputGradient, sequence_, head_dim_, sequence_, scores, v, heads);  // O = P V
    kernel("merge_heads", tokens_, attention_, {heads}, {context});
    const Id middle = joined("middle", linear("projection", context, hidden_, attention_), x);
    const Id wide = linear("fc1", norm("norm2", middle), llama_ ? 2 * ffn_ : ffn_, hidden_);
    const Id active = made("active", tokens_ * ffn_);
    if (llama_)
      kernel("swiglu", tokens_, ffn_, {wide}, {active});
    else
      kernel("bias_gelu", tokens_, ffn_, {wide, weights("bias", ffn_)}, {active});
    (void)joined("output", linear("fc2", active, hidden_, ffn_), middle);
  }

  void backward() {
    const std::int64_t width = llama_ ? 2 * ffn_ : ffn_;
    const Id gradient = given("output gradient", tokens_ * hidden_);
    const Id of_fc2 = before_join("fc2", gradient);
    const Id of_active = linear_backward("fc2", of_fc2, given("active", tokens_ * ffn_), hidden_, ffn_);
    const Id wide = given("wide", tokens_ * width), of_wide = made("wide gradient", tokens_ * width);
    if (llama_)
      kernel("swiglu_backward", tokens_, ffn_, {of_active, wide}, {of_wide});
    else
      kernel("gelu_backward", tokens_, ffn_, {of_active, wide, weights("bias", ffn_)}, {of_wide});
    const Id of_norm2 = linear_backward("fc1", of_wide, given("norm2", tokens_ * hidden_), width, hidden_);
    const Id of_middle = added("middle gradient", gradient, norm_backward("norm2", of_norm2, "middle"));
    const Id of_projection = before_join("projection", of_middle);
    const Id context = given("context", tokens_ * attention_);
    const Id of_qkv = attention_backward(linear_backward("projection", of_projection, context, hidden_, attention_));
    const Id of_norm1 = linear_backward("qkv", of_qkv, given("norm1", tokens_ * hidden_), 3 * attention_, hidden_);
    (void)added("input gradient", of_middle, norm_backward("norm1", of_norm1, "input"));
  }

  [[nodiscard]] LayerWork take() { return std::move(work_); }

 private:
  Id tensor(std::string name, std::int64_t elements, Holds holds, int bytes = 2) {
    work_.tensors.push_back({std::move(name), elements, bytes, holds});
    return work_.tensors.size() - 1;
  }
  Id made(std::string name, std::int64_t elements) { return tensor(std::move(name), elements, Holds::kNothing); }
  Id given(std::string name, std::int64_t elements) { return tensor(std::move(name), elements, Holds::kActivations); }
  Id weights(const std::string& name, std::int64_t elements) {
    return tensor(name + " weight", elements, Holds::kWeights);
  }
  Id sums(const std::string& name, std::int64_t elements) {
    return tensor(name + " weight gradient", elements, Holds::kGradients, 4);
  }
  [[nodiscard]] std::int64_t score_elements() const { return heads_ * sequence_ * sequence_; }

  void kernel(const char* name, std::int64_t rows, std::int64_t columns, std::vector<Id> reads,
              std::vector<Id> writes) {
    KernelSample sample;
    sample.kernel = name;
    sample.rows = rows;
    sample.columns = columns;
    sample.bytes = kernel_bytes(name, rows, columns);
    work_.parts.push_back({std::move(sample), std::move(reads), std::move(writes)});
  }
  void product(GemmShape shape, Id x, Id w, Id y, bool adds_to_fp32 = false) {
    GemmSample sample;
    sample.shape = shape;
    sample.shape.precision = Precision::kBf16;
    sample.adds_to_fp32 = adds_to_fp32;
    work_.parts.push_back({sample, {x, w}, {y}});
  }
  void on_heads(GemmPass pass, std::int64_t m, std::int64_t n, std::int64_t k, Id x, Id w, Id y) {
    product({.m = m, .n = n, .k = k, .batch = heads_, .pass = pass}, x, w, y);
  }

  Id norm(const std::string& name, Id x) {
    const Id y = made(name, tokens_ * hidden_), weight = weights(name, hidden_);
    if (llama_)
      kernel("rms_norm", tokens_, hidden_, {x, weight}, {y});
    else
      kernel("layer_norm", tokens_, hidden_, {x, weight, weights(name + " bias", hidden_)}, {y});
    return y;
  }
  Id norm_backward(const std::string& name, Id of_y, const std::string& input) {
    const Id x = given(input, tokens_ * hidden_), of_x = made(name + " input gradient", tokens_ * hidden_);
    const Id weight = weights(name, hidden_), of_weight = sums(name, hidden_);
    if (llama_)
      kernel("rms_norm_backward", tokens_, hidden_, {of_y, x, weight}, {of_x, of_weight});
    else
      kernel("layer_norm_backward", tokens_, hidden_, {of_y, x, weight},
             {of_x, of_weight, sums(name + " bias", hidden_)});
    return of_x;
  }
  Id linear(const std::string& name, Id x, std::int64_t outputs, std::int64_t inputs) {
    const Id y = made(name, tokens_ * outputs);
    product({.m = tokens_, .n = outputs, .k = inputs}, x, weights(name, outputs * inputs), y);
    return y;
  }
  /// Adds both products of a linear layer backward. Returns the gradient of its input.
  Id linear_backward(const std::string& name, Id of_y, Id x, std::int64_t outputs, std::int64_t inputs) {
    const Id of_x = made(name + " input gradient", tokens_ * inputs);
    product({.m = tokens_, .n = inputs, .k = outputs, .pass = GemmPass::kInputGradient}, of_y,
            weights(name, outputs * inputs), of_x);
    product({.m = outputs, .n = inputs, .k = tokens_, .pass = GemmPass::kWeightGradient}, of_y, x,
            sums(name, outputs * inputs), true);
    return of_x;
  }
  Id added(const std::string& name, Id a, Id b) {
    const Id sum = made(name, tokens_ * hidden_);
    kernel("add", tokens_, hidden_, {a, b}, {sum});
    return sum;
  }
  /// Adds the residual, after dropout in the family that has it.
  Id joined(const std::string& name, Id x, Id residual) {
    if (llama_) return added(name, x, residual);
    const Id y = made(name, tokens_ * hidden_), mask = tensor(name + " mask", tokens_ * hidden_, Holds::kNothing, 1);
    kernel("dropout_add", tokens_, hidden_, {x, residual}, {y, mask});
    return y;
  }
  /// Returns the gradient before the residual was added.
  Id before_join(const std::string& name, Id gradient) {
    if (llama_) return gradient;
    const Id mask = tensor(name + " mask", tokens_ * hidden_, Holds::kMask, 1);
    const Id y = made(name + " output gradient", tokens_ * hidden_);
    kernel("dropout_backward", tokens_, hidden_, {gradient, mask}, {y});
    return y;
  }
  Id attention_backward(Id of_context) {
    const std::int64_t all = tokens_ * attention_;
    const Id q = given("q", all), k = given("k", all), v = given("v", all);
    const Id probability = tensor("probability", score_elements(), Holds::kWeights);
    const Id of_heads = made("heads gradient", all), of_scores = made("scores gradient", score_elements());
    const Id of_q = made("q gradient", all), of_k = made("k gradient", all), of_v = made("v gradient", all);
    kernel("split_heads", tokens_, attention_, {of_context}, {of_heads});
    on_heads(GemmPass::kWeightGradient, sequence_, head_dim_, sequence_, probability, of_heads, of_v);  // dV = P^T dO
    on_heads(GemmPass::kForward, sequence_, sequence_, head_dim_, of_heads, v, of_scores);              // dP = dO V^T
    kernel("softmax_backward", heads_ * sequence_, sequence_, {probability}, {of_scores});
    on_heads(GemmPass::kInputGradient, sequence_, head_dim_, sequence_, of_scores, k, of_q);   // dQ = dS K
    on_heads(GemmPass::kWeightGradient, sequence_, head_dim_, sequence_, of_scores, q, of_k);  // dK = dS^T Q
    const Id of_qkv = made("qkv gradient", 3 * all);
    kernel("merge_heads", tokens_, 3 * attention_, {of_q, of_k, of_v}, {of_qkv});
    return of_qkv;
  }

  std::int64_t tokens_, hidden_, ffn_, attention_, heads_, sequence_, head_dim_;
  bool llama_;
  LayerWork work_;
};

}  // namespace

LayerWork layer_work(const LayerSample& sample) {
  Builder builder(sample);
  sample.backward ? builder.backward() : builder.forward();
  return builder.take();
}

Flop flop_of(const LayerWork& work) {
  Flop all{};
  for (const LayerPart& part : work.parts)
    if (const auto* product = std::get_if<GemmSample>(&part.work)) all += product->shape.flop();
  return all;
}

}  // namespace foretoken::measured
