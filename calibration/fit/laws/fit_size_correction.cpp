// Fits a line of knots over the size by reweighted ridge regression, and makes the corrected time monotone.
// fit_correction.cpp does the same in three dimensions.
#include "calibration/fit/laws/fit_size_correction.h"

#include <algorithm>
#include <cmath>

#include "calibration/fit/numerics/monotone.h"
#include "calibration/fit/numerics/solve.h"

namespace foretoken::fit {
namespace {

// NCCL's tuning table changes by octaves, and measured tables have one or two rows in each.
constexpr double kSizeOctavesPerCell = 1;
constexpr double kLeastSpan = 4, kLeastSpanFollowed = 1;

/// Weights of the line's smoothness, against the pulls of the samples.
struct Stiffness {
  double bending, shrinking;
};
constexpr Stiffness kTrend{2, 0.5};          // samples pull with 1 / |residual|
constexpr Stiffness kFollowed{0.01, 1e-3};   // samples pull with 1: only octaves without a row feel it
constexpr double kLeastSizeResidual = 0.02;  // repeated nccl-tests differ by about as much
constexpr int kSizeReweightings = 8;

/// A place between two knots of a line: the knot `cell`, and the part `beyond` of the way to the next knot.
struct Between {
  std::size_t cell;
  double beyond;
};

Between between_knots(const cost::SizeCorrection& line, double bytes) {
  const double part = (std::log2(bytes) - line.first_log2) / (line.last_log2 - line.first_log2);
  const double at = std::clamp(part, 0.0, 1.0) * static_cast<double>(line.log_ratio.size() - 1);
  const auto cell = std::min(static_cast<std::size_t>(at), line.log_ratio.size() - 2);
  return {cell, at - static_cast<double>(cell)};
}

template <class Strength>
std::vector<double> solve_once(const cost::SizeCorrection& line, const std::vector<SizePull>& pulls,
                               const Stiffness& stiff, Strength strength_of) {
  const std::size_t knots = line.log_ratio.size();
  Matrix normal(knots);
  std::vector<double> right(knots, 0.0);
  for (std::size_t i = 0; i < knots; ++i) normal.at(i, i) += stiff.shrinking;
  for (std::size_t i = 1; i + 1 < knots; ++i) {
    constexpr double kBend[] = {1, -2, 1};
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = 0; b < 3; ++b) normal.at(i + a - 1, i + b - 1) += stiff.bending * kBend[a] * kBend[b];
  }
  for (const SizePull& pull : pulls) {
    const Between place = between_knots(line, pull.bytes);
    const double weights[] = {1 - place.beyond, place.beyond};
    const double value = weights[0] * line.log_ratio[place.cell] + weights[1] * line.log_ratio[place.cell + 1];
    const double strength = strength_of(pull.log_ratio - value);
    for (std::size_t a = 0; a < 2; ++a) {
      right[place.cell + a] += strength * weights[a] * pull.log_ratio;
      for (std::size_t b = 0; b < 2; ++b)
        normal.at(place.cell + a, place.cell + b) += strength * weights[a] * weights[b];
    }
  }
  return solve(std::move(normal), std::move(right));
}

/// Returns the least rise of the line in each cell. The law is a constant and a growing part, so within a cell its
/// logarithm grows most slowly at the lower knot.
std::vector<double> least_rises(const cost::SizeCorrection& line, const std::function<double(double)>& law_seconds) {
  const double cell = (line.last_log2 - line.first_log2) / static_cast<double>(line.log_ratio.size() - 1);
  std::vector<double> rises;
  for (std::size_t i = 0; i + 1 < line.log_ratio.size(); ++i) {
    const double low = line.first_log2 + cell * static_cast<double>(i);
    constexpr double kStep = 0.125;
    rises.push_back(-std::log(law_seconds(std::exp2(low + kStep * cell)) / law_seconds(std::exp2(low))) / kStep);
  }
  return rises;
}

/// Returns knots at whole octaves around the sizes, all at 0. There are no knots when the sizes span less than
/// `least_span`.
cost::SizeCorrection level_line(const std::vector<SizePull>& pulls, double least_span) {
  if (pulls.empty()) return {};
  const auto [least, most] = std::minmax_element(
      pulls.begin(), pulls.end(), [](const SizePull& a, const SizePull& b) { return a.bytes < b.bytes; });
  cost::SizeCorrection line{.first_log2 = std::floor(std::log2(least->bytes)),
                            .last_log2 = std::ceil(std::log2(most->bytes))};
  const double span = line.last_log2 - line.first_log2;
  if (span < least_span) return {};
  line.log_ratio.assign(static_cast<std::size_t>(span / kSizeOctavesPerCell) + 1, 0.0);
  return line;
}

void round_ratios(cost::SizeCorrection& line) {
  for (double& value : line.log_ratio) value = std::round(1e4 * value) / 1e4;
}

}  // namespace

cost::SizeCorrection fit_size_trend(const std::vector<SizePull>& pulls,
                                    const std::function<double(double)>& law_seconds) {
  cost::SizeCorrection line = level_line(pulls, kLeastSpan);
  if (line.log_ratio.empty()) return {};
  const auto robust = [](double residual) { return 1 / std::max(std::abs(residual), kLeastSizeResidual); };
  for (int round = 0; round < kSizeReweightings; ++round) line.log_ratio = solve_once(line, pulls, kTrend, robust);
  const std::vector<double> rises = least_rises(line, law_seconds);  // rises of the line before it is moved
  line.log_ratio = with_rises(std::move(line.log_ratio), rises);
  round_ratios(line);
  return line;
}

cost::SizeCorrection follow_sizes(const std::vector<SizePull>& pulls) {
  cost::SizeCorrection line = level_line(pulls, kLeastSpanFollowed);
  if (line.log_ratio.empty()) return {};
  line.log_ratio = solve_once(line, pulls, kFollowed, [](double) { return 1.0; });
  round_ratios(line);
  return line;
}

}  // namespace foretoken::fit
