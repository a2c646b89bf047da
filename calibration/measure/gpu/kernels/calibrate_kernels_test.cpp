// Compares the measuring kernels with the CPU. Skipped where there is no GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "calibration/measure/gpu/cuda_check.h"
#include "calibration/measure/gpu/kernels/kernels.h"
#include "calibration/measure/gpu/product.h"
#include "calibration/measure/gpu/test_gpu.h"

namespace foretoken::gpu {
namespace {

using Floats = std::vector<float>;

float bf16_to_float(std::uint16_t bits) {
  const std::uint32_t word = static_cast<std::uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

std::uint16_t float_to_bf16(float value) {  // rounds to nearest, ties to even
  std::uint32_t word = 0;
  std::memcpy(&word, &value, sizeof(value));
  return static_cast<std::uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16);
}

/// Rounds a value to bf16.
float rounded(float value) { return bf16_to_float(float_to_bf16(value)); }

class OnGpu : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    check(cudaSetDevice(0), "cudaSetDevice");
    stream_ = std::make_unique<Stream>();
  }

  /// Returns normal numbers that bf16 holds exactly.
  Floats normal(std::size_t count) {
    std::normal_distribution<float> distribution;
    Floats values(count);
    for (float& value : values) value = rounded(distribution(random_));
    return values;
  }
  Memory halves(const Floats& values) {
    std::vector<std::uint16_t> bits;
    for (const float value : values) bits.push_back(float_to_bf16(value));
    return uploaded(bits.data(), bits.size() * 2);
  }
  Memory floats(const Floats& values) { return uploaded(values.data(), values.size() * 4); }
  Memory uploaded(const void* data, std::size_t bytes) {
    Memory memory(bytes);
    check(cudaMemcpy(memory.data(), data, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaDeviceSynchronize(), "cudaMemcpy");  // the kernels' stream does not wait for the default one
    return memory;
  }
  /// Returns memory with bytes that no kernel writes by chance: NaN in every type.
  Memory poisoned(std::size_t bytes) {
    Memory memory(bytes);
    check(cudaMemset(memory.data(), 0xff, bytes), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaMemset");
    return memory;
  }
  Floats read_halves(const Memory& memory) {
    stream_->wait();
    std::vector<std::uint16_t> bits(memory.bytes() / 2);
    check(cudaMemcpy(bits.data(), memory.data(), memory.bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    Floats values;
    for (const std::uint16_t half : bits) values.push_back(bf16_to_float(half));
    return values;
  }
  Floats read_floats(const Memory& memory) {
    stream_->wait();
    Floats values(memory.bytes() / 4);
    check(cudaMemcpy(values.data(), memory.data(), memory.bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
  }
  static const Bf16* half(const Memory& memory) { return reinterpret_cast<const Bf16*>(memory.data()); }
  static Bf16* half(Memory& memory) { return reinterpret_cast<Bf16*>(memory.data()); }
  static float* number(Memory& memory) { return reinterpret_cast<float*>(memory.data()); }

  /// Compares relative to the larger of the value and one. bf16 has 8 bits, so half a unit in the last place is 1/512.
  static void expect_near(const Floats& found, const Floats& expected, float tolerance) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_LE(std::abs(found[i] - expected[i]), tolerance * std::max(1.0F, std::abs(expected[i])))
          << "element " << i << ": " << found[i] << ", expected " << expected[i];
  }

  std::mt19937 random_{7};
  std::unique_ptr<Stream> stream_;
};

constexpr float kBf16Tolerance = 1.0F / 256;
constexpr Extent kExtents[] = {{1, 8}, {3, 1000}, {5, 1024}, {7, 4096}, {2, 12288}, {2, 16384}};

std::size_t elements(Extent extent) { return static_cast<std::size_t>(extent.elements()); }

/// Returns the position of a row's first element.
std::size_t row_start(Extent extent, std::int64_t row) { return static_cast<std::size_t>(row * extent.columns); }

TEST_F(OnGpu, ElementwiseKernels) {
  for (const Extent extent : kExtents) {
    const Floats x = normal(elements(extent)), r = normal(elements(extent));
    const Floats bias = normal(static_cast<std::size_t>(extent.columns)), gates = normal(2 * elements(extent));
    const Memory on_x = halves(x), on_bias = halves(bias), on_gates = halves(gates), on_floats = floats(x);
    Memory out = poisoned(2 * elements(extent));
    copy(half(on_x), half(out), extent, stream_->get());
    expect_near(read_halves(out), x, 0);
    cast(reinterpret_cast<const float*>(on_floats.data()), half(out), extent, stream_->get());
    expect_near(read_halves(out), x, 0);
    Floats gelu, swish;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto columns = static_cast<std::size_t>(extent.columns);
      const float y = x[i] + bias[i % columns];
      gelu.push_back(0.5F * y * (1 + std::tanh(std::sqrt(2 / 3.14159265F) * (y + 0.044715F * y * y * y))));
      const std::size_t gate = i / columns * 2 * columns + i % columns;
      swish.push_back(gates[gate] / (1 + std::exp(-gates[gate])) * gates[gate + columns]);
    }
    bias_gelu(half(on_x), half(on_bias), half(out), extent, stream_->get());
    expect_near(read_halves(out), gelu, kBf16Tolerance);
    swiglu(half(on_gates), half(out), extent, stream_->get());
    expect_near(read_halves(out), swish, kBf16Tolerance);
  }
}

TEST_F(OnGpu, DropoutKeepsItsShareAndSaysWhich) {
  const Extent extent{64, 4096};
  const Floats x = normal(elements(extent)), r = normal(elements(extent));
  const Memory on_x = halves(x), on_r = halves(r);
  Memory out = poisoned(2 * elements(extent)), mask = poisoned(elements(extent));
  dropout_add(half(on_x), half(on_r), half(out), reinterpret_cast<std::uint8_t*>(mask.data()), 0.9F, 3, extent,
              stream_->get());
  const Floats y = read_halves(out);
  std::vector<std::uint8_t> mask_bytes(elements(extent));
  check(cudaMemcpy(mask_bytes.data(), mask.data(), mask.bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  double share = 0;
  Floats expected;
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_LE(mask_bytes[i], 1);
    share += mask_bytes[i] / static_cast<double>(x.size());
    expected.push_back(mask_bytes[i] == 1 ? r[i] + x[i] / 0.9F : r[i]);
  }
  expect_near(y, expected, kBf16Tolerance);
  EXPECT_NEAR(share, 0.9, 0.003);  // five standard errors of 262144 draws
}

TEST_F(OnGpu, Norms) {
  for (const Extent extent : kExtents) {
    const auto columns = static_cast<std::size_t>(extent.columns);
    const Floats x = normal(elements(extent)), w = normal(columns), b = normal(columns);
    Floats layer, rms;
    for (std::int64_t row = 0; row < extent.rows; ++row) {
      const std::size_t start = row_start(extent, row);
      double sum = 0, squares = 0, deviations = 0;
      for (std::size_t i = 0; i < columns; ++i) sum += x[start + i];
      const double mean = sum / static_cast<double>(columns);
      for (std::size_t i = 0; i < columns; ++i) {
        squares += double{x[start + i]} * x[start + i];
        deviations += (x[start + i] - mean) * (x[start + i] - mean);
      }
      for (std::size_t i = 0; i < columns; ++i) {
        const double n = static_cast<double>(columns);
        layer.push_back(static_cast<float>((x[start + i] - mean) / std::sqrt(deviations / n + 1e-5) * w[i] + b[i]));
        rms.push_back(static_cast<float>(x[start + i] / std::sqrt(squares / n + 1e-5) * w[i]));
      }
    }
    const Memory on_x = halves(x), on_w = halves(w), on_b = halves(b);
    Memory out = poisoned(2 * elements(extent));
    layer_norm(half(on_x), half(on_w), half(on_b), half(out), extent, stream_->get());
    expect_near(read_halves(out), layer, kBf16Tolerance);
    rms_norm(half(on_x), half(on_w), half(out), extent, stream_->get());
    expect_near(read_halves(out), rms, kBf16Tolerance);
  }
}

/// Returns a reference gradient of GeLU by tanh, and of x times its sigmoid.
double gelu_slope(double x) {
  const double u = std::sqrt(2 / 3.141592653589793) * (x + 0.044715 * x * x * x), t = std::tanh(u);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * std::sqrt(2 / 3.141592653589793) * (1 + 3 * 0.044715 * x * x);
}

TEST_F(OnGpu, GradientsOfElementwiseKernels) {
  for (const Extent extent : kExtents) {
    const auto columns = static_cast<std::size_t>(extent.columns);
    const Floats g = normal(elements(extent)), x = normal(elements(extent)), bias = normal(columns);
    const Floats gates = normal(2 * elements(extent));
    Floats gelu, swish(gates.size()), kept, sum;
    std::vector<std::uint8_t> mask;
    for (std::size_t i = 0; i < x.size(); ++i) {
      gelu.push_back(static_cast<float>(g[i] * gelu_slope(double{x[i]} + bias[i % columns])));
      const std::size_t at = i / columns * 2 * columns + i % columns;
      const double gate = gates[at], up = gates[at + columns], sigmoid = 1 / (1 + std::exp(-gate));
      swish[at] = static_cast<float>(g[i] * up * (sigmoid + gate * sigmoid * (1 - sigmoid)));
      swish[at + columns] = static_cast<float>(g[i] * gate * sigmoid);
      mask.push_back(i % 3 == 0 ? 0 : 1);
      kept.push_back(mask.back() == 1 ? g[i] / 0.9F : 0);
      sum.push_back(g[i] + x[i]);
    }
    const Memory on_g = halves(g), on_x = halves(x), on_bias = halves(bias), on_gates = halves(gates);
    const Memory on_mask = uploaded(mask.data(), mask.size());
    Memory out = poisoned(2 * elements(extent)), both = poisoned(4 * elements(extent));
    gelu_backward(half(on_g), half(on_x), half(on_bias), half(out), extent, stream_->get());
    expect_near(read_halves(out), gelu, kBf16Tolerance);
    swiglu_backward(half(on_g), half(on_gates), half(both), extent, stream_->get());
    expect_near(read_halves(both), swish, kBf16Tolerance);
    dropout_backward(half(on_g), reinterpret_cast<const std::uint8_t*>(on_mask.data()), half(out), 0.9F, extent,
                     stream_->get());
    expect_near(read_halves(out), kept, kBf16Tolerance);
    add(half(on_g), half(on_x), half(out), extent, stream_->get());
    expect_near(read_halves(out), sum, kBf16Tolerance);
  }
}

TEST_F(OnGpu, HeadsAreSplitAndMerged) {
  const HeadShape shape{.batch = 2, .sequence = 5, .heads = 3, .head_dim = 16};
  const std::size_t tokens = 10, width = 3 * 16;
  for (const int parts : {1, 3}) {
    const auto each = static_cast<std::size_t>(parts) * width;
    const Floats rows = normal(tokens * each);
    std::vector<Floats> expected(static_cast<std::size_t>(parts), Floats(tokens * width));
    for (std::size_t token = 0; token < tokens; ++token)
      for (std::size_t column = 0; column < each; ++column) {
        const std::size_t head = column % width / 16, batch = token / 5, place = token % 5;
        expected[column / width][((batch * 3 + head) * 5 + place) * 16 + column % 16] = rows[token * each + column];
      }
    const Memory on_rows = halves(rows);
    std::vector<Memory> split;
    Bf16* out[3] = {};
    const Bf16* in[3] = {};
    for (std::size_t i = 0; i < expected.size(); ++i) {
      split.push_back(poisoned(2 * tokens * width));
      in[i] = out[i] = half(split[i]);
    }
    split_heads(half(on_rows), out, parts, shape, stream_->get());
    for (std::size_t i = 0; i < expected.size(); ++i) expect_near(read_halves(split[i]), expected[i], 0);
    Memory merged = poisoned(2 * tokens * each);
    merge_heads(in, half(merged), parts, shape, stream_->get());
    expect_near(read_halves(merged), rows, 0);
  }
}

TEST_F(OnGpu, GradientsOfNorms) {
  for (const Extent extent : {Extent{1, 8}, Extent{3, 1000}, Extent{1100, 1024}, Extent{2, 12288}, Extent{2, 16384}})
    for (const bool layer : {true, false}) {
      const auto columns = static_cast<std::size_t>(extent.columns);
      const double n = static_cast<double>(columns);
      const Floats g = normal(elements(extent)), x = normal(elements(extent)), w = normal(columns);
      Floats of_x, of_weight(columns, 0), of_bias(columns, 0);
      for (std::int64_t row = 0; row < extent.rows; ++row) {
        const std::size_t start = row_start(extent, row);
        double mean = 0, squares = 0, total = 0, dot = 0;
        for (std::size_t i = 0; i < columns; ++i) mean += layer ? x[start + i] / n : 0;
        for (std::size_t i = 0; i < columns; ++i) squares += (x[start + i] - mean) * (x[start + i] - mean) / n;
        const double scale = 1 / std::sqrt(squares + 1e-5);
        for (std::size_t i = 0; i < columns; ++i) {
          const double normal_x = (x[start + i] - mean) * scale, h = double{g[start + i]} * w[i];
          total += layer ? h / n : 0;
          dot += h * normal_x / n;
          of_weight[i] += static_cast<float>(g[start + i] * normal_x);
          of_bias[i] += g[start + i];
        }
        for (std::size_t i = 0; i < columns; ++i) {
          const double normal_x = (x[start + i] - mean) * scale, h = double{g[start + i]} * w[i];
          of_x.push_back(static_cast<float>(scale * (h - total - normal_x * dot)));
        }
      }
      const Memory on_g = halves(g), on_x = halves(x), on_w = halves(w);
      Memory out = poisoned(2 * elements(extent)), weight = floats(Floats(columns, 1)),
             bias = floats(Floats(columns, 1));
      if (layer)
        layer_norm_backward(half(on_g), half(on_x), half(on_w), half(out), number(weight), number(bias), extent,
                            stream_->get());
      else
        rms_norm_backward(half(on_g), half(on_x), half(on_w), half(out), number(weight), extent, stream_->get());
      expect_near(read_halves(out), of_x, kBf16Tolerance);
      for (float& value : of_weight) value += 1;  // the gradients are added to what is there
      for (float& value : of_bias) value += 1;
      expect_near(read_floats(weight), of_weight, 1e-3F);
      if (layer) expect_near(read_floats(bias), of_bias, 1e-3F);
    }
}

Floats softmax(const Floats& x, float scale, bool causal, Extent extent) {
  Floats all(x.size(), 0);
  for (std::int64_t row = 0; row < extent.rows; ++row) {
    const std::size_t start = row_start(extent, row);
    const std::int64_t visible = causal ? row % extent.columns + 1 : extent.columns;
    double highest = -1e300, sum = 0;
    for (std::int64_t i = 0; i < visible; ++i)
      highest = std::max(highest, double{x[start + static_cast<std::size_t>(i)]} * scale);
    for (std::int64_t i = 0; i < visible; ++i)
      sum += std::exp(x[start + static_cast<std::size_t>(i)] * scale - highest);
    for (std::int64_t i = 0; i < visible; ++i) {
      const std::size_t at = start + static_cast<std::size_t>(i);
      all[at] = static_cast<float>(std::exp(x[at] * scale - highest) / sum);
    }
  }
  return all;
}

TEST_F(OnGpu, SoftmaxAndItsGradient) {
  for (const Extent extent : {Extent{16, 8}, Extent{1000, 1000}, Extent{40, 4096}, Extent{3, 16384}})
    for (const bool causal : {true, false}) {
      const float scale = 0.5F;
      const auto columns = static_cast<std::size_t>(extent.columns);
      const Floats x = normal(elements(extent));
      const Memory on_x = halves(x);
      Memory out = poisoned(2 * elements(extent));
      masked_softmax(half(on_x), half(out), scale, causal, extent, stream_->get());
      const Floats p = read_halves(out);
      // Probabilities are small, so the comparison uses the row's largest, 1, as the unit.
      expect_near(p, softmax(x, scale, causal, extent), 1.0F / 512);
      Floats g = normal(elements(extent)), expected(g.size());
      for (std::size_t start = 0; start < g.size(); start += columns) {
        double dot = 0;
        for (std::size_t i = 0; i < columns; ++i) dot += double{p[start + i]} * g[start + i];
        for (std::size_t i = 0; i < columns; ++i)
          expected[start + i] = static_cast<float>(scale * p[start + i] * (g[start + i] - dot));
      }
      Memory gradient = halves(g);
      softmax_backward(half(out), half(gradient), scale, extent, stream_->get());
      expect_near(read_halves(gradient), expected, 1.0F / 512);
    }
}

TEST_F(OnGpu, CrossEntropy) {
  for (const Extent extent : {Extent{3, 32000}, Extent{2, 50304}, Extent{2, 128256}, Extent{5, 8}}) {
    const auto columns = static_cast<std::size_t>(extent.columns);
    Floats x = normal(elements(extent));
    for (float& value : x) value = rounded(8 * value);  // a wide range: the running maximum must move
    std::vector<std::int32_t> targets;
    Floats losses, expected = softmax(x, 1, false, extent);
    for (std::int64_t row = 0; row < extent.rows; ++row) {
      const auto target = static_cast<std::size_t>(row * 7919) % columns;
      const std::size_t at = row_start(extent, row) + target;
      targets.push_back(static_cast<std::int32_t>(target));
      double highest = -1e300, sum = 0;
      for (std::size_t i = 0; i < columns; ++i) highest = std::max(highest, double{x[row_start(extent, row) + i]});
      for (std::size_t i = 0; i < columns; ++i) sum += std::exp(x[row_start(extent, row) + i] - highest);
      losses.push_back(static_cast<float>(std::log(sum) + highest - x[at]));
      expected[at] -= 1;
    }
    const Memory on_x = halves(x), on_targets = uploaded(targets.data(), targets.size() * 4);
    Memory loss = poisoned(losses.size() * 4), gradient = poisoned(2 * elements(extent));
    cross_entropy(half(on_x), reinterpret_cast<const std::int32_t*>(on_targets.data()), number(loss), half(gradient),
                  extent, stream_->get());
    expect_near(read_floats(loss), losses, 1e-4F);
    expect_near(read_halves(gradient), expected, 1.0F / 256);
  }
}

TEST_F(OnGpu, Adam) {
  const Extent extent{3, 1000};
  const Floats g = normal(elements(extent)), w = normal(elements(extent)), m = normal(elements(extent));
  Floats v = normal(elements(extent));
  for (float& value : v) value = value * value;
  const Memory on_g = floats(g);
  Memory master = floats(w), first = floats(m), second = floats(v), weight = poisoned(2 * elements(extent));
  const AdamStep step;
  adam(reinterpret_cast<const float*>(on_g.data()), {number(master), number(first), number(second), half(weight)}, step,
       extent, stream_->get());
  Floats new_w, new_m, new_v;
  for (std::size_t i = 0; i < g.size(); ++i) {
    const double first_moment = double{step.beta1} * m[i] + (1 - double{step.beta1}) * g[i];
    const double second_moment = double{step.beta2} * v[i] + (1 - double{step.beta2}) * g[i] * g[i];
    const double change =
        first_moment / step.correction1 / (std::sqrt(second_moment / step.correction2) + step.epsilon);
    new_m.push_back(static_cast<float>(first_moment));
    new_v.push_back(static_cast<float>(second_moment));
    new_w.push_back(static_cast<float>(w[i] - step.rate * (change + double{step.decay} * w[i])));
  }
  expect_near(read_floats(first), new_m, 1e-5F);
  expect_near(read_floats(second), new_v, 1e-5F);
  expect_near(read_floats(master), new_w, 1e-5F);
  expect_near(read_halves(weight), new_w, kBf16Tolerance);
}

TEST_F(OnGpu, RandomNumbersAreNormalInEveryPrecision) {
  const std::size_t count = 1 << 20;
  Memory memory(4 * count);
  fill_normal(memory.data(), memory.bytes(), Precision::kFp32, stream_->get());
  const auto check_moments = [](const Floats& values) {
    double sum = 0, squares = 0;
    for (const float value : values) {
      ASSERT_TRUE(std::isfinite(value));
      sum += value;
      squares += double{value} * value;
    }
    const double n = static_cast<double>(values.size());
    EXPECT_NEAR(sum / n, 0, 0.005);  // five standard errors of 2^20 draws
    EXPECT_NEAR(squares / n, 1, 0.01);
  };
  check_moments(read_floats(memory));
  fill_normal(memory.data(), memory.bytes(), Precision::kBf16, stream_->get());
  check_moments(read_halves(memory));
  check_moments(read_floats(memory));  // pairs of bf16 read as fp32, the inputs of Adam and cast
}

/// Returns Y = X W in double, from matrices stored as the pass stores them.
Floats product_on_cpu(const GemmShape& s, const Floats& x, const Floats& w) {
  const auto m = static_cast<std::size_t>(s.m), n = static_cast<std::size_t>(s.n), k = static_cast<std::size_t>(s.k);
  Floats y;
  for (std::size_t b = 0; b < static_cast<std::size_t>(s.batch); ++b)
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t l = 0; l < k; ++l) {
          const std::size_t at_x = s.pass == GemmPass::kWeightGradient ? l * m + i : i * k + l;
          const std::size_t at_w = s.pass == GemmPass::kForward ? j * k + l : l * n + j;
          sum += double{x[b * m * k + at_x]} * w[b * n * k + at_w];
        }
        y.push_back(static_cast<float>(sum));
      }
  return y;
}

TEST_F(OnGpu, ProductsOfEveryLayout) {
  const CublasLt library;
  const Memory scratch(32 << 20);
  for (const GemmPass pass : {GemmPass::kForward, GemmPass::kInputGradient, GemmPass::kWeightGradient})
    for (const std::int64_t batch : {1, 3})
      for (const bool adds : {false, true}) {
        measured::GemmSample sample;
        sample.shape = {.m = 72, .n = 136, .k = 200, .batch = batch, .pass = pass};
        sample.adds_to_fp32 = adds;
        const Floats x = normal(static_cast<std::size_t>(72 * 200 * batch));
        const Floats w = normal(static_cast<std::size_t>(136 * 200 * batch));
        Floats expected = product_on_cpu(sample.shape, x, w);
        const auto product = Product::make(library, sample, scratch.bytes());
        ASSERT_TRUE(product);
        ASSERT_EQ(product->x_bytes(), x.size() * 2);
        ASSERT_EQ(product->w_bytes(), w.size() * 2);
        ASSERT_EQ(product->y_bytes(), expected.size() * (adds ? 4 : 2));
        const Memory on_x = halves(x), on_w = halves(w);
        Memory y = adds ? floats(Floats(expected.size(), 1)) : poisoned(2 * expected.size());
        product->run(library, on_x.data(), on_w.data(), y.data(), scratch, stream_->get());
        if (adds)
          for (float& value : expected) value += 1;
        expect_near(adds ? read_floats(y) : read_halves(y), expected, adds ? 1e-3F : kBf16Tolerance);
      }
}

}  // namespace
}  // namespace foretoken::gpu
