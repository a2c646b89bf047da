// The laws of matrix products in a profile: shape -> seconds, by constants and a small grid of corrections.
#pragma once

#include <array>
#include <optional>
#include <variant>
#include <vector>

#include "sim/base/kernel.h"
#include "sim/base/units.h"
#include "sim/cost/evidence.h"

namespace foretoken::cost {

/// The shapes of tiles that a library chooses from (gemm.cpp lists them).
enum class TileSet : std::uint8_t {
  kDoubling,  ///< sides of 64, 128 and 256
  kFine,      ///< one side of 128, the other up to 256 in steps of 32: as libraries for Hopper and Blackwell
  kGrouped    ///< up to 256 x 256, of two multiprocessors together: grouped kernels
};

/// Tiles and waves: the way in which a library cuts a GEMM over the multiprocessors (formula in gemm.cpp).
struct TileWaveLaw {
  FlopPerSecond peak{};  ///< dense datasheet rate of the precision
  int multiprocessors = 1;
  double efficiency = 1;              ///< e: part of the peak that the inner loop reaches
  double prologue_k = 0;              ///< k0: fill, drain and epilogue of a tile, in steps of k
  double small_tile_loss = 0;         ///< q: efficiency lost per halving of the 256 x 128 tile
  BytesPerSecond memory_bandwidth{};  ///< the rate that a GEMM reaches; its efficiency is included
  Seconds launch{};
  /// Sustained / short-benchmark time of compute-bound kernels. Power limits lower the clock of a GPU that is busy for
  /// seconds. The factor multiplies the compute term only.
  double sustained_factor = 1;
  TileSet tiles = TileSet::kDoubling;
  double wave_softness = 0;  ///< 0: a last wave that is not full lasts as long as the others; 1: as long as its part
};

/// Smooth roofline t = launch + (compute^p + memory^p)^(1/p), for tables where only such a fit was published.
struct RooflineLaw {
  FlopPerSecond compute_rate{};       ///< its efficiency is included
  BytesPerSecond memory_bandwidth{};  ///< its efficiency is included
  double sharpness = 2;               ///< p
  Seconds launch{};
  double sustained_factor = 1;
};

/// Slowdown of the inner loop when the rows of a matrix do not all start at a multiple of 32 bytes. Such rows are
/// loaded in smaller pieces. The largest power of two that divides the length of every row decides.
struct MisalignedRows {
  double rows_16_bytes = 1, rows_4_bytes = 1, rows_2_bytes = 1;  ///< rows_4_bytes: also for 8
  /// cuBLAS before CUDA 11.7 runs batched products with rows of less than 16 bytes' alignment without tensor cores.
  std::optional<FlopPerSecond> batched_before_cuda_11_7{};
  Evidence evidence{};
};

/// The error of the law in one layout, as measured: log(measured / law). It is linear between the knots of a grid over
/// the logarithms of m, n and k, and on lines over waves. Without values this layout was not measured, and the law is
/// used unchanged.
struct GemmCorrection {
  struct Axis {
    double first = 0, last = 1;  ///< log2 of the smallest and the largest size with a knot
    int knots = 2;
    std::vector<double> places{};  ///< log2 of the size at each knot, ascending; empty: evenly between first and last
  };
  Axis m{}, n{}, k{};
  std::vector<double> log_ratio{};  ///< m slowest, k fastest
  /// Adds to the grid: a line over the waves of each tile of kWaveTiles, with kWaveKnots values. Empty: no lines.
  std::vector<double> wave_log_ratio{};
};

/// A tile of the output, whose waves tell how the last wave of the library's own choice is filled.
struct WaveTile {
  std::int64_t rows, columns;
};
/// The tiles with lines (docs/modeller/costs.md, "Laws of full tables").
inline constexpr std::array<WaveTile, 4> kWaveTiles{{{256, 192}, {192, 256}, {256, 128}, {128, 256}}};
/// Knots of a line: 1/2, 5/8, 3/4, 7/8, 1, 5/4 ... to 16 waves, four in each octave.
inline constexpr int kWaveKnots = 21;

/// The products of several experts in one kernel. Each expert's rows fill whole tiles of their own, and the weights of
/// all experts are read. Peak, multiprocessors, launch and sustained factor are those of single products.
struct GroupedLaw {
  double efficiency = 1;       ///< part of the peak that the inner loop of a 256 x 256 tile reaches
  double prologue_k = 0;       ///< as of single products
  double small_tile_loss = 0;  ///< efficiency lost per halving of the 256 x 256 tile
  BytesPerSecond memory_bandwidth{};
  double wave_softness = 0;
  Evidence evidence{};
};

struct GemmLaw {
  std::variant<TileWaveLaw, RooflineLaw> law{};
  std::array<GemmCorrection, 3> corrections{};  ///< by GemmPass: a layout is corrected by its own measurements only
  double weight_gradient_factor = 1;            ///< time of the NT layout, relative to the others
  std::optional<GroupedLaw> grouped{};          ///< none: grouped products take as long as batched ones
  Evidence evidence{};

  [[nodiscard]] const GemmCorrection& correction(GemmPass pass) const {
    return corrections[static_cast<std::size_t>(pass)];
  }
};

}  // namespace foretoken::cost
