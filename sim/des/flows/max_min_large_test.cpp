// Compares max-min sharing with exact fractions, and with its own definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <optional>
#include <random>
#include <set>

#include "sim/base/test_sanitized.h"
#include "sim/des/flows/max_min.h"

namespace foretoken::des {
namespace {

using Fraction = boost::multiprecision::cpp_rational;

struct Problem {
  std::vector<int> capacities;
  std::vector<std::vector<std::uint32_t>> routes;
};

std::vector<double> solve(const Problem& problem) {
  std::vector<BytesPerSecond> capacities;
  for (const int c : problem.capacities) capacities.emplace_back(c);
  Routes routes;
  for (const auto& numbers : problem.routes) {
    std::vector<LinkId> route;
    for (const std::uint32_t l : numbers) route.push_back({l});
    routes.add(route);
  }
  std::vector<double> rates;
  for (const BytesPerSecond rate : max_min(capacities, routes)) rates.push_back(rate.value());
  return rates;
}

std::uint32_t crossings(const std::vector<std::uint32_t>& route, std::uint32_t link) {
  return static_cast<std::uint32_t>(std::count(route.begin(), route.end(), link));
}

/// Solves in exact fractions: all rates grow until some link is full, and the flows that cross it stop.
std::vector<Fraction> solve_exactly(const Problem& problem) {
  const std::size_t flows = problem.routes.size();
  std::vector<Fraction> rates(flows, 0);
  std::vector<bool> stopped(flows, false);
  while (std::count(stopped.begin(), stopped.end(), false) > 0) {
    std::optional<Fraction> step;
    std::vector<std::uint32_t> full;
    for (std::uint32_t l = 0; l < problem.capacities.size(); ++l) {
      Fraction left = problem.capacities[l];
      std::uint32_t growing = 0;
      for (std::size_t f = 0; f < flows; ++f) {
        const std::uint32_t times = crossings(problem.routes[f], l);
        if (times == 0) continue;
        left -= rates[f] * times;
        if (!stopped[f]) growing += times;
      }
      if (growing == 0) continue;
      const Fraction room = left / growing;
      if (!step || room < *step) full.clear();
      if (!step || room <= *step) full.push_back(l);
      step = step ? std::min(*step, room) : room;
    }
    for (std::size_t f = 0; f < flows; ++f) {
      if (stopped[f]) continue;
      rates[f] += *step;
      stopped[f] = std::any_of(full.begin(), full.end(), [&](auto l) { return crossings(problem.routes[f], l) > 0; });
    }
  }
  return rates;
}

constexpr std::uint32_t kProblems = kSanitized ? 200 : 1000;

/// Draws problem `seed`: up to 30 links, and up to 60 flows over at most five links each. Small whole capacities make
/// many links fill at once.
Problem draw_problem(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&random](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
  Problem problem;
  problem.capacities.resize(1 + below(30));
  for (int& c : problem.capacities) c = static_cast<int>(1 + below(20));
  problem.routes.resize(below(61));
  for (auto& route : problem.routes) {
    route.resize(1 + below(5));
    for (auto& l : route) l = below(problem.capacities.size());
  }
  return problem;
}

TEST(MaxMin, SharesByHand) {
  EXPECT_EQ(solve({{12}, {{0}, {0}, {0}}}), (std::vector<double>{4, 4, 4}));         // one link, shared
  EXPECT_EQ(solve({{12, 2}, {{0, 1}, {0}}}), (std::vector<double>{2, 10}));          // another link limits one flow
  EXPECT_EQ(solve({{10, 10}, {{0, 1}, {0}, {1}}}), (std::vector<double>{5, 5, 5}));  // the long way costs two
  EXPECT_EQ(solve({{6, 20}, {{0}, {0}, {0, 1}, {1}}}), (std::vector<double>{2, 2, 2, 18}));
  EXPECT_EQ(solve({{12}, {{0, 0}, {0}}}), (std::vector<double>{4, 4}));  // twice over a link
  EXPECT_TRUE(solve({{1}, {}}).empty());
}

TEST(MaxMin, EqualsExactFractionsOnAThousandNetworks) {
  std::uint32_t with_several_rates = 0;
  for (std::uint32_t seed = 0; seed < kProblems; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = draw_problem(seed);
    const auto rates = solve(problem);
    const auto exact = solve_exactly(problem);
    ASSERT_EQ(rates.size(), exact.size());
    for (std::size_t f = 0; f < rates.size(); ++f) {
      const double expected = exact[f].convert_to<double>();
      ASSERT_NEAR(rates[f], expected, 1e-13 * expected * static_cast<double>(rates.size()));
    }
    with_several_rates += std::set(exact.begin(), exact.end()).size() > 2 ? 1 : 0;
  }
  EXPECT_GT(with_several_rates, kProblems / 2) << "the problems are not trivial";
}

/// A chain of links that all differ, so that they fill one after another: a flow over each, and one over every
/// `spacing`-th link and the next.
Problem chain(int links, std::uint32_t spacing) {
  Problem problem;
  for (int l = 0; l < links; ++l) problem.capacities.push_back(1000 + 7 * (l * 37 % links));
  for (std::uint32_t l = 0; l < static_cast<std::uint32_t>(links); ++l) {
    problem.routes.push_back({l});
    if (l % spacing == 0 && l + 1 < static_cast<std::uint32_t>(links)) problem.routes.push_back({l, l + 1});
  }
  return problem;
}

TEST(MaxMin, EqualsExactFractionsWhereEveryLinkFillsAtItsOwnLevel) {
  for (const std::uint32_t spacing : {1U, 2U, 5U}) {
    const Problem problem = chain(60, spacing);
    const auto rates = solve(problem);
    const auto exact = solve_exactly(problem);
    EXPECT_GT(std::set(exact.begin(), exact.end()).size(), 30U) << "many levels";
    for (std::size_t f = 0; f < rates.size(); ++f)
      ASSERT_NEAR(rates[f], exact[f].convert_to<double>(), 1e-10) << "flow " << f << ", " << spacing;
  }
}

TEST(MaxMin, ManyLevelsOfStrangersDoNotShowInASingleBit) {
  const Problem one = chain(10, 2), other = chain(60, 1);
  Problem both = one;
  both.capacities.insert(both.capacities.end(), other.capacities.begin(), other.capacities.end());
  for (auto route : other.routes) {
    for (auto& l : route) l += static_cast<std::uint32_t>(one.capacities.size());
    both.routes.push_back(route);
  }
  const auto rates = solve(one), mixed = solve(both);
  for (std::size_t f = 0; f < rates.size(); ++f) ASSERT_EQ(mixed[f], rates[f]);
}

TEST(MaxMin, NoLinkCarriesMoreThanItCanAndEachFlowHasABottleneck) {
  for (std::uint32_t seed = 0; seed < kProblems; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = draw_problem(seed);
    const auto rates = solve(problem);
    std::vector<double> load(problem.capacities.size(), 0), greatest(problem.capacities.size(), 0);
    for (std::size_t f = 0; f < rates.size(); ++f) {
      for (const std::uint32_t l : problem.routes[f]) {
        load[l] += rates[f];
        greatest[l] = std::max(greatest[l], rates[f]);
      }
    }
    for (std::size_t l = 0; l < load.size(); ++l) ASSERT_LE(load[l], problem.capacities[l] * (1 + 1e-12));
    for (std::size_t f = 0; f < rates.size(); ++f) {
      ASSERT_TRUE(std::any_of(problem.routes[f].begin(), problem.routes[f].end(), [&](std::uint32_t l) {
        return load[l] >= problem.capacities[l] * (1 - 1e-12) && rates[f] >= greatest[l] * (1 - 1e-12);
      }));
    }
  }
}

TEST(MaxMin, NumberingAndStrangersDoNotShowInASingleBit) {
  for (std::uint32_t seed = 0; seed < kProblems; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = draw_problem(seed), stranger = draw_problem(seed + kProblems);
    std::mt19937 random(seed);
    const auto links = static_cast<std::uint32_t>(problem.capacities.size());
    std::vector<std::uint32_t> link(links), flow(problem.routes.size());
    for (std::uint32_t i = 0; i < links; ++i) link[i] = i;
    for (std::uint32_t i = 0; i < flow.size(); ++i) flow[i] = i;
    std::shuffle(link.begin(), link.end(), random);
    std::shuffle(flow.begin(), flow.end(), random);
    Problem both{std::vector<int>(links), {}};
    for (std::uint32_t l = 0; l < links; ++l) both.capacities[link[l]] = problem.capacities[l];
    both.capacities.insert(both.capacities.end(), stranger.capacities.begin(), stranger.capacities.end());
    for (const std::uint32_t f : flow) {
      both.routes.push_back(problem.routes[f]);
      for (auto& l : both.routes.back()) l = link[l];
    }
    for (auto route : stranger.routes) {
      for (auto& l : route) l += links;
      both.routes.push_back(route);
    }
    const auto rates = solve(problem), mixed = solve(both);
    for (std::size_t f = 0; f < flow.size(); ++f) ASSERT_EQ(mixed[f], rates[flow[f]]);
  }
}

}  // namespace
}  // namespace foretoken::des
