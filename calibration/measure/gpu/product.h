// One matrix product of cuBLASLt, with the algorithm that its heuristic prefers.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <optional>

#include "calibration/import/samples.h"
#include "calibration/measure/gpu/workbench.h"

namespace foretoken::gpu {

/// Owns the library's state.
class CublasLt {
 public:
  CublasLt();
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;
  [[nodiscard]] cublasLtHandle_t get() const { return handle_; }

 private:
  cublasLtHandle_t handle_ = nullptr;
};

/// The product Y[m x n] = X[m x k] W[k x n]. All matrices are stored by rows, as in training:
///   forward          W is stored [n x k]
///   input gradient   X is the output's gradient, W is stored [k x n]
///   weight gradient  X is stored [k x m], W [k x n]
/// cuBLAS counts columns, so it computes Y^T from W and X: TN, NN and NT. fp8 multiplies only operands stored as in the
/// forward pass.
class Product {
 public:
  /// Returns nothing when cuBLASLt has no algorithm for this product on this GPU.
  [[nodiscard]] static std::optional<Product> make(const CublasLt& library, const measured::GemmSample& sample,
                                                   std::size_t scratch_bytes);

  /// Bytes of X, W and Y with all their batches.
  [[nodiscard]] std::size_t x_bytes() const { return x_bytes_; }
  [[nodiscard]] std::size_t w_bytes() const { return w_bytes_; }
  [[nodiscard]] std::size_t y_bytes() const { return y_bytes_; }

  void run(const CublasLt& library, const void* x, const void* w, void* y, const Memory& scratch,
           cudaStream_t stream) const;

 private:
  struct Deleter {
    void operator()(cublasLtMatmulDescOpaque_t* p) const { cublasLtMatmulDescDestroy(p); }
    void operator()(cublasLtMatrixLayoutOpaque_t* p) const { cublasLtMatrixLayoutDestroy(p); }
  };
  using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Deleter>;

  Product() = default;
  [[nodiscard]] std::optional<cublasLtMatmulAlgo_t> preferred(const CublasLt& library, std::size_t scratch_bytes) const;
  [[nodiscard]] static Layout layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t batch);

  std::unique_ptr<cublasLtMatmulDescOpaque_t, Deleter> description_;
  Layout w_, x_, y_;
  cublasLtMatmulAlgo_t algorithm_{};
  float beta_ = 0;
  std::size_t x_bytes_ = 0, w_bytes_ = 0, y_bytes_ = 0;
};

}  // namespace foretoken::gpu
