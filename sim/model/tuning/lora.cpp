// LoRA: y = W x + s B A x beside a product with W, where A and B have `rank` rows or columns.
//
// Kernels follow PEFT's layer (huggingface/peft, tuners/lora/layer.py): two narrow products, a kernel that scales, one
// that adds. The backward pass scales the gradient, runs both products for inputs and for weights, and adds the
// gradient of x to that of W's product. A keeps x, B keeps A x.
//
// Tensor ranks cut the wide side of a target as its own product is cut: columns of A where inputs are cut, rows of B
// where outputs are cut. Where inputs are cut, A x is summed over the ranks. Adapters beside products that are whole on
// every rank, and beside each expert's, are not cut: a rule of jobs refuses ranks there.
//
// An expert has adapters of its own, and multiplies the rows that come to it: a product for each expert of the rank, as
// its own products are (PEFT wraps each module of a list of experts).
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "sim/model/blocks/experts.h"
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
  if (weight.name == "queries") add(targets.queries, "LoRA of queries", weight.rows);  // of latent attention
  if (weight.name == "query down") add(targets.query_down, "LoRA of query down", weight.rows);
  if (weight.name == "query up") add(targets.query_up, "LoRA of query up", weight.rows);
  if (weight.name == "key-value down") add(targets.key_value_down, "LoRA of key-value down", weight.rows);
  if (weight.name == "key-value up") add(targets.key_value_up, "LoRA of key-value up", weight.rows);
  const bool routed = weight.name == "expert fc1" || weight.name == "expert fc2";
  if (routed && !targets.experts) return found;
  if (weight.name == "fc1" || weight.name == "shared fc1" || weight.name == "expert fc1") {
    const std::int64_t width = weight.rows / (model.mlp_matrices() - 1);
    add(targets.fused_fc1, "LoRA of fc1", weight.rows);
    add(targets.gate && model.gated(), "LoRA of gate", width);
    add(targets.up, "LoRA of up", width);
  }
  if (weight.name == "fc2" || weight.name == "shared fc2" || weight.name == "expert fc2")
    add(targets.fc2, "LoRA of fc2", weight.rows);
  return found;
}

/// The rows of a product on one rank, in as many products.
struct Rows {
  std::int64_t each = 1, products = 1;
  double all = 1;    ///< `each` times `products`, not rounded
  double share = 1;  ///< products that one token meets
  BatchKind kind = BatchKind::kBatched;
};

Rows rows_of(const Transformer& model, const Cut& cut, const Op& op, const Weight& weight) {
  if (const auto* const product = std::get_if<Product>(&op.work)) {
    const Cut part = cut.of_share(product->token_share);
    return {.each = part.T, .all = part.tokens, .share = product->token_share};
  }
  if (weight.copies == 1) return {.each = std::max<std::int64_t>(1, std::llround(cut.region)), .all = cut.region};
  const std::int64_t each = expert_rows(*model.experts, cut).of_expert;
  const std::int64_t products = std::max<std::int64_t>(1, weight.copies / cut.context.experts.expert);
  return {.each = each,
          .products = products,
          .all = real(each * products),
          .share = real(weight.copies_met),
          .kind = cut.context.fusions.grouped_experts ? BatchKind::kGrouped : BatchKind::kStreams};
}

/// Sizes of one adapter on one rank: rows, k inputs, n outputs, r between them.
struct LoraSizes {
  Rows rows;
  std::int64_t inputs, outputs, rank;
  bool sums = false;  ///< inputs are cut, so A x is a part of a sum
  int adds_to_bytes = 0;
  Precision precision = Precision::kBf16;

  [[nodiscard]] double elements(std::int64_t width) const { return real(rows.each * rows.products) * real(width); }
};

void lora_forward(OpWriter& ops, const LoraSizes& s) {
  const auto gemm = [&](std::string_view name, std::int64_t n, std::int64_t k) {
    ops.gemm(
        name, OpRole::kLinear,
        {.m = s.rows.each, .n = n, .k = k, .batch = s.rows.products, .precision = s.precision, .kind = s.rows.kind});
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
             {.m = s.rows.each,
              .n = k,
              .k = n,
              .batch = s.rows.products,
              .pass = GemmPass::kInputGradient,
              .precision = s.precision,
              .kind = s.rows.kind});
  };
  const auto weight = [&](std::string_view name, std::int64_t n, std::int64_t k) {
    ops.gemm(name, OpRole::kLinear,
             {.m = n,
              .n = k,
              .k = s.rows.each,
              .batch = s.rows.products,
              .pass = GemmPass::kWeightGradient,
              .precision = s.precision,
              .kind = s.rows.kind,
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

void add_lora(BlockOps& block, const Transformer& model, const Cut& cut, const Op& product, std::vector<Op>& ops) {
  const Weight base = block[*product.weights.begin()];  // a copy: adding weights moves it
  const Rows rows = rows_of(model, cut, product, base);
  const std::int64_t rank = model.tuning.rank, tensor = cut.context.tensor;
  const bool cuts_inputs = base.split == Split::kColumns, cuts_outputs = base.split == Split::kRows;
  const auto matrix = [&](std::string_view name, std::int64_t outputs, std::int64_t inputs, Split split) {
    return block.add(Weight{.name = name,
                            .kind = WeightKind::kMatrix,
                            .rows = outputs,
                            .columns = inputs,
                            .split = split,
                            .axes = base.axes,
                            .copies = base.copies,
                            .copies_met = base.copies_met});
  };
  for (const Adapted& one : adapted(model, base)) {
    const LoraSizes sizes{.rows = rows,
                          .inputs = local_columns(base, cut.context),
                          .outputs = cuts_outputs ? std::max<std::int64_t>(1, one.rows / tensor) : one.rows,
                          .rank = rank,
                          .sums = cuts_inputs,
                          .adds_to_bytes = cut.context.adds_to_bytes(),
                          .precision = cut.wide_precision()};
    const WeightId down = matrix(one.name, rank, base.columns, cuts_inputs ? Split::kColumns : Split::kWhole),
                   up = matrix(one.name, one.rows, rank, cuts_outputs ? Split::kRows : Split::kWhole);
    const TensorId narrow = block.add(
        Tensor{.name = "output of LoRA A", .bytes = kHalf * rows.all * real(rank), .dropped_by = product.repeated_by});
    Op op{.name = one.name,
          .role = OpRole::kLinear,
          .work = lora_work(sizes, rows.share * 2.0 * real(rank) * real(base.columns + one.rows)),
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
