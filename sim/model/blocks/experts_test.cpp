// Tests experts, latent attention, local attention and further predictions against closed forms.
#include "sim/model/blocks/experts.h"

#include <gtest/gtest.h>

#include "sim/model/blocks/blocks.h"
#include "sim/model/counts/flop.h"
#include "sim/model/counts/matrices.h"
#include "sim/model/counts/parameters.h"
#include "sim/model/counts/saved_bytes.h"
#include "sim/model/kernels.h"
#include "sim/model/stacks/decoder.h"

namespace foretoken::model {
namespace {

constexpr double kS = 4096, kH = 2048, kE = 64, kK = 8, kF = 1024;  // s, h, E, k, f_e

Transformer with_experts() {
  return {.layers = 4,
          .hidden = 2048,
          .heads = 16,
          .kv_heads = 4,
          .head_dim = 128,
          .ffn_hidden = 8192,
          .vocabulary = 32000,
          .norm = Norm::kRmsNorm,
          .activation = Activation::kSwiGlu,
          .positions = Positions::kRotary,
          .tied_embeddings = false,
          .linear_bias = false,
          .qkv_bias = false,
          .experts = Experts{.count = 64, .per_token = 8, .width = 1024}};
}

Transformer with_latents() {
  Transformer model = with_experts();
  model.kv_heads = model.heads;
  model.latent = LatentAttention{.query_rank = 768, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128};
  model.head_dim = model.latent->query_dim();
  return model;
}

LayerContext cut_by(int expert, int expert_tensor, int tensor = 1) {
  LayerContext context;
  context.sequence = 4096;
  context.tensor = tensor;
  context.sequence_parallel = tensor > 1;
  context.experts.expert = expert;
  context.experts.expert_tensor = expert_tensor;
  return context;
}

BlockOps layer(const Transformer& model, const LayerContext& context) {
  return decoder_layer(model, context, {.experts = true});
}

double payload_over(const OpList& ops, Axis axis, CollectiveKind kind) {
  double bytes = 0;
  for (const LayerOp& op : ops)
    if (const auto* moved = std::get_if<LayerCollective>(&op.work))
      if (moved->axis == axis && moved->kind == kind) bytes += moved->payload.value();
  return bytes;
}

const LayerOp* find(const OpList& ops, std::string_view name) {
  for (const LayerOp& op : ops)
    if (op.name == name) return &op;
  return nullptr;
}

GemmShape product_of(const OpList& ops, std::string_view name) {
  const LayerOp* op = find(ops, name);
  return op == nullptr ? GemmShape{} : std::get<GemmShape>(op->work);
}

TEST(Experts, NoOpOfAnyMixtureReadsAnUnwrittenTensor) {
  for (Transformer model : {with_experts(), with_latents()})
    for (const std::int64_t shared : {0, 2048})
      for (const bool overlap : {false, true})
        for (const auto dispatcher : {Dispatcher::kAllToAll, Dispatcher::kAllGather, Dispatcher::kDeepEp}) {
          model.experts->shared_width = shared;
          model.experts->shared_gate = model.experts->router_bias = model.attention_sinks = shared > 0;
          model.prediction_layers = 2;
          LayerContext context = cut_by(8, 2, 2);
          context.experts.dispatcher = dispatcher;
          context.experts.shared_overlap = overlap;
          EXPECT_EQ(find_mistake(layer(model, context)), std::nullopt);
          EXPECT_EQ(find_mistake(head_block(model, context)), std::nullopt);
        }
}

// N k h 2 bytes leave a rank, twice a pass and twice back; with full recomputation twice more.
TEST(Experts, FourAllToAllsOfTheCopiesOfAllTokens) {
  const LayerContext context = cut_by(8, 1);
  const BlockOps block = layer(with_experts(), context);
  const double one = kS * kK * kH * 2;
  EXPECT_EQ(payload_over(forward_kernels(block, context), Axis::kExpert, CollectiveKind::kAllToAll), 2 * one);
  EXPECT_EQ(payload_over(backward_kernels(block, context), Axis::kExpert, CollectiveKind::kAllToAll), 2 * one);
  const OpList again = recomputed_kernels(block, context, RecomputeGranularity::kFull, {});
  EXPECT_EQ(payload_over(again, Axis::kExpert, CollectiveKind::kAllToAll), 2 * one);
  const LayerContext alone = cut_by(1, 1);
  EXPECT_EQ(
      payload_over(forward_kernels(layer(with_experts(), alone), alone), Axis::kExpert, CollectiveKind::kAllToAll), 0);
}

struct RowCase {
  const char* name;
  ExpertCut cut;
  int tensor;
  std::int64_t rows, groups;  ///< of the first product
  double payload;             ///< of the exchange over expert ranks
};

TEST(Experts, RowsOfOneExpert) {
  const double copies = kS * kK;
  const RowCase cases[] = {{"one rank has all", {1, 1}, 1, 512, 64, 0},
                           {"each of 8 ranks sends its tokens", {8, 1}, 1, 8 * 512, 8, copies * kH * 2},
                           {"two ranks share each expert", {8, 2}, 1, 16 * 512, 8, copies * kH * 2},
                           {"sequence parallelism halves the tokens", {8, 1}, 2, 8 * 256, 8, copies / 2 * kH * 2},
                           {"the hottest rank has a half more",
                            {8, 1, Dispatcher::kAllToAll, {}, 1.5},
                            1,
                            12 * 512,
                            8,
                            1.5 * copies * kH * 2},
                           {"a capacity of 1.25 pads, whatever the imbalance",
                            {8, 1, Dispatcher::kAllToAll, 1.25, 3},
                            1,
                            8 * 640,
                            8,
                            64 * 640 * kH * 2},
                           {"all tokens are gathered", {8, 1, Dispatcher::kAllGather}, 1, 8 * 512, 8, kS * 8 * kH * 2}};
  for (const RowCase& c : cases) {
    SCOPED_TRACE(c.name);
    LayerContext context = cut_by(1, 1, c.tensor);
    context.experts = c.cut;
    const OpList ops = forward_kernels(layer(with_experts(), context), context);
    const GemmShape shape = product_of(ops, "expert fc1");
    EXPECT_EQ(shape.m, c.rows);
    EXPECT_EQ(shape.batch, c.groups);
    EXPECT_EQ(shape.n, 2 * 1024 / c.cut.expert_tensor);
    EXPECT_EQ(shape.k, 2048);
    const LayerOp* dispatch = find(ops, "dispatch tokens");
    const double payload = dispatch == nullptr ? 0 : std::get<LayerCollective>(dispatch->work).payload.value();
    EXPECT_EQ(payload, c.payload);
  }
}

// One expert a token goes to one rank. Two of four experts on two ranks of two: 1 of 6 choices per rank is both there.
TEST(Experts, RanksThatATokenMeets) {
  EXPECT_DOUBLE_EQ(ranks_met({.count = 8, .per_token = 1}, 4), 1);
  EXPECT_DOUBLE_EQ(ranks_met({.count = 4, .per_token = 2}, 2), 2 * (1 - 1.0 / 6));
  EXPECT_DOUBLE_EQ(ranks_met({.count = 8, .per_token = 8}, 4), 4);
}

// Each rank gets a token at most once, however uneven the routing is.
TEST(Experts, CopiesOfATokenAreAtMostTheRanks) {
  const Experts experts{.count = 128, .per_token = 8};
  EXPECT_EQ(copies_over(experts, 8, 1), ranks_met(experts, 8));
  EXPECT_EQ(copies_over(experts, 8, 1.2), 1.2 * ranks_met(experts, 8));
  EXPECT_EQ(copies_over(experts, 8, 4), 8);
  EXPECT_EQ(copies_over(experts, 2, 4), 2);
}

TEST(Experts, ParametersAreDealtOutOverTheirOwnRanks) {
  Transformer model = with_experts();
  model.experts->shared_width = 2048;
  const double attention = kH * (16 + 8) * 128 + 16 * 128 * kH, experts = kE * 3 * kH * kF, router = kE * kH,
               shared = 3 * kH * 2048;
  const BlockOps block = layer(model, cut_by(8, 2, 4));
  EXPECT_EQ(parameters(block), attention + experts + router + shared + 2 * kH);
  EXPECT_EQ(parameters_met(block), parameters(block) - experts * (kE - kK) / kE);
  const LayerContext context = cut_by(8, 2, 4);
  EXPECT_EQ(local_expert_parameters(block, context), experts / 16);
  EXPECT_EQ(local_parameters(block, context), (attention + shared) / 4 + experts / 16 + router + 2 * kH);
  EXPECT_TRUE(matrix_shapes(block, context).contains({2 * 1024 / 2, 2048})) << "of one expert on one of two ranks";
}

// 6 operations for each parameter of a product that a token meets, and 12 s a d for attention.
TEST(Experts, OperationsCountTheExpertsOfAToken) {
  const Transformer model = with_experts();
  const double products = kH * (16 + 8) * 128 + 16 * 128 * kH + kK * 3 * kH * kF + kE * kH;
  const double layers = 4 * (6 * kS * products + 12 * kS * kS * 16 * 128);
  EXPECT_EQ(model_flop_per_sequence(model, 4096).value(), layers + 6 * kS * kH * 32000);
}

// The kernels of a rank run as many operations as the count says, when experts are balanced.
TEST(Experts, KernelsRunTheCountedOperations) {
  const LayerContext context = cut_by(8, 2, 2);
  double flop = 0;
  for (const LayerOp& op : forward_kernels(layer(with_experts(), context), context))
    if (const auto* shape = std::get_if<GemmShape>(&op.work)) flop += shape->flop().value();
  EXPECT_EQ(flop * 2, product_flop(layer(with_experts(), context), kS)) << "two tensor ranks share the tokens";
}

// Saved for each of N k rows: input h, fc1's output 2 f, fc2's input f; for each token and expert 5 bytes.
TEST(Experts, SavedBytes) {
  const LayerContext context = cut_by(8, 1);
  const BlockOps block = layer(with_experts(), context), dense = dense_layer(with_experts(), context);
  const double of_experts = 2 * kS * kK * (kH + 3 * kF) + 5 * kS * kE, of_mlp = 2 * kS * 3 * 8192;
  const auto saved = [](const BlockOps& of) { return saved_bytes(of, RecomputeGranularity::kNone).value(); };
  EXPECT_EQ(saved(block) - saved(dense), of_experts - of_mlp);
  LayerContext hot = context;
  hot.experts.imbalance = 2;
  EXPECT_EQ(saved(layer(with_experts(), hot)) - saved(block), 2 * kS * kK * (kH + 3 * kF));
  const SelectiveModules mlp{.core_attention = false, .experts = true};
  EXPECT_EQ(saved_bytes(block, RecomputeGranularity::kSelective, mlp).value(), saved(block) - of_experts);
}

// Megatron-LM's modules of --recompute-modules, each with the tensors that it makes again.
TEST(Experts, ModulesDropTheirOwnTensors) {
  Transformer model = with_latents();
  model.experts->shared_width = 512;
  const LayerContext context = cut_by(8, 1);
  const BlockOps block = layer(model, context);
  const auto dropped = [&](SelectiveModules modules) {
    modules.core_attention = false;
    return (saved_bytes(block, RecomputeGranularity::kNone) -
            saved_bytes(block, RecomputeGranularity::kSelective, modules))
        .value();
  };
  EXPECT_EQ(dropped({.mlp = true}), 0) << "no dense layer";
  EXPECT_EQ(dropped({.expert_activation = true}), 2 * kS * kK * kF);
  EXPECT_EQ(dropped({.shared_experts = true}), 2 * kS * 3 * 512);
  EXPECT_EQ(dropped({.activation = true}), 2 * kS * (kK * kF + 512));
  EXPECT_EQ(dropped({.latent_up = true}), 2 * kS * 16 * (2 * 192 + 128)) << "queries, keys and values";
  EXPECT_GT(dropped({.experts = true}), dropped({.expert_activation = true, .shared_experts = true}));
  const auto repeated = [&](SelectiveModules modules) {
    modules.core_attention = false;
    return product_flop(block, kS, modules);
  };
  EXPECT_EQ(repeated({.expert_activation = true}), 0);
  EXPECT_EQ(repeated({.latent_up = true}), 2 * kS * 16 * (768 * 192 + 512 * (128 + 128)));
  EXPECT_EQ(repeated({.shared_experts = true}), 2 * kS * 3 * 512 * kH);
}

TEST(LatentAttention, UnfusedItHasTwoWidths) {
  LayerContext context = cut_by(8, 1);
  context.attention = AttentionKind::kUnfused;
  std::vector<std::int64_t> widths;
  for (const LayerOp& op : forward_kernels(layer(with_latents(), context), context))
    if (const auto* gemm = std::get_if<GemmShape>(&op.work); gemm && gemm->batch == 16)
      widths.push_back(op.name == "scores" ? gemm->k : gemm->n);
  EXPECT_EQ(widths, (std::vector<std::int64_t>{192, 128}));
}

TEST(Experts, SharedExpertsRunBesideTheExchanges) {
  Transformer model = with_experts();
  model.experts->shared_width = 1024;
  LayerContext context = cut_by(8, 1);
  const BlockOps apart = layer(model, context);
  context.experts.shared_overlap = true;
  const BlockOps beside = layer(model, context);
  EXPECT_EQ(parameters(beside), parameters(apart));
  EXPECT_EQ(product_flop(beside, kS), product_flop(apart, kS));
  EXPECT_EQ(saved_bytes(beside, RecomputeGranularity::kNone), saved_bytes(apart, RecomputeGranularity::kNone));
  const auto overlapped = [](const OpList& ops) {
    int count = 0;
    for (std::size_t op = 0; op + 1 < ops.size(); ++op)
      if (ops[op].beside_next && ops[op].role == OpRole::kComm && ops[op + 1].name.starts_with("shared fc")) ++count;
    return count;
  };
  EXPECT_EQ(overlapped(forward_kernels(beside, context)), 2);
  EXPECT_EQ(overlapped(backward_kernels(beside, context)), 2);
  EXPECT_EQ(forward_kernels(beside, context).size(), forward_kernels(apart, context).size());
}

// arXiv:2405.04434 section 2.1: parameters of each product, and heads of 192 for scores and of 128 for values.
TEST(LatentAttention, ParametersAndOperations) {
  Transformer model = with_latents();
  const double a = 16, q = 768, kv = 512, n = 128, r = 64, v = 128;
  const double products = kH * q + q * a * (n + r) + kH * (kv + r) + kv * a * (n + v) + a * v * kH;
  const double mlp = 3 * kH * 8192;
  const BlockOps block = dense_layer(model, {});
  EXPECT_EQ(find_mistake(block), std::nullopt);
  EXPECT_EQ(parameters(block), products + q + kv + mlp + 2 * kH);
  EXPECT_EQ(product_flop(block, kS), 2 * kS * (products + mlp));
  EXPECT_EQ(core_flop(block, kS), 2 * kS * kS * a * (n + r + v));
  model.latent->query_rank = 0;
  EXPECT_EQ(parameters(dense_layer(model, {})), parameters(block) - kH * q - q * a * (n + r) - q + kH * a * (n + r));
}

TEST(LatentAttention, ProductsDownAreWholeOnEveryRank) {
  const LayerContext context = cut_by(1, 1, 4);
  const BlockOps block = dense_layer(with_latents(), context);
  EXPECT_EQ(find_mistake(block), std::nullopt);
  const double down = kH * (768 + 512 + 64), up = 768 * 16 * 192 + 512 * 16 * 256, projection = 16 * 128 * kH;
  EXPECT_EQ(local_parameters(block, context), down + 768 + 512 + 2 * kH + (up + projection + 3 * kH * 8192) / 4);
  const OpList ops = forward_kernels(block, context);
  EXPECT_EQ(product_of(ops, "query down").m, 4096 / 4) << "of its own tokens";
  EXPECT_EQ(product_of(ops, "query up").m, 4096);
  EXPECT_EQ(product_of(ops, "query up").n, 16 * 192 / 4);
}

TEST(LocalAttention, AlternatesAndSeesItsWindowOnly) {
  Transformer model = with_experts();
  model.experts.reset();
  model.local = {.window = 128, .every = 2};
  const std::vector<LayerRunOps> kinds = decoder_layers(model, cut_by(1, 1));
  ASSERT_EQ(kinds.size(), 2U);
  EXPECT_EQ(kinds[0].count, 2);
  EXPECT_EQ(layers_between(model, 1, 3), (std::vector<LayerCount>{{1, 1}, {0, 1}, {1, 1}}));
  const double keys = 2 * (128 - 128 * 128 / (2 * kS));  // the first queries have fewer before them
  EXPECT_DOUBLE_EQ(core_flop(kinds[0].ops, kS), 4 * kS * keys * 16 * 128) << "twice, as half counts as masked";
  EXPECT_NEAR(core_flop(kinds[0].ops, 129) / core_flop(kinds[1].ops, 129), 1, 1e-4) << "nearly the whole sequence";
  EXPECT_DOUBLE_EQ(core_flop(kinds[0].ops, 256), 0.75 * core_flop(kinds[1].ops, 256)) << "three quarters of the pairs";
  BlockOps unmasked = kinds[0].ops;
  for (Op& op : unmasked.ops)
    if (auto* core = std::get_if<AttentionCore>(&op.work)) core->causal = false;
  EXPECT_EQ(core_flop(unmasked, kS), 4 * kS * 128 * 16 * 128) << "once, as no mask leaves out a half";
  EXPECT_EQ(core_flop(kinds[1].ops, kS), 4 * kS * kS * 16 * 128);
  EXPECT_EQ(core_flop(kinds[0].ops, 100), core_flop(kinds[1].ops, 100)) << "a short sequence is seen whole";
}

TEST(Experts, LayersOfAModelByKind) {
  Transformer model = with_experts();
  model.layers = 10;
  model.experts->dense_first = 3;
  EXPECT_EQ(layers_between(model, 0, 10), (std::vector<LayerCount>{{0, 3}, {1, 7}}));
  EXPECT_EQ(layers_between(model, 2, 2), (std::vector<LayerCount>{{0, 1}, {1, 1}}));
  model.experts->dense_first = 0;
  model.experts->every = 2;
  EXPECT_EQ(layers_between(model, 1, 3), (std::vector<LayerCount>{{1, 1}, {0, 1}, {1, 1}}));
  const std::vector<LayerRunOps> kinds = decoder_layers(model, {});
  ASSERT_EQ(kinds.size(), 2U);
  EXPECT_EQ(kinds[0].count + kinds[1].count, 10);
  EXPECT_GT(parameters(kinds[1].ops), parameters(kinds[0].ops)) << "the second layer is the first with experts";
}

double product_work(const OpList& ops) {
  double work = 0;
  for (const LayerOp& op : ops)
    if (const auto* shape = std::get_if<GemmShape>(&op.work))
      work += real(shape->batch) * real(shape->m) * real(shape->n) * real(shape->k);
  return work;
}

// torchtitan keeps what exchanges bring, and makes products of experts again.
TEST(Experts, RecomputationByOpRepeatsTheirProductsAndKeepsTheirExchanges) {
  constexpr SelectiveModules kByOp{.core_attention = false, .by_op = true};
  constexpr auto kSelective = RecomputeGranularity::kSelective;
  const LayerContext alone = cut_by(1, 1), spread = cut_by(8, 1);
  const BlockOps block = layer(with_experts(), alone);
  const double experts = 3 * kS * kK * kH * kF, router = kS * kH * kE;
  const double keys = kS * kH * (4 * 128), output = kS * kH * kH;  // the second and the fourth product of attention
  EXPECT_DOUBLE_EQ(product_work(recomputed_kernels(block, alone, kSelective, kByOp)), experts + router + keys + output);
  EXPECT_DOUBLE_EQ(product_flop(block, kS, kByOp), 2 * (experts + router + keys + output));
  const double none = saved_bytes(block, RecomputeGranularity::kNone).value(),
               by_op = saved_bytes(block, kSelective, kByOp).value();
  const double rows = kS * kK, sorted = 2 * rows * kH, between = 2 * rows * 3 * kF, chosen = 5 * kS * kE;
  const double norms = 2 * 2 * kS * kH, keys_and_values = 2 * kS * 2 * 4 * 128;
  EXPECT_NEAR(none - by_op, sorted + between + chosen + norms + keys_and_values, 1);
  const BlockOps shared_out = layer(with_experts(), spread);
  const double exchanged = 2 * 2 * rows * kH;  // what arrives, and what comes back
  EXPECT_NEAR(saved_bytes(shared_out, kSelective, kByOp).value() - by_op, exchanged, 1);
  EXPECT_EQ(
      payload_over(recomputed_kernels(shared_out, spread, kSelective, kByOp), Axis::kExpert, CollectiveKind::kAllToAll),
      0);
}

// Recomputation by op saves these bytes in a layer of experts that is not compiled, beside attention: the rows of each
// expert, the tensors between its products, the choice of experts and the outputs of both norms.
constexpr double kDroppedBesideAttention = 2 * kS * kK * (kH + 3 * kF) + 5 * kS * kE + 2 * 2 * kS * kH;

double dropped_by_op(const BlockOps& block) {
  return (saved_bytes(block, RecomputeGranularity::kNone) -
          saved_bytes(block, RecomputeGranularity::kSelective, {.core_attention = false, .by_op = true}))
      .value();
}

// The compiler takes the layer apart. Copies of tokens run between its parts.
TEST(Experts, RecomputationByOpKeepsAllThatCompiledPartsBring) {
  constexpr SelectiveModules kByOp{.core_attention = false, .by_op = true};
  LayerContext alone = cut_by(1, 1), spread = cut_by(8, 1);
  alone.compiled = spread.compiled = true;
  const BlockOps block = layer(with_experts(), alone), shared_out = layer(with_experts(), spread);
  const OpList repeated = recomputed_kernels(block, alone, RecomputeGranularity::kSelective, kByOp);
  EXPECT_EQ(product_work(repeated), 0);
  EXPECT_EQ(product_flop(block, kS, kByOp), 0);
  EXPECT_FALSE(repeated.empty());
  for (const LayerOp& op : repeated) EXPECT_EQ(op.role, OpRole::kRouting) << op.name;
  const double sorted = 2 * kS * kK * kH, exchanged = 2 * sorted;
  const double of_experts = sorted, of_attention = 2 * kS * kH;  // outputs of parts that no op saves
  EXPECT_NEAR(dropped_by_op(block), sorted - of_experts - of_attention, 1);
  EXPECT_NEAR(dropped_by_op(shared_out), sorted - of_experts - of_attention - exchanged, 1);
  Transformer shared = with_experts();
  shared.experts->shared_width = 2048;
  EXPECT_NEAR(dropped_by_op(layer(shared, alone)), dropped_by_op(block) - 2 * kS * kH, 1) << "its output is another";
  const BlockOps dense = decoder_layer(with_experts(), alone, {.experts = false});
  EXPECT_GT(product_flop(dense, kS, kByOp), 0) << "a layer without experts is compiled as a whole";
}

// With narrow queries the second and fourth of five matrices are the products up, without them the second and fourth of
// four are the product down and the projection.
TEST(LatentAttention, RecomputationByOpRepeatsEverySecondMatrix) {
  constexpr SelectiveModules kByOp{.core_attention = false, .by_op = true};
  constexpr double kHeads = 16, kQuery = 192, kValue = 128, kNope = 128, kRope = 64, kNarrow = 768, kNarrowKeys = 512;
  const LayerContext context = cut_by(1, 1);
  const double mixture = 3 * kS * kK * kH * kF + kS * kH * kE;
  const auto repeated = [&](const BlockOps& block) {
    return product_work(recomputed_kernels(block, context, RecomputeGranularity::kSelective, kByOp));
  };
  const BlockOps narrow = layer(with_latents(), context);
  const double up = kS * kHeads * (kNarrow * kQuery + kNarrowKeys * (kNope + kValue));
  EXPECT_DOUBLE_EQ(repeated(narrow), mixture + up);
  EXPECT_DOUBLE_EQ(product_flop(narrow, kS, kByOp), 2 * (mixture + up));
  const double heads = 2 * kS * kHeads * (kQuery + kQuery + kValue), normed = 2 * kS * (kNarrow + kNarrowKeys);
  EXPECT_NEAR(dropped_by_op(narrow), kDroppedBesideAttention + heads + normed - 2 * kS * kH, 1) << "keeps the output";

  Transformer wide = with_latents();
  wide.latent->query_rank = 0;
  const BlockOps whole = layer(wide, context);
  const double down = kS * kH * (kNarrowKeys + kRope), output = kS * kH * kHeads * kValue;
  EXPECT_DOUBLE_EQ(repeated(whole), mixture + down + output);
  EXPECT_NEAR(dropped_by_op(whole), kDroppedBesideAttention + 2 * kS * (kNarrowKeys + kRope + kNarrowKeys), 1);

  const double one_of_mlp = kS * kH * 8192;
  EXPECT_DOUBLE_EQ(repeated(decoder_layer(with_latents(), context, {.experts = false})), up + 2 * one_of_mlp)
      << "the sixth and the eighth matrix: gate and down";
  EXPECT_DOUBLE_EQ(repeated(decoder_layer(wide, context, {.experts = false})), down + output + one_of_mlp);
}

}  // namespace
}  // namespace foretoken::model
