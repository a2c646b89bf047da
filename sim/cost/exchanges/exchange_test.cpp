// Tests exchanges of tokens: closed forms, limits, and the copies of a token against every choice of experts.
#include "sim/cost/exchanges/exchange.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace foretoken::cost {
namespace {

ExchangeShape exchange_of(double tokens) {
  return {.tokens = tokens, .row = Bytes(4096), .copies = 4, .network_copies = 1.5, .ranks = 8, .multiprocessors = 20};
}

ExchangeLaw plain_exchange() {
  return {.launch = microseconds(25),
          .by_multiprocessor = true,
          .rate = gigabytes_per_second(30),
          .link = gigabytes_per_second(300),
          .copy_bytes = 1000,
          .token_bytes = 5000,
          .token_rows = 2};
}

TEST(ExchangeTime, IsTheSumOfLaunchWorkAndLinksWhereTheBendIsSoft) {
  const double tokens = 4096;
  const double work = tokens * (4 * (4096 + 1000) + 5000 + 2 * 4096) / (20 * 30e9);
  const double links = tokens * 4 * 7 / 8 * 4096 / 300e9;
  EXPECT_NEAR(exchange_time(exchange_of(tokens), plain_exchange()).value(), 25e-6 + work + links, 1e-12);
}

TEST(ExchangeTime, BendsAsPowersDo) {
  ExchangeLaw law = plain_exchange();
  law.sharpness = 3;
  const double tokens = 4096;
  const double work = tokens * (4 * (4096 + 1000) + 5000 + 2 * 4096) / (20 * 30e9);
  const double links = tokens * 4 * 7 / 8 * 4096 / 300e9;
  const double both = std::cbrt(work * work * work + links * links * links);
  EXPECT_NEAR(exchange_time(exchange_of(tokens), law).value(), 25e-6 + both, 1e-12);
}

TEST(ExchangeTime, OfNoTokensIsTheLaunch) {
  EXPECT_EQ(exchange_time(exchange_of(0), plain_exchange()), microseconds(25));
}

TEST(ExchangeTime, FallsWithMultiprocessorsToTheLinks) {
  ExchangeLaw law = plain_exchange();
  law.sharpness = 8;
  ExchangeShape shape = exchange_of(65536);
  Seconds before = exchange_time(shape, law);
  const Seconds links = law.launch + 7.0 / 8 * shape.payload() / law.link;
  for (shape.multiprocessors = 24; shape.multiprocessors < 2000; shape.multiprocessors *= 2) {
    const Seconds now = exchange_time(shape, law);
    EXPECT_LE(now, before) << shape.multiprocessors;
    EXPECT_GE(now, links) << shape.multiprocessors;
    before = now;
  }
  EXPECT_NEAR(before / links, 1, 1e-3);
}

TEST(ExchangeTime, WithoutAChoiceOfMultiprocessorsDoesNotDependOnThem) {
  ExchangeLaw law = plain_exchange();
  law.by_multiprocessor = false;
  ExchangeShape few = exchange_of(512), many = few;
  many.multiprocessors = 132;
  EXPECT_EQ(exchange_time(few, law), exchange_time(many, law));
}

TEST(ExchangeTime, FasterLinksShortenTheirPartOnly) {
  ExchangeShape slow = exchange_of(4096), fast = slow;
  fast.link_factor = 2;
  const double links = 4096.0 * 4 * 7 / 8 * 4096 / 300e9;
  const ExchangeLaw law = plain_exchange();
  EXPECT_NEAR((exchange_time(slow, law) - exchange_time(fast, law)).value(), links / 2, 1e-12);
}

TEST(ExchangeTime, AcrossNodesCountsCopiesThatLeaveTheNode) {
  ExchangeLaw law = plain_exchange();
  law.across = ExchangeAcross{.launch = microseconds(30),
                              .launch_per_doubling = microseconds(10),
                              .rate = gigabytes_per_second(15),
                              .network_rows = 0.5,
                              .nic_efficiency = 0.9};
  ExchangeShape shape = exchange_of(4096);
  shape.nodes = 4;
  shape.ranks = 32;
  shape.nic = gigabytes_per_second(50);
  const double work = 4096.0 * (4 + 0.5 * 1.5) * 4096 / (20 * 15e9), nic = 4096.0 * 1.5 * 4096 / (0.9 * 50e9);
  EXPECT_NEAR(exchange_time(shape, law).value(), 30e-6 + 10e-6 + work + nic, 1e-12);
}

TEST(FindExchange, KnowsLibraryAndPhase) {
  const std::vector<ExchangeLaw> laws{{.phase = ExchangePhase::kDispatch}, {.phase = ExchangePhase::kCombine}};
  EXPECT_EQ(find_exchange(laws, ExchangeLibrary::kDeepEp, ExchangePhase::kCombine), &laws[1]);
  EXPECT_EQ(find_exchange(laws, ExchangeLibrary::kTrtllmOneSided, ExchangePhase::kCombine), nullptr);
}

/// Counts the parts that one of `chosen` experts is in, by going through every choice of k of E experts.
double parts_by_hand(int experts, int per_token, int parts) {
  double sum = 0, choices = 0;
  for (unsigned chosen = 0; chosen < 1U << experts; ++chosen) {
    if (__builtin_popcount(chosen) != per_token) continue;
    std::set<int> met;
    for (int expert = 0; expert < experts; ++expert)
      if ((chosen >> expert & 1U) != 0) met.insert(expert * parts / experts);
    sum += static_cast<double>(met.size());
    ++choices;
  }
  return sum / choices;
}

TEST(PartsMet, IsTheMeanOverEveryChoice) {
  for (const int parts : {1, 2, 4, 8})
    for (int per_token = 1; per_token <= 8; ++per_token)
      EXPECT_NEAR(parts_met(8, per_token, parts), parts_by_hand(8, per_token, parts), 1e-12)
          << per_token << " of 8 over " << parts;
}

}  // namespace
}  // namespace foretoken::cost
