// Defines a kind of layer for tests: a gated scan whose projection back is random and never trains.
#pragma once

#include "sim/model/block.h"
#include "sim/model/cut.h"
#include "sim/model/op_writer.h"

namespace foretoken::html {

/// Sizes of the layer: h inputs, e states.
struct ScanLayer {
  std::int64_t hidden = 1, states = 1;

  [[nodiscard]] double trained() const { return 2 * h() * e() + e(); }
  [[nodiscard]] double parameters() const { return trained() + h() * e(); }
  /// Forward operations of one token: two products, and six operations a state.
  [[nodiscard]] double flop_per_token() const { return 2 * (2 * h() * e()) + 6 * e() + frozen_flop_per_token(); }
  /// The product with the weight that never trains.
  [[nodiscard]] double frozen_flop_per_token() const { return 2 * h() * e(); }
  /// The input and two gates a state, 16 bit each.
  [[nodiscard]] double saved_bytes_per_token() const { return 2 * h() + 2 * 2 * e(); }

  [[nodiscard]] double h() const { return static_cast<double>(hidden); }
  [[nodiscard]] double e() const { return static_cast<double>(states); }
};

/// Bytes of the kernels of the scan on `tokens` tokens: forward, backward for input, backward for weight.
struct ScanBytes {
  double forward = 0, for_input = 0, for_weight = 0;
};
[[nodiscard]] inline ScanBytes scan_bytes(const ScanLayer& layer, double tokens) {
  const double states = 2 * tokens * layer.e(), gates = 2 * states;
  return {.forward = gates + states, .for_input = 2 * (gates + states), .for_weight = states};
}

/// The scan between the two products.
inline model::OwnKernels scan_kernels(const ScanLayer& layer, const ScanBytes& bytes) {
  using model::OpRole;
  return {.forward = [bytes](model::OpWriter& ops) { ops.memory("scan", OpRole::kElementwise, bytes.forward); },
          .backward =
              [bytes](model::OpWriter& ops) {
                ops.memory("scan for input", OpRole::kElementwise, bytes.for_input);
                ops.memory("scan for decay", OpRole::kElementwise, bytes.for_weight, model::BackwardPart::kWeight);
              },
          .forward_flop_per_token = 6 * layer.e()};
}

/// Input, gates, states and output: three ops over four tensors. Precondition: one tensor rank.
inline model::BlockOps scan_block(const ScanLayer& layer, const model::LayerContext& context) {
  using model::Op, model::OpRole, model::Product, model::ProductKind, model::Tensor, model::Weight, model::WeightKind;
  const model::Cut cut(context);
  model::BlockOps block;
  block.input = block.add(Tensor{.name = "input", .bytes = cut.residual_bytes(layer.h())});
  const model::TensorId gates = block.add(Tensor{.name = "gates", .bytes = cut.whole_bytes(2 * layer.e())});
  const model::TensorId states = block.add(Tensor{.name = "states", .bytes = cut.whole_bytes(layer.e())});
  const model::TensorId output = block.add(Tensor{.name = "output", .bytes = block[block.input].bytes});
  const model::WeightId in =
      block.add(Weight{.name = "in", .kind = WeightKind::kMatrix, .rows = 2 * layer.states, .columns = layer.hidden});
  const model::WeightId decay = block.add(Weight{.name = "decay", .columns = layer.states});
  const model::WeightId back = block.add(Weight{
      .name = "back", .kind = WeightKind::kMatrix, .rows = layer.hidden, .columns = layer.states, .trainable = false});
  block.add(Op{.name = "project in",
               .role = OpRole::kLinear,
               .work = Product{ProductKind::kColumn, "in for input", "in for weight"},
               .weights = {in},
               .reads = {block.input},
               .writes = {gates},
               .saves = {block.input}});
  block.add(Op{.name = "scan",
               .work = scan_kernels(layer, scan_bytes(layer, cut.tokens)),
               .weights = {decay},
               .reads = {gates},
               .writes = {states},
               .saves = {gates}});
  block.add(Op{.name = "project back",
               .role = OpRole::kLinear,
               .work = Product{ProductKind::kRow, "back for input", "back for weight"},
               .weights = {back},
               .reads = {states},
               .writes = {output}});
  return block;
}

}  // namespace foretoken::html
