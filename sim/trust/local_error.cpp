// Computes the weighted mean and variance of residuals around a place.
#include "sim/trust/local_error.h"

#include <cctype>
#include <cmath>

namespace foretoken::trust {
namespace {

constexpr double kLog2PerJump = 5.643856189774724;  // log2(50)
constexpr double kOctavesToHalf = 8;
constexpr double kOctavesPerJump = 16;
constexpr double kUnknownCase = 0.5;

}  // namespace

Distance distance(const Place& a, const Place& b) {
  return {.jumps = int{a.gpu_kind() != b.gpu_kind()} + int{a.runtime != b.runtime} + int{a.bits != b.bits},
          .octaves = std::abs(std::log2(a.gpus / b.gpus)) + std::abs(std::log2(a.parameters / b.parameters))};
}

double Distance::halvings() const { return kLog2PerJump * jumps + octaves / kOctavesToHalf; }

std::string shown_kind(const Place& place) {
  std::string kind(place.gpu_kind());
  for (char& letter : kind) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return kind;
}

double LocalError::spread(double widening) const { return std::sqrt(own + widening * widening * distant); }

LocalError local_error(const Place& place, const std::vector<Case>& cases,
                       const std::function<bool(std::size_t)>& counts) {
  // Sums of w, w r, w r^2 and w d^2. The unknown case has r = 0 and d = 1.
  double weights = kUnknownCase, first = 0, second = 0, distant = kUnknownCase;
  for (std::size_t c = 0; c < cases.size(); ++c) {
    if (!counts(c)) continue;
    const Distance away = distance(place, cases[c].place);
    const double weight = cases[c].weight * std::exp2(-away.halvings());
    const double units = away.jumps + away.octaves / kOctavesPerJump;
    weights += weight;
    first += weight * cases[c].log_ratio;
    second += weight * cases[c].log_ratio * cases[c].log_ratio;
    distant += weight * units * units;
  }
  const double mean = first / weights;
  return {.mean = mean,
          .own = std::fmax(0, second / weights - mean * mean),
          .distant = distant / weights,
          .evidence = weights - kUnknownCase};
}

}  // namespace foretoken::trust
