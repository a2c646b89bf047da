// Fits by ridge regression on a trilinear grid and on lines over waves, reweighted towards the mean absolute error, and
// makes the result monotone in k.
//
// The unknowns are the values at the knots, first of the grid, then of the lines. Each sample pulls at its eight knots
// of the grid, and at two of each line, with the weights that predictions use. Bending along any axis is punished, so a
// knot without samples continues its neighbours. Each sample's weight is divided by its last residual, so the fit
// minimises absolute values instead of squares. A sample that the smooth grid cannot meet then hardly counts.
#include "calibration/fit/laws/fit_correction.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "calibration/fit/numerics/monotone.h"
#include "calibration/fit/numerics/solve.h"
#include "sim/cost/costs.h"
#include "sim/cost/kernels/gemm_correction.h"

namespace foretoken::fit {
namespace {

using Grid = cost::GemmCorrection;

// The numbers of knots were chosen by the held-out errors on the A100, H100 and B200 tables, and serve all GPUs. More
// knots, 7 x 7 x 7 or 9 x 7 x 7, gain 0.2 % at most. This choice makes the held-out errors a little too low. Held-out
// products also lie between fitted ones; docs/modeller/costs.md has errors with whole sizes left out.
constexpr int kMostKnots[3] = {7, 6, 6};
constexpr double kOctavesPerCell = 2;
// Knots for full tables, of 20,000 products and more. These tables have tokens of 1024 to 4352 in steps of 256, where
// the library's choice of tile matters most. On held-out products, 16 x 12 x 12 evenly spaced knots gain 0.1 %, and 10
// x 8 x 8 lose 0.2 %.
constexpr double kFineTokens[] = {3, 5, 7, 8.5, 10, 10.7, 11.4, 12, 13};
constexpr double kFineWidths[] = {7, 9, 10, 11, 12, 13.5};
constexpr double kLeastCell = 0.5;  // octaves
constexpr double kFineSmoothing = 5;
constexpr double kSmoothing = 20;        // weight of the second difference at a knot; samples weigh 1 / |residual|
constexpr double kShrinking = 0.2;       // weight of a knot's value: without samples nearby there is no correction
constexpr double kLeastResidual = 0.01;  // below the scatter of repeated measurements: residuals count as squares
constexpr int kReweightings = 8;
constexpr int kStepsPerCell = 8;  // points at which the law's growth with k is evaluated

/// A sample's log(measured / law), and its weight at each knot that it pulls at.
struct Pull {
  std::vector<std::pair<std::size_t, double>> knots{};
  double log_ratio;
};

std::size_t knots_of(const Grid& grid) { return static_cast<std::size_t>(grid.m.knots * grid.n.knots * grid.k.knots); }

std::size_t index(int knot) { return static_cast<std::size_t>(knot); }

/// Lays whole quarters of octaves around the sizes. Returns false when they span less than an octave.
bool lay_axis(Grid::Axis& axis, int most_knots, std::vector<double> octaves) {
  const auto [low, high] = std::minmax_element(octaves.begin(), octaves.end());
  axis.first = std::floor(*low * 4) / 4;
  axis.last = std::ceil(*high * 4) / 4;
  axis.knots = std::clamp(static_cast<int>((axis.last - axis.first) / kOctavesPerCell) + 1, 2, most_knots);
  return axis.last - axis.first >= 1;
}

/// Puts knots at the listed places inside the axis, and at its ends.
void place_knots(Grid::Axis& axis, std::span<const double> places) {
  axis.places = {axis.first};
  for (const double place : places)
    if (place > axis.first + kLeastCell && place < axis.last - kLeastCell) axis.places.push_back(place);
  axis.places.push_back(axis.last);
  axis.knots = static_cast<int>(axis.places.size());
}

bool lay_grid(Grid& grid, const std::vector<measured::GemmSample>& samples) {
  if (samples.empty()) return false;
  const auto octaves = [&](std::int64_t GemmShape::*size) {
    std::vector<double> all;
    for (const measured::GemmSample& sample : samples)
      all.push_back(std::log2(static_cast<double>(sample.shape.*size)));
    return all;
  };
  return lay_axis(grid.m, kMostKnots[0], octaves(&GemmShape::m)) &&
         lay_axis(grid.n, kMostKnots[1], octaves(&GemmShape::n)) &&
         lay_axis(grid.k, kMostKnots[2], octaves(&GemmShape::k));
}

double law_seconds(const GemmShape& shape, const cost::Profile& profile) {
  return cost::gemm_time(shape, profile).value();
}

/// Punishes bending along `stride` of the grid, whose knots are the first `all` unknowns.
void add_smoothing(Matrix& normal, std::size_t all, std::size_t stride, const Grid::Axis& axis) {
  const auto knots = static_cast<std::size_t>(axis.knots);
  const double strength = axis.places.empty() ? kSmoothing : kFineSmoothing;
  for (std::size_t at = 0; at < all; ++at) {
    const std::size_t along = at / stride % knots;
    if (along == 0 || along + 1 == knots) continue;
    const std::size_t three[] = {at - stride, at, at + stride};
    double below = 1, above = 1;  // lengths of the two cells
    if (!axis.places.empty()) {
      below = axis.places[along] - axis.places[along - 1];
      above = axis.places[along + 1] - axis.places[along];
    }
    const double bend[] = {2 * above / (below + above), -2, 2 * below / (below + above)};
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) normal.at(three[i], three[j]) += strength * bend[i] * bend[j];
  }
}

/// Punishes bending of each line, whose knots begin at `first`.
void add_smoothing_of_lines(Matrix& normal, std::size_t first) {
  constexpr double kBend[] = {1, -2, 1};
  for (std::size_t tile = 0; tile < cost::kWaveTiles.size(); ++tile)
    for (int knot = 1; knot + 1 < cost::kWaveKnots; ++knot) {
      const std::size_t before = first + tile * cost::kWaveKnots + index(knot) - 1;
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j) normal.at(before + i, before + j) += kFineSmoothing * kBend[i] * kBend[j];
    }
}

Matrix smoothing(const Grid& grid) {
  const std::size_t knots = knots_of(grid);
  Matrix normal(knots + grid.wave_log_ratio.size());
  add_smoothing(normal, knots, 1, grid.k);
  add_smoothing(normal, knots, index(grid.k.knots), grid.n);
  add_smoothing(normal, knots, index(grid.k.knots * grid.n.knots), grid.m);
  if (!grid.wave_log_ratio.empty()) add_smoothing_of_lines(normal, knots);
  for (std::size_t at = 0; at < normal.size; ++at) normal.at(at, at) += kShrinking;
  return normal;
}

Pull pull_of(const GemmShape& shape, double log_ratio, const Grid& grid, int multiprocessors) {
  Pull pull{.log_ratio = log_ratio};
  const cost::GridPlace place = cost::place_on_grid(grid, shape);
  for (std::size_t corner = 0; corner < 8; ++corner)
    pull.knots.emplace_back(index(place.knot[corner]), place.weight[corner]);
  if (grid.wave_log_ratio.empty()) return pull;
  std::size_t line = knots_of(grid);
  for (const auto& [knot, beyond] : cost::places_on_lines(shape, multiprocessors)) {
    pull.knots.emplace_back(line + index(knot), 1 - beyond);
    pull.knots.emplace_back(line + index(knot) + 1, beyond);
    line += cost::kWaveKnots;
  }
  return pull;
}

double value_at(const std::vector<double>& values, const Pull& pull) {
  double sum = 0;
  for (const auto& [knot, weight] : pull.knots) sum += weight * values[knot];
  return sum;
}

std::vector<double> solve_once(const std::vector<double>& values, const std::vector<Pull>& pulls, Matrix normal) {
  std::vector<double> right(normal.size, 0.0);
  for (const Pull& pull : pulls) {
    const double residual = pull.log_ratio - value_at(values, pull);
    const double strength = 1 / std::max(std::abs(residual), kLeastResidual);
    for (const auto& [knot, weight] : pull.knots) {
      right[knot] += strength * weight * pull.log_ratio;
      for (const auto& [other, its_weight] : pull.knots) normal.at(knot, other) += strength * weight * its_weight;
    }
  }
  return solve(std::move(normal), std::move(right));
}

std::int64_t size_at(const Grid::Axis& axis, double knot) {
  if (axis.places.empty())
    return std::llround(std::exp2(axis.first + (axis.last - axis.first) * knot / (axis.knots - 1)));
  const std::size_t cell = std::min(static_cast<std::size_t>(knot), axis.places.size() - 2);
  const double part = knot - static_cast<double>(cell);
  return std::llround(std::exp2((1 - part) * axis.places[cell] + part * axis.places[cell + 1]));
}

/// Makes the correction fall along k by no more than the law itself grows, at its slowest within each cell.
void make_monotone(Grid& grid, const cost::Profile& law, GemmShape shape) {
  for (int m = 0; m < grid.m.knots; ++m)
    for (int n = 0; n < grid.n.knots; ++n) {
      shape.m = size_at(grid.m, m);
      shape.n = size_at(grid.n, n);
      const auto log_law = [&](double knot) {
        shape.k = size_at(grid.k, knot);
        return std::log(law_seconds(shape, law));
      };
      std::vector<double> least_rise;
      for (int k = 0; k + 1 < grid.k.knots; ++k) {
        double slowest = 1e9, before = log_law(k);
        for (int step = 1; step <= kStepsPerCell; ++step) {
          const double here = log_law(k + 1.0 * step / kStepsPerCell);
          slowest = std::min(slowest, kStepsPerCell * (here - before));
          before = here;
        }
        least_rise.push_back(-slowest);
      }
      const auto line = grid.log_ratio.begin() + (m * grid.n.knots + n) * grid.k.knots;
      const std::vector<double> risen = with_rises({line, line + grid.k.knots}, least_rise);
      std::copy(risen.begin(), risen.end(), line);
    }
}

}  // namespace

cost::GemmCorrection fit_correction(const std::vector<measured::GemmSample>& all, GemmPass pass, cost::GemmLaw law,
                                    CorrectionParts parts) {
  std::vector<measured::GemmSample> samples;
  std::copy_if(all.begin(), all.end(), std::back_inserter(samples), [&](const measured::GemmSample& sample) {
    return sample.shape.pass == pass && sample.shape.batch == 1;
  });
  Grid grid;
  if (!lay_grid(grid, samples)) return {};
  if (parts.fine) {
    place_knots(grid.m, kFineTokens);
    place_knots(grid.n, kFineWidths);
    place_knots(grid.k, kFineWidths);
  }
  law.corrections = {};
  const auto* tiles = std::get_if<cost::TileWaveLaw>(&law.law);
  if (parts.lines && tiles != nullptr) grid.wave_log_ratio.assign(cost::kWaveTiles.size() * cost::kWaveKnots, 0.0);
  const Precision precision = samples.front().shape.precision;
  const cost::Profile profile{.gemm = {{precision, law}}};
  std::vector<Pull> pulls;
  for (const measured::GemmSample& sample : samples)
    pulls.push_back(pull_of(sample.shape, std::log(sample.time.median.value() / law_seconds(sample.shape, profile)),
                            grid, tiles != nullptr ? tiles->multiprocessors : 1));
  const Matrix stiff = smoothing(grid);
  std::vector<double> values(stiff.size, 0.0);
  for (int round = 0; round < kReweightings; ++round) values = solve_once(values, pulls, stiff);
  const auto lines = values.begin() + static_cast<std::ptrdiff_t>(knots_of(grid));
  grid.log_ratio.assign(values.begin(), lines);
  grid.wave_log_ratio.assign(lines, values.end());
  make_monotone(grid, profile, {.pass = pass, .precision = precision});
  for (auto* numbers : {&grid.log_ratio, &grid.wave_log_ratio})
    for (double& value : *numbers) value = std::round(1e4 * value) / 1e4;
  return grid;
}

}  // namespace foretoken::fit
