// Sorts kernels by words in their names. The first word that a name has decides.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "sim/io/import/trace/gpu_trace.h"

namespace foretoken::io::trace {
namespace {

// In lower case. Communication comes first, as "nccl ... reduce" is no sum; an optimizer comes before the elementwise
// kernels that it is made of.
constexpr std::pair<std::string_view, Work> kWords[] = {
    {"nccl", Work::kCommunication},
    {"rccl", Work::kCommunication},
    {"deep_ep", Work::kCommunication},
    {"deepep", Work::kCommunication},
    {"nvshmem", Work::kCommunication},
    {"userbuffers", Work::kCommunication},
    {"memcpy", Work::kCopy},
    {"memset", Work::kCopy},
    {"multi_tensor", Work::kOptimizer},
    {"adam", Work::kOptimizer},
    {"adagrad", Work::kOptimizer},
    {"fused_lamb", Work::kOptimizer},
    {"fusedlamb", Work::kOptimizer},
    {"flash", Work::kAttention},
    {"fmha", Work::kAttention},
    {"attention", Work::kAttention},
    {"sdpa", Work::kAttention},
    {"softmax_warp", Work::kAttention},
    {"scaled_masked_softmax", Work::kAttention},
    {"scaled_upper_triang", Work::kAttention},
    {"cross_entropy", Work::kLoss},
    {"crossentropy", Work::kLoss},
    {"nll_loss", Work::kLoss},
    {"log_softmax", Work::kLoss},
    {"logsoftmax", Work::kLoss},
    {"softmax", Work::kAttention},
    {"layer_norm", Work::kNorm},
    {"layernorm", Work::kNorm},
    {"rmsnorm", Work::kNorm},
    {"rms_norm", Work::kNorm},
    {"ln_fwd", Work::kNorm},
    {"ln_bwd", Work::kNorm},
    {"batch_norm", Work::kNorm},
    {"bn_bw", Work::kNorm},
    {"bn_fw", Work::kNorm},
    {"norm_kernel", Work::kNorm},
    {"winograd", Work::kConvolution},
    {"scudnn", Work::kConvolution},
    {"implicit_gemm", Work::kConvolution},
    {"convolve", Work::kConvolution},
    {"dgrad_engine", Work::kConvolution},
    {"wgrad_alg", Work::kConvolution},
    {"conv2d", Work::kConvolution},
    {"cudnn::cnn", Work::kConvolution},
    {"gemm", Work::kProduct},
    {"nvjet", Work::kProduct},
    {"cutlass", Work::kProduct},
    {"gemv", Work::kProduct},
    {"splitkreduce", Work::kProduct},
    {"cijk_", Work::kProduct},
    {"xmma", Work::kProduct},
    {"rotary", Work::kElementwise},
    {"embedding", Work::kEmbedding},
    {"indexselect", Work::kEmbedding},
    {"index_select", Work::kEmbedding},
    {"permute", Work::kRouting},
    {"topk", Work::kRouting},
    {"top_k", Work::kRouting},
    {"moe", Work::kRouting},
    {"radixsort", Work::kRouting},
    {"elementwise", Work::kElementwise},
    {"catarray", Work::kElementwise},
    {"triton_poi", Work::kElementwise},
    {"triton_red", Work::kElementwise},
    {"triton_per", Work::kElementwise},
    {"reduce_kernel", Work::kElementwise},
    {"gelu", Work::kElementwise},
    {"silu", Work::kElementwise},
    {"swiglu", Work::kElementwise},
    {"dropout", Work::kElementwise},
    {"bias", Work::kElementwise},
    {"rope", Work::kElementwise},
    {"rotary", Work::kElementwise},
    {"cast", Work::kElementwise},
    {"transpose", Work::kElementwise},
    {"quantize", Work::kElementwise},
    {"fill", Work::kElementwise},
};

}  // namespace

std::string_view name_of(Work work) {
  constexpr std::array<std::string_view, kWorks> kNames{
      "matrix products", "attention", "norms",         "elementwise", "embedding",    "loss",
      "routing",         "optimizer", "communication", "copies",      "convolutions", "other kernels"};
  return kNames[static_cast<std::size_t>(work)];
}

Work work_of(std::string_view kernel) {
  std::string lower(kernel.substr(0, 400));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  for (const auto& [word, work] : kWords)
    if (lower.find(word) != std::string::npos) return work;
  return Work::kOther;
}

}  // namespace foretoken::io::trace
