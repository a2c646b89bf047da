// The MLP of a dense layer: two products with an activation between them. A gated MLP has three matrices.
//
// Two tensors are saved per token: the first product's output, 2f (gated 4f), and the second product's input, 2f. Both
// are cut over the tensor ranks (arXiv:2205.05198 section 4).
#include "sim/model/blocks/parts.h"

namespace foretoken::model {
namespace {

constexpr SelectiveModules kMlp{.core_attention = false, .mlp = true};
constexpr SelectiveModules kMlpOrActivation{.core_attention = false, .mlp = true, .activation = true, .by_op = true};

/// Width of the first product's output: f, or 2f when gated.
std::int64_t first_width(const Transformer& model) { return (model.mlp_matrices() - 1) * model.ffn_hidden; }

double first_output_bytes(const Transformer& model, const Cut& cut) {
  return 2 * cut.tokens * (model.mlp_matrices() - 1) * real(model.ffn_hidden) / cut.context.tensor;
}

double second_input_bytes(const Transformer& model, const Cut& cut) {
  return 2 * cut.tokens * real(model.ffn_hidden) / cut.context.tensor * cut.input_share();
}

// Kernels of Hugging Face's gelu_new, 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), without fusion.
// Source: huggingface/transformers, activations.py, NewGELUActivation; counted, read and written bytes an element.
struct GeluNew {
  double forward = 0, backward = 0;  ///< beyond those of one fused kernel
  double kept = 0;                   ///< beyond input and output
};

// In 16 bit: half of x 4, cube 4, its scale 4, sum 6, scale 4, tanh 4, plus one 4, product 6, of which the fused kernel
// moves 4. Backward: two products 12, tanh 6, two scales 8, cube 14, half 4, two sums 12, beside the fused kernel's 6.
// Kept are half of x, tanh and tanh plus one. Autocast computes the cube in fp32, and all that follows from it: forward
// half 4, cast 6, cube 8, scale 8, sum 10, scale 8, tanh 8, plus one 8, product 10, cast 6; backward casts 18, products
// 22, tanh 12, scales 16, cube 28, half 4, sums 12. It keeps x, tanh and tanh plus one in fp32, and half of x.
GeluNew gelu_new_kernels(const Transformer& model, const Cut& cut) {
  if (!model.gelu_new || cut.context.fusions.gelu_new) return {};
  if (cut.context.autocast) return {.forward = 76 - 4, .backward = 112 - 6, .kept = 14 - 2};
  return {.forward = 36 - 4, .backward = 56 - 6, .kept = 6};
}

// The activation runs as two kernels, with a tensor between them.
bool splits_activation(const Transformer& model, const Cut& cut) {
  const Fusions& fusions = cut.context.fusions;
  return (model.gated() && !fusions.gated_activation) ||
         (model.activation == Activation::kSquaredRelu && !fusions.squared_relu);
}

// Two kernels write and read the tensor between them: 4 bytes an element forward. Backward a gated activation moves 18
// bytes instead of 10: the product twice (6 each) and the activation (6). torch.pow(relu(x), 2) moves 20 instead of 6:
// power (2 + 2 + 4), two products (6) and ReLU (6).
MemoryBound activation_kernels(const Transformer& model, const Cut& cut) {
  const auto f = static_cast<double>(model.ffn_hidden / cut.context.tensor);
  const double bias = model.biased_mlp() ? 2 * ((model.mlp_matrices() - 1) * f) : 0;
  const bool splits = splits_activation(model, cut);
  const GeluNew gelu = gelu_new_kernels(model, cut);
  const double forward = (model.gated() ? 6 : 4) + (splits ? 4 : 0) + gelu.forward;
  const double backward = (model.gated() ? (splits ? 18 : 10) : (splits ? 20 : 6)) + gelu.backward;
  return {.forward_bytes = forward * cut.tokens * f,
          .backward_bytes = cut.tokens * (backward * f + bias),
          .backward_name = "activation gradient"};
}

// Adds a product with its bias, and sets the members that all products of an MLP share.
void add_product(BlockOps& block, const Transformer& model, Op op, Weight weight, Weight bias) {
  weight.kind = WeightKind::kMatrix;
  op.role = OpRole::kLinear;
  op.repeated_by = kMlp;
  op.weights.add(block.add(weight));
  if (model.biased_mlp()) op.weights.add(block.add(bias));
  op.saves = op.reads;
  block.add(op);
}

void add_first(BlockOps& block, const Transformer& model, TensorId input, TensorId output) {
  const std::int64_t width = first_width(model);
  add_product(
      block, model,
      {.name = "fc1",
       .work = Product{ProductKind::kColumn, "fc1 input gradient", "fc1 weight gradient", repeated_shares(model).first},
       .reads = {input},
       .writes = {output}},
      {.name = "fc1",
       .rows = width,
       .columns = model.hidden,
       .split = Split::kRows,
       .stored_as = model.mlp_matrices() - 1},
      bias_weight("fc1 bias", width, Split::kRows));
}

// Under sequence parallelism the gradient of the output is gathered before the backward pass.
void add_second(BlockOps& block, const Transformer& model, const Cut& cut, TensorId input, TensorId output) {
  const double gathered = cut.context.sequence_parallel ? cut.whole_bytes(real(model.hidden)) : 0;
  add_product(
      block, model,
      {.name = "fc2",
       .work = Product{ProductKind::kRow, "fc2 input gradient", "fc2 weight gradient", repeated_shares(model).second},
       .reads = {input},
       .writes = {output},
       .working_bytes = gathered + second_input_bytes(model, cut)},
      {.name = "fc2", .rows = model.hidden, .columns = model.ffn_hidden, .split = Split::kColumns},
      bias_weight("fc2 bias", model.hidden, Split::kWhole));
}

// A kernel reads and writes 16 bit and a mask of one byte, in both passes. The second product reads its output.
void add_activation_dropout(BlockOps& block, const Transformer& model, const Cut& cut, TensorId tensor) {
  const double elements = cut.tokens * real(model.ffn_hidden) / cut.context.tensor;
  const TensorId mask = block.add(Tensor{.name = "activation dropout mask",
                                         .bytes = elements,
                                         .dropped_by = kMlpOrActivation,
                                         .freed_early = true,
                                         .fixed = true});
  block.add(Op{.name = "activation dropout",
               .role = OpRole::kActivation,
               .work = MemoryBound{5 * elements, 5 * elements, "activation dropout gradient"},
               .reads = {tensor},
               .writes = {tensor, mask},
               .saves = {mask},
               .repeated_by = kMlpOrActivation});
}

}  // namespace

TensorId add_mlp(BlockOps& block, const Transformer& model, const Cut& cut, TensorId input) {
  // The backward pass of ReLU needs no input: it uses its own output, which fc2 reads.
  const bool relu = model.activation == Activation::kRelu;
  const double first = first_output_bytes(model, cut), second = second_input_bytes(model, cut);
  // Of two kernels of a gated activation each keeps its inputs. Recomputation by op makes the second product again.
  const bool splits = splits_activation(model, cut), splits_product = splits && model.gated();
  const TensorId before = block.add(Tensor{.name = "fc1 output",
                                           .bytes = relu ? 0 : (splits_product ? first / 2 : first),
                                           .dropped_by = kMlp,
                                           .freed_early = true});
  const TensorId after =
      block.add(Tensor{.name = "fc2 input", .bytes = second, .dropped_by = kMlpOrActivation, .freed_early = true});
  const TensorId output = block.add(Tensor{.name = "fc2 output", .bytes = cut.residual_bytes(real(model.hidden))});

  add_first(block, model, input, before);
  // The gradients of its input and of its output are alive.
  Op activation{.name = "activation",
                .role = OpRole::kActivation,
                .work = activation_kernels(model, cut),
                .reads = {before},
                .writes = {after},
                .saves = {before},
                .repeated_by = kMlpOrActivation,
                .working_bytes = first + second};
  if (splits) {
    const double width = 2 * cut.tokens * real(model.ffn_hidden) / cut.context.tensor;
    const TensorId between = block.add(Tensor{.name = "between the kernels of the activation",
                                              .bytes = splits_product ? 2 * width : width,
                                              .dropped_by = kMlpOrActivation,
                                              .freed_early = true});
    activation.writes.add(between);
    activation.saves.add(between);
  }
  if (const double kept = gelu_new_kernels(model, cut).kept; kept > 0) {
    const double elements = cut.tokens * real(model.ffn_hidden) / cut.context.tensor;
    const TensorId parts = block.add(Tensor{
        .name = "parts of gelu_new", .bytes = kept * elements, .dropped_by = kMlpOrActivation, .freed_early = true});
    activation.writes.add(parts);
    activation.saves.add(parts);
  }
  block.add(activation);
  if (model.activation_dropout > 0) add_activation_dropout(block, model, cut, after);
  add_second(block, model, cut, after, output);
  return output;
}

}  // namespace foretoken::model
