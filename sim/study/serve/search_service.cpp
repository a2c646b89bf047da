// Runs a search in two rounds, and ranks what it found.
#include "sim/study/serve/search_service.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/study/ordered_parallel.h"

namespace foretoken::study {
namespace {

using serve::ArrivalKind;
using serve::Service;

constexpr std::int64_t kMostUsers = 1024;  // of an instance
constexpr std::size_t kMostSplits = 200;   // of one size and precision

bool is_static(const Service& service) { return service.batching == serve::Batching::kStatic; }

bool has_loads(const Service& service) {
  return service.requests.kind == ArrivalKind::kBatch || service.requests.kind == ArrivalKind::kClosed;
}

/// Returns requests with another load. A number of requests that is not stated follows from the users.
serve::Requests with_load(const serve::Requests& requests, std::int64_t load) {
  serve::Requests other = requests;
  other.at_once = load;
  if (requests.kind == ArrivalKind::kBatch)
    other.count = load;
  else if (!requests.states_count)
    other.count = serve::closed_loop_count(load);
  return other;
}

/// Requests that the caches of the service hold at once, and that its engine runs.
std::int64_t room(const Service& service) {
  const serve::Pool pool = serve::pools_of(service).back();
  const std::int64_t cached = serve::memory_of(service, pool).max_batch;
  const std::int64_t most_running = serve::group_sequences(service.engine, pool.degrees) * pool.degrees.attention_data;
  return pool.instances() * (is_static(service) ? cached : std::min(cached, most_running));
}

std::vector<std::int64_t> loads_of(const Service& service, const ServiceSpace& space) {
  if (!has_loads(service)) return {service.requests.at_once};
  if (!space.loads.empty()) return space.loads;
  std::vector<std::int64_t> loads;
  const serve::Pool pool = serve::pools_of(service).back();
  const std::int64_t most = std::min(kMostUsers * pool.instances(), room(service));
  for (std::int64_t load = pool.instances(); load <= most; load *= 2)
    if (!service.requests.states_count || load <= service.requests.count) loads.push_back(load);
  const serve::Requests& asked = service.requests;  // a small batch cannot have few long answers among short ones
  if (asked.mean_output_tokens > 0)
    std::erase_if(loads, [&](std::int64_t load) { return asked.mean_output_tokens < asked.least_mean(load); });
  return loads;
}

std::vector<std::int64_t> budgets_of(const Service& service, const ServiceSpace& space, bool is_split) {
  const std::int64_t own = service.engine.token_budget;
  if (is_static(service) || !service.engine.chunks_prompts) return {own};
  std::vector<std::int64_t> budgets = space.token_budgets;
  if (budgets.empty()) budgets = {own, 8192};
  if (space.token_budgets.empty() && !is_split) budgets.insert(budgets.end(), {512, 2048, 16384});
  const std::int64_t least = service.speculation ? service.speculation->tokens + 1 : 1;
  std::erase_if(budgets, [&](std::int64_t budget) { return budget < least; });
  std::sort(budgets.begin(), budgets.end());
  budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
  return budgets;
}

bool fits(const Service& service) {
  const std::vector<serve::Pool> pools = serve::pools_of(service);
  return std::all_of(pools.begin(), pools.end(),
                     [&](const serve::Pool& pool) { return serve::memory_of(service, pool).fits(); });
}

/// The outcome of one layout.
struct Tried {
  std::vector<ServedConfiguration> fitting;
  std::size_t tried = 0, too_large = 0;
};

Tried try_layout(const Service& base, const ServiceLayout& layout, const ServiceSpace& space, const Watch& watch) {
  Service service = base;
  layout.apply_to(service);
  Tried result;
  serve::Predictor predictor(service);
  for (const std::int64_t budget : budgets_of(base, space, layout.disaggregated.has_value())) {
    service.engine.token_budget = budget;
    service.requests = has_loads(base) ? with_load(base.requests, 1) : base.requests;
    if (!fits(service)) {
      ++result.tried;
      ++result.too_large;
      continue;
    }
    for (const std::int64_t load : loads_of(service, space)) {
      if (watch.stopped()) return result;
      const serve::Requests requests = has_loads(base) ? with_load(base.requests, load) : base.requests;
      ++result.tried;
      serve::Prediction prediction = predictor.predict(requests, budget);
      if (!prediction.fits) {
        ++result.too_large;
        continue;
      }
      result.fitting.push_back({layout, requests, budget, std::move(prediction)});
      result.fitting.back().requests.trace.clear();
    }
  }
  return result;
}

std::vector<int> sizes_of(const Service& service, const ServiceSpace& space) {
  if (!space.gpus.empty()) return space.gpus;
  std::vector<int> sizes;
  if (is_static(service))
    for (int size = 1; size < service.gpus(); size *= 2) sizes.push_back(size);
  sizes.push_back(service.gpus());
  return sizes;
}

std::vector<serve::WeightPrecision> precisions_of(const Service& service, const ServiceSpace& space) {
  return space.precisions.empty() ? std::vector{service.precision} : space.precisions;
}

std::vector<ServiceLayout> whole_layouts(const Service& service, const ServiceSpace& space) {
  std::vector<ServiceLayout> layouts;
  for (const int gpus : sizes_of(service, space))
    for (const serve::Pool& pool : pools_on(service, gpus, space.fixed))
      for (const serve::WeightPrecision precision : precisions_of(service, space))
        layouts.push_back({.precision = precision, .pool = pool});
  return layouts;
}

/// Degrees of whole services that fit: all of them, or those on the front.
std::vector<serve::Degrees> cuts_of(const std::vector<ServedConfiguration>& all, const std::vector<std::size_t>& rows,
                                    serve::WeightPrecision precision) {
  std::vector<serve::Degrees> cuts;
  for (const std::size_t at : rows) {
    const serve::Degrees& degrees = all[at].layout.pool.degrees;
    if (all[at].layout.precision == precision && std::find(cuts.begin(), cuts.end(), degrees) == cuts.end())
      cuts.push_back(degrees);
  }
  return cuts;
}

/// Layouts with pools for prompts and decoding.
std::vector<ServiceLayout> split_layouts(const Service& service, const ServiceSpace& space, ServiceSearch& search) {
  std::vector<std::size_t> everything(search.fitting.size());
  std::iota(everything.begin(), everything.end(), std::size_t{0});
  const std::vector<std::size_t> front = pareto_front(search.fitting, false);
  std::vector<ServiceLayout> layouts;
  for (const serve::WeightPrecision precision : precisions_of(service, space))
    for (const int gpus : sizes_of(service, space)) {
      std::vector<serve::Disaggregated> splits = splits_of(gpus, cuts_of(search.fitting, everything, precision));
      if (splits.size() > kMostSplits) {
        search.splits_of_front_only = true;
        splits = splits_of(gpus, cuts_of(search.fitting, front, precision));
      }
      for (const serve::Disaggregated& split : splits)
        layouts.push_back({.precision = precision, .pool = {}, .disaggregated = split});
    }
  return layouts;
}

/// One round of a search: tries layouts and adds what fits.
class Round {
 public:
  Round(const Service& service, const ServiceSpace& space, int threads, const Watch& watch)
      : service_(service), space_(space), threads_(threads), watch_(watch) {}

  void run(const std::vector<ServiceLayout>& layouts, ServiceSearch& search) {
    std::size_t next = 0, done = 0;
    const std::size_t before = search.layouts;
    const auto take = [&]() -> std::optional<ServiceLayout> {
      if (next == layouts.size() || watch_.stopped()) return std::nullopt;
      return layouts[next++];
    };
    ordered_parallel<ServiceLayout>(
        threads_, take, [&](const ServiceLayout& layout) { return try_layout(service_, layout, space_, watch_); },
        [&](Tried& tried) {
          search.tried += tried.tried;
          search.too_large += tried.too_large;
          std::move(tried.fitting.begin(), tried.fitting.end(), std::back_inserter(search.fitting));
          watch_.show(before + ++done, before + layouts.size());
        });
    search.layouts += done;
    search.complete = search.complete && done == layouts.size() && !watch_.stopped();
  }

 private:
  const Service& service_;
  const ServiceSpace& space_;
  int threads_;
  const Watch& watch_;
};

/// The times that a configuration is judged by: means of TTFT and TPOT, or the latency of a static batch and nothing.
std::pair<double, double> times_of(const ServedConfiguration& found, bool is_static) {
  const serve::Prediction& prediction = found.prediction;
  if (is_static) return {prediction.latency.mean, 0};
  return {prediction.ttft.mean, prediction.tpot ? prediction.tpot->mean : 0};
}

bool keeps_up(const ServedConfiguration& found, const Service& service) {
  return serve::keeps_up(service.requests, found.prediction);
}

bool reaches(const ServedConfiguration& found, const ServiceGoal& goal, const Service& service) {
  return found.share_within() >= goal.share && found.prediction.tokens_per_s_per_gpu >= goal.least_per_gpu &&
         keeps_up(found, service);
}

/// The largest ratio of a mean time to its limit; less is nearer.
double over_limits(const serve::Prediction& prediction, const serve::Limits& limits) {
  double most = 0;
  if (limits.ttft_s) most = std::max(most, prediction.ttft.mean / *limits.ttft_s);
  if (limits.tpot_s && prediction.tpot) most = std::max(most, prediction.tpot->mean / *limits.tpot_s);
  if (limits.latency_s) most = std::max(most, prediction.latency.mean / *limits.latency_s);
  return most;
}

/// Orders configurations that miss the goal: by the share within the limits, the throughput, the times; less is nearer.
std::tuple<double, double, double> miss(const ServedConfiguration& found, const ServiceGoal& goal,
                                        const Service& service) {
  return {-std::min(found.share_within(), goal.share),
          -std::min(found.prediction.tokens_per_s_per_gpu, goal.least_per_gpu),
          keeps_up(found, service) ? over_limits(found.prediction, service.limits) : found.prediction.latency.mean};
}

/// Sorts the best first. With a given rate of arrivals every service that keeps up has the same throughput, so the
/// fewest GPUs are best, then the lowest latency. Of configurations that differ in the token budget only, the best
/// stays.
void rank(ServiceSearch& search, const Service& service, const ServiceGoal& goal) {
  const bool by_gpus = !has_loads(service) && !goal.lowest_latency;
  const auto key = [&](std::size_t at) {
    const ServedConfiguration& one = search.fitting[at];
    const double latency = one.prediction.latency.mean, rate = -one.prediction.tokens_per_s_per_gpu;
    if (by_gpus) return std::tuple(real(one.layout.gpus()), latency);
    return goal.lowest_latency ? std::tuple(latency, rate) : std::tuple(rate, latency);
  };
  std::stable_sort(search.ranked.begin(), search.ranked.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<std::size_t> kept;
  for (const std::size_t at : search.ranked) {
    const bool shown = std::any_of(kept.begin(), kept.end(), [&](std::size_t other) {
      return search.fitting[other].layout == search.fitting[at].layout &&
             search.fitting[other].requests.at_once == search.fitting[at].requests.at_once;
    });
    if (!shown) kept.push_back(at);
  }
  search.ranked = std::move(kept);
}

}  // namespace

double ServedConfiguration::share_within() const {
  if (!prediction.fits) return 0;
  return real(prediction.met) / real(prediction.judged);
}

std::vector<std::size_t> pareto_front(const std::vector<ServedConfiguration>& all, bool is_static) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t at) {
    return std::pair(-all[at].prediction.tokens_per_s_per_gpu, times_of(all[at], is_static));
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<std::size_t> front;
  for (const std::size_t at : order) {
    const std::pair<double, double> mine = times_of(all[at], is_static);
    const bool beaten = std::any_of(front.begin(), front.end(), [&](std::size_t other) {
      const std::pair<double, double> its = times_of(all[other], is_static);
      return its.first <= mine.first && its.second <= mine.second;
    });
    if (!beaten) front.push_back(at);
  }
  return front;
}

ServiceSearch search_service(const Service& service, const ServiceSpace& space, const ServiceGoal& goal, int threads,
                             const Watch& watch) {
  ServiceSearch search;
  Round round(service, space, threads, watch);
  round.run(whole_layouts(service, space), search);
  if (space.splits && !is_static(service)) round.run(split_layouts(service, space, search), search);
  search.front = pareto_front(search.fitting, is_static(service));
  for (std::size_t at = 0; at < search.fitting.size(); ++at) {
    const ServedConfiguration& found = search.fitting[at];
    if (reaches(found, goal, service)) search.ranked.push_back(at);
    if (!search.nearest || miss(found, goal, service) < miss(search.fitting[*search.nearest], goal, service))
      search.nearest = at;
  }
  if (!search.ranked.empty()) search.nearest.reset();
  rank(search, service, goal);
  return search;
}

}  // namespace foretoken::study
