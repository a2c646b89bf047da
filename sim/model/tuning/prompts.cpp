// Virtual tokens: trained embeddings that stand before the tokens of every sequence, and count as a part of it.
//
// Prompt-tuning trains a table of them. P-tuning trains a table and the network that makes embeddings of it: two
// products with an activation between them, h to e and e to h (NVIDIA/NeMo, modules/common/prompt_encoder.py, "mlp").
// The network runs once for a micro-batch, because all sequences have the same virtual tokens.
#include "sim/model/blocks/parts.h"
#include "sim/model/op_writer.h"
#include "sim/model/tuning/parts.h"

namespace foretoken::model {
namespace {

/// Rows of the network: the virtual tokens of one sequence, on every rank alike.
OwnKernels prompt_product(std::int64_t rows, const WholeProduct& p, double tokens) {
  OwnKernels work;
  work.forward = [=](OpWriter& ops) {
    ops.gemm(p.forward, OpRole::kEmbedding, {.m = rows, .n = p.n, .k = p.k, .precision = p.precision});
  };
  work.backward = [=](OpWriter& ops) {
    ops.gemm(p.input_gradient, OpRole::kEmbedding,
             {.m = rows, .n = p.k, .k = p.n, .pass = GemmPass::kInputGradient, .precision = p.precision});
    ops.gemm(p.weight_gradient, OpRole::kEmbedding,
             {.m = p.n, .n = p.k, .k = rows, .pass = GemmPass::kWeightGradient, .precision = p.precision});
  };
  work.forward_flop_per_token = 2.0 * real(p.n) * real(p.k) * real(rows) / tokens;
  return work;
}

TensorId add_network(BlockOps& block, const Transformer& model, const Cut& cut, TensorId virtual_tokens) {
  const std::int64_t rows = model.tuning.virtual_tokens, hidden = model.hidden, width = model.tuning.encoder_hidden;
  const auto tensor = [&](std::string_view name, std::int64_t columns) {
    return block.add(Tensor{.name = name, .bytes = kHalf * real(rows) * real(columns)});
  };
  const TensorId narrow = tensor("prompt encoder before its activation", width);
  const TensorId active = tensor("prompt encoder behind its activation", width);
  const TensorId made = tensor("prompts that the encoder makes", hidden);
  const auto product = [&](WholeProduct p, TensorId reads, TensorId writes) {
    p.precision = cut.wide_precision();
    block.add({.name = p.forward,
               .role = OpRole::kEmbedding,
               .work = prompt_product(rows, p, cut.tokens),
               .weights = add_whole_weight(block, p.forward, p.n, p.k),
               .reads = {reads},
               .writes = {writes},
               .saves = {reads}});
  };
  product({"prompt encoder 1", "prompt encoder 1 input gradient", "prompt encoder 1 weight gradient", width, hidden},
          virtual_tokens, narrow);
  const double bytes = kHalf * real(rows) * real(width);
  block.add({.name = "prompt encoder activation",
             .role = OpRole::kEmbedding,
             .work = MemoryBound{2 * bytes, 3 * bytes, "prompt encoder activation gradient"},
             .reads = {narrow},
             .writes = {active},
             .saves = {narrow}});
  product({"prompt encoder 2", "prompt encoder 2 input gradient", "prompt encoder 2 weight gradient", hidden, width},
          active, made);
  return made;
}

}  // namespace

void add_prompts(BlockOps& block, const Transformer& model, const Cut& cut) {
  const FineTuning& tuning = model.tuning;
  const double bytes = kHalf * real(tuning.virtual_tokens) * real(model.hidden);
  const TensorId table = block.add(Tensor{.name = "virtual tokens", .bytes = bytes});
  const WeightId weight = block.add(
      Weight{.name = "virtual tokens", .rows = tuning.virtual_tokens, .columns = model.hidden, .split = Split::kWhole});
  block.add({.name = "virtual tokens",
             .role = OpRole::kEmbedding,
             .work = MemoryBound{2 * bytes, 3 * bytes, "virtual token gradient"},
             .weights = {weight},
             .reads = {block.input},
             .writes = {table}});
  const TensorId made = tuning.method == TuningMethod::kPTuning ? add_network(block, model, cut, table) : table;
  // Every sequence gets a copy. The gradients of all copies are summed.
  const double copies = bytes * real(cut.context.micro_batch);
  block.add({.name = "insert virtual tokens",
             .role = OpRole::kEmbedding,
             .work = MemoryBound{2 * copies, copies + bytes, "sum virtual token gradients"},
             .reads = {made},
             .writes = {made}});
}

}  // namespace foretoken::model
