// The kernels of a layer and of the head as engines of inference run them, derived from the blocks of training.
#pragma once

#include <string_view>
#include <vector>

#include "sim/base/kernel.h"
#include "sim/model/block.h"
#include "sim/model/layer_ops.h"
#include "sim/model/transformer.h"
#include "sim/serve/service.h"

namespace foretoken::serve {

/// Returns the kernels of a layer's forward pass without its attention core, which depends on more than tokens. Where
/// all ranks of a stage hold the same tokens, experts need no exchange: their outputs are summed over the ranks.
[[nodiscard]] model::OpList served_layer(const model::BlockOps& block, const model::LayerContext& context,
                                         const model::Transformer& model, const Degrees& degrees);

/// The kernels of a layer, without those of its experts.
struct WithoutExperts {
  model::OpList others;
  std::vector<GemmShape> products;  ///< of the experts, in their order; none: a dense layer
};

/// Takes out of a layer what engines run as one layer of experts: from the choice of experts to the sum over them. The
/// router's product, shared experts and collectives stay.
[[nodiscard]] WithoutExperts without_experts(const model::OpList& ops);

/// Returns true for a product of experts.
[[nodiscard]] bool is_expert_product(const model::LayerOp& op);

/// Takes out the casts in front of products of attention where these have 16 bits beside narrower ones.
[[nodiscard]] model::OpList without_idle_casts(model::OpList ops, const Service& service);

/// Returns true for a product of attention, or its weight, by the name that both have.
[[nodiscard]] bool is_of_attention(std::string_view name);

/// Returns the precision of the weights of attention. Beside nvfp4 those of latent attention have 16 bits, as in
/// NVIDIA's checkpoints of DeepSeek-R1 (NVIDIA/TensorRT-LLM, docs/source/blogs/tech_blog, blog1, "Precision Strategy").
[[nodiscard]] WeightPrecision attention_precision(const Service& service);

/// Returns the precision of a product's weights. The head has 16 bits.
[[nodiscard]] WeightPrecision precision_of(const model::LayerOp& product, const Service& service);

/// Returns final norm and projection of one token a sequence, and the gather of its logits. There is no loss.
[[nodiscard]] model::OpList served_head(const model::Transformer& model, const model::LayerContext& context);

}  // namespace foretoken::serve
