// Solves symmetric positive definite systems of a few hundred unknowns.
#pragma once

#include <cstddef>
#include <vector>

namespace foretoken::fit {

/// A square matrix by rows. Only the lower triangle is read.
struct Matrix {
  explicit Matrix(std::size_t n) : size(n), values(n * n, 0.0) {}
  double& at(std::size_t row, std::size_t column) { return values[row * size + column]; }
  std::size_t size;
  std::vector<double> values;
};

/// Returns x with matrix x = right, by Cholesky's factors. Precondition: `matrix` is positive definite.
[[nodiscard]] std::vector<double> solve(Matrix matrix, std::vector<double> right);

}  // namespace foretoken::fit
