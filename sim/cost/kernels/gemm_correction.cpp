// Interpolates GEMM corrections linearly in the logarithms of the dimensions, and on lines over waves. Clamps at the
// edges and fades beyond them.
#include "sim/cost/kernels/gemm_correction.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "sim/base/check.h"

namespace foretoken::cost {
namespace {

constexpr double kFadeOctaves = 2;  // a knot at the edge counts this far outside; one cell of usual grids

struct AxisPlace {
  int cell;
  double beyond_cell;  ///< 0 at the cell's lower knot, 1 at the upper
  double outside;      ///< octaves beyond the first or last knot
};

AxisPlace place_on_axis(const GemmCorrection::Axis& axis, std::int64_t size) {
  const double octave = std::log2(static_cast<double>(size));
  const double inside = std::clamp(octave, axis.first, axis.last);
  if (axis.places.empty()) {
    const double at = (inside - axis.first) / (axis.last - axis.first) * (axis.knots - 1);
    const int cell = std::min(static_cast<int>(at), axis.knots - 2);
    return {cell, at - cell, std::abs(octave - inside)};
  }
  std::size_t cell = 0;
  while (cell + 2 < axis.places.size() && inside >= axis.places[cell + 1]) ++cell;
  const double low = axis.places[cell], high = axis.places[cell + 1];
  return {static_cast<int>(cell), (inside - low) / (high - low), std::abs(octave - inside)};
}

}  // namespace

/// Counts a batched product as outside by the octaves of its batch, because the grids come from single products.
GridPlace place_on_grid(const GemmCorrection& grid, const GemmShape& shape) {
  const AxisPlace m = place_on_axis(grid.m, shape.m), n = place_on_axis(grid.n, shape.n),
                  k = place_on_axis(grid.k, shape.k);
  GridPlace place;
  for (unsigned corner = 0; corner < 8; ++corner) {
    const bool up_m = corner & 1U, up_n = corner & 2U, up_k = corner & 4U;
    place.knot[corner] = ((m.cell + up_m) * grid.n.knots + n.cell + up_n) * grid.k.knots + k.cell + up_k;
    place.weight[corner] = (up_m ? m.beyond_cell : 1 - m.beyond_cell) * (up_n ? n.beyond_cell : 1 - n.beyond_cell) *
                           (up_k ? k.beyond_cell : 1 - k.beyond_cell);
  }
  const double batch = shape.batch > 1 ? std::log2(static_cast<double>(shape.batch)) : 0;
  place.trust = std::max(0.0, 1 - (m.outside + n.outside + k.outside + batch) / kFadeOctaves);
  return place;
}

std::array<WavePlace, kWaveTiles.size()> places_on_lines(const GemmShape& shape, int processors) {
  constexpr double kFirst = 0.5, kLast = 16;
  constexpr int kKnotsPerOctave = 4, kFirstOctave = -1;
  std::array<WavePlace, kWaveTiles.size()> places;
  for (std::size_t i = 0; i < kWaveTiles.size(); ++i) {
    const double tiles = static_cast<double>(tiles_of(shape, kWaveTiles[i].rows, kWaveTiles[i].columns));
    const double waves = std::clamp(tiles / processors, kFirst, kLast);
    const auto bits = std::bit_cast<std::uint64_t>(waves);  // std::log2 would cost more than the rest of a line
    const int octave = static_cast<int>(bits >> 52) - 1023;
    const double in_octave = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFU) | 0x3FF0000000000000U) - 1;
    const double at = kKnotsPerOctave * (octave - kFirstOctave + in_octave);
    const int knot = std::min(static_cast<int>(at), kWaveKnots - 2);
    places[i] = {knot, at - knot};
  }
  return places;
}

double correction_factor(const GemmCorrection& grid, const GemmShape& shape, int processors) {
  if (grid.log_ratio.empty()) return 1;
  const GridPlace place = place_on_grid(grid, shape);
  if (place.trust == 0) return 1;
  double log_ratio = 0;
  for (std::size_t corner = 0; corner < 8; ++corner)
    log_ratio += place.weight[corner] * grid.log_ratio[static_cast<std::size_t>(place.knot[corner])];
  if (!grid.wave_log_ratio.empty()) {
    const double* line = grid.wave_log_ratio.data();
    for (const auto& [knot, beyond] : places_on_lines(shape, processors)) {
      log_ratio += (1 - beyond) * line[knot] + beyond * line[knot + 1];
      line += kWaveKnots;
    }
  }
  return std::exp(place.trust * log_ratio);
}

}  // namespace foretoken::cost
