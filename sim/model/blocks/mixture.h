// The parts that the ops of one mixture of experts share.
#pragma once

#include <algorithm>
#include <string_view>

#include "sim/model/blocks/experts.h"
#include "sim/model/blocks/parts.h"

namespace foretoken::model {

/// Recomputation by op repeats all of a mixture but its exchanges and a part of the shared experts: torchtitan's list
/// has no product of several experts (torchtitan/models/llama4/infra/parallelize.py@05a6cb3, _op_sac_save_list).
inline constexpr SelectiveModules kMixture{.core_attention = false, .by_op = true, .experts = true};
inline constexpr SelectiveModules kExpertActivation{
    .core_attention = false, .activation = true, .by_op = true, .experts = true, .expert_activation = true};
inline constexpr SelectiveModules kSharedMlp{.core_attention = false, .experts = true, .shared_experts = true};
inline constexpr SelectiveModules kSharedActivation{
    .core_attention = false, .activation = true, .by_op = true, .experts = true, .shared_experts = true};

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

/// The tensors between two products with an activation.
struct Between {
  TensorId first, second;
  double first_bytes, second_bytes;
  SelectiveModules made_by;  ///< modules whose recomputation makes `second` again
};

/// The two products of the shared experts, with the tensors between them.
struct Shared {
  Op first, second;
  Weight first_weight, second_weight;
  Between between;
  TensorId output;
  double rows = 0, width = 0;
};

/// Adds fc1, activation and fc2 of every expert of the rank. Returns the output of fc2.
TensorId add_expert_mlps(const Mixture& mix, TensorId input);

/// Adds the tensors of the shared experts. Returns their two products, which are not added yet.
Shared shared_experts(const Mixture& mix, TensorId input);

/// Adds the activation between two products of `rows` rows.
void add_activation(const Mixture& mix, std::string_view name, const Between& between, double rows, double width);

}  // namespace foretoken::model
