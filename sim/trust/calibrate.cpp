// Calibrates intervals by leaving out: compares every row with the prediction of its error from other rows.
#include "sim/trust/calibrate.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/base/check.h"
#include "sim/trust/interval.h"
#include "sim/trust/local_error.h"

namespace foretoken::trust {
namespace {

constexpr double kLeastWidening = 0.005, kMostWidening = 0.5;
constexpr double kLeastSpread = 1e-6;  // repetitions of a single case have no spread

double score(double log_ratio, const LocalError& error, double widening) {
  const bool towards_prediction = log_ratio * error.mean >= 0 && std::abs(log_ratio) <= std::abs(error.mean);
  if (towards_prediction) return 0;
  return std::abs(log_ratio - error.mean) / std::max(kLeastSpread, error.spread(widening));
}

std::vector<Case> cases_of(const std::vector<Validated>& rows) {
  std::vector<Case> cases;
  for (const Validated& each : rows) cases.push_back(each.row);
  return cases;
}

std::vector<LocalError> errors_without(const std::vector<Validated>& rows, const std::vector<Case>& cases,
                                       bool publication_too) {
  std::vector<LocalError> errors;
  for (const Validated& one : rows)
    errors.push_back(local_error(one.row.place, cases, [&](std::size_t other) {
      return rows[other].configuration != one.configuration &&
             !(publication_too && rows[other].publication == one.publication);
    }));
  return errors;
}

std::vector<double> scores(const std::vector<Validated>& rows, const std::vector<LocalError>& errors, double widening) {
  std::vector<double> all;
  for (std::size_t r = 0; r < rows.size(); ++r) all.push_back(score(rows[r].row.log_ratio, errors[r], widening));
  return all;
}

// Returns the conformal quantile: the ceil(level (n + 1))-th smallest value.
double quantile(std::vector<double> values, double level) {
  const auto n = static_cast<double>(values.size());
  const auto rank = static_cast<std::size_t>(std::clamp(std::ceil(level * (n + 1)), 1.0, n)) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank), values.end());
  return values[rank];
}

}  // namespace

Calibration calibrate(const std::vector<Validated>& rows) {
  expects(!rows.empty(), "intervals are calibrated on at least one case");
  Calibration result;
  result.evidence.cases = cases_of(rows);
  const auto without_publication = errors_without(rows, result.evidence.cases, true);
  const auto without_copies = errors_without(rows, result.evidence.cases, false);
  // More widening helps rows without their publication more than rows with it.
  double low = std::log(kLeastWidening), high = std::log(kMostWidening);
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2, widening = std::exp(middle);
    const bool too_narrow = quantile(scores(rows, without_publication, widening), kUsualLevel) >
                            quantile(scores(rows, without_copies, widening), kUsualLevel);
    (too_narrow ? low : high) = middle;
  }
  result.evidence.widening = std::exp(high);
  result.without_publication = scores(rows, without_publication, result.evidence.widening);
  result.without_copies = scores(rows, without_copies, result.evidence.widening);
  for (const double level : kLevels)
    result.evidence.widths.push_back(
        {level, std::max(quantile(result.without_publication, level), quantile(result.without_copies, level))});
  return result;
}

double coverage_of_new_publications(const std::vector<Validated>& rows, double level) {
  std::set<std::string> publications;
  for (const Validated& each : rows) publications.insert(each.publication);
  std::size_t covered = 0;
  for (const std::string& publication : publications) {
    std::vector<Validated> others;
    for (const Validated& each : rows)
      if (each.publication != publication) others.push_back(each);
    if (others.empty()) continue;
    const Evidence evidence = calibrate(others).evidence;
    for (const Validated& one : rows) {
      if (one.publication != publication) continue;
      const LocalError error = local_error(one.row.place, evidence.cases, [&](std::size_t other) {
        return others[other].configuration != one.configuration;
      });
      if (score(one.row.log_ratio, error, evidence.widening) <= width_at(evidence, level)) ++covered;
    }
  }
  return static_cast<double>(covered) / static_cast<double>(rows.size());
}

}  // namespace foretoken::trust
