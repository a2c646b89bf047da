// A kind of layer, written once: a list of ops over named tensors.
//
// Everything else about a layer is derived from this list. Parameters, operations, saved bytes, weight matrices and
// units of sharding come from sim/model/counts. The kernels of both passes come from sim/model/kernels.h. A new kind of
// layer is a function that returns such a list for a cut.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/base/axis.h"
#include "sim/base/check.h"
#include "sim/base/ids.h"
#include "sim/model/layer_ops.h"

namespace foretoken::model {

class OpWriter;

using WeightId = Id<struct WeightTag>;  ///< a weight of one block
using TensorId = Id<struct TensorTag>;  ///< a tensor of one block

enum class WeightKind : std::uint8_t {
  kMatrix,
  kTable,
  kVector
};  ///< matrix of a product, table of the vocabulary, or another vector
enum class Split : std::uint8_t { kWhole, kRows, kColumns };

/// A weight as the model states it, before it is cut.
struct Weight {
  std::string_view name{};
  WeightKind kind = WeightKind::kVector;
  std::int64_t rows = 1, columns = 1;  ///< outputs and inputs of a product
  Split split = Split::kWhole;  ///< the dimension that the ranks of `axes` share; whole: every rank holds all of it
  AxisSet axes = Axis::kTensor;
  bool trainable = true;
  int stored_as = 1;              ///< tensors that a framework stores it in; gate and up of a gated MLP are two
  std::int64_t padding_rows = 0;  ///< rows that this cut adds
  bool tied = false;              ///< a copy of the embedding's table; no copy where both stand on one GPU
  std::int64_t copies = 1;        ///< weights of this shape: one for each expert, dealt out over `axes`
  std::int64_t copies_met = 1;    ///< those that one token meets
  bool trained_copy = false;      ///< it trains in the place of a frozen weight, which stays in memory beside it
  double stored_bytes = 0;        ///< of an element in memory where it is narrower than the job's weights; 0: it is not
};

/// A tensor that flows between ops. `bytes` are those of 16-bit elements, unless `fixed`.
struct Tensor {
  std::string_view name{};
  double bytes = 0;                         ///< of one micro-batch on one GPU
  SelectiveModules dropped_by = kNoModule;  ///< modules whose recomputation makes it again
  bool freed_early = false;                 ///< freed before the backward pass reaches the ops ahead of its own
  SelectiveModules kept_by = kNoModule;     ///< modules whose recomputation starts from it, even where no op saves it
  bool fixed = false;                       ///< its elements do not follow the precision: masks, ids, fp32 statistics
};

/// A few ids, stored in place.
template <class Id>
class IdList {
 public:
  constexpr IdList() = default;
  constexpr IdList(std::initializer_list<Id> ids) {
    for (const Id id : ids) add(id);
  }
  constexpr void add(Id id) {
    expects(count_ < ids_.size(), "an op names at most six tensors of a kind");
    ids_[count_++] = id;
  }
  [[nodiscard]] constexpr bool contains(Id wanted) const {
    for (const Id id : *this)
      if (id == wanted) return true;
    return false;
  }
  [[nodiscard]] constexpr const Id* begin() const { return ids_.data(); }
  [[nodiscard]] constexpr const Id* end() const { return ids_.data() + count_; }
  [[nodiscard]] constexpr std::size_t size() const { return count_; }

 private:
  std::array<Id, 6> ids_{};
  std::size_t count_ = 0;
};

/// The place of a product in its tensor-parallel group.
enum class ProductKind : std::uint8_t {
  kColumn,       ///< each rank makes a part of the outputs; the input is gathered under sequence parallelism
  kRow,          ///< each rank reads a part of the inputs; the outputs are summed over the ranks
  kRowUnsummed,  ///< like kRow, but a later product sums both outputs at once
  kVocabulary    ///< the output head: 16-bit, one part of the vocabulary a rank
};

/// A product of tokens with the op's first weight. The weight is a matrix or a table.
struct Product {
  ProductKind kind = ProductKind::kColumn;
  std::string_view input_gradient{}, weight_gradient{};  ///< names of the kernels of the backward pass
  double repeated_share = 0;                             ///< part of its rows that recomputation by op repeats
  double token_share = 1;                                ///< tokens that it multiplies, relative to the block's
  bool int8_forward = false;                             ///< its forward pass multiplies in int8
};

/// Scores, softmax and values: fused or not, and exchanged between ranks that share a sequence.
struct AttentionCore {
  std::int64_t heads = 1, kv_heads = 1, head_dim = 1;  ///< before they are cut
  bool dropout = false;
  std::int64_t value_dim = 0;  ///< of a head of values; 0: head_dim
  std::int64_t window = 0;     ///< tokens that a query sees, itself included; 0: all
  bool causal = true;          ///< a query sees no later token
  std::int64_t keys = 0;       ///< tokens of another sequence that queries attend to; 0: those of their own
  bool position_bias = false;  ///< a number for each head and distance is added to the scores

  [[nodiscard]] std::int64_t keys_of(std::int64_t sequence) const { return keys > 0 ? keys : sequence; }
  [[nodiscard]] std::int64_t values_dim() const { return value_dim > 0 ? value_dim : head_dim; }
  /// Width of queries, keys and values together: (a + 2g) d.
  [[nodiscard]] std::int64_t operand_width() const { return (heads + kv_heads) * head_dim + kv_heads * values_dim(); }
  [[nodiscard]] std::int64_t output_width() const { return heads * values_dim(); }
};

/// One memory-bound kernel in each pass. A pass without bytes has no kernel.
struct MemoryBound {
  double forward_bytes = 0, backward_bytes = 0;
  std::string_view backward_name{};
};

/// A collective over the tensor-parallel group, in each pass that names one.
struct Exchange {
  double payload = 0;
  std::optional<CollectiveKind> forward{}, backward{};
  std::string_view backward_name{};
};

/// An op that writes its kernels itself.
struct OwnKernels {
  std::function<void(OpWriter&)> forward{}, backward{};
  double forward_flop_per_token = 0;
};

using Work = std::variant<Product, AttentionCore, MemoryBound, Exchange, OwnKernels>;

/// One op of a block, in forward order. The backward pass runs the ops from the last to the first.
struct Op {
  std::string_view name;  ///< name of its kernel in the forward pass
  OpRole role = OpRole::kElementwise;
  Work work{};
  IdList<WeightId> weights{};
  IdList<TensorId> reads{}, writes{};
  IdList<TensorId> saves{};                  ///< the tensors that its backward pass needs
  SelectiveModules repeated_by = kNoModule;  ///< modules whose recomputation repeats it
  bool kept_by_op = false;                   ///< recomputation by op keeps what it writes
  bool between_parts = false;                ///< it runs between the parts of a layer that PyTorch's compiler makes
  double working_bytes = 0;                  ///< gradients that are alive while its backward pass runs
};

/// The ops and tensors of a block on one GPU.
struct BlockOps {
  std::vector<Weight> weights;
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  TensorId input;             ///< output of the block before; full recomputation keeps only this
  double gradient_bytes = 0;  ///< gradients that are alive through the whole backward pass of the block
  std::int64_t sequence = 0;  ///< tokens of a sequence that its ops work on; 0: those of the cut
  double shared_bytes = 0;    ///< tensors that all blocks of a chunk save together, such as an encoder's output

  WeightId add(Weight weight);
  TensorId add(Tensor tensor);
  Op& add(Op op);
  /// Returns the cut with the block's own sequence.
  [[nodiscard]] LayerContext own(LayerContext cut) const {
    if (sequence > 0) cut.sequence = sequence;
    return cut;
  }
  [[nodiscard]] const Weight& operator[](WeightId id) const { return weights[id.index()]; }
  [[nodiscard]] const Tensor& operator[](TensorId id) const { return tensors[id.index()]; }
};

/// A kind of layer.
struct Block {
  std::string name{};
  std::function<BlockOps(const LayerContext&)> at{};  ///< its ops under a cut
};

/// Layers of one kind that follow one another.
struct LayerRun {
  Block block;
  std::int64_t count = 1;
};

/// Returns the first mistake in a block's list: an op reads a tensor before it is written, or saves a tensor that it
/// neither reads nor writes.
[[nodiscard]] std::optional<std::string> find_mistake(const BlockOps& block);

}  // namespace foretoken::model
