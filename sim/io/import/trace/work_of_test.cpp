// Tests that names of kernels, as libraries give them, are sorted into the right kinds.
#include <gtest/gtest.h>

#include <string_view>

#include "sim/io/import/trace/gpu_trace.h"

namespace foretoken::io::trace {
namespace {

struct KernelName {
  std::string_view name;
  Work work;
};
constexpr KernelName kKernelNames[] = {
    {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Work::kCommunication},
    {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", Work::kCommunication},
    {"nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT", Work::kProduct},
    {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1", Work::kProduct},
    {"ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn", Work::kProduct},
    {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align1>", Work::kProduct},
    {"void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>(Flash_fwd_params)", Work::kAttention},
    {"fmha_cutlassF_bf16_aligned_64x128_rf_sm80", Work::kAttention},
    {"void transformer_engine::scaled_upper_triang_masked_softmax_warp_forward<bf16>", Work::kAttention},
    {"void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<traits>", Work::kNorm},
    {"void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>", Work::kNorm},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(lambda(int)#1)",
     Work::kElementwise},
    {"triton_poi_fused_mul_silu_3", Work::kElementwise},
    {"void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>", Work::kOptimizer},
    {"Memcpy HtoD (Pageable -> Device)", Work::kCopy},
    {"void at::native::(anonymous namespace)::indexSelectLargeIndex<bf16>", Work::kEmbedding},
    {"_cross_entropy_forward_kernel", Work::kLoss},
    {"void moe_permute_topK_kernel<bf16>", Work::kRouting},
    {"cudnn_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", Work::kConvolution},
    {"spin_kernel(long)", Work::kOther},
};

TEST(WorkOf, KernelsAreSortedByTheirNames) {
  for (const KernelName& one : kKernelNames) EXPECT_EQ(name_of(work_of(one.name)), name_of(one.work)) << one.name;
}

}  // namespace
}  // namespace foretoken::io::trace
