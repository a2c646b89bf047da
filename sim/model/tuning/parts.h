// The parts that fine-tuning adds to a block.
#pragma once

#include "sim/model/block.h"
#include "sim/model/cut.h"
#include "sim/model/transformer.h"

namespace foretoken::model {

/// Returns true when every weight of an op is frozen, and it has one.
[[nodiscard]] bool is_frozen(const BlockOps& block, const Op& op);

/// Appends to `ops` the trained products that LoRA adds beside a product, whose weight it names.
void add_lora(BlockOps& block, const Transformer& model, const Cut& cut, const Op& product, std::vector<Op>& ops);

/// Appends to `ops` the two narrow layers of an adapter behind the output of `product`.
void add_adapter(BlockOps& block, const Transformer& model, const Cut& cut, const Op& product, std::vector<Op>& ops);

/// Adds virtual tokens to the embedding's block, and the network that makes them in P-tuning.
void add_prompts(BlockOps& block, const Transformer& model, const Cut& cut);

}  // namespace foretoken::model
