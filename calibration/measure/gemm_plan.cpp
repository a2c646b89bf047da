// Chooses the matrix products to measure.
#include <algorithm>
#include <cmath>
#include <random>
#include <variant>

#include "calibration/measure/plan.h"
#include "calibration/measure/spread.h"
#include "sim/model/layer_ops.h"

namespace foretoken::measure {
namespace {

using measured::GemmSample;
using Plan = std::vector<GemmSample>;

// Shapes of each kind: a whole run stays below 2 MB of samples and takes about half an hour on an H100.
constexpr std::size_t kLayers = 4500, kGrid = 1600, kOffGrid = 1500, kBatched = 500, kHalf = 500, kFp8 = 2500;
constexpr std::size_t kQuickShare = 20;
// One product of 16384 cubed is the largest. Longer ones show nothing more and heat the GPU.
constexpr double kMostFlop = 2.0 * 16384 * 16384 * 16384;
constexpr double kMostFlopQuick = kMostFlop / 16;

GemmSample sample_of(GemmShape shape) {
  GemmSample sample;
  sample.shape = shape;
  sample.adds_to_fp32 = shape.pass == GemmPass::kWeightGradient && shape.batch == 1;
  return sample;
}

void take_products(const model::OpList& ops, bool batched, Plan& plan) {
  for (const model::LayerOp& op : ops)
    if (const auto* gemm = std::get_if<GemmShape>(&op.work); gemm != nullptr && (gemm->batch > 1) == batched)
      plan.push_back(sample_of(*gemm));
}

bool divides(const model::Transformer& model, int tensor) {
  return model.heads % tensor == 0 && model.kv_heads % tensor == 0 && model.ffn_hidden % tensor == 0;
}

Plan layer_products(const std::vector<model::Transformer>& models) {
  Plan plan;
  for (const model::Transformer& model : models)
    for (const int tensor : {1, 2, 4, 8})
      for (const std::int64_t tokens : {1024, 2048, 4096, 8192, 16384}) {
        if (!divides(model, tensor)) continue;
        model::LayerContext context;
        context.sequence = tokens;
        context.tensor = tensor;
        take_products(layer_forward(model, context), false, plan);
        take_products(layer_backward(model, context), false, plan);
        take_products(head_forward(model, context), false, plan);
        take_products(head_backward(model, context), false, plan);
      }
  return plan;
}

Plan attention_products(const std::vector<model::Transformer>& models) {
  Plan plan;
  for (const model::Transformer& model : models)
    for (const int tensor : {1, 2, 4, 8})
      for (const std::int64_t sequence : {512, 1024, 2048, 4096, 8192})
        for (const std::int64_t micro_batch : {1, 4}) {
          if (!divides(model, tensor) || sequence * micro_batch > 8192) continue;
          model::LayerContext context;
          context.sequence = sequence;
          context.micro_batch = micro_batch;
          context.tensor = tensor;
          context.attention = model::AttentionKind::kUnfused;
          take_products(layer_forward(model, context), true, plan);
          take_products(layer_backward(model, context), true, plan);
        }
  return plan;
}

constexpr GemmPass kPasses[] = {GemmPass::kForward, GemmPass::kInputGradient, GemmPass::kWeightGradient};

Plan grid_products() {
  Plan plan;
  for (const GemmPass pass : kPasses)
    for (std::int64_t m = 512; m <= 32768; m *= 2)
      for (std::int64_t n = 512; n <= 32768; n *= 2)
        for (std::int64_t k = 512; k <= 32768; k *= 2)
          plan.push_back(sample_of({.m = m, .n = n, .k = k, .pass = pass}));
  return plan;
}

/// Draws log-uniform in [low, high], a multiple of `step`. Only integers of the generator are used, so the result is
/// the same everywhere.
std::int64_t log_uniform(std::mt19937_64& random, double low, double high, std::int64_t step) {
  const double part = static_cast<double>(random() >> 11) * 0x1p-53;
  const double value = low * std::exp2(part * std::log2(high / low));
  return std::max<std::int64_t>(step, std::llround(value / static_cast<double>(step)) * step);
}

/// Returns products off the grid: the edges of tiles and waves. One point in four has an odd token count.
Plan off_grid_products() {
  Plan plan;
  std::mt19937_64 random(20240607);  // any fixed seed
  for (std::size_t i = 0; i < kOffGrid; ++i) {
    const GemmPass pass = kPasses[i % 3];
    const std::int64_t token_step = i % 4 == 0 ? 1 : (i % 4 == 1 ? 8 : 64);
    const std::int64_t tokens = log_uniform(random, 128, 32768, token_step);
    const std::int64_t a = log_uniform(random, 256, 49152, 64), b = log_uniform(random, 256, 49152, 64);
    const bool weight = pass == GemmPass::kWeightGradient;
    plan.push_back(sample_of({.m = weight ? a : tokens, .n = b, .k = weight ? tokens : a, .pass = pass}));
  }
  return plan;
}

/// Returns true when rows have 16 bytes, which cuBLAS demands of fp8 operands.
bool fits_fp8(const GemmShape& shape) { return shape.m % 16 == 0 && shape.n % 16 == 0 && shape.k % 16 == 0; }

Plan with_precision(const Plan& from, Precision precision, std::size_t most) {
  Plan plan;
  for (GemmSample sample : from) {
    sample.shape.precision = precision;
    if (precision != Precision::kFp8 || (fits_fp8(sample.shape) && sample.shape.batch == 1)) plan.push_back(sample);
  }
  spread(plan, most, name_of(precision));
  return plan;
}

/// Adds one weight gradient in eight without accumulation into fp32, as sharded data parallelism runs it.
void add_plain_weight_gradients(Plan& plan) {
  const std::size_t size = plan.size();
  for (std::size_t i = 0; i < size; i += 8)
    if (plan[i].adds_to_fp32) {
      plan.push_back(plan[i]);
      plan.back().adds_to_fp32 = false;
    }
}

void append(Plan& plan, Plan part, std::size_t most, bool quick) {
  const double most_flop = quick ? kMostFlopQuick : kMostFlop;
  std::erase_if(part, [most_flop](const GemmSample& s) { return s.shape.flop().value() > most_flop; });
  spread(part, quick ? most / kQuickShare : most);
  plan.insert(plan.end(), part.begin(), part.end());
}

}  // namespace

std::vector<GemmSample> gemm_plan(const std::vector<model::Transformer>& models, PlanSize size) {
  Plan base, plan;
  append(base, layer_products(models), kLayers, size.quick);
  append(base, grid_products(), kGrid, size.quick);
  append(base, off_grid_products(), kOffGrid, size.quick);
  const std::size_t share = size.quick ? kQuickShare : 1;
  if (size.fp8) plan = with_precision(base, Precision::kFp8, kFp8 / share);
  const Plan half = with_precision(base, Precision::kFp16, kHalf / share);
  plan.insert(plan.end(), half.begin(), half.end());
  append(plan, attention_products(models), kBatched, size.quick);
  add_plain_weight_gradients(base);
  plan.insert(plan.end(), base.begin(), base.end());
  spread(plan, plan.size(), "whole plan");
  return plan;
}

}  // namespace foretoken::measure
