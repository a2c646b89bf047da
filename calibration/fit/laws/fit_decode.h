// Fits one law of decode attention on tables of kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibration/import/samples.h"
#include "sim/cost/kernels/decode_attention.h"

namespace foretoken::fit {

inline constexpr std::size_t kFewestDecodes = 100;  ///< rows of a GPU's law, or of an engine's kind of cache

/// The rows of the tables that a law is fitted on.
struct DecodeChoice {
  cost::CacheKind kind = cost::CacheKind::kWide;
  std::string engine{};  ///< whose kernels; empty: anyone's
};

/// One measured time.
struct DecodeRow {
  cost::DecodeShape shape{};
  double time = 0;          ///< seconds
  std::int64_t shared = 1;  ///< query heads for each key-value head
  bool held_out = false;
  std::size_t origin = 0;  ///< index into Samples::origins
};
using DecodeRows = std::vector<DecodeRow>;

/// The terms that a law has beside the four of every law.
struct DecodeForm {
  bool fills = false;      ///< `fill` and `fill_bytes`
  bool each_head = false;  ///< every query head reads by itself
};

/// The work that goes into one fit.
struct DecodeSearch {
  std::size_t most_rows = 700;                      ///< at equal distances
  std::vector<double> launches{4e-6, 8e-6, 16e-6};  ///< seconds; the search begins at each
  int evaluations = 2000;                           ///< for each start
};

/// Returns the rows from 1,024 cached tokens on without a window. One shape in five is held out.
[[nodiscard]] DecodeRows decode_rows(const measured::Samples& samples, const DecodeChoice& choice);

/// Returns the median and a third of the mean of the error in logarithms, over the rows that are not held out.
[[nodiscard]] double decode_misfit(const DecodeRows& rows, const cost::DecodeLaw& law);

/// Returns the law of these rows. The rows that are held out give its errors. `bandwidth` is the datasheet's.
/// Precondition: one row is not held out.
[[nodiscard]] cost::DecodeLaw fit_decode_rows(const DecodeRows& rows, DecodeForm form, BytesPerSecond bandwidth,
                                              const DecodeSearch& search);

/// Returns one law of all chosen rows with heads of at most 256, or nothing where they are fewer than a hundred.
[[nodiscard]] std::optional<cost::DecodeLaw> fit_decode(const measured::Samples& samples, const DecodeChoice& choice,
                                                        BytesPerSecond bandwidth);

}  // namespace foretoken::fit
