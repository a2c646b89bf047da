// Fits a law for each phase of a library by downhill simplex from several starts.
//
// A dispatch looks at every token and copies a row with its indices for each rank: its work is in bytes a token and a
// copy. A combine adds up rows: its work beyond the copies is in rows. So each has four constants beside the launch and
// the two rates. A preparation moves indices alone and has a launch and a rate.
#include "calibration/fit/laws/fit_exchanges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "calibration/fit/numerics/minimise.h"
#include "calibration/fit/numerics/remembered.h"
#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/profiles/own_samples.h"
#include "sim/cost/exchanges/exchange.h"

namespace foretoken::fit {
namespace {

constexpr std::size_t kLeastExchanges = 40;
constexpr double kSharpestBend = 8;
constexpr double kHighestRate = 1e13, kMostWork = 1e6, kMostRows = 100;  // beyond them a constant changes nothing

using Exchanges = std::vector<measured::From<measured::ExchangeSample>>;
using ExchangeKind = std::pair<ExchangeLibrary, ExchangePhase>;

/// Exchanges of one kind: those of the fit, and those that are held out.
struct ExchangeSplit {
  Exchanges fitted{}, left_out{};
};

ExchangeSplit exchange_split(const Exchanges& exchanges) {
  ExchangeSplit split;
  for (const auto& one : exchanges) {
    const ExchangeShape& s = one.shape;
    const std::string key = fmt::format("{} {:.3f} {} {} {}", s.tokens, s.copies, s.row.value(), s.ranks, s.nodes);
    (held_out(key) ? split.left_out : split.fitted).push_back(one);
  }
  return split;
}

std::vector<Outcome> exchange_outcomes(const Exchanges& exchanges, const cost::ExchangeLaw& law) {
  std::vector<Outcome> all;
  all.reserve(exchanges.size());
  const ExchangeShape* before = nullptr;  // exchanges of one shape stand together
  for (const auto& one : exchanges) {
    const bool again = before != nullptr && *before == one.shape;
    const double time = again ? all.back().predicted : cost::exchange_time(one.shape, law).value();
    all.push_back({time, one.time.median.value()});
    before = &one.shape;
  }
  return all;
}

BytesPerSecond fitted_rate(double log_rate) {
  return BytesPerSecond(rounded(std::min(std::exp(log_rate), kHighestRate)));
}

double fitted_sharpness(double log_sharpness) {
  return std::round(100 * std::clamp(std::exp(log_sharpness), 1.0, kSharpestBend)) / 100;
}

double fitted_rows(double log_rows) { return std::round(100 * std::min(std::exp(log_rows), kMostRows)) / 100; }

double fitted_work(double log_bytes) { return std::round(std::min(std::exp(log_bytes), kMostWork)); }

/// A law whose constants are the arguments of a fit.
struct ExchangeForm {
  cost::ExchangeLaw law;  ///< what stays
  [[nodiscard]] bool prepares() const { return law.phase == ExchangePhase::kPrepare; }
  [[nodiscard]] bool sums() const {
    return law.phase == ExchangePhase::kCombine || law.phase == ExchangePhase::kNarrowCombine;
  }
  [[nodiscard]] bool forwards() const { return law.library == ExchangeLibrary::kDeepEp; }

  [[nodiscard]] cost::ExchangeLaw inside(const Arguments& at) const {
    cost::ExchangeLaw made = law;
    made.launch = Seconds(rounded(std::exp(at[0])));
    made.rate = fitted_rate(at[1]);
    if (prepares()) return made;
    made.link = fitted_rate(at[2]);
    made.sharpness = fitted_sharpness(at[3]);
    made.token_bytes = fitted_work(at[4]);
    (sums() ? made.token_rows : made.copy_bytes) = sums() ? fitted_rows(at[5]) : fitted_work(at[5]);
    return made;
  }

  /// Kernels of low latency forward nothing.
  [[nodiscard]] cost::ExchangeLaw between(const Arguments& at) const {
    cost::ExchangeLaw made = law;
    made.across = cost::ExchangeAcross{.launch = Seconds(rounded(std::exp(at[0]))),
                                       .launch_per_doubling = Seconds(std::round(std::exp(at[4]) * 1e8) * 1e-8),
                                       .rate = fitted_rate(at[1]),
                                       .network_rows = forwards() ? fitted_rows(at[5]) : 0,
                                       .nic_efficiency = std::min(1.0, rounded(std::exp(at[2]))),
                                       .sharpness = fitted_sharpness(at[3])};
    return made;
  }
};

/// Returns the constants that a fit moves.
std::vector<double> constants_of(const cost::ExchangeLaw& law) {
  std::vector<double> all{law.launch.value(), law.rate.value(), law.link.value(), law.sharpness,
                          law.copy_bytes,     law.token_bytes,  law.token_rows};
  if (const auto& across = law.across)
    all.insert(all.end(), {across->launch.value(), across->launch_per_doubling.value(), across->rate.value(),
                           across->network_rows, across->nic_efficiency, across->sharpness});
  return all;
}

/// Returns the law with the least error over several starts.
template <class Make>
cost::ExchangeLaw best_exchange(const Exchanges& fitted, const std::vector<Arguments>& starts, const Make& make) {
  Remembered errors;
  const Objective objective = [&](const Arguments& at) {
    const cost::ExchangeLaw law = make(at);
    return errors(constants_of(law), [&] { return mean_log_error(exchange_outcomes(fitted, law)); });
  };
  double least = std::numeric_limits<double>::infinity();
  cost::ExchangeLaw best;
  for (const Arguments& start : starts) {
    const Arguments found = minimise(objective, start, 0.4, 3000);
    if (const double value = objective(found); value < least) {
      least = value;
      best = make(found);
    }
  }
  return best;
}

/// Starts with and without a sharp bend, with a fast and with a slow kernel.
std::vector<Arguments> exchange_inside_starts(const ExchangeForm& form) {
  const double link = std::log(form.law.link.value());
  if (form.prepares()) return {{std::log(15e-6), std::log(10e9)}};
  const std::vector<double> rates =
      form.law.by_multiprocessor ? std::vector{5e9, 25e9, 60e9} : std::vector{300e9, 900e9};
  std::vector<Arguments> starts;
  for (const double rate : rates)
    for (const double sharpness : {1.2, 3.0})
      starts.push_back({std::log(25e-6), std::log(rate), link, std::log(sharpness), std::log(3e3),
                        form.sums() ? std::log(1.0) : std::log(1e3)});
  return starts;
}

std::vector<Arguments> exchange_across_starts(const ExchangeForm& form) {
  std::vector<Arguments> starts;
  for (const double rate : {5e9, 15e9, 30e9})
    for (const double sharpness : {2.0, 6.0}) {
      starts.push_back({std::log(30e-6), std::log(rate), std::log(0.9), std::log(sharpness), std::log(10e-6)});
      if (form.forwards()) starts.back().push_back(std::log(1.0));
    }
  return starts;
}

/// Returns true when a kind was measured with several numbers of multiprocessors.
bool varies_multiprocessors(const Exchanges& exchanges) {
  return std::any_of(exchanges.begin(), exchanges.end(), [&](const auto& one) {
    return one.shape.multiprocessors != exchanges.front().shape.multiprocessors;
  });
}

cost::Evidence exchange_evidence(const measured::Samples& samples, const Exchanges& all, const ExchangeSplit& split,
                                 const cost::ExchangeLaw& law) {
  cost::Evidence found = evidence(source_of(samples, all), split.fitted.size(), exchange_outcomes(split.left_out, law));
  found.provenance = provenance_of(all);
  return found;
}

cost::ExchangeLaw fit_exchange_kind(cost::ExchangeLaw law, const Exchanges& inside, const Exchanges& across,
                                    const measured::Samples& samples) {
  if (inside.size() >= kLeastExchanges) {
    law.by_multiprocessor = varies_multiprocessors(inside);
    const ExchangeForm form{law};
    const ExchangeSplit parts = exchange_split(inside);
    law =
        best_exchange(parts.fitted, exchange_inside_starts(form), [&](const Arguments& at) { return form.inside(at); });
    law.evidence = exchange_evidence(samples, inside, parts, law);
  }
  if (across.size() >= kLeastExchanges) {
    const ExchangeForm form{law};
    const ExchangeSplit parts = exchange_split(across);
    law = best_exchange(parts.fitted, exchange_across_starts(form),
                        [&](const Arguments& at) { return form.between(at); });
    law.across->evidence = exchange_evidence(samples, across, parts, law);
  }
  return law;
}

/// The order of files does not matter.
Exchanges in_order(Exchanges exchanges) {
  const auto key = [](const auto& one) {
    const ExchangeShape& s = one.shape;
    return std::tuple(s.nodes, s.ranks, s.row, s.copies, s.tokens, s.multiprocessors, one.time.median);
  };
  std::stable_sort(exchanges.begin(), exchanges.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return exchanges;
}

}  // namespace

void fit_exchanges(cost::Profile& profile, const measured::Samples& samples) {
  std::map<ExchangeKind, Exchanges> inside, across;
  for (const auto& one : in_order(samples.exchanges))
    (one.shape.nodes > 1 ? across : inside)[{one.shape.library, one.shape.phase}].push_back(one);
  std::set<ExchangeKind> kinds;
  for (const auto& [kind, all] : inside)
    if (all.size() >= kLeastExchanges) kinds.insert(kind);
  for (const auto& [kind, all] : across)
    if (all.size() >= kLeastExchanges && cost::find_exchange(profile.exchanges, kind.first, kind.second) != nullptr)
      kinds.insert(kind);
  for (const ExchangeKind& kind : kinds) {
    const cost::ExchangeLaw* known = cost::find_exchange(profile.exchanges, kind.first, kind.second);
    cost::ExchangeLaw start{.library = kind.first, .phase = kind.second, .link = profile.nvlink.reference};
    if (known != nullptr) start.across = known->across;
    if (known != nullptr && inside[kind].size() < kLeastExchanges) start = *known;
    const cost::ExchangeLaw law = fit_exchange_kind(std::move(start), inside[kind], across[kind], samples);
    std::erase_if(profile.exchanges, [&](const auto& old) { return ExchangeKind(old.library, old.phase) == kind; });
    profile.exchanges.push_back(law);
  }
  std::sort(profile.exchanges.begin(), profile.exchanges.end(), [](const auto& a, const auto& b) {
    return ExchangeKind(a.library, a.phase) < ExchangeKind(b.library, b.phase);
  });
}

}  // namespace foretoken::fit
