// Calibrates by leaving out: compares every row with what other rows predict of its error.
#include "sim/trust/calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/base/check.h"
#include "sim/trust/interval.h"
#include "sim/trust/left_out.h"

namespace foretoken::trust {
namespace {

constexpr std::size_t kNoPublication = std::numeric_limits<std::size_t>::max();
constexpr std::array kDoubts{0.25, 0.5, 1.0, 2.0, 4.0, 8.0};
constexpr std::array kGrowths{0.125, 0.25, 0.5, 1.0, 2.0, 4.0};
constexpr std::size_t kLargePublication = 15;

using Doubt = std::optional<double>;

// All rows but those of one publication, which may be none.
struct Rows {
  const LeftOut& seen;
  std::size_t without;

  template <class Do>
  void each(Do&& act) const {
    for (std::size_t row = 0; row < seen.rows(); ++row)
      if (seen.publication_of(row) != without) act(row);
  }
};

// Squared errors of rows whose publication is left out, by publication.
std::vector<double> losses(const Rows& rows, Doubt doubt) {
  std::vector<double> loss(rows.seen.publications());
  rows.each([&](std::size_t row) {
    const std::size_t own = rows.seen.publication_of(row);
    const double error = rows.seen.log_ratio_of(row) - rows.seen.bias_of(row, doubt, own, rows.without);
    loss[own] += rows.seen.weight_of(row) * error * error;
  });
  return loss;
}

double total(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

Doubt best_doubt(const Rows& rows) {
  Doubt best;
  double least = total(losses(rows, best));
  for (const double doubt : kDoubts) {
    const double loss = total(losses(rows, doubt));
    if (loss < least) {
      least = loss;
      best = doubt;
    }
  }
  return best;
}

// Returns the best doubt, and nothing when doubts that other publications choose make errors larger.
Doubt helpful_doubt(const Rows& rows) {
  double with = 0, without = 0;
  for (std::size_t publication = 0; publication < rows.seen.publications(); ++publication) {
    if (publication == rows.without) continue;
    // With one publication left out already, the choice among the others is made once and not for each of them.
    const Doubt chosen = best_doubt(rows.without == kNoPublication ? Rows{rows.seen, publication} : rows);
    with += losses(rows, chosen)[publication];
    without += losses(rows, {})[publication];
  }
  return with < without ? best_doubt(rows) : Doubt{};
}

struct Law {
  Doubt doubt;
  std::size_t weights = 0;  // of weights_to_try()
  double growth = kGrowths.front();
};

// One row as others predict it, with its publication or without.
Held held_row(const LeftOut& seen, const Law& law, std::size_t row, std::size_t without, std::size_t without_too) {
  Held held;
  held.bias = seen.bias_of(row, law.doubt, without, without_too);
  held.error = seen.log_ratio_of(row) - held.bias;
  held.score = std::abs(held.error) / spread_at(seen.distance_of(row, law.weights, without, without_too), law.growth);
  return held;
}

std::vector<Held> held_rows(const Rows& rows, const Law& law, bool with_publication) {
  std::vector<Held> held;
  rows.each([&](std::size_t row) {
    const std::size_t own = with_publication ? kNoPublication : rows.seen.publication_of(row);
    held.push_back(held_row(rows.seen, law, row, own, rows.without));
  });
  return held;
}

struct Weighed {
  double value = 0, weight = 1;
};

// Returns the least value that `level` of the weight, and of one row more, does not exceed.
double quantile(std::vector<Weighed> values, double level) {
  std::sort(values.begin(), values.end(), [](const Weighed& a, const Weighed& b) { return a.value < b.value; });
  double all = 0, below = 0;
  for (const Weighed& each : values) all += each.weight;
  const double wanted = level * (all + 1);
  for (const Weighed& each : values)
    if ((below += each.weight) >= wanted - 1e-9) return each.value;
  return values.back().value;
}

std::vector<Weighed> scores(const Rows& rows, const std::vector<Held>& held, bool weighed) {
  std::vector<Weighed> all;
  rows.each([&](std::size_t row) { all.push_back({held[all.size()].score, weighed ? rows.seen.weight_of(row) : 1}); });
  return all;
}

// Twice the width, and the price of rows outside. Means over both ways of leaving out, by weight.
double interval_score(const Rows& rows, const Law& law) {
  std::vector<Held> held = held_rows(rows, law, false);
  std::vector<Weighed> both = scores(rows, held, true);
  const std::vector<Held> with = held_rows(rows, law, true);
  const std::vector<Weighed> more = scores(rows, with, true);
  held.insert(held.end(), with.begin(), with.end());
  both.insert(both.end(), more.begin(), more.end());
  const double width = quantile(both, kUsualLevel);
  double sum = 0;
  for (std::size_t at = 0; at < held.size(); ++at) {
    const double error = std::abs(held[at].error);
    const double half = held[at].score > 0 ? width * error / held[at].score : width;
    sum += both[at].weight * (2 * half + 2 / (1 - kUsualLevel) * std::max(0.0, error - half));
  }
  return sum;
}

Law best_law(const Rows& rows) {
  Law best;
  double least = std::numeric_limits<double>::infinity();
  const Doubt doubt = helpful_doubt(rows);
  for (std::size_t weights = 0; weights < weights_to_try().size(); ++weights)
    for (const double growth : kGrowths) {
      const Law law{doubt, weights, growth};
      const double score = interval_score(rows, law);
      if (score >= least) continue;
      least = score;
      best = law;
    }
  return best;
}

// The least width that covers a part of each large publication.
double width_of_large(const Rows& rows, const std::vector<Held>& held, double level) {
  std::vector<std::vector<Weighed>> by_publication(rows.seen.publications());
  std::size_t at = 0;
  rows.each([&](std::size_t row) { by_publication[rows.seen.publication_of(row)].push_back({held[at++].score, 1}); });
  double width = 0;
  for (const std::vector<Weighed>& scores_of_one : by_publication)
    if (scores_of_one.size() >= kLargePublication) width = std::max(width, quantile(scores_of_one, level));
  return width;
}

double width_of(const Rows& rows, const std::vector<Held>& without, const std::vector<Held>& with, double level) {
  constexpr double kLessOfOne = 0.15;
  return std::max({quantile(scores(rows, without, true), level), quantile(scores(rows, with, true), level),
                   quantile(scores(rows, without, false), level), width_of_large(rows, without, level - kLessOfOne)});
}

// Returns the signed score that `part` of the weight does not exceed. A score is an error over the spread at its
// distance.
double error_below(const Rows& rows, const std::vector<Held>& held, double part) {
  std::vector<Weighed> errors;
  double all = 0, below = 0;
  rows.each([&](std::size_t row) {
    const Held& one = held[errors.size()];
    errors.push_back({std::copysign(one.score, one.error), rows.seen.weight_of(row)});
    all += errors.back().weight;
  });
  std::sort(errors.begin(), errors.end(), [](const Weighed& a, const Weighed& b) { return a.value < b.value; });
  for (const Weighed& each : errors)
    if ((below += each.weight) >= part * all - 1e-9) return each.value;
  return errors.back().value;
}

}  // namespace

Calibration calibrate(const std::vector<Validated>& rows) {
  expects(!rows.empty(), "intervals are calibrated on at least one case");
  const LeftOut seen(rows);
  const Rows all{seen, kNoPublication};
  const Law law = best_law(all);
  Calibration result;
  for (const Validated& each : rows) result.evidence.cases.push_back(each.row);
  result.evidence.weights = weights_to_try()[law.weights];
  result.evidence.growth = law.growth;
  result.evidence.doubt = law.doubt;
  result.without_publication = held_rows(all, law, false);
  result.without_copies = held_rows(all, law, true);
  for (const double level : kLevels)
    result.evidence.widths.push_back({level, width_of(all, result.without_publication, result.without_copies, level)});
  for (const double part : kParts)
    result.evidence.quantiles.push_back({part, error_below(all, result.without_publication, part)});
  return result;
}

std::vector<Held> as_new_publications(const std::vector<Validated>& rows) {
  const LeftOut seen(rows);
  std::vector<Held> fresh(rows.size());
  for (std::size_t publication = 0; publication < seen.publications(); ++publication) {
    const Rows others{seen, publication};
    if (seen.publications() == 1) break;
    const Law law = best_law(others);
    const double width = width_of(others, held_rows(others, law, false), held_rows(others, law, true), kUsualLevel);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (seen.publication_of(row) != publication) continue;
      fresh[row] = held_row(seen, law, row, publication, publication);
      fresh[row].score /= width;
    }
  }
  return fresh;
}

}  // namespace foretoken::trust
