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
#include "sim/base/exchange.h"
#include "sim/model/blocks/mixture.h"
#include "sim/model/op_writer.h"
#include "sim/model/products.h"

namespace foretoken::model {
namespace {

TensorId add_router(const Mixture& mix, TensorId input) {
  const double scores = mix.rows.tokens * real(mix.experts.count);
  const TensorId logits = mix.block.add(Tensor{.name = "router scores", .bytes = 4 * scores});
  // fp32 probabilities, and one byte for each token and expert
  const TensorId chosen = mix.block.add(Tensor{.name = "chosen experts", .bytes = 5 * scores, .dropped_by = kMixture});
  Op product{
      .name = "router",
      .role = OpRole::kLinear,
      .work = whole_product(mix.cut, {.forward = "router",
                                      .input_gradient = "router input gradient",
                                      .weight_gradient = "router weight gradient",
                                      .n = mix.experts.count,
                                      .k = mix.model.hidden,
                                      .precision = mix.cut.wide_precision()}),
      .weights = {mix.block.add(Weight{
          .name = "router", .kind = WeightKind::kMatrix, .rows = mix.experts.count, .columns = mix.model.hidden})},
      .reads = {input},
      .writes = {logits},
      .saves = {input},
      .repeated_by = kMixture};
  if (mix.experts.router_bias)
    product.weights.add(mix.block.add(bias_weight("router bias", mix.experts.count, Split::kWhole)));
  mix.block.add(std::move(product));
  // Reads scores; writes probabilities and the choice.
  mix.block.add(Op{.name = "choose experts",
                   .role = OpRole::kRouting,
                   .work = MemoryBound{12 * scores, 12 * scores, "chosen experts gradient"},
                   .reads = {logits},
                   .writes = {chosen},
                   .saves = {chosen},
                   .repeated_by = kMixture});
  return chosen;
}

/// Adds a kernel that copies rows to other places, the same way back in the backward pass. Adds none without bytes.
void add_copy(const Mixture& mix, std::string_view name, std::string_view backward, double bytes, TensorId from,
              TensorId to) {
  mix.block.add(Op{.name = name,
                   .role = OpRole::kRouting,
                   .work = MemoryBound{bytes, bytes, backward},
                   .reads = {from},
                   .writes = {to},
                   .repeated_by = kMixture,
                   .between_parts = true,
                   .working_bytes = bytes});
}

/// An exchange over one axis, with its opposite in the backward pass.
struct Leg {
  Axis axis = Axis::kExpert;
  CollectiveKind forward = CollectiveKind::kAllToAll, backward = CollectiveKind::kAllToAll;
  double payload = 0;
  bool sums = false;  ///< forward; its opposite copies
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
  LayerOp op{name, OpRole::kComm,
             LayerCollective{.kind = forward ? leg.forward : leg.backward,
                             .payload = Bytes(leg.payload),
                             .axis = leg.axis,
                             .sums = leg.sums == forward}};
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
        .repeated_by = kMixture,
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
  for (Leg& leg : legs) {
    std::swap(leg.forward, leg.backward);
    leg.sums = !leg.sums;
  }
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
        .repeated_by = kMixture};
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

double copies_over(const Experts& experts, int parts, double imbalance) {
  return std::min(imbalance * ranks_met(experts, parts), static_cast<double>(parts));
}

double ranks_met(const Experts& experts, int ranks) { return parts_met(real(experts.count), experts.per_token, ranks); }

ExpertRows expert_rows(const Experts& experts, const Cut& cut) {
  const ExpertCut& degrees = cut.context.experts;
  ExpertRows rows{.tokens = cut.region};
  rows.copies = rows.tokens * real(experts.per_token);
  double hottest = degrees.imbalance;
  if (degrees.capacity_factor) {
    rows.copies = real(experts.count) * std::ceil(rows.copies / real(experts.count) * *degrees.capacity_factor);
    hottest = 1;
  }
  const bool once = is_flexible(degrees.dispatcher);
  rows.sent = once ? rows.tokens * copies_over(experts, degrees.expert, hottest) : hottest * rows.copies;
  rows.local = hottest * rows.copies * degrees.expert_tensor;
  const double each = rows.local * degrees.expert / real(experts.count);
  rows.of_expert = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(each)));
  return rows;
}

TensorId add_experts(BlockOps& block, const Transformer& model, const Cut& cut, TensorId input) {
  expects(model.experts.has_value(), "the model has experts");
  const Mixture mix{block, model, cut, *model.experts, expert_rows(*model.experts, cut)};
  const bool shares = mix.experts.shared_width > 0, overlaps = shares && mix.degrees().shared_overlap;
  const std::vector<Leg> legs = dispatch_legs(mix);
  const auto tensor = [&](std::string_view name, double rows) {
    return block.add(Tensor{.name = name, .bytes = mix.row_bytes(rows)});
  };
  // torchtitan's list of kept ops has the exchanges of experts.
  const auto exchanged = [&](std::string_view name, double rows) {
    const SelectiveModules kept{.core_attention = false, .by_op = !legs.empty()};
    return block.add(Tensor{.name = name, .bytes = mix.row_bytes(rows), .kept_by = kept});
  };
  const TensorId chosen = add_router(mix, input);
  std::optional<Shared> shared;
  if (shares) shared = shared_experts(mix, input);
  const TensorId copies = tensor("copies of tokens", mix.rows.sent),
                 arrived = exchanged("arrived rows", mix.rows.local);
  const TensorId sorted = block.add(Tensor{
      .name = "rows by expert", .bytes = mix.row_bytes(mix.rows.local) * cut.input_share(), .dropped_by = kMixture});
  add_copy(mix, "permute tokens", "permute gradient", copies_before(mix), input, copies);
  block.ops.back().reads.add(chosen);
  add_exchange(mix, "dispatch tokens", "dispatch gradient", legs, copies, arrived, overlaps ? &shared->first : nullptr,
               overlaps ? &shared->first_weight : nullptr);
  if (overlaps) add_activation(mix, "shared activation", shared->between, shared->rows, shared->width);
  add_copy(mix, "sort by expert", "sort gradient", copies_behind(mix), arrived, sorted);
  const TensorId made = add_expert_mlps(mix, sorted);
  const TensorId unsorted = tensor("rows by rank", mix.rows.local),
                 back = exchanged("rows that came back", mix.rows.sent);
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
