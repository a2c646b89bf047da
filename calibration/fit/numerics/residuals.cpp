// Chooses held-out samples and sums up their errors.
#include "calibration/fit/numerics/residuals.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sim/base/parse_number.h"

namespace foretoken::fit {

bool held_out(std::string_view key) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdULL;  // mixes the last characters, as MurmurHash3's finalizer does
  return (hash >> 33) % 5 == 0;
}

double mean_log_error(const std::vector<Outcome>& outcomes) {
  if (outcomes.empty()) return 0;
  double sum = 0;
  for (const Outcome& outcome : outcomes) sum += outcome.log_error();
  return sum / static_cast<double>(outcomes.size());
}

double median_misfit(std::vector<double> log_errors) {
  constexpr double kPartOfMean = 0.3;
  if (log_errors.empty()) return 0;
  double sum = 0;
  for (const double error : log_errors) sum += std::min(1.0, error);
  const auto middle = log_errors.begin() + static_cast<std::ptrdiff_t>(log_errors.size() / 2);
  std::nth_element(log_errors.begin(), middle, log_errors.end());
  return *middle + kPartOfMean * sum / static_cast<double>(log_errors.size());
}

cost::Evidence evidence(std::string source, std::size_t samples, const std::vector<Outcome>& left_out) {
  cost::Evidence result{.provenance = cost::Provenance::kFitted,
                        .source = std::move(source),
                        .samples = static_cast<int>(samples),
                        .held_out = static_cast<int>(left_out.size())};
  if (left_out.empty()) return result;
  std::vector<double> errors;
  for (const Outcome& outcome : left_out) errors.push_back(std::abs(outcome.predicted / outcome.measured - 1));
  std::sort(errors.begin(), errors.end());
  const auto quantile = [&](double part) {
    return errors[static_cast<std::size_t>(part * static_cast<double>(errors.size() - 1) + 0.5)];
  };
  result.median_error = rounded(quantile(0.5), 3);
  result.p90_error = rounded(quantile(0.9), 3);
  result.worst_error = rounded(errors.back(), 3);
  return result;
}

cost::Evidence scaled_from(std::string gpu, std::string source) {
  return {.provenance = cost::Provenance::kScaled, .scaled_from = std::move(gpu), .source = std::move(source)};
}

cost::Evidence assumed(std::string source) {
  return {.provenance = cost::Provenance::kAssumed, .source = std::move(source)};
}

double rounded(double value, int digits) { return round_to_digits(value, digits); }

}  // namespace foretoken::fit
