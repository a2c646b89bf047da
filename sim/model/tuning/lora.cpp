// LoRA: y = W x + s B A x beside a product with W, where A and B have `rank` rows or columns.
//
// Kernels follow PEFT's layer (huggingface/peft, tuners/lora/layer.py): two narrow products, a kernel that scales, one
// that adds. The backward pass scales the gradient, runs both products for inputs and for weights, and adds the
// gradient of x to that of W's product. A keeps x, B keeps A x.
//
// Tensor ranks cut the wide side of a target as its own product is cut: columns of A where inputs are cut, rows of B
// where outputs are cut. Where inputs are cut, A x is summed over the ranks.
#include <algorithm>
#include <array>
#include <string_view>

#include "sim/model/op_writer.h"
#include "sim/model/products.h"
#include "sim/model/tuning/parts.h"

namespace foretoken::model {
namespace {

/// A matrix with LoRA beside it, before it is cut.
struct Adapted {
  std::string_view name;
  std::int64_t rows;
};

std::vector<Adapted> adapted(const Transformer& model, const Weight& weight) {
  const LoraTargets& targets = model.tuning.targets;
  const std::int64_t head = model.head_dim;
  std::vector<Adapted> found;
  const auto add = [&](bool wanted, std::string_view name, std::int64_t rows) {
    if (wanted) found.push_back({name, rows});
  };
  if (weight.name == "qkv") {
    add(targets.fused_qkv, "LoRA of qkv", weight.rows);
    add(targets.queries, "LoRA of queries", model.heads * head);
    add(targets.keys, "LoRA of keys", model.kv_heads * head);
    add(targets.values, "LoRA of values", model.kv_heads * head);
  }
  // Cross-attention has the same targets. A target of one matrix for q, k and v has two here, as in NeMo's T5.
  if (weight.name == "cross query") add(targets.queries || targets.fused_qkv, "LoRA of cross queries", weight.rows);
  if (weight.name == "cross key-value") {
    add(targets.fused_qkv, "LoRA of cross keys and values", weight.rows);
    add(targets.keys, "LoRA of cross keys", model.kv_heads * head);
    add(targets.values, "LoRA of cross values", model.kv_heads * head);
  }
  if (weight.name == "projection") add(targets.projection, "LoRA of projection", weight.rows);
  if (weight.name == "fc1") {
    add(targets.fused_fc1, "LoRA of fc1", weight.rows);
    add(targets.gate && model.gated(), "LoRA of gate", model.ffn_hidden);
    add(targets.up, "LoRA of up", model.ffn_hidden);
  }
  if (weight.name == "fc2") add(targets.fc2, "LoRA of fc2", weight.rows);
  return found;
}

/// Sizes of one adapter on one rank: T tokens, k inputs, n outputs, r between them.
struct LoraSizes {
  std::int64_t tokens, inputs, outputs, rank;
  bool sums = false;  ///< inputs are cut, so A x is a part of a sum
  int adds_to_bytes = 0;
  Precision precision = Precision::kBf16;

  [[nodiscard]] double elements(std::int64_t width) const { return real(tokens) * real(width); }
};

void lora_forward(OpWriter& ops, const LoraSizes& s) {
  const auto gemm = [&](std::string_view name, std::int64_t n, std::int64_t k) {
    ops.gemm(name, OpRole::kLinear, {.m = s.tokens, .n = n, .k = k, .precision = s.precision});
  };
  gemm("LoRA A", s.rank, s.inputs);
  if (s.sums) ops.collective("sum LoRA A", CollectiveKind::kAllReduce, kHalf * s.elements(s.rank));
  gemm("LoRA B", s.outputs, s.rank);
  ops.memory("scale LoRA", OpRole::kElementwise, 2 * kHalf * s.elements(s.outputs));
  ops.memory("add LoRA", OpRole::kElementwise, 3 * kHalf * s.elements(s.outputs));
}

void lora_backward(OpWriter& ops, const LoraSizes& s) {
  const auto input = [&](std::string_view name, std::int64_t n, std::int64_t k) {
    ops.gemm(name, OpRole::kLinear,
             {.m = s.tokens, .n = k, .k = n, .pass = GemmPass::kInputGradient, .precision = s.precision});
  };
  const auto weight = [&](std::string_view name, std::int64_t n, std::int64_t k) {
    ops.gemm(name, OpRole::kLinear,
             {.m = n,
              .n = k,
              .k = s.tokens,
              .pass = GemmPass::kWeightGradient,
              .precision = s.precision,
              .adds_to_bytes = s.adds_to_bytes});
  };
  ops.memory("scale LoRA gradient", OpRole::kElementwise, 2 * kHalf * s.elements(s.outputs));
  input("LoRA B input gradient", s.outputs, s.rank);
  weight("LoRA B weight gradient", s.outputs, s.rank);
  if (!s.sums) ops.collective("sum LoRA A gradient", CollectiveKind::kAllReduce, kHalf * s.elements(s.rank));
  input("LoRA A input gradient", s.rank, s.inputs);
  weight("LoRA A weight gradient", s.rank, s.inputs);
  ops.memory("add LoRA gradient", OpRole::kElementwise, 3 * kHalf * s.elements(s.inputs));
}

OwnKernels lora_work(const LoraSizes& sizes, double flop_per_token) {
  OwnKernels work;
  work.forward = [=](OpWriter& ops) { lora_forward(ops, sizes); };
  work.backward = [=](OpWriter& ops) { lora_backward(ops, sizes); };
  work.forward_flop_per_token = flop_per_token;
  return work;
}

}  // namespace

void add_lora(BlockOps& block, const Transformer& model, const Cut& whole, const Op& product, std::vector<Op>& ops) {
  const double share = std::get<Product>(product.work).token_share;
  const Cut cut = whole.of_share(share);
  const Weight base = block[*product.weights.begin()];  // a copy: adding weights moves it
  const std::int64_t rank = model.tuning.rank, tensor = cut.context.tensor;
  const bool cuts_inputs = base.split == Split::kColumns;
  for (const Adapted& one : adapted(model, base)) {
    const std::int64_t outputs = cuts_inputs ? one.rows : std::max<std::int64_t>(1, one.rows / tensor);
    const LoraSizes sizes{.tokens = cut.T,
                          .inputs = local_columns(base, cut.context),
                          .outputs = outputs,
                          .rank = rank,
                          .sums = cuts_inputs,
                          .adds_to_bytes = cut.context.adds_to_bytes(),
                          .precision = cut.wide_precision()};
    const WeightId down = block.add(Weight{.name = one.name,
                                           .kind = WeightKind::kMatrix,
                                           .rows = rank,
                                           .columns = base.columns,
                                           .split = cuts_inputs ? Split::kColumns : Split::kWhole});
    const WeightId up = block.add(Weight{.name = one.name,
                                         .kind = WeightKind::kMatrix,
                                         .rows = one.rows,
                                         .columns = rank,
                                         .split = cuts_inputs ? Split::kWhole : Split::kRows});
    const TensorId narrow = block.add(Tensor{
        .name = "output of LoRA A", .bytes = kHalf * cut.tokens * real(rank), .dropped_by = product.repeated_by});
    Op op{.name = one.name,
          .role = OpRole::kLinear,
          .work = lora_work(sizes, share * 2.0 * real(rank) * real(base.columns + one.rows)),
          .weights = {down, up},
          .reads = product.reads,
          .writes = product.writes,
          .repeated_by = product.repeated_by};
    op.writes.add(narrow);
    op.saves = product.reads;
    op.saves.add(narrow);
    ops.push_back(std::move(op));
  }
}

}  // namespace foretoken::model
