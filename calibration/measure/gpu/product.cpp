// Describes products to cuBLASLt.
#include "calibration/measure/gpu/product.h"

#include "calibration/measure/gpu/cuda_check.h"

namespace foretoken::gpu {
namespace {

cudaDataType_t type_of(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
    case Precision::kTf32:
      return CUDA_R_32F;
    case Precision::kFp16:
      return CUDA_R_16F;
    case Precision::kBf16:
      return CUDA_R_16BF;
    case Precision::kFp8:
      return CUDA_R_8F_E4M3;
    case Precision::kFp8Block:  // these need scales of blocks or integer arithmetic, which `make` does not describe
    case Precision::kNvfp4:
    case Precision::kInt8:
      break;
  }
  throw std::invalid_argument("products of this precision are not measured: " + std::string(name_of(precision)));
}

cublasComputeType_t arithmetic_of(Precision precision) {
  return precision == Precision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/// Returns the type of the result. fp8 products are written in bf16, as in Transformer Engine.
cudaDataType_t result_type(const measured::GemmSample& sample) {
  if (sample.adds_to_fp32) return CUDA_R_32F;
  return sample.shape.precision == Precision::kFp8 ? CUDA_R_16BF : type_of(sample.shape.precision);
}

std::size_t bytes_of(cudaDataType_t type) {
  if (type == CUDA_R_32F) return 4;
  return type == CUDA_R_8F_E4M3 ? 1 : 2;
}

struct Preference {
  Preference() { check(cublasLtMatmulPreferenceCreate(&value), "cublasLtMatmulPreferenceCreate"); }
  ~Preference() { cublasLtMatmulPreferenceDestroy(value); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  cublasLtMatmulPreference_t value = nullptr;
};

}  // namespace

CublasLt::CublasLt() { check(cublasLtCreate(&handle_), "cublasLtCreate"); }
CublasLt::~CublasLt() { cublasLtDestroy(handle_); }

Product::Layout Product::layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t batch) {
  cublasLtMatrixLayout_t made = nullptr;
  check(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
                                   rows),
        "cublasLtMatrixLayoutCreate");
  Layout layout(made);
  if (batch == 1) return layout;
  const auto count = static_cast<std::int32_t>(batch);
  const std::int64_t stride = rows * columns;
  check(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
        "cublasLtMatrixLayoutSetAttribute");
  check(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)),
        "cublasLtMatrixLayoutSetAttribute");
  return layout;
}

std::optional<Product> Product::make(const CublasLt& library, const measured::GemmSample& sample,
                                     std::size_t scratch_bytes) {
  const GemmShape& s = sample.shape;
  const cudaDataType_t in = type_of(s.precision), out = result_type(sample);
  const bool as_forward = s.pass == GemmPass::kForward || s.precision == Precision::kFp8;
  const bool x_by_columns = !as_forward && s.pass == GemmPass::kWeightGradient;
  const cublasOperation_t w_operation = as_forward ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t x_operation = x_by_columns ? CUBLAS_OP_T : CUBLAS_OP_N;
  Product product;
  cublasLtMatmulDesc_t made = nullptr;
  check(cublasLtMatmulDescCreate(&made, arithmetic_of(s.precision), CUDA_R_32F), "cublasLtMatmulDescCreate");
  product.description_.reset(made);
  check(cublasLtMatmulDescSetAttribute(made, CUBLASLT_MATMUL_DESC_TRANSA, &w_operation, sizeof(w_operation)), "TRANSA");
  check(cublasLtMatmulDescSetAttribute(made, CUBLASLT_MATMUL_DESC_TRANSB, &x_operation, sizeof(x_operation)), "TRANSB");
  // Like Transformer Engine: Hopper's fast fp8 accumulation forward, the exact one for gradients.
  const std::int8_t fast = s.precision == Precision::kFp8 && s.pass == GemmPass::kForward ? 1 : 0;
  check(cublasLtMatmulDescSetAttribute(made, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof(fast)), "FAST_ACCUM");
  product.w_ = as_forward ? layout(in, s.k, s.n, s.batch) : layout(in, s.n, s.k, s.batch);
  product.x_ = x_by_columns ? layout(in, s.m, s.k, s.batch) : layout(in, s.k, s.m, s.batch);
  product.y_ = layout(out, s.n, s.m, s.batch);
  product.beta_ = sample.adds_to_fp32 ? 1 : 0;
  const auto elements = [&s](std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b * s.batch); };
  product.x_bytes_ = elements(s.m, s.k) * bytes_of(in);
  product.w_bytes_ = elements(s.n, s.k) * bytes_of(in);
  product.y_bytes_ = elements(s.m, s.n) * bytes_of(out);
  const auto algorithm = product.preferred(library, scratch_bytes);
  if (!algorithm) return std::nullopt;
  product.algorithm_ = *algorithm;
  return product;
}

std::optional<cublasLtMatmulAlgo_t> Product::preferred(const CublasLt& library, std::size_t scratch_bytes) const {
  const Preference preference;
  check(cublasLtMatmulPreferenceSetAttribute(preference.value, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &scratch_bytes,
                                             sizeof(scratch_bytes)),
        "cublasLtMatmulPreferenceSetAttribute");
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      library.get(), description_.get(), w_.get(), x_.get(), y_.get(), y_.get(), preference.value, 1, &result, &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
      (status == CUBLAS_STATUS_SUCCESS && found == 0))
    return std::nullopt;
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  return result.algo;
}

void Product::run(const CublasLt& library, const void* x, const void* w, void* y, const Memory& scratch,
                  cudaStream_t stream) const {
  const float alpha = 1;
  check(cublasLtMatmul(library.get(), description_.get(), &alpha, w, w_.get(), x, x_.get(), &beta_, y, y_.get(), y,
                       y_.get(), &algorithm_, scratch.data(), scratch.bytes(), stream),
        "cublasLtMatmul");
}

}  // namespace foretoken::gpu
