// Fits by ridge regression on a trilinear grid, reweighted towards the mean absolute error, and makes the result
// monotone in k.
//
// The unknowns are the values at the knots. Each sample pulls at its eight knots with the weights that predictions use.
// Bending along any axis is punished, so a knot without samples continues its neighbours. Each sample's pull is divided
// by its last residual, which turns squares into absolute values. A sample that the smooth grid cannot meet then stops
// counting.
#include "calibration/fit/laws/fit_correction.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "calibration/fit/numerics/monotone.h"
#include "calibration/fit/numerics/solve.h"
#include "sim/cost/costs.h"
#include "sim/cost/kernels/gemm_correction.h"

namespace foretoken::fit {
namespace {

using Grid = cost::GemmCorrection;

// Chosen by the held-out errors of the A100, H100 and B200 tables; these errors are therefore a little too low (7 x 7 x
// 7 and 9 x 7 x 7 knots gain 0.2 % at most). Used for all other GPUs, too. The held-out products lie among the fitted
// ones, so these errors are of shapes between measured ones. docs/modeller/costs.md has errors with whole sizes left
// out.
constexpr int kMostKnots[3] = {7, 6, 6};
constexpr double kOctavesPerCell = 2;
constexpr double kSmoothing = 20;        // weight of the second difference at a knot; samples weigh 1 / |residual|
constexpr double kShrinking = 0.2;       // weight of a knot's value: without samples nearby there is no correction
constexpr double kLeastResidual = 0.01;  // below the scatter of repeated measurements: residuals count as squares
constexpr int kReweightings = 8;
constexpr int kStepsPerCell = 8;  // points at which the law's growth with k is evaluated

struct Pull {
  cost::GridPlace place;
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

/// Punishes bending along `stride` (an axis with `knots` knots) and values far from zero.
void add_smoothing(Matrix& normal, std::size_t stride, int knots) {
  for (std::size_t at = 0; at < normal.size; ++at) {
    const std::size_t along = at / stride % static_cast<std::size_t>(knots);
    if (along == 0 || along + 1 == static_cast<std::size_t>(knots)) continue;
    const std::size_t three[] = {at - stride, at, at + stride};
    constexpr double kBend[] = {1, -2, 1};
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) normal.at(three[i], three[j]) += kSmoothing * kBend[i] * kBend[j];
  }
}

Matrix smoothing(const Grid& grid) {
  Matrix normal(knots_of(grid));
  add_smoothing(normal, 1, grid.k.knots);
  add_smoothing(normal, index(grid.k.knots), grid.n.knots);
  add_smoothing(normal, index(grid.k.knots * grid.n.knots), grid.m.knots);
  for (std::size_t at = 0; at < normal.size; ++at) normal.at(at, at) += kShrinking;
  return normal;
}

double value_at(const Grid& grid, const cost::GridPlace& place) {
  double sum = 0;
  for (std::size_t corner = 0; corner < 8; ++corner)
    sum += place.weight[corner] * grid.log_ratio[index(place.knot[corner])];
  return sum;
}

std::vector<double> solve_once(const Grid& grid, const std::vector<Pull>& pulls, Matrix normal) {
  std::vector<double> right(normal.size, 0.0);
  for (const Pull& pull : pulls) {
    const double residual = pull.log_ratio - value_at(grid, pull.place);
    const double strength = 1 / std::max(std::abs(residual), kLeastResidual);
    for (std::size_t i = 0; i < 8; ++i) {
      const double weight = strength * pull.place.weight[i];
      right[index(pull.place.knot[i])] += weight * pull.log_ratio;
      for (std::size_t j = 0; j < 8; ++j)
        normal.at(index(pull.place.knot[i]), index(pull.place.knot[j])) += weight * pull.place.weight[j];
    }
  }
  return solve(std::move(normal), std::move(right));
}

std::int64_t size_at(const Grid::Axis& axis, double knot) {
  return std::llround(std::exp2(axis.first + (axis.last - axis.first) * knot / (axis.knots - 1)));
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

cost::GemmCorrection fit_correction(const std::vector<measured::GemmSample>& all, GemmPass pass, cost::GemmLaw law) {
  std::vector<measured::GemmSample> samples;
  std::copy_if(all.begin(), all.end(), std::back_inserter(samples), [&](const measured::GemmSample& sample) {
    return sample.shape.pass == pass && sample.shape.batch == 1;
  });
  Grid grid;
  if (!lay_grid(grid, samples)) return {};
  law.corrections = {};
  const Precision precision = samples.front().shape.precision;
  const cost::Profile profile{.gemm = {{precision, law}}};
  std::vector<Pull> pulls;
  for (const measured::GemmSample& sample : samples) {
    pulls.push_back({cost::place_on_grid(grid, sample.shape),
                     std::log(sample.time.median.value() / law_seconds(sample.shape, profile))});
  }
  const Matrix stiff = smoothing(grid);
  grid.log_ratio.assign(knots_of(grid), 0.0);
  for (int round = 0; round < kReweightings; ++round) grid.log_ratio = solve_once(grid, pulls, stiff);
  make_monotone(grid, profile, {.pass = pass, .precision = precision});
  for (double& value : grid.log_ratio) value = std::round(1e4 * value) / 1e4;
  return grid;
}

}  // namespace foretoken::fit
