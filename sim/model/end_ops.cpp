// The kernels at the two ends of the pipeline: embedding on the first stage, norm, head and loss on the last.
//
// The vocabulary is padded to a multiple of 128 x t and split over tensor ranks; a rank looks up all T tokens in its
// part and the partial results are summed. Loss: vocab-parallel cross entropy of Megatron, 24 bytes a logit forward and
// 10 backward unfused, 10 and 6 fused (reads and writes of logits of 2 and 4 bytes; docs/modeller/layer.md).
#include "sim/model/layer_ops.h"
#include "sim/model/op_list.h"

namespace foretoken::model {
namespace {

struct Ends {
  double tokens, region, hidden, boundary, logits;
  std::int64_t T, h, vocabulary;

  Ends(const Transformer& model, const LayerContext& context)
      : tokens(context.tokens()),
        region(context.sequence_parallel ? tokens / context.tensor : tokens),
        hidden(static_cast<double>(model.hidden)),
        boundary(2 * tokens * hidden),
        logits(0),
        T(static_cast<std::int64_t>(tokens)),
        h(model.hidden),
        vocabulary(padded_vocabulary(model, context.tensor, context.pads_vocabulary) / context.tensor) {
    logits = tokens * static_cast<double>(vocabulary);
  }
};

// Activations of the head are 16 bit also when layers compute in fp8.
Precision head_precision(const LayerContext& context) {
  return context.precision == Precision::kFp8 ? Precision::kBf16 : context.precision;
}

}  // namespace

OpList embedding_forward(const Transformer& model, const LayerContext& context) {
  const Ends ends(model, context);
  OpWriter ops(context);
  ops.memory("embedding lookup", OpRole::kEmbedding, 4 * ends.tokens * ends.hidden);
  if (context.sequence_parallel)
    ops.collective("reduce-scatter embedding", CollectiveKind::kReduceScatter, ends.boundary);
  else
    ops.collective("all-reduce embedding", CollectiveKind::kAllReduce, ends.boundary);
  if (model.positions == Positions::kLearned)
    ops.memory("add positions", OpRole::kEmbedding, 6 * ends.region * ends.hidden);
  if (model.hidden_dropout > 0) ops.memory("embedding dropout", OpRole::kEmbedding, 5 * ends.region * ends.hidden);
  return ops.take();
}

OpList embedding_backward(const Transformer& model, const LayerContext& context) {
  const Ends ends(model, context);
  OpWriter ops(context);
  if (model.hidden_dropout > 0)
    ops.memory("embedding dropout gradient", OpRole::kEmbedding, 5 * ends.region * ends.hidden);
  if (context.sequence_parallel) ops.collective("gather embedding gradient", CollectiveKind::kAllGather, ends.boundary);
  // Reads the gradient once and adds it to fp32 rows (read and write).
  ops.memory("embedding gradient", OpRole::kEmbedding, (2 + 8) * ends.tokens * ends.hidden);
  return ops.take();
}

OpList head_forward(const Transformer& model, const LayerContext& context) {
  const Ends ends(model, context);
  OpWriter ops(context);
  ops.memory("final norm", OpRole::kHead, 4 * ends.region * ends.hidden);
  if (context.sequence_parallel) ops.collective("gather head input", CollectiveKind::kAllGather, ends.boundary);
  ops.gemm("head", OpRole::kHead,
           {.m = ends.T, .n = ends.vocabulary, .k = ends.h, .precision = head_precision(context)});
  ops.memory("cross entropy", OpRole::kLoss, (context.fusions.cross_entropy ? 10 : 24) * ends.logits);
  ops.collective("loss maximum", CollectiveKind::kAllReduce, 4 * ends.tokens);
  ops.collective("loss sums", CollectiveKind::kAllReduce, 4 * ends.tokens);
  if (!context.fusions.cross_entropy) ops.collective("loss logits", CollectiveKind::kAllReduce, 4 * ends.tokens);
  return ops.take();
}

OpList head_backward(const Transformer& model, const LayerContext& context) {
  const Ends ends(model, context);
  OpWriter ops(context);
  const Precision precision = head_precision(context);
  const bool beside = context.overlap_backward_collectives;
  ops.memory("cross entropy gradient", OpRole::kLoss, (context.fusions.cross_entropy ? 6 : 10) * ends.logits);
  if (context.sequence_parallel)
    ops.collective("gather head input again", CollectiveKind::kAllGather, ends.boundary, beside, BackwardPart::kWeight);
  ops.gemm("head input gradient", OpRole::kHead,
           {.m = ends.T, .n = ends.h, .k = ends.vocabulary, .pass = GemmPass::kInputGradient, .precision = precision});
  const CollectiveKind kind = context.sequence_parallel ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  if (beside) ops.collective("reduce head gradient", kind, ends.boundary, true);
  ops.gemm("head weight gradient", OpRole::kHead,
           {.m = ends.vocabulary,
            .n = ends.h,
            .k = ends.T,
            .pass = GemmPass::kWeightGradient,
            .precision = precision,
            .accumulates = context.fused_accumulation});
  if (!beside) ops.collective("reduce head gradient", kind, ends.boundary);
  if (!context.fused_accumulation)
    ops.memory("accumulate head gradient", OpRole::kAccumulate,
               context.gradient_accumulation_bytes * static_cast<double>(ends.vocabulary) * ends.hidden,
               BackwardPart::kWeight);
  ops.memory("final norm gradient", OpRole::kHead, 8 * ends.region * ends.hidden);
  return ops.take();
}

}  // namespace foretoken::model
