// Sums over all pairs of validated rows, computed once. Calibration leaves publications out many times and reuses them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/trust/bias.h"
#include "sim/trust/calibrate.h"

namespace foretoken::trust {

/// The weights of steps that calibration tries.
[[nodiscard]] const std::vector<Weights>& weights_to_try();

/// Predicts each row from the other rows. Copies of a row are never used for it.
class LeftOut {
 public:
  explicit LeftOut(const std::vector<Validated>& rows);

  [[nodiscard]] std::size_t rows() const { return publication_.size(); }
  [[nodiscard]] std::size_t publications() const { return size_.size(); }
  [[nodiscard]] std::size_t publication_of(std::size_t row) const { return publication_[row]; }
  [[nodiscard]] std::size_t size_of(std::size_t publication) const { return size_[publication]; }
  /// Returns a row's weight. A publication counts as at most twenty rows.
  [[nodiscard]] double weight_of(std::size_t row) const;
  [[nodiscard]] double log_ratio_of(std::size_t row) const { return log_ratio_[row]; }

  /// Returns the bias of a row from all publications except these two.
  [[nodiscard]] double bias_of(std::size_t row, std::optional<double> doubt, std::size_t without,
                               std::size_t without_too) const;
  /// Returns the distance to the nearest row that is of neither of these publications, under one of weights_to_try().
  [[nodiscard]] double distance_of(std::size_t row, std::size_t weights, std::size_t without,
                                   std::size_t without_too) const;

 private:
  void see(std::size_t row, std::size_t other, const std::vector<Validated>& rows);

  std::vector<std::size_t> publication_, size_;            // of rows; of publications
  std::vector<double> log_ratio_;                          // of rows
  std::vector<std::vector<Testimony>> testimony_;          // by row and publication
  std::vector<std::vector<std::vector<double>>> nearest_;  // by weights, row and publication
};

}  // namespace foretoken::trust
