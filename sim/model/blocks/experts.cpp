// A mixture of experts in place of an MLP, as Megatron-Core runs it (Megatron-LM@d98e8a6,
// megatron/core/transformer/moe/{router,token_dispatcher,experts,shared_experts}.py).
//
// A rank has N tokens. Each goes to k of E experts, which e x te ranks share. Balanced, the experts of a rank get
// M = N k te rows, and one expert M e / E:
//
//   router       N x E scores in fp32, from a product of 16-bit operands (moe_utils.py, RouterGatingLinearFunction)
//   permute      a copy of each token for each of its experts, N k rows
//   dispatch     all-to-all over the e ranks, then a gather over the te ranks that share each expert
//   sort         rows by expert
//   fc1, fc2     one product for each of E/e experts, with an activation between them
//   unsort, combine, sum     the same way back
//
// The backward pass mirrors all of it: four all-to-alls a layer and micro-batch. Shared experts are an MLP of all
// tokens.
#include "sim/model/blocks/experts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/check.h"
#include "sim/model/blocks/parts.h"
#include "sim/model/op_writer.h"
#include "sim/model/products.h"
#include "sim/model/quantisation.h"

namespace foretoken::model {
namespace {

constexpr SelectiveModules kExpertMlp{.core_attention = false, .mlp = true};
constexpr SelectiveModules kExpertActivation{.core_attention = false, .mlp = true, .activation = true};

/// Names of a product's kernels.
struct ProductNames {
  std::string_view forward, input_gradient, weight_gradient;
};

/// The parts that the ops of one mixture share.
struct Mixture {
  BlockOps& block;
  const Transformer& model;
  const Cut& cut;
  const Experts& experts;
  ExpertRows rows;

  [[nodiscard]] const ExpertCut& degrees() const { return cut.context.experts; }
  [[nodiscard]] double hidden() const { return real(model.hidden); }
  [[nodiscard]] double row_bytes(double count) const { return kHalf * count * hidden(); }
  /// Width of the first product of an expert on one rank: twice the expert's where it has a gate.
  [[nodiscard]] std::int64_t first_width() const { return (model.mlp_matrices() - 1) * second_width(); }
  [[nodiscard]] std::int64_t second_width() const {
    return std::max<std::int64_t>(1, experts.width / degrees().expert_tensor);
  }
  [[nodiscard]] std::int64_t groups() const { return std::max<std::int64_t>(1, experts.count / degrees().expert); }
};

TensorId add_router(const Mixture& mix, TensorId input) {
  const double scores = mix.rows.tokens * real(mix.experts.count);
  const TensorId logits = mix.block.add(Tensor{.name = "router scores", .bytes = 4 * scores});
  // fp32 probabilities, and one byte for each token and expert
  const TensorId chosen =
      mix.block.add(Tensor{.name = "chosen experts", .bytes = 5 * scores, .dropped_by = kExpertMlp});
  Op product{
      .name = "router",
      .role = OpRole::kLinear,
      .work = whole_product(mix.cut, {.forward = "router",
                                      .input_gradient = "router input gradient",
                                      .weight_gradient = "router weight gradient",
                                      .n = mix.experts.count,
                                      .k = mix.model.hidden}),
      .weights = {mix.block.add(Weight{
          .name = "router", .kind = WeightKind::kMatrix, .rows = mix.experts.count, .columns = mix.model.hidden})},
      .reads = {input},
      .writes = {logits},
      .saves = {input},
      .repeated_by = kExpertMlp};
  if (mix.experts.router_bias)
    product.weights.add(mix.block.add(bias_weight("router bias", mix.experts.count, Split::kWhole)));
  mix.block.add(std::move(product));
  // Reads scores; writes probabilities and the choice.
  mix.block.add(Op{.name = "choose experts",
                   .work = MemoryBound{12 * scores, 12 * scores, "chosen experts gradient"},
                   .reads = {logits},
                   .writes = {chosen},
                   .saves = {chosen},
                   .repeated_by = kExpertMlp});
  return chosen;
}

/// Adds a kernel that copies rows to other places, the same way back in the backward pass. Adds none without bytes.
void add_copy(const Mixture& mix, std::string_view name, std::string_view backward, double bytes, TensorId from,
              TensorId to) {
  mix.block.add(Op{.name = name,
                   .work = MemoryBound{bytes, bytes, backward},
                   .reads = {from},
                   .writes = {to},
                   .repeated_by = kExpertMlp,
                   .working_bytes = bytes});
}

/// An exchange over one axis, with its opposite in the backward pass.
struct Leg {
  Axis axis = Axis::kExpert;
  CollectiveKind forward = CollectiveKind::kAllToAll, backward = CollectiveKind::kAllToAll;
  double payload = 0;
};

std::vector<Leg> dispatch_legs(const Mixture& mix) {
  const ExpertCut& degrees = mix.degrees();
  const auto gather = [](Axis axis, double payload) {
    return Leg{axis, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter, payload};
  };
  std::vector<Leg> legs;
  const bool gathers = degrees.dispatcher == Dispatcher::kAllGather;
  const double arrived = gathers ? mix.rows.tokens * degrees.expert : mix.rows.sent;
  if (degrees.expert > 1 && gathers) legs.push_back(gather(Axis::kExpert, mix.row_bytes(arrived)));
  if (degrees.expert > 1 && !gathers)
    legs.push_back({Axis::kExpert, CollectiveKind::kAllToAll, CollectiveKind::kAllToAll, mix.row_bytes(arrived)});
  if (degrees.expert_tensor > 1)
    legs.push_back(gather(Axis::kExpertTensor, mix.row_bytes(arrived * degrees.expert_tensor)));
  return legs;
}

// A collective beside a product runs while the product computes.
void write_leg(OpWriter& ops, const Leg& leg, std::string_view name, bool forward, bool beside) {
  LayerOp op{name, OpRole::kComm, LayerCollective{forward ? leg.forward : leg.backward, Bytes(leg.payload), leg.axis}};
  op.beside_next = beside;
  ops.add(std::move(op));
}

/// A product of the shared experts that runs beside an exchange.
struct Beside {
  Op op;
  Weight weight;
  LayerContext context;
};

/// Returns the work of an exchange: its legs in order, and mirrored in the backward pass.
OwnKernels exchange(std::vector<Leg> legs, std::string_view name, std::string_view backward,
                    std::optional<Beside> product) {
  OwnKernels work;
  work.forward = [=](OpWriter& ops) {
    for (const Leg& leg : legs) write_leg(ops, leg, name, true, product && &leg == &legs.back());
    if (product) product_forward(ops, Cut(product->context), product->op, product->weight);
  };
  work.backward = [=](OpWriter& ops) {
    for (auto leg = legs.rbegin(); leg != legs.rend(); ++leg)
      write_leg(ops, *leg, backward, false, product && &*leg == &legs.front());
    if (product) product_backward(ops, Cut(product->context), product->op, product->weight);
  };
  if (product) work.forward_flop_per_token = 2.0 * real(product->weight.rows) * real(product->weight.columns);
  return work;
}

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
  const int adds = context.adds_to_bytes();
  const double rows = real(m * groups);
  const double quantised = mix.cut.quantises() ? quantise_whole_bytes(mix.cut) * rows : 0;
  const double added = adds > 0 ? 0 : context.gradient_accumulation_bytes * real(n) * real(k) * real(groups);
  OwnKernels work;
  work.forward = [=](OpWriter& ops) {
    ops.memory("quantise", OpRole::kElementwise, quantised * real(k));
    ops.gemm(names.forward, OpRole::kLinear, {.m = m, .n = n, .k = k, .batch = groups, .precision = precision});
  };
  work.backward = [=](OpWriter& ops) {
    ops.memory("quantise", OpRole::kElementwise, quantised * real(n));
    ops.gemm(names.input_gradient, OpRole::kLinear,
             {.m = m, .n = k, .k = n, .batch = groups, .pass = GemmPass::kInputGradient, .precision = precision});
    ops.gemm(names.weight_gradient, OpRole::kLinear,
             {.m = n,
              .n = k,
              .k = m,
              .batch = groups,
              .pass = GemmPass::kWeightGradient,
              .precision = precision,
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
        .repeated_by = kExpertMlp,
        .working_bytes = product.working_bytes};
  if (mix.model.linear_bias) op.weights.add(mix.block.add(expert_weight(mix, product.bias)));
  mix.block.add(std::move(op));
}

MemoryBound activation(const Mixture& mix, double rows, double width) {
  return {.forward_bytes = (mix.model.gated() ? 6 : 4) * rows * width,
          .backward_bytes = (mix.model.gated() ? 10 : 6) * rows * width,
          .backward_name = "activation gradient"};
}

/// The tensors between two products with an activation.
struct Between {
  TensorId first, second;
  double first_bytes, second_bytes;
};

Between add_between(const Mixture& mix, std::string_view first, std::string_view second, double rows, double width) {
  const double first_bytes = kHalf * rows * width * (mix.model.mlp_matrices() - 1);
  const double second_bytes = kHalf * rows * width * mix.cut.input_share();
  return {mix.block.add(Tensor{.name = first, .bytes = first_bytes, .dropped_by = kExpertMlp, .freed_early = true}),
          mix.block.add(
              Tensor{.name = second, .bytes = second_bytes, .dropped_by = kExpertActivation, .freed_early = true}),
          first_bytes, second_bytes};
}

void add_activation(const Mixture& mix, std::string_view name, const Between& between, double rows, double width) {
  mix.block.add(Op{.name = name,
                   .role = OpRole::kActivation,
                   .work = activation(mix, rows, width),
                   .reads = {between.first},
                   .writes = {between.second},
                   .saves = {between.first},
                   .repeated_by = kExpertActivation,
                   .working_bytes = between.first_bytes + between.second_bytes});
}

// fc1, activation and fc2 of every expert of the rank.
TensorId add_expert_mlps(const Mixture& mix, TensorId input) {
  const std::int64_t first = mix.first_width(), second = mix.second_width(), hidden = mix.model.hidden;
  const std::int64_t outputs = (mix.model.mlp_matrices() - 1) * mix.experts.width;
  const Between between = add_between(mix, "expert fc1 output", "expert fc2 input", mix.rows.local, real(second));
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

/// The two products of the shared experts, with the tensors between them.
struct Shared {
  Op first, second;
  Weight first_weight, second_weight;
  Between between;
  TensorId output;
  double rows = 0, width = 0;
};

Shared shared_experts(const Mixture& mix, TensorId input) {
  const double width = real(mix.experts.shared_width) / mix.cut.context.tensor, rows = mix.cut.tokens;
  const Between between = add_between(mix, "shared fc1 output", "shared fc2 input", rows, width);
  const TensorId output = mix.block.add(Tensor{.name = "shared output", .bytes = mix.cut.residual_bytes(mix.hidden())});
  const auto op = [&](const ProductNames& names, ProductKind kind, TensorId from, TensorId to) {
    return Op{.name = names.forward,
              .role = OpRole::kLinear,
              .work = Product{kind, names.input_gradient, names.weight_gradient},
              .reads = {from},
              .writes = {to},
              .saves = {from},
              .repeated_by = kExpertMlp};
  };
  return {.first = op({"shared fc1", "shared fc1 input gradient", "shared fc1 weight gradient"}, ProductKind::kColumn,
                      input, between.first),
          .second = op({"shared fc2", "shared fc2 input gradient", "shared fc2 weight gradient"}, ProductKind::kRow,
                       between.second, output),
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

void add_product(const Mixture& mix, Op op, const Weight& weight) {
  op.weights.add(mix.block.add(weight));
  mix.block.add(std::move(op));
}

// Adds an exchange. With `product` this product of the shared experts runs beside it.
void add_exchange(const Mixture& mix, std::string_view name, std::string_view backward, std::vector<Leg> legs,
                  TensorId from, TensorId to, const Op* product, const Weight* weight) {
  Op op{.name = name,
        .role = OpRole::kComm,
        .reads = {from},
        .writes = {to},
        .repeated_by = kExpertMlp,
        .working_bytes = mix.row_bytes(mix.rows.sent + mix.rows.local)};
  std::optional<Beside> beside;
  if (product != nullptr) {
    beside = Beside{*product, *weight, mix.cut.context};
    op.weights.add(mix.block.add(*weight));
    for (const TensorId id : product->reads) op.reads.add(id);
    for (const TensorId id : product->writes) op.writes.add(id);
    for (const TensorId id : product->saves) op.saves.add(id);
  }
  op.work = exchange(std::move(legs), name, backward, std::move(beside));
  mix.block.add(std::move(op));
}

// The way back has the same legs, from the last to the first, with forward and backward exchanged.
std::vector<Leg> combine_legs(const Mixture& mix) {
  std::vector<Leg> legs = dispatch_legs(mix);
  std::reverse(legs.begin(), legs.end());
  for (Leg& leg : legs) std::swap(leg.forward, leg.backward);
  return legs;
}

// Adds the shared experts' output, scaled by its gate where it has one.
TensorId add_shared_output(const Mixture& mix, TensorId sum, TensorId shared, TensorId input) {
  const double bytes = kHalf * mix.rows.tokens * mix.hidden();
  const TensorId output = mix.block.add(Tensor{.name = "output of all experts", .bytes = bytes});
  Op op{.name = "add shared experts",
        .work = MemoryBound{3 * bytes, 0, ""},
        .reads = {sum, shared},
        .writes = {output},
        .repeated_by = kExpertMlp};
  if (mix.experts.shared_gate) {  // reads the input for the gate, and the shared output again for its gradient
    op.work = MemoryBound{4 * bytes, 5 * bytes, "shared gate gradient"};
    op.weights.add(mix.block.add(bias_weight("shared gate", mix.model.hidden, Split::kWhole)));
    op.reads.add(input);
    op.saves = {input, shared};
  }
  mix.block.add(std::move(op));
  return output;
}

double copies_before(const Mixture& mix) {
  const bool copies = mix.degrees().dispatcher == Dispatcher::kAllToAll;
  return copies ? mix.row_bytes(mix.rows.tokens + mix.rows.copies) : 0;
}

// Rows are sorted where several experts get them from several ranks. The other dispatchers make the copies here.
double copies_behind(const Mixture& mix) {
  if (mix.degrees().dispatcher != Dispatcher::kAllToAll) return mix.row_bytes(mix.rows.sent + mix.rows.local);
  const bool sorts = mix.groups() > 1 && mix.degrees().expert * mix.degrees().expert_tensor > 1;
  return sorts ? 2 * mix.row_bytes(mix.rows.local) : 0;
}

}  // namespace

// Of the C(E, k) choices of a token, C(E - E/e, k) have no expert of a rank.
double ranks_met(const Experts& experts, int ranks) {
  const double others = real(experts.count) - real(experts.count) / ranks;
  double none = 1;
  for (std::int64_t i = 0; i < experts.per_token; ++i)
    none *= std::max(0.0, others - real(i)) / (real(experts.count) - real(i));
  return ranks * (1 - none);
}

ExpertRows expert_rows(const Experts& experts, const Cut& cut) {
  const ExpertCut& degrees = cut.context.experts;
  ExpertRows rows{.tokens = cut.region};
  rows.copies = rows.tokens * real(experts.per_token);
  double hottest = degrees.imbalance;
  if (degrees.capacity_factor) {
    rows.copies = real(experts.count) * std::ceil(rows.copies / real(experts.count) * *degrees.capacity_factor);
    hottest = 1;
  }
  const bool once = degrees.dispatcher == Dispatcher::kDeepEp || degrees.dispatcher == Dispatcher::kHybridEp;
  rows.sent = hottest * (once ? rows.tokens * ranks_met(experts, degrees.expert) : rows.copies);
  rows.local = hottest * rows.copies * degrees.expert_tensor;
  const double each = rows.local * degrees.expert / real(experts.count);
  rows.of_expert = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(each)));
  return rows;
}

TensorId add_experts(BlockOps& block, const Transformer& model, const Cut& cut, TensorId input) {
  expects(model.experts.has_value(), "the model has experts");
  const Mixture mix{block, model, cut, *model.experts, expert_rows(*model.experts, cut)};
  const bool shares = mix.experts.shared_width > 0, overlaps = shares && mix.degrees().shared_overlap;
  const auto tensor = [&](std::string_view name, double rows) {
    return block.add(Tensor{.name = name, .bytes = mix.row_bytes(rows)});
  };
  const TensorId chosen = add_router(mix, input);
  std::optional<Shared> shared;
  if (shares) shared = shared_experts(mix, input);
  const TensorId copies = tensor("copies of tokens", mix.rows.sent), arrived = tensor("arrived rows", mix.rows.local);
  const TensorId sorted = block.add(Tensor{
      .name = "rows by expert", .bytes = mix.row_bytes(mix.rows.local) * cut.input_share(), .dropped_by = kExpertMlp});
  add_copy(mix, "permute tokens", "permute gradient", copies_before(mix), input, copies);
  block.ops.back().reads.add(chosen);
  add_exchange(mix, "dispatch tokens", "dispatch gradient", dispatch_legs(mix), copies, arrived,
               overlaps ? &shared->first : nullptr, overlaps ? &shared->first_weight : nullptr);
  if (overlaps) add_activation(mix, "shared activation", shared->between, shared->rows, shared->width);
  add_copy(mix, "sort by expert", "sort gradient", copies_behind(mix), arrived, sorted);
  const TensorId made = add_expert_mlps(mix, sorted);
  const TensorId unsorted = tensor("rows by rank", mix.rows.local), back = tensor("rows that came back", mix.rows.sent);
  const TensorId sum = tensor("sum over experts", mix.rows.tokens);
  add_copy(mix, "unsort rows", "unsort gradient", copies_behind(mix), made, unsorted);
  add_exchange(mix, "combine tokens", "combine gradient", combine_legs(mix), unsorted, back,
               overlaps ? &shared->second : nullptr, overlaps ? &shared->second_weight : nullptr);
  add_copy(mix, "sum over experts", "sum gradient", mix.row_bytes(mix.rows.tokens + mix.rows.sent), back, sum);
  if (!shares) return sum;
  if (!overlaps) {
    add_product(mix, shared->first, shared->first_weight);
    add_activation(mix, "shared activation", shared->between, shared->rows, shared->width);
    add_product(mix, shared->second, shared->second_weight);
  }
  return add_shared_output(mix, sum, shared->output, input);
}

}  // namespace foretoken::model
