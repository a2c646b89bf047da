// Times fused attention through cuDNN's front end: a graph with one attention node, forward or backward.
#include <cudnn.h>
#include <cudnn_frontend.h>

#include <cmath>
#include <cstdint>
#include <unordered_map>

#include "calibration/measure/gpu/attention/fused_attention.h"
#include "calibration/measure/gpu/cuda_check.h"

namespace foretoken::gpu {
namespace {

namespace fe = cudnn_frontend;
using Tensors = std::unordered_map<std::int64_t, void*>;

enum Name : std::int64_t { kQ = 1, kK, kV, kO, kStatistics, kOGradient, kQGradient, kKGradient, kVGradient };

void check(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS) throw GpuError(std::string(call) + ": " + cudnnGetErrorString(status));
}

/// The sizes of a tensor [batch, heads, tokens, head_dim], the last index fastest.
struct Sizes {
  std::vector<std::int64_t> dimensions, strides;
  [[nodiscard]] std::size_t bytes(std::size_t element) const {
    std::size_t count = element;
    for (const std::int64_t d : dimensions) count *= static_cast<std::size_t>(d);
    return Pieces::aligned(count);
  }
};

Sizes sizes(std::int64_t batch, std::int64_t heads, std::int64_t tokens, std::int64_t width) {
  return {{batch, heads, tokens, width}, {heads * tokens * width, tokens * width, width, 1}};
}

/// The tensors of one attention.
struct Shapes {
  Sizes q, kv, statistics;

  explicit Shapes(const AttentionShape& s)
      : q(sizes(s.batch, s.heads, s.q_length, s.head_dim)),
        kv(sizes(s.batch, s.kv_heads, s.kv_length, s.head_dim)),
        statistics(sizes(s.batch, s.heads, s.q_length, 1)) {}
  [[nodiscard]] std::size_t input_bytes() const { return 2 * q.bytes(2) + 2 * kv.bytes(2); }
  [[nodiscard]] std::size_t output_bytes() const { return 2 * q.bytes(2) + 2 * kv.bytes(2) + statistics.bytes(4); }

  /// Returns the places of copy number `copy` of all tensors.
  [[nodiscard]] Tensors place(std::byte* inputs, std::byte* outputs, int copy) const {
    const auto i = static_cast<std::size_t>(copy);
    Pieces in(inputs + i * input_bytes()), out(outputs + i * output_bytes());
    Tensors tensors;
    tensors[kQ] = in.take<void>(q.bytes(2));
    tensors[kK] = in.take<void>(kv.bytes(2));
    tensors[kV] = in.take<void>(kv.bytes(2));
    tensors[kOGradient] = in.take<void>(q.bytes(2));
    tensors[kO] = out.take<void>(q.bytes(2));
    tensors[kStatistics] = out.take<void>(statistics.bytes(4));
    tensors[kQGradient] = out.take<void>(q.bytes(2));
    tensors[kKGradient] = out.take<void>(kv.bytes(2));
    tensors[kVGradient] = out.take<void>(kv.bytes(2));
    return tensors;
  }
};

/// Adds one tensor to the graph.
auto tensor(fe::graph::Graph& graph, Name name, const Sizes& of) {
  return graph.tensor(fe::graph::Tensor_attributes()
                          .set_name("tensor" + std::to_string(name))
                          .set_uid(name)
                          .set_dim(of.dimensions)
                          .set_stride(of.strides));
}

template <class Tensor>
void make_output(const Tensor& result, Name name, const Sizes& of) {
  result->set_output(true).set_uid(name).set_dim(of.dimensions).set_stride(of.strides);
}

template <class Attributes>
Attributes attributes(const AttentionShape& shape) {
  Attributes attributes;
  attributes.set_name("attention");
  attributes.set_attn_scale(static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim))));
  if (shape.causal)
    attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
  return attributes;
}

/// A built graph with its workspace.
class Attention {
 public:
  Attention(cudnnHandle_t handle, const AttentionShape& shape, bool backward) : handle_(handle) {
    graph_.set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    const Shapes shapes(shape);
    backward ? describe_backward(shape, shapes) : describe_forward(shape, shapes);
    supported_ = graph_.build(handle, {fe::HeurMode_t::A}).is_good();
    std::int64_t bytes = 0;
    if (supported_) supported_ = graph_.get_workspace_size(bytes).is_good();
    if (supported_) workspace_ = Memory(static_cast<std::size_t>(bytes) + 256);
  }
  [[nodiscard]] bool supported() const { return supported_; }
  void run(Tensors tensors) {
    const auto status = graph_.execute(handle_, tensors, workspace_.data());
    if (!status.is_good()) throw GpuError("cuDNN attention: " + status.get_message());
  }

 private:
  void describe_forward(const AttentionShape& shape, const Shapes& shapes) {
    auto options = attributes<fe::graph::SDPA_attributes>(shape);
    options.set_generate_stats(true);  // as in training
    const auto q = tensor(graph_, kQ, shapes.q), k = tensor(graph_, kK, shapes.kv), v = tensor(graph_, kV, shapes.kv);
    const auto results = graph_.sdpa(q, k, v, options);
    make_output(results[0], kO, shapes.q);
    make_output(results[1], kStatistics, shapes.statistics);
    results[1]->set_data_type(fe::DataType_t::FLOAT);
  }
  void describe_backward(const AttentionShape& shape, const Shapes& shapes) {
    const auto options = attributes<fe::graph::SDPA_backward_attributes>(shape);
    const auto q = tensor(graph_, kQ, shapes.q), k = tensor(graph_, kK, shapes.kv), v = tensor(graph_, kV, shapes.kv);
    const auto o = tensor(graph_, kO, shapes.q), o_gradient = tensor(graph_, kOGradient, shapes.q);
    const auto statistics = tensor(graph_, kStatistics, shapes.statistics);
    statistics->set_data_type(fe::DataType_t::FLOAT);
    const auto results = graph_.sdpa_backward(q, k, v, o, o_gradient, statistics, options);
    make_output(results[0], kQGradient, shapes.q);
    make_output(results[1], kKGradient, shapes.kv);
    make_output(results[2], kVGradient, shapes.kv);
  }

  cudnnHandle_t handle_;
  fe::graph::Graph graph_;
  Memory workspace_;
  bool supported_ = false;
};

/// Selects the tensors that the graph knows. cuDNN accepts no others.
Tensors only(const Tensors& all, std::initializer_list<Name> names) {
  Tensors some;
  for (const Name name : names) some[name] = all.at(name);
  return some;
}

}  // namespace

struct FusedAttention::Library {
  Library() { check(cudnnCreate(&handle), "cudnnCreate"); }
  ~Library() { cudnnDestroy(handle); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  cudnnHandle_t handle = nullptr;
};

FusedAttention::FusedAttention() : library_(std::make_unique<Library>()) {}
FusedAttention::~FusedAttention() = default;

std::string FusedAttention::missing() { return ""; }

std::optional<measured::AttentionSample> FusedAttention::time(Workbench& bench,
                                                              measured::AttentionSample sample) const {
  const Shapes shapes(sample.shape);
  const auto copies = bench.copies(shapes.input_bytes(), shapes.output_bytes());
  if (!copies) return std::nullopt;
  check(cudnnSetStream(library_->handle, bench.stream()), "cudnnSetStream");
  Attention forward(library_->handle, sample.shape, false);
  if (!forward.supported()) return std::nullopt;
  std::byte* const in = bench.inputs(Precision::kBf16).data();
  std::byte* const out = bench.outputs().data();
  const Launch run_forward = [&](int copy) {
    forward.run(only(shapes.place(in, out, copy), {kQ, kK, kV, kO, kStatistics}));
  };
  if (!sample.shape.backward) {
    sample.time = time_launches(bench.stream(), *copies, run_forward);
    return sample;
  }
  Attention backward(library_->handle, sample.shape, true);
  if (!backward.supported()) return std::nullopt;
  for (int copy = 0; copy < *copies; ++copy) run_forward(copy);  // backward reads its output and statistics
  sample.time = time_launches(bench.stream(), *copies, [&](int copy) { backward.run(shapes.place(in, out, copy)); });
  return sample;
}

}  // namespace foretoken::gpu
