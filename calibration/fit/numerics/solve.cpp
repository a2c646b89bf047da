// Solves by Cholesky's decomposition, then forward and backward substitution.
#include "calibration/fit/numerics/solve.h"

#include <cmath>

#include "sim/base/check.h"

namespace foretoken::fit {

std::vector<double> solve(Matrix matrix, std::vector<double> right) {
  const std::size_t n = matrix.size;
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = j; i < n; ++i) {
      double sum = matrix.at(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= matrix.at(i, k) * matrix.at(j, k);
      expects(i != j || sum > 0, "the system is positive definite");
      matrix.at(i, j) = i == j ? std::sqrt(sum) : sum / matrix.at(j, j);
    }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) right[i] -= matrix.at(i, k) * right[k];
    right[i] /= matrix.at(i, i);
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) right[i] -= matrix.at(k, i) * right[k];
    right[i] /= matrix.at(i, i);
  }
  return right;
}

}  // namespace foretoken::fit
