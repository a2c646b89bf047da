// Freezes weights, adds the trained ones, and gives tensors and weights the width of the job's elements.
//
// A product whose weight is frozen needs its weight for the gradient of its input, and nothing else: its input is not
// kept. Norms, activations and attention keep what they kept, because gradients pass through them.
#include "sim/model/tuning/tune.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "sim/model/products.h"
#include "sim/model/tuning/parts.h"

namespace foretoken::model {

std::string_view name_of(TuningMethod method) {
  switch (method) {
    case TuningMethod::kFull:
      return "full";
    case TuningMethod::kLora:
      return "lora";
    case TuningMethod::kQlora:
      return "qlora";
    case TuningMethod::kInt8Lora:
      return "lora-int8";
    case TuningMethod::kPTuning:
      return "p-tuning";
    case TuningMethod::kPromptTuning:
      return "prompt-tuning";
    case TuningMethod::kAdapter:
      return "adapter";
  }
  return "";
}

std::string name_of(const WholeParts& parts) {
  std::string names;
  for (const WholeName& part : kWholeNames)
    if (parts.*part.on) names += (names.empty() ? "" : " and ") + std::string(part.key);
  return names;
}

bool is_frozen(const BlockOps& block, const Op& op) {
  return op.weights.size() > 0 &&
         std::none_of(op.weights.begin(), op.weights.end(), [&](WeightId id) { return block[id].trainable; });
}

namespace {

/// A product of either kind: it keeps its input for the gradient of its weight only.
bool multiplies(const Op& op) {
  return std::holds_alternative<Product>(op.work) ||
         (std::holds_alternative<OwnKernels>(op.work) && op.role == OpRole::kLinear);
}

void freeze(BlockOps& block) {
  for (Weight& weight : block.weights) weight.trainable = false;
  for (Op& op : block.ops)
    if (multiplies(op) && op.weights.size() > 0) op.saves = {};
}

double elements_of(const BlockOps& block, const Op& op, const LayerContext& context) {
  const Weight& weight = block[*op.weights.begin()];
  return real(local_rows(weight, context)) * real(local_columns(weight, context));
}

/// A product of a layer's tokens, or of each expert's. A router has no adapter and stays in 16 bits.
bool is_product(const Op& op) { return multiplies(op) && op.weights.size() > 0 && op.name != "router"; }

/// The weight of a product stands in NF4. A kernel reads it and writes it in 16 bit before each of its products,
/// forward and backward. The 16-bit copy is alive while the product runs: one expert's at a time.
Op hold_in_4_bit(BlockOps& block, Op& product, const LayerContext& context) {
  Weight& weight = block.weights[product.weights.begin()->index()];
  weight.stored_bytes = kNf4Bytes;
  const double elements = elements_of(block, product, context);
  const double copies = weight.copies > 1 ? real(weight.copies) / context.experts.expert : 1;
  const double bytes = (kNf4Bytes + kHalf) * elements * copies;
  product.working_bytes += kHalf * elements;
  return {.name = "dequantise weight",
          .work = MemoryBound{bytes, bytes, "dequantise weight again"},
          .reads = product.reads,
          .repeated_by = product.repeated_by};
}

/// The weight of a product stands in 8 bit, with a scale for each row. bitsandbytes multiplies in int8 forward, and in
/// 16 bit backward, with a copy of the weight (bitsandbytes 0.46, autograd/_functions.py, MatMul8bitLt; backends/cuda/
/// ops.py, int8_vectorwise_quant; backends/default/ops.py, int8_mixed_scaled_mm). Bytes an element:
///
///   input   in each of the products of q, k and v, or gate and up: 4 to cast bf16 to fp16, 9 to look for outliers
///           (absolute values, comparison, any, any of a column), 3 to quantise
///   output  2 more to write int32, 6 to dequantise, 4 to cast fp16 to bf16, 4 to add the columns of outliers
///   weight  3 to cast the copy, 4 to scale it, backward
///
/// The product keeps its input: the context of its backward pass names it, though nothing reads it there. Products
/// with the few columns of outliers count by their output alone.
struct Int8Kernels {
  Op quantise, dequantise;
};

Int8Kernels hold_in_8_bit(BlockOps& block, Op& product, const LayerContext& context) {
  Weight& weight = block.weights[product.weights.begin()->index()];
  weight.stored_bytes = kInt8Bytes;
  auto& work = std::get<Product>(product.work);
  work.int8_forward = context.int8_products;
  product.saves = product.reads;
  const double elements = elements_of(block, product, context);
  product.working_bytes += kHalf * elements;
  const bool brain = context.precision == Precision::kBf16;
  const double tokens = work.token_share * Cut(context).tokens;
  const int products = weight.name == "qkv" ? 3 : weight.stored_as;
  const double input = (brain ? 16 : 12) * products * tokens * real(local_columns(weight, context));
  const double output = (brain ? 16 : 12) * tokens * real(local_rows(weight, context));
  return {{.name = "quantise input",
           .work = MemoryBound{.forward_bytes = input},
           .reads = product.reads,
           .repeated_by = product.repeated_by},
          {.name = "dequantise output",
           .work = MemoryBound{output, 7 * elements, "dequantise weight"},
           .reads = product.writes,
           .repeated_by = product.repeated_by}};
}

/// Ops of these names read trained copies of their weights. A copy is tied to nothing: PEFT makes it with deepcopy().
/// A product keeps its input again, for the gradient of the copy.
void train_copies(BlockOps& block, std::initializer_list<std::string_view> names) {
  for (Op& op : block.ops) {
    if (std::find(names.begin(), names.end(), op.name) == names.end()) continue;
    for (const WeightId id : std::exchange(op.weights, {})) {
      Weight copy = block[id];
      copy.trainable = copy.trained_copy = true;
      copy.tied = false;
      op.weights.add(block.add(copy));
    }
    if (multiplies(op)) op.saves = op.reads;
  }
}

/// Passes of the block have no backward kernels, and keep nothing.
void cut_off(BlockOps& block) {
  for (Op& op : block.ops) {
    op.saves = {};
    op.working_bytes = 0;
    if (auto* const kernel = std::get_if<MemoryBound>(&op.work)) kernel->backward_bytes = 0;
    if (auto* const exchange = std::get_if<Exchange>(&op.work)) exchange->backward.reset();
    if (auto* const own = std::get_if<OwnKernels>(&op.work)) own->backward = nullptr;
  }
}

}  // namespace

namespace {

BlockOps with_tuned_ops(BlockOps block, const Transformer& model, const LayerContext& context) {
  const FineTuning& tuning = model.tuning;
  const Cut cut(context);
  freeze(block);
  std::vector<Op> ops;
  for (Op& op : std::exchange(block.ops, {})) {
    const bool product = is_product(op), plain = std::holds_alternative<Product>(op.work);
    if (product && tuning.method == TuningMethod::kQlora) ops.push_back(hold_in_4_bit(block, op, context));
    if (plain && tuning.method == TuningMethod::kInt8Lora) {
      const Int8Kernels around = hold_in_8_bit(block, op, context);
      ops.insert(ops.end(), {around.quantise, op, around.dequantise});
    } else {
      ops.push_back(op);
    }
    if (product && tuning.is_lora()) add_lora(block, model, cut, op, ops);
    if (plain && tuning.method == TuningMethod::kAdapter) add_adapter(block, model, cut, op, ops);
  }
  block.ops = std::move(ops);
  return block;
}

// Casts of an fp32 weight to 16 bit before its product, and of its 16-bit gradient to fp32: 4 + 2 bytes an element
// each. The copy lives until the backward pass. Source: pytorch/pytorch, aten/src/ATen/autocast_mode.cpp (cached_cast;
// a copy needs no second cast in one pass).
Op cast_weight(BlockOps& block, const Op& product, const LayerContext& context) {
  const double elements = elements_of(block, product, context), bytes = 6 * elements;
  const TensorId copy = block.add(Tensor{.name = "16-bit weight", .bytes = kHalf * elements, .fixed = true});
  return {.name = "cast weight",
          .work = MemoryBound{bytes, is_frozen(block, product) ? 0 : bytes, "cast weight gradient"},
          .reads = product.reads,
          .writes = {copy},
          .saves = {copy},
          .repeated_by = product.repeated_by};
}

BlockOps with_casts(BlockOps block, const LayerContext& context) {
  std::vector<Op> ops;
  for (Op& op : std::exchange(block.ops, {})) {
    if (std::holds_alternative<Product>(op.work)) ops.push_back(cast_weight(block, op, context));
    ops.push_back(std::move(op));
  }
  block.ops = std::move(ops);
  return block;
}

// A block is written for elements of 16 bits, weights included.
BlockOps in_its_width(BlockOps block, const LayerContext& context) {
  if (context.autocast) return with_casts(std::move(block), context);
  if (!is_wide(context.precision)) return block;
  for (Tensor& tensor : block.tensors)
    if (!tensor.fixed) tensor.bytes *= 2;
  for (Op& op : block.ops) op.working_bytes *= 2;
  block.gradient_bytes *= 2;
  block.shared_bytes *= 2;
  return block;
}

}  // namespace

BlockOps tuned_layer(BlockOps block, const Transformer& model, const LayerContext& context) {
  if (model.tuning.freezes()) block = with_tuned_ops(std::move(block), model, context);
  return in_its_width(std::move(block), context);
}

BlockOps tuned_embedding(BlockOps block, const Transformer& model, const LayerContext& context) {
  if (model.tuning.freezes()) {
    freeze(block);
    if (model.tuning.whole.embedding)
      train_copies(block, {"embedding lookup"});
    else
      cut_off(block);
    if (model.tuning.has_prompts()) add_prompts(block, model, Cut(context));
  }
  return in_its_width(std::move(block), context);
}

// The head's product holds the gradient of its weight while its backward pass runs: a frozen one has none.
BlockOps tuned_head(BlockOps block, const Transformer& model, const LayerContext& context) {
  if (model.tuning.freezes()) {
    freeze(block);
    if (model.tuning.whole.head) train_copies(block, {"head", "head bias"});
    for (Op& op : block.ops)
      if (std::holds_alternative<Product>(op.work) && op.role == OpRole::kHead && is_frozen(block, op))
        op.working_bytes = std::max(0.0, op.working_bytes - kHalf * elements_of(block, op, context));
  }
  return in_its_width(std::move(block), context);
}

}  // namespace foretoken::model
