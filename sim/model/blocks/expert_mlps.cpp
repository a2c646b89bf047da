// The products of a mixture of experts: one for each expert of a rank, and the MLP of the shared experts.
#include <algorithm>
#include <string_view>
#include <utility>

#include "sim/model/blocks/mixture.h"
#include "sim/model/op_writer.h"
#include "sim/model/quantisation.h"

namespace foretoken::model {
namespace {

/// A weight of every expert, dealt out over the expert ranks.
Weight expert_weight(const Mixture& mix, Weight weight) {
  if (weight.axes == Axis::kTensor) weight.axes = {Axis::kExpert, Axis::kExpertTensor};
  weight.copies = mix.experts.count;
  weight.copies_met = mix.experts.per_token;
  return weight;
}

/// Returns the work of one product for each expert of a rank.
OwnKernels grouped(const Mixture& mix, const ProductNames& names, std::int64_t n, std::int64_t k) {
  const LayerContext& context = mix.cut.context;
  const std::int64_t m = mix.rows.of_expert, groups = mix.groups();
  const Precision precision = mix.cut.product_precision();
  const BatchKind kind = context.fusions.grouped_experts ? BatchKind::kGrouped : BatchKind::kStreams;
  const int adds = context.adds_to_bytes();
  const double rows = real(m * groups);
  const double quantised = mix.cut.quantises() ? quantise_whole_bytes(mix.cut) * rows : 0;
  const double added = adds > 0 ? 0 : context.gradient_accumulation_bytes * real(n) * real(k) * real(groups);
  OwnKernels work;
  work.forward = [=](OpWriter& ops) {
    ops.memory("quantise", OpRole::kElementwise, quantised * real(k));
    ops.gemm(names.forward, OpRole::kLinear,
             {.m = m, .n = n, .k = k, .batch = groups, .precision = precision, .kind = kind});
  };
  work.backward = [=](OpWriter& ops) {
    ops.memory("quantise", OpRole::kElementwise, quantised * real(n));
    ops.gemm(names.input_gradient, OpRole::kLinear,
             {.m = m,
              .n = k,
              .k = n,
              .batch = groups,
              .pass = GemmPass::kInputGradient,
              .precision = precision,
              .kind = kind});
    ops.gemm(names.weight_gradient, OpRole::kLinear,
             {.m = n,
              .n = k,
              .k = m,
              .batch = groups,
              .pass = GemmPass::kWeightGradient,
              .precision = precision,
              .kind = kind,
              .adds_to_bytes = adds});
    ops.memory("accumulate gradient", OpRole::kAccumulate, added, BackwardPart::kWeight);
  };
  work.forward_flop_per_token = 2.0 * real(mix.experts.per_token) * real(n) * real(k) * mix.degrees().expert_tensor;
  return work;
}

/// The first or the second product of all experts.
struct ExpertProduct {
  ProductNames names;
  std::int64_t n, k;  ///< outputs and inputs on one rank
  Weight weight, bias;
  double working_bytes = 0;
};

void add_grouped(const Mixture& mix, const ExpertProduct& product, TensorId input, TensorId output) {
  Op op{.name = product.names.forward,
        .role = OpRole::kLinear,
        .work = grouped(mix, product.names, product.n, product.k),
        .weights = {mix.block.add(expert_weight(mix, product.weight))},
        .reads = {input},
        .writes = {output},
        .saves = {input},
        .repeated_by = kMixture,
        .working_bytes = product.working_bytes};
  if (mix.model.biased_mlp()) op.weights.add(mix.block.add(expert_weight(mix, product.bias)));
  mix.block.add(std::move(op));
}

MemoryBound activation(const Mixture& mix, double rows, double width) {
  return {.forward_bytes = (mix.model.gated() ? 6 : 4) * rows * width,
          .backward_bytes = (mix.model.gated() ? 10 : 6) * rows * width,
          .backward_name = "activation gradient"};
}

/// What makes the two tensors between products again.
struct MadeBy {
  SelectiveModules product, activation;
};
constexpr MadeBy kByExperts{kMixture, kExpertActivation}, kByShared{kSharedMlp, kSharedActivation};

Between add_between(const Mixture& mix, std::string_view first, std::string_view second, double rows, double width,
                    const MadeBy& by) {
  const double first_bytes = kHalf * rows * width * (mix.model.mlp_matrices() - 1);
  const double second_bytes = kHalf * rows * width * mix.cut.input_share();
  return {
      mix.block.add(Tensor{.name = first, .bytes = first_bytes, .dropped_by = by.product, .freed_early = true}),
      mix.block.add(Tensor{.name = second, .bytes = second_bytes, .dropped_by = by.activation, .freed_early = true}),
      first_bytes, second_bytes, by.activation};
}

}  // namespace

void add_activation(const Mixture& mix, std::string_view name, const Between& between, double rows, double width) {
  mix.block.add(Op{.name = name,
                   .role = OpRole::kActivation,
                   .work = activation(mix, rows, width),
                   .reads = {between.first},
                   .writes = {between.second},
                   .saves = {between.first},
                   .repeated_by = between.made_by,
                   .working_bytes = between.first_bytes + between.second_bytes});
}

TensorId add_expert_mlps(const Mixture& mix, TensorId input) {
  const std::int64_t first = mix.first_width(), second = mix.second_width(), hidden = mix.model.hidden;
  const std::int64_t outputs = (mix.model.mlp_matrices() - 1) * mix.experts.width;
  const Between between =
      add_between(mix, "expert fc1 output", "expert fc2 input", mix.rows.local, real(second), kByExperts);
  const TensorId output = mix.block.add(Tensor{.name = "expert fc2 output", .bytes = mix.row_bytes(mix.rows.local)});
  add_grouped(mix,
              {.names = {"expert fc1", "expert fc1 input gradient", "expert fc1 weight gradient"},
               .n = first,
               .k = hidden,
               .weight = {.name = "expert fc1",
                          .kind = WeightKind::kMatrix,
                          .rows = outputs,
                          .columns = hidden,
                          .split = Split::kRows,
                          .stored_as = mix.model.mlp_matrices() - 1},
               .bias = bias_weight("expert fc1 bias", outputs, Split::kRows)},
              input, between.first);
  add_activation(mix, "expert activation", between, mix.rows.local, real(second));
  add_grouped(mix,
              {.names = {"expert fc2", "expert fc2 input gradient", "expert fc2 weight gradient"},
               .n = hidden,
               .k = second,
               .weight = {.name = "expert fc2",
                          .kind = WeightKind::kMatrix,
                          .rows = hidden,
                          .columns = mix.experts.width,
                          .split = Split::kColumns},
               .bias = {.name = "expert fc2 bias", .rows = hidden, .split = Split::kRows, .axes = Axis::kExpert},
               .working_bytes = mix.row_bytes(mix.rows.local) + between.second_bytes},
              between.second, output);
  return output;
}

Shared shared_experts(const Mixture& mix, TensorId input) {
  const double width = real(mix.experts.shared_width) / mix.cut.context.tensor, rows = mix.cut.tokens;
  const Between between = add_between(mix, "shared fc1 output", "shared fc2 input", rows, width, kByShared);
  const TensorId output = mix.block.add(Tensor{.name = "shared output", .bytes = mix.cut.residual_bytes(mix.hidden())});
  const RepeatedShares repeated_by_op = repeated_shares(mix.model);  // the router's product does not count
  const auto op = [&](const ProductNames& names, ProductKind kind, double repeated, TensorId from, TensorId to) {
    return Op{.name = names.forward,
              .role = OpRole::kLinear,
              .work = Product{kind, names.input_gradient, names.weight_gradient, repeated},
              .reads = {from},
              .writes = {to},
              .saves = {from},
              .repeated_by = kSharedMlp};
  };
  return {.first = op({"shared fc1", "shared fc1 input gradient", "shared fc1 weight gradient"}, ProductKind::kColumn,
                      repeated_by_op.first, input, between.first),
          .second = op({"shared fc2", "shared fc2 input gradient", "shared fc2 weight gradient"}, ProductKind::kRow,
                       repeated_by_op.second, between.second, output),
          .first_weight = {.name = "shared fc1",
                           .kind = WeightKind::kMatrix,
                           .rows = (mix.model.mlp_matrices() - 1) * mix.experts.shared_width,
                           .columns = mix.model.hidden,
                           .split = Split::kRows,
                           .stored_as = mix.model.mlp_matrices() - 1},
          .second_weight = {.name = "shared fc2",
                            .kind = WeightKind::kMatrix,
                            .rows = mix.model.hidden,
                            .columns = mix.experts.shared_width,
                            .split = Split::kColumns},
          .between = between,
          .output = output,
          .rows = rows,
          .width = width};
}

}  // namespace foretoken::model
