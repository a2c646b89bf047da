// Tests the list of a layer's kernels: sizes that fit each other, an order that can run, and the operations of the
// published formula.
#include "calibration/import/layer_work.h"

#include <gtest/gtest.h>

#include <set>

#include "calibration/import/kernel_work.h"

namespace foretoken::measured {
namespace {

std::vector<LayerSample> some_layers() {
  std::vector<LayerSample> all;
  for (const LayerFamily family : {LayerFamily::kGpt, LayerFamily::kLlama})
    for (const bool backward : {false, true})
      for (const std::int64_t tensor : {1, 4})
        all.push_back({.family = family,
                       .backward = backward,
                       .batch = 2,
                       .sequence = 512,
                       .hidden = 1024,
                       .ffn = 4096,
                       .heads = 16,
                       .tensor = tensor});
  return all;
}

TEST(LayerWork, EveryTensorIsGivenOrWrittenBeforeItIsRead) {
  for (const LayerSample& sample : some_layers()) {
    const LayerWork work = layer_work(sample);
    std::set<std::size_t> ready, used;
    for (std::size_t i = 0; i < work.tensors.size(); ++i)
      if (work.tensors[i].holds != Holds::kNothing) ready.insert(i);
    for (const LayerPart& part : work.parts) {
      for (const std::size_t tensor : part.reads) {
        EXPECT_TRUE(ready.contains(tensor)) << work.tensors[tensor].name;
        used.insert(tensor);
      }
      ready.insert(part.writes.begin(), part.writes.end());
      used.insert(part.writes.begin(), part.writes.end());
    }
    EXPECT_EQ(used.size(), work.tensors.size());
  }
}

TEST(LayerWork, ProductsFitTheirTensors) {
  for (const LayerSample& sample : some_layers()) {
    const LayerWork work = layer_work(sample);
    for (const LayerPart& part : work.parts) {
      const auto* gemm = std::get_if<GemmSample>(&part.work);
      if (gemm == nullptr) continue;
      const GemmShape& s = gemm->shape;
      EXPECT_EQ(work.tensors[part.reads[0]].elements, s.batch * s.m * s.k) << work.tensors[part.reads[0]].name;
      EXPECT_EQ(work.tensors[part.reads[1]].elements, s.batch * s.n * s.k) << work.tensors[part.reads[1]].name;
      EXPECT_EQ(work.tensors[part.writes[0]].elements, s.batch * s.m * s.n) << work.tensors[part.writes[0]].name;
      EXPECT_EQ(work.tensors[part.writes[0]].bytes, gemm->adds_to_fp32 ? 4 : 2);
    }
  }
}

TEST(LayerWork, KernelsCountTheBytesOfTheirTensors) {
  for (const LayerSample& sample : some_layers()) {
    const LayerWork work = layer_work(sample);
    for (const LayerPart& part : work.parts) {
      const auto* kernel = std::get_if<KernelSample>(&part.work);
      if (kernel == nullptr) continue;
      double bytes = 0;
      for (const auto* tensors : {&part.reads, &part.writes})
        for (const std::size_t i : *tensors) {
          const LayerTensor& tensor = work.tensors[i];
          // Sums are read and written.
          const int times = tensor.holds == Holds::kGradients ? 2 : 1;
          bytes += static_cast<double>(tensor.elements * tensor.bytes * times);
        }
      if (kernel->kernel == "masked_softmax") bytes *= 0.75;   // it reads the lower half
      if (kernel->kernel == "softmax_backward") bytes *= 1.5;  // it also reads what it overwrites
      EXPECT_EQ(kernel->bytes.value(), bytes) << kernel->kernel;
    }
  }
}

// Megatron-LM's appendix (arXiv:2104.04473) counts 24 B s h^2 + 4 B s^2 h operations forward in a layer whose ffn is
// 4 h, and twice as many backward. SwiGLU adds half of the ffn's 16 B s h^2.
TEST(LayerWork, HasTheOperationsOfThePublishedFormula) {
  for (const LayerSample& sample : some_layers()) {
    const auto h = static_cast<double>(sample.hidden), s = static_cast<double>(sample.sequence);
    const double tokens = static_cast<double>(sample.batch) * s;
    double expected = 24 * tokens * h * h + 4 * tokens * s * h;
    if (sample.family == LayerFamily::kLlama) expected += 8 * tokens * h * h;
    if (sample.backward) expected *= 2;
    EXPECT_DOUBLE_EQ(flop_of(layer_work(sample)).value(), expected / static_cast<double>(sample.tensor));
  }
}

TEST(LayerSample, LayersThatCannotExistAreNamed) {
  EXPECT_EQ(why_impossible(LayerSample{}), "");
  EXPECT_EQ(why_impossible(LayerSample{.hidden = 100, .heads = 3}), "hidden 100 is not a multiple of heads 3");
  EXPECT_EQ(why_impossible(LayerSample{.tensor = 3}), "tensor 3 does not divide heads 32 and ffn 11008");
  EXPECT_NE(why_impossible(LayerSample{.batch = 1 << 30, .sequence = 1 << 30}), "");
}

TEST(KernelWork, UnknownKernelsAreRefused) { EXPECT_THROW((void)kernel_bytes("scan", 1, 8), std::invalid_argument); }

}  // namespace
}  // namespace foretoken::measured
