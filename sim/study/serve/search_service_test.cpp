// Tests the search of services: its space, its front, and its order.
#include "sim/study/serve/search_service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sim/io/serve/read_service.h"
#include "sim/serve/pool_rules.h"

namespace foretoken::study {
namespace {

serve::Service service_named(const char* name, const std::vector<std::string>& sets = {}) {
  return io::read_service_file(std::string(FORETOKEN_SOURCE_DIR "/scenarios/serve/") + name + ".json", sets);
}

/// Llama 3 70B with few short requests.
serve::Service quick_service(const std::vector<std::string>& more = {}) {
  std::vector<std::string> sets{"requests.input_tokens=128", "requests.output_tokens=8"};
  sets.insert(sets.end(), more.begin(), more.end());
  return service_named("llama-3-70b-chat-8-h100", sets);
}

ServiceSearch searched(const serve::Service& service, const ServiceSpace& space = {}, const ServiceGoal& goal = {},
                       int threads = 1) {
  return search_service(service, space, goal, threads, {});
}

/// Returns what one service predicts alone.
serve::Prediction alone(serve::Service service, const ServedConfiguration& found) {
  found.layout.apply_to(service);
  service.requests = found.requests;
  service.engine.token_budget = found.token_budget;
  return serve::predict(service);
}

TEST(ServiceLayouts, AreAllThatTheRulesAllow) {
  for (const char* const model : {"llama-3-70b", "mixtral-8x7b"}) {
    const serve::Service service = quick_service({std::string("model=") + model});
    std::size_t valid = 0;
    for (int tensor = 1; tensor <= 8; ++tensor)
      for (int pipeline = 1; pipeline <= 8; ++pipeline)
        for (int data = 1; data <= (service.model.experts ? 8 : 1); ++data)
          for (const int expert : std::set{1, service.model.experts ? tensor * data : 1}) {
            const serve::Pool pool{
                .gpus = 8,
                .degrees = {.tensor = tensor, .pipeline = pipeline, .expert = expert, .attention_data = data}};
            if (pool.degrees.gpus() <= 8 && serve::faults_of(service, pool).empty()) ++valid;
          }
    const std::vector<serve::Pool> pools = pools_on(service, 8, {});
    EXPECT_EQ(pools.size(), valid) << model;
    for (const serve::Pool& pool : pools) EXPECT_TRUE(serve::faults_of(service, pool).empty());
    for (const serve::Pool& pool : pools_on(service, 8, {.tensor = 2})) EXPECT_EQ(pool.degrees.tensor, 2);
  }
}

TEST(ServiceLayouts, SplitsMakeUpTheGpus) {
  const std::vector<serve::Degrees> cuts{{.tensor = 1}, {.tensor = 2}, {.tensor = 4, .pipeline = 2}};
  for (const int gpus : {2, 8, 48}) {
    const std::vector<serve::Disaggregated> splits = splits_of(gpus, cuts);
    EXPECT_FALSE(splits.empty());
    for (const serve::Disaggregated& split : splits) {
      EXPECT_EQ(split.prefill.gpus + split.decode.gpus, gpus);
      for (const serve::Pool& pool : {split.prefill, split.decode}) {
        EXPECT_GT(pool.instances(), 0);
        EXPECT_EQ(pool.gpus % pool.degrees.gpus(), 0);
      }
    }
  }
}

TEST(ServiceSearch, EveryConfigurationIsWhatItsServicePredictsAlone) {
  for (const serve::Service& service : {quick_service(), service_named("gpt3-20b-a100")}) {
    const ServiceSearch search = searched(service, {.loads = {4, 32}, .token_budgets = {512, 4096}});
    EXPECT_EQ(search.fitting.size() + search.too_large, search.tried);
    ASSERT_GT(search.fitting.size(), 10U);
    for (const ServedConfiguration& found : search.fitting) {
      const serve::Prediction one = alone(service, found);
      EXPECT_EQ(one.latency.mean, found.prediction.latency.mean);
      EXPECT_EQ(one.ttft.p99, found.prediction.ttft.p99);
      EXPECT_EQ(one.tokens_per_s_per_gpu, found.prediction.tokens_per_s_per_gpu);
    }
  }
}

TEST(ServiceSearch, NothingBeatsTheFront) {
  const ServiceSearch search = searched(quick_service(), {.loads = {1, 8, 64}});
  const auto as_good = [](const ServedConfiguration& a, const ServedConfiguration& b) {
    return a.prediction.tokens_per_s_per_gpu >= b.prediction.tokens_per_s_per_gpu &&
           a.prediction.ttft.mean <= b.prediction.ttft.mean && a.prediction.tpot->mean <= b.prediction.tpot->mean;
  };
  const std::set<std::size_t> front(search.front.begin(), search.front.end());
  ASSERT_GT(front.size(), 3U);
  for (std::size_t at = 0; at < search.fitting.size(); ++at) {
    const bool beaten = std::any_of(front.begin(), front.end(), [&](std::size_t other) {
      return other != at && as_good(search.fitting[other], search.fitting[at]);
    });
    EXPECT_NE(beaten, front.contains(at));
  }
}

TEST(ServiceSearch, TheBestIsFirstAndWithinTheLimits) {
  serve::Service service = quick_service();
  service.limits = {.ttft_s = 0.2, .tpot_s = 0.02};
  for (const bool latency : {false, true}) {
    const ServiceSearch search = searched(service, {.loads = {1, 8, 64}}, {.share = 0.95, .lowest_latency = latency});
    ASSERT_FALSE(search.ranked.empty());
    EXPECT_FALSE(search.nearest);
    const serve::Prediction& best = search.fitting[search.ranked.front()].prediction;
    for (const ServedConfiguration& found : search.fitting) {
      if (found.share_within() < 0.95) continue;
      if (latency)
        EXPECT_GE(found.prediction.latency.mean, best.latency.mean);
      else
        EXPECT_LE(found.prediction.tokens_per_s_per_gpu, best.tokens_per_s_per_gpu);
    }
    for (const std::size_t at : search.ranked) EXPECT_GE(search.fitting[at].share_within(), 0.95);
  }
}

TEST(ServiceSearch, WithoutAnyWithinTheLimitsTheNearestIsNamed) {
  serve::Service service = quick_service();
  service.limits.ttft_s = 1e-6;
  const ServiceSearch late = searched(service, {.loads = {1, 8, 64}});
  EXPECT_TRUE(late.ranked.empty());
  for (const ServedConfiguration& found : late.fitting)
    EXPECT_GE(found.prediction.ttft.mean, late.fitting[late.nearest.value()].prediction.ttft.mean);

  service.limits = {};
  const ServiceSearch slow = searched(service, {.loads = {1, 8, 64}}, {.least_per_gpu = 1e9});
  EXPECT_TRUE(slow.ranked.empty());
  for (const ServedConfiguration& found : slow.fitting)
    EXPECT_LE(found.prediction.tokens_per_s_per_gpu,
              slow.fitting[slow.nearest.value()].prediction.tokens_per_s_per_gpu);
}

TEST(ServiceSearch, AServiceThatFallsBehindIsNotTheBest) {
  serve::Service service = service_named("llama-3-70b-8-h100", {"requests.count=2000", "requests.rate_per_s=40"});
  service.limits = {};
  const ServiceSearch search = searched(service, {.gpus = {4, 8, 16, 32}, .token_budgets = {2048}, .splits = false});
  ASSERT_FALSE(search.ranked.empty());
  const ServedConfiguration& best = search.fitting[search.ranked.front()];
  EXPECT_GT(best.prediction.requests_per_s, 0.8 * 40);
  EXPECT_GT(best.layout.gpus(), 4);
}

TEST(ServiceSearch, TheBurstAtTheStartIsNotJudged) {
  serve::Service service = quick_service();
  service.limits = {};
  const ServiceSearch search = searched(service, {.loads = {16}, .splits = false});
  for (const ServedConfiguration& found : search.fitting) {
    EXPECT_EQ(found.prediction.judged, found.prediction.requests - 16);
    EXPECT_EQ(found.prediction.met, found.prediction.judged);
  }
}

TEST(ServiceSearch, SplitPoolsHaveAllDegreesThatFit) {
  const ServiceSearch search = searched(quick_service(), {.loads = {8}});
  std::set<std::pair<int, int>> pairs;
  for (const ServedConfiguration& found : search.fitting)
    if (const auto& split = found.layout.disaggregated)
      pairs.insert({split->prefill.degrees.tensor, split->decode.degrees.tensor});
  EXPECT_TRUE(pairs.contains({2, 4}));
  EXPECT_TRUE(pairs.contains({4, 4}));
}

TEST(ServiceSearch, AGivenRateWantsTheFewestGpus) {
  serve::Service service = service_named("llama-3-70b-8-h100", {"requests.count=200", "requests.output_tokens=32"});
  service.limits = {.ttft_s = 1, .tpot_s = 0.1};
  const ServiceSearch search = searched(service, {.gpus = {4, 8, 16}, .token_budgets = {2048}, .splits = false});
  ASSERT_FALSE(search.ranked.empty());
  EXPECT_EQ(search.fitting[search.ranked.front()].layout.gpus(), 4);
}

TEST(ServiceSearch, AStoppedSearchSaysSo) {
  const std::atomic<bool> stop = true;
  const ServiceSearch search = search_service(quick_service(), {}, {}, 2, {.stop = &stop});
  EXPECT_FALSE(search.complete);
  EXPECT_EQ(search.layouts, 0U);
}

}  // namespace
}  // namespace foretoken::study
