// Laws that every run must keep, and closed forms of small services.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "sim/cost/costs.h"
#include "sim/cost/wide_products.h"
#include "sim/model/blocks/blocks.h"
#include "sim/model/counts/parameters.h"
#include "sim/model/kernels.h"
#include "sim/model/stacks/decoder.h"
#include "sim/serve/kernels.h"
#include "sim/serve/memory.h"
#include "sim/serve/predict.h"
#include "sim/serve/run/static_batch.h"
#include "sim/serve/served_ops.h"
#include "sim/serve/test_service.h"

namespace foretoken::serve {
namespace {

/// The same with a cache of so many tokens.
Service with_cache(Service service, double tokens) {
  service.engine.memory_fraction = 1;
  const Memory memory = memory_of(service, service.pool);
  service.cluster.gpu.memory = memory.weights + memory.activations + memory.overhead + (tokens + 1) * memory.token;
  return service;
}

Service split(Service service) {
  service.disaggregated = Disaggregated{.prefill = {.gpus = 2, .degrees = {}}, .decode = {.gpus = 1, .degrees = {}}};
  return service;
}

struct Case {
  const char* name;
  Service service;
};

std::vector<Case> services() {
  std::vector<Case> cases{{"Poisson arrivals", small_service()},
                          {"a closed loop of users", small_service()},
                          {"two stages", small_service()},
                          {"two instances", small_service()},
                          {"prompts ahead of decoding", small_service()},
                          {"room for the whole answer is kept", with_cache(small_service(), 600)},
                          {"a cache so small that requests are preempted", with_cache(small_service(), 600)},
                          {"the same on two stages", small_service()},
                          {"speculation", small_service()},
                          {"a shared prefix", small_service()},
                          {"prompts and decoding on pools of their own", split(small_service())},
                          {"a front end, and a host that composes ahead", small_service()},
                          {"a front end that sends tokens to users of a closed loop", small_service()},
                          {"the same on pools of their own", split(small_service())}};
  cases[1].service.requests.kind = ArrivalKind::kClosed;
  cases[1].service.requests.at_once = 20;
  cases[2].service.pool = {.gpus = 2, .degrees = {.pipeline = 2}};
  cases[3].service.pool = {.gpus = 2, .degrees = {}};
  cases[4].service.engine.mixes_phases = false;
  cases[5].service.engine.capacity_policy = CapacityPolicy::kGuaranteedNoEvict;
  cases[7].service.pool = {.gpus = 2, .degrees = {.pipeline = 2}};
  cases[7].service = with_cache(cases[7].service, 600);
  cases[8].service.speculation = Speculation{.tokens = 3, .acceptance = 0.7};
  cases[9].service.requests.prefix_share = 0.5;
  cases[11].service.engine.request = microseconds(2000);
  cases[11].service.engine.overlaps_host = true;
  for (std::size_t i = 12; i < cases.size(); ++i) {
    cases[i].service.requests.kind = ArrivalKind::kClosed;
    cases[i].service.requests.at_once = 20;
    cases[i].service.engine.request = microseconds(500);
    cases[i].service.engine.answer_token = microseconds(300);
    cases[i].service.engine.answer = microseconds(1000);
  }
  return cases;
}

TEST(Serve, EveryRunKeepsItsLaws) {
  for (const auto& [name, service] : services()) {
    SCOPED_TRACE(name);
    const serve::Run run = run_of(service);
    double latencies = 0;
    for (const Request& request : run.requests) {
      EXPECT_LT(request.arrival, request.first) << "no token comes before its request";
      EXPECT_LE(request.first, request.finish);
      EXPECT_EQ(request.generated, request.output) << "every request gets all its tokens";
      latencies += des::to_seconds(request.finish - request.arrival).value();
    }
    EXPECT_NEAR(run.request_seconds / latencies, 1, 1e-9) << "Little's law";
    EXPECT_LE(run.peak_cache, 1) << "the cache holds no more than it has";
    EXPECT_LE(run.peak_running, service.engine.max_sequences);
  }
}

TEST(Serve, ThroughputStaysBelowTheRoofline) {
  for (const auto& [name, service] : services()) {
    SCOPED_TRACE(name);
    const Prediction prediction = predict(service);
    ASSERT_TRUE(prediction.fits);
    const double products = model::total_parameters(service.model) - model::embedding_parameters(service.model);
    const double flop = 2 * products * (1 - service.requests.prefix_share) * prediction.total_tokens_per_s;
    EXPECT_LT(flop, service.gpus() * service.cluster.gpu.peak.at(Precision::kBf16).value());
    EXPECT_NEAR(prediction.mean_in_system, prediction.requests_per_s * prediction.latency.mean, 1e-6);
  }
}

TEST(Serve, ASmallCachePreemptsAndAReservedOneDoesNot) {
  const std::vector<Case> cases = services();
  EXPECT_EQ(run_of(cases[0].service).preemptions, 0);
  EXPECT_EQ(run_of(cases[5].service).preemptions, 0);
  EXPECT_GT(run_of(cases[6].service).preemptions, 0);
}

TEST(Serve, AGuaranteedRequestWaitsUntilItsWholeAnswerHasRoom) {
  Service service = services()[6].service;
  const auto run_with = [&](CapacityPolicy policy) {
    service.engine.capacity_policy = policy;
    return run_of(service);
  };
  const auto guaranteed = run_with(CapacityPolicy::kGuaranteedNoEvict);
  const auto most = run_with(CapacityPolicy::kMaxUtilization);
  EXPECT_EQ(guaranteed.preemptions, 0);
  EXPECT_GT(most.preemptions, 0);
  EXPECT_GT(most.peak_running, guaranteed.peak_running);
  EXPECT_EQ(most.peak_cache, 1) << "it takes requests as long as a page is free";
}

TEST(Serve, UsersOfAClosedLoopAskNoMoreThanARunTakes) {
  EXPECT_EQ(closed_loop_count(1), 32);
  EXPECT_EQ(closed_loop_count(100), 1000);
  EXPECT_EQ(closed_loop_count(1'000'000), kMostRequests);
}

TEST(Serve, WithoutAnXqaKernelEachQueryHeadReadsItsKeysAndValues) {
  Service service = small_service();
  const CacheAttention grouped{.sequences = 64, .cached = 4096, .heads = 32, .kv_heads = 8, .token_bytes = 4096};
  CacheAttention each = grouped;
  each.kv_heads = 32;
  each.token_bytes *= 4;
  cost::ServingLaws laws;
  laws.decode[cost::CacheKind::kWide] = {.bandwidth = service.profile.memory_bound.bandwidth};
  for (const auto& known : {std::optional<cost::ServingLaws>(), std::optional(laws)}) {
    service.laws = known;
    service.engine.xqa_group_sizes = std::nullopt;
    const Seconds shared = cache_attention_time(grouped, service), own = cache_attention_time(each, service);
    EXPECT_GT(own, 3 * shared);
    service.engine.xqa_group_sizes = std::vector<std::int64_t>{1, 8};
    EXPECT_EQ(cache_attention_time(grouped, service), own) << "a group of 4 has no kernel";
    service.engine.xqa_group_sizes = std::vector<std::int64_t>{1, 4};
    EXPECT_EQ(cache_attention_time(grouped, service), shared);
  }
}

TEST(Serve, AnEnginesOwnDecodeKernelsAreTakenWhereTheyWereFitted) {
  Service service = small_service();
  CacheAttention shape{.sequences = 64, .cached = 4096, .heads = 32, .kv_heads = 8, .token_bytes = 4096};
  cost::ServingLaws& laws = service.laws.emplace();
  laws.decode[cost::CacheKind::kWide] = {.bandwidth = BytesPerSecond(1e12)};
  const auto own = [](double bytes_per_s, cost::FittedRange shared) {
    return cost::EngineDecodeLaw{
        .shared = shared, .head_dims = {64, 256}, .law = {.bandwidth = BytesPerSecond(bytes_per_s)}};
  };
  laws.engine_decode["trt-llm"][cost::CacheKind::kWide] = {own(4e12, {1, 1}), own(2e12, {2, 32})};
  const auto time = [&] { return cache_attention_time(shape, service).value(); };
  const double of_gpu = time();
  service.engine.decode_attention = "sglang";
  EXPECT_EQ(time(), of_gpu) << "no law of SGLang's kernels";
  service.engine.decode_attention = "trt-llm";
  EXPECT_NEAR(time(), of_gpu / 2, 1e-3 * of_gpu);
  shape.heads = 8;
  const double alone = time();
  service.engine.decode_attention = "";
  EXPECT_NEAR(time(), 4 * alone, 1e-3 * time()) << "one query head for each key-value head: another kernel";
  shape.heads = 32;
  service.engine = {.decode_attention = "trt-llm"};
  service.cache_bytes = 1;
  EXPECT_NEAR(time(), of_gpu / 4, 1e-3 * of_gpu) << "without laws of 8 bits the engine's own of 16";
}

TEST(Serve, AnEnginesOwnProductsAreTakenInThePrecisionThatTheyWereFittedIn) {
  Service service = small_service();
  service.laws.emplace().products["sglang"][Precision::kBf16] = {.knots = {{1, microseconds(5), 2}}};
  GemmShape shape{.m = 8, .n = 4096, .k = 4096};
  const auto time = [&] { return product_time(shape, WeightPrecision::kBf16, service).value(); };
  const double of_profile = time();
  service.engine.products = "sglang";
  EXPECT_NEAR(time(), 5e-6 + 2 * of_profile, 1e-12);
  shape.batch = 4;
  const double of_experts = time();
  service.engine.products = "";
  EXPECT_EQ(of_experts, time()) << "products of a batch are other kernels";
  shape = {.m = 8, .n = 4096, .k = 4096, .precision = Precision::kFp16};
  const double other = time();
  service.engine.products = "sglang";
  EXPECT_EQ(time(), other) << "no law of fp16";
}

TEST(Serve, ProductsInEightBitsWithoutALawOfTheEngineAreNamed) {
  Service service = small_service();
  service.engine.products = "sglang";
  const auto named = testing::Contains(testing::HasSubstr("there is no law of sglang's"));
  EXPECT_THAT(assumptions_of(service), testing::Not(named)) << "16 bits are the profile's";
  service.precision = WeightPrecision::kFp8;
  EXPECT_THAT(assumptions_of(service), named);
  cost::EngineProductsLaw& law = service.laws.emplace().products["sglang"][Precision::kFp8];
  law.knots = {{1, {}, 1}};
  EXPECT_THAT(assumptions_of(service), testing::Not(named));
  law.evidence = {.provenance = cost::Provenance::kScaled, .scaled_from = "h100-sxm5-80gb", .source = "the same chip"};
  EXPECT_THAT(assumptions_of(service),
              testing::Contains(testing::HasSubstr("sglang's law of h100-sxm5-80gb: the same chip")));
}

TEST(Serve, QueryHeadsOfAGroupReadThroughTheL2Cache) {
  Service service = small_service();
  const CacheAttention grouped{.sequences = 64, .cached = 4096, .heads = 32, .kv_heads = 8, .token_bytes = 4096};
  const double bytes = 64 * 4096.0 * 4096;
  service.laws = cost::ServingLaws{};
  service.laws->decode[cost::CacheKind::kWide] = {.bandwidth = BytesPerSecond(bytes),
                                                  .sharpness = 2};  // a second for one reading
  service.laws->l2_rate = BytesPerSecond(4 * bytes / 3);            // three seconds for four
  const auto time = [&] { return cache_attention_time(grouped, service).value(); };
  EXPECT_NEAR(time(), 1, 0.01);
  service.engine.xqa_group_sizes = std::vector<std::int64_t>{1, 8};
  EXPECT_NEAR(time(), std::sqrt(1 + 9), 0.01) << "memory and cache under one law";
  service.cache_bytes = 1;
  EXPECT_NEAR(time(), 2, 0.01) << "four readings of half the bytes: they are widened each time";
}

TEST(Serve, OneSeedGivesOneRun) {
  for (const auto& [name, service] : services()) {
    SCOPED_TRACE(name);
    const serve::Run a = run_of(service), b = run_of(service);
    for (std::size_t i = 0; i < a.requests.size(); ++i) ASSERT_EQ(a.requests[i].finish, b.requests[i].finish);
  }
  Service other = small_service();
  other.requests.seed = 2;
  EXPECT_NE(run_of(other).makespan, run_of(small_service()).makespan);
}

// With one request at a time and passes of equal length, the engine is an M/D/1 queue: W = rho S / (2 (1 - rho)).
TEST(Serve, WaitingTimeIsThatOfAQueueWithEqualServiceTimes) {
  Service service = small_service();
  service.engine.max_sequences = 1;
  service.requests.output_tokens = 1;
  service.requests.length_spread = 0;
  service.requests.count = 1;
  const double time = predict(service).ttft.mean;
  const double load = 0.5;
  service.requests.rate_per_s = load / time;
  service.requests.count = 200'000;
  const double waiting = predict(service).ttft.mean - time;
  EXPECT_NEAR(waiting / (load * time / (2 * (1 - load))), 1, 0.02);
}

TEST(Serve, AStaticBatchIsOnePromptPassAndADecodePassForEachFurtherToken) {
  Service service = small_service();
  service.batching = Batching::kStatic;
  service.requests = {.input_tokens = 100, .output_tokens = 4, .at_once = 8, .count = 8};
  PassTimes times(service, service.pool.degrees);
  std::vector<des::Duration> stages;
  times.time({.prompts = {{.sequences = 8, .tokens = 100}}}, stages);
  des::Duration expected = stages[0];
  for (int generated = 1; generated < 4; ++generated) {
    times.time({.prompts = {}, .decoding = 8, .cached = 8.0 * (100 + generated)}, stages);
    expected += stages[0];
  }
  EXPECT_EQ(run_of(service).makespan, expected);
}

/// Two requests: one decodes when the other comes.
Service with_a_newcomer(bool overlaps_host) {
  Service service = small_service();
  service.engine.overlaps_host = overlaps_host;
  service.requests = {.kind = ArrivalKind::kTrace, .input_tokens = 100, .output_tokens = 1000, .count = 2};
  service.requests.trace = {{0, 100, 1000}, {0.05, 100, 2}};
  return service;
}

// A host that composes the next pass while one runs sees a newcomer one pass later.
TEST(Serve, APassComposedAheadLeavesTheNewcomerOut) {
  for (const bool overlaps : {false, true}) {
    SCOPED_TRACE(overlaps);
    const Service service = with_a_newcomer(overlaps);
    const serve::Run run = run_of(service, true);
    std::int64_t behind = 0;  // passes that started after it came, up to its own
    for (const TracedPass& pass : run.traced) {
      if (pass.load.at <= run.requests[1].arrival) continue;
      ++behind;
      if (pass.load.prompt_tokens > 0) break;
    }
    EXPECT_EQ(behind, overlaps ? 2 : 1);
  }
}

TEST(Serve, TheFrontEndTakesOneRequestAfterAnother) {
  Service service = small_service();
  service.requests = {.kind = ArrivalKind::kTrace, .input_tokens = 100, .output_tokens = 1, .count = 2};
  service.requests.trace = {{0, 100, 1}, {0, 100, 1}};
  service.engine.max_sequences = 1;
  const double pass = predict(service).ttft.mean / 1.5;  // the second waits for the first
  service.engine.request = microseconds(1e6);
  const Prediction slow = predict(service);
  EXPECT_NEAR(slow.ttft.mean, 1.5 + pass, 1e-9) << "1 s and 2 s before the pass";
  service.engine.request = {};
  service.engine.prompt_token = microseconds(2e4);
  EXPECT_NEAR(predict(service).ttft.mean, 3 + pass, 1e-9) << "2 s for each prompt of 100 tokens";
}

TEST(Serve, TheFrontEndSendsOneTokenAfterAnother) {
  Service service = small_service();
  service.requests = {
      .kind = ArrivalKind::kClosed, .input_tokens = 100, .output_tokens = 10, .at_once = 4, .count = 400};
  service.engine.answer_token = Seconds(1);
  const Prediction full = predict(service);
  EXPECT_NEAR(full.output_tokens_per_s, 1, 0.01) << "whatever the engine does";
  EXPECT_NEAR(full.latency.mean, 40, 0.5) << "four users, ten tokens each";
  service.requests.at_once = 1;
  const Prediction alone = predict(service);
  service.engine.answer_token = {};
  const Prediction without = predict(service);
  EXPECT_NEAR(alone.ttft.mean, without.ttft.mean + 1, 1e-6);
  EXPECT_NEAR(alone.latency.mean, without.ttft.mean + 10, 1e-3) << "passes go on while tokens are sent";
}

TEST(Serve, PoolsOfTheirOwnHaveFrontEndsOfTheirOwn) {
  Service service = split(small_service());
  service.requests = {
      .kind = ArrivalKind::kClosed, .input_tokens = 100, .output_tokens = 10, .at_once = 8, .count = 800};
  service.engine.answer_token = Seconds(1);
  // Nine tokens of each answer go through the front end of the pool that decodes, and the first through the other.
  EXPECT_NEAR(predict(service).output_tokens_per_s, 10.0 / 9, 0.02);
  EXPECT_LT(predict(service).ttft.mean, 3) << "first tokens do not wait behind the others";
}

TEST(Serve, UsersGetTheTokensOfAPassLater) {
  Service service = small_service();
  service.requests = {.kind = ArrivalKind::kClosed, .input_tokens = 100, .output_tokens = 8, .at_once = 1, .count = 5};
  const Prediction without = predict(service);
  service.engine.answer = Seconds(1);
  const Prediction with = predict(service);
  EXPECT_NEAR(with.ttft.mean, without.ttft.mean + 1, 1e-9);
  EXPECT_NEAR(with.latency.mean, without.latency.mean + 1, 1e-9) << "the last token is as late as the first";
  EXPECT_NEAR(with.tpot->mean, without.tpot->mean, 1e-9);
  EXPECT_NEAR(with.makespan_s, 5 * with.latency.mean, 1e-9) << "the user asks again with the last token";
  EXPECT_NEAR(with.mean_in_system, 1, 1e-9);
}

TEST(Serve, AHostBehindThePassCountsWhereItIsLonger) {
  Service service = small_service();
  const PassShape shape{.prompts = {}, .decoding = 4, .cached = 400};
  const auto time = [&] {
    std::vector<des::Duration> stages;
    PassTimes(service, service.pool.degrees).time(shape, stages);
    return des::to_seconds(stages[0]).value();
  };
  service.engine.pass = {};
  const double device = time();
  service.engine.pass = Seconds(1);
  service.engine.sequence = Seconds(0.5);
  EXPECT_NEAR(time(), device + 3, 1e-9) << "in the open";
  service.engine.overlaps_host = true;
  EXPECT_NEAR(time(), 3, 1e-9) << "longer than the pass";
  service.engine.pass = service.engine.sequence = microseconds(1);
  EXPECT_NEAR(time(), device, 1e-12) << "hidden behind the pass";
}

// A CUDA graph holds all passes but those with prompts.
TEST(Serve, APassWithPromptsWaitsForTheHostToLaunchItsKernels) {
  Service service = small_service();
  const auto time = [&](const PassShape& shape) {
    std::vector<des::Duration> stages;
    PassTimes(service, service.pool.degrees).time(shape, stages);
    return des::to_seconds(stages[0]).value();
  };
  const PassShape prompts{.prompts = {{.tokens = 100}}}, decoding{.prompts = {}, .decoding = 4, .cached = 400};
  service.engine.pass = Seconds(0.5);
  const double alone = time(decoding);
  model::LayerContext context = job_of(service, service.pool.degrees).layer_context();
  const auto layers = model::decoder_layers(service.model, context);
  const std::size_t kernels = 1 + served_layer(layers[0].ops, context, service.model, service.pool.degrees).size();
  const double launches = 4 * real(std::int64_t(kernels));  // of four layers, a second each

  service.engine.launch = Seconds(1);
  EXPECT_NEAR(time(prompts), launches + 0.5, 1e-9) << "the host launches, then samples";
  EXPECT_EQ(time(decoding), alone);
  service.engine.overlaps_host = true;
  EXPECT_NEAR(time(prompts), launches + 0.5, 1e-9) << "the host composes the next pass, and launches it";
  service.engine.pass = {};
  service.engine.launch = microseconds(0.001);
  const double hidden = time(prompts);
  service.engine.launch = {};
  EXPECT_EQ(time(prompts), hidden) << "hidden behind the device";
}

// With dynamic scales the outputs of both norms have casts of their own: 2 bytes looked through, 2 read, 1 written. The
// inputs of the other two products have a cast anyway, and are looked through as well.
TEST(Serve, DynamicScalesTakeKernelsOfTheirOwn) {
  Service service = small_service();
  service.precision = WeightPrecision::kFp8;
  const auto casts = [&] {
    model::LayerContext context = job_of(service, service.pool.degrees).layer_context();
    double bytes = 0;
    for (const auto& op : served_layer(model::decoder_layers(service.model, context)[0].ops, context, service.model,
                                       service.pool.degrees))
      if (const auto* const shape = std::get_if<MemoryBoundShape>(&op.work); shape != nullptr && op.name == "quantise")
        bytes += shape->bytes.value();
    return bytes / context.tokens();
  };
  const double fused = casts();
  service.engine.dynamic_fp8 = true;
  const double hidden = real(service.model.hidden);
  EXPECT_NEAR(casts() - fused, 2 * 5 * hidden + 2 * (hidden + real(service.model.ffn_hidden)), 1e-9);
}

TEST(Serve, EveryStageLaunchesItsOwnKernels) {
  Service service = small_service();
  service.engine.pass = {};
  service.engine.launch = Seconds(1);
  service.pool = {.gpus = 2, .degrees = {.pipeline = 2}};
  std::vector<des::Duration> stages;
  PassTimes(service, service.pool.degrees).time({.prompts = {{.tokens = 100}}}, stages);
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0], stages[1]);
}

TEST(Serve, UnfusedKernelsMoveTheirBytes) {
  Service service = small_service();
  const PassShape shape{.prompts = {{.sequences = 2, .tokens = 100, .before = 50}}};
  const auto time = [&] {
    std::vector<des::Duration> stages;
    PassTimes(service, service.pool.degrees).time(shape, stages);
    return des::to_seconds(stages[0]).value();
  };
  const cost::MemoryBoundLaw& law = service.profile.memory_bound;
  const double rate = law.efficiency * law.bandwidth.value(), before = time();
  service.engine.score_traffic = 12;
  const double scores = 2 * real(service.model.heads) * 100 * 150;
  EXPECT_NEAR(time() - before, 4 * 12 * scores / rate, 1e-9);
  service.engine.score_traffic = 0;
  service.engine.layer_traffic = 76;
  EXPECT_NEAR(time() - before, 4 * 76 * 200.0 * real(service.model.hidden) / rate, 1e-9);
}

TEST(Serve, AWindowHoldsTheKeysOfTheChunkAndOfTheCacheTogether) {
  struct Chunk {
    std::int64_t tokens, before, window;
  };
  for (const auto& [tokens, before, window] : std::vector<Chunk>{{256, 1024, 128},
                                                                 {256, 64, 128},
                                                                 {256, 1024, 4096},
                                                                 {256, 1024, 512},
                                                                 {256, 300, 512},
                                                                 {1, 1000, 128},
                                                                 {256, 1024, 0}}) {
    SCOPED_TRACE(testing::Message() << tokens << " behind " << before << ", window " << window);
    std::int64_t pairs = 0;
    for (std::int64_t own = 1; own <= tokens; ++own)
      pairs += window == 0 ? before : std::clamp<std::int64_t>(window - own, 0, before);
    const PromptChunk chunk{.tokens = tokens, .before = before};
    EXPECT_NEAR(cached_keys(chunk, window), real(pairs) / real(tokens), 1);  // the diagonal counts by half
  }
  const AttentionShape own{.q_length = 256, .kv_length = 256, .window = 128};
  EXPECT_DOUBLE_EQ(own.keys_per_query() + cached_keys({.tokens = 256, .before = 1024}, 128), 128);
}

TEST(Serve, AWindowedPromptReadsTheCacheThatItsWindowLeaves) {
  Service service = small_service();
  service.model.local = {.window = 128, .every = 1000};
  const auto time = [&](std::int64_t before) {
    std::vector<des::Duration> stages;
    PassTimes(service, service.pool.degrees).time({.prompts = {{.tokens = 256, .before = before}}}, stages);
    return des::to_seconds(stages[0]).value();
  };
  const AttentionShape cached{
      .heads = 16, .kv_heads = 16, .q_length = 256, .kv_length = 32, .head_dim = 64, .causal = false};
  EXPECT_NEAR(time(1024) - time(0), 4 * cost::attention_time(cached, service.profile).value(), 1e-9);
}

/// 8 experts of width 1,024 in each layer, two of which each token chooses.
Service service_with_experts(WeightPrecision precision) {
  Service service = small_service();
  service.model.experts = model::Experts{.count = 8, .per_token = 2, .width = 1024};
  service.precision = precision;
  return service;
}

TEST(Serve, Mxfp4NarrowsTheWeightsOfExpertsOnly) {
  const auto bytes = [](WeightPrecision precision) {
    const Service service = service_with_experts(precision);
    return weights_of(service, service.pool.degrees).value();
  };
  const Service wide = service_with_experts(WeightPrecision::kBf16);
  const model::LayerContext context = job_of(wide, wide.pool.degrees).layer_context();
  double experts = 0;
  for (const model::LayerRunOps& run : model::decoder_layers(wide.model, context))
    experts += real(wide.model.layers) * model::expert_matrix_parameters(run.ops);
  EXPECT_GT(experts, 1e7);
  EXPECT_NEAR(bytes(WeightPrecision::kBf16) - bytes(WeightPrecision::kMxfp4), experts * (2 - 17.0 / 32), 1);
}

TEST(Serve, ExpertsInMxfp4HaveALawOfTheirOwn) {
  Service service = service_with_experts(WeightPrecision::kMxfp4);
  const GemmShape shape{.m = 4, .n = 2048, .k = 1024, .batch = 8, .kind = BatchKind::kGrouped};
  const Seconds scaled = product_time(shape, WeightPrecision::kMxfp4, service);
  EXPECT_LT(scaled, product_time(shape, WeightPrecision::kBf16, service)) << "fewer bytes";
  service.laws = cost::ServingLaws{};
  service.laws->mxfp4_experts = cost::NarrowExpertsLaw{
      .launch = microseconds(3), .bandwidth = gigabytes_per_second(1), .rate = teraflops(1e6), .sharpness = 1};
  const double bytes = 8 * 2048 * 1024 * 17.0 / 32;
  EXPECT_NEAR(product_time(shape, WeightPrecision::kMxfp4, service).value(), 3e-6 + bytes * 1e-9, 1e-8);
}

/// A law whose layers take so many microseconds, whatever their size.
cost::ExpertLayerLaw constant_layer(double us) {
  return {.launch = microseconds(us), .bandwidth = gigabytes_per_second(1e9), .rate = teraflops(1e9)};
}

/// Time of a pass that decodes eight requests, in microseconds.
double decode_pass_us(const Service& service) {
  PassTimes times(service, service.pool.degrees);
  std::vector<des::Duration> stages;
  times.time({.decoding = 8, .cached = 800}, stages);
  return real(stages.front().ps) * 1e-6;
}

TEST(Serve, EachLayerOfExpertsTakesTheTimeOfTheEnginesLaw) {
  Service service = service_with_experts(WeightPrecision::kBf16);
  service.laws = cost::ServingLaws{};
  service.engine.experts = "vllm";
  cost::ExpertLayerLaws& laws = service.laws->experts["vllm"][Precision::kBf16];
  laws.one_rank = constant_layer(10);
  const double shorter = decode_pass_us(service);
  laws.one_rank = constant_layer(110);
  EXPECT_NEAR(decode_pass_us(service) - shorter, 100 * real(service.model.layers), 0.1);
  service.moe_backend = MoeBackend::kTriton;
  EXPECT_EQ(expert_layers(service).laws, nullptr) << "the question names other kernels";
}

TEST(Serve, ALayerOfExpertsCountsTokensRowsAndWeights) {
  Service service = service_with_experts(WeightPrecision::kBf16);
  service.laws = cost::ServingLaws{};
  service.engine.experts = "vllm";
  std::optional<cost::ExpertLayerLaw>& law = service.laws->experts["vllm"][Precision::kBf16].one_rank;
  law = constant_layer(0);
  const double without = decode_pass_us(service);
  const double layers = real(service.model.layers), hidden = real(service.model.hidden);
  const auto added = [&] { return decode_pass_us(service) - without; };
  law->token = Seconds(1e-9);
  EXPECT_NEAR(added(), layers * 8 * hidden * 1e-3, 0.1) << "8 tokens";
  law->token = {};
  law->expert = microseconds(1);
  EXPECT_NEAR(added(), layers * 8, 0.1) << "8 experts";
  law->expert = {};
  law->row = Seconds(1e-9);
  EXPECT_NEAR(added(), layers * 16 * hidden * 1e-3, layers * 8 * hidden * 1e-3) << "two experts for each token";
  EXPECT_GE(added(), layers * 16 * hidden * 1e-3 - 0.1) << "rows are rounded up";
  law->row = {};
  law->bandwidth = gigabytes_per_second(1);
  const double met = 8 * (1 - std::pow(1 - 2.0 / 8, 8));  // experts that one of 8 tokens chooses
  const double matrices = service.model.gated() ? 3 : 2;
  EXPECT_NEAR(added(), layers * std::ceil(met) * matrices * 1024 * hidden * 2 * 1e-3, 1);
}

TEST(Serve, CastsBeforeWideAttentionAreLeftOut) {
  Service service = small_service();
  service.precision = WeightPrecision::kNvfp4;
  const auto op = [](std::string_view name, bool product) {
    model::LayerOp made{.name = name};
    if (product)
      made.work = GemmShape{};
    else
      made.work = MemoryBoundShape{};
    return made;
  };
  const model::OpList ops{op("quantise", false), op("query down", true), op("quantise", false), op("fc1", true)};
  EXPECT_EQ(without_idle_casts(ops, service).size(), 4);
  service.model.latent = model::LatentAttention{};
  const model::OpList kept = without_idle_casts(ops, service);
  ASSERT_EQ(kept.size(), 3);
  EXPECT_EQ(kept.front().name, "query down");
}

TEST(Serve, ALayerOfExpertsIsTakenOutWhole) {
  const Service service = service_with_experts(WeightPrecision::kBf16);
  const model::LayerContext context = job_of(service, service.pool.degrees).layer_context();
  const auto runs = model::decoder_layers(service.model, context);
  const model::OpList ops = served_layer(runs.front().ops, context, service.model, service.pool.degrees);
  const WithoutExperts layer = without_experts(ops);
  EXPECT_EQ(layer.products.size(), 2);
  const auto has = [](const model::OpList& list, std::string_view name) {
    return std::any_of(list.begin(), list.end(), [&](const auto& op) { return op.name == name; });
  };
  EXPECT_TRUE(has(layer.others, "router"));
  for (const std::string_view name : {"choose experts", "permute tokens", "expert activation", "sum over experts"}) {
    EXPECT_TRUE(has(ops, name)) << name;
    EXPECT_FALSE(has(layer.others, name)) << name;
  }
}

TEST(Serve, LatentAttentionKeepsSixteenBitsBesideNvfp4) {
  Service service = small_service();
  service.precision = WeightPrecision::kNvfp4;
  const model::LayerOp projection{.name = "projection", .role = model::OpRole::kLinear, .work = GemmShape{}};
  const model::LayerOp mlp{.name = "fc1", .role = model::OpRole::kLinear, .work = GemmShape{}};
  EXPECT_EQ(precision_of(projection, service), WeightPrecision::kNvfp4);
  service.model.latent =
      model::LatentAttention{.query_rank = 64, .kv_rank = 32, .nope_dim = 32, .rope_dim = 16, .value_dim = 32};
  EXPECT_EQ(precision_of(projection, service), WeightPrecision::kBf16);
  EXPECT_EQ(precision_of(mlp, service), WeightPrecision::kNvfp4);
  const model::LayerContext context = job_of(service, service.pool.degrees).layer_context();
  const auto runs = model::decoder_layers(service.model, context);
  const model::OpList ops = served_layer(runs.front().ops, context, service.model, service.pool.degrees);
  const auto of_attention = [](const model::LayerOp& op) {
    return std::holds_alternative<GemmShape>(op.work) && is_of_attention(op.name);
  };
  EXPECT_EQ(std::count_if(ops.begin(), ops.end(), of_attention), 5) << "down and up twice, and the projection";
  service.precision = WeightPrecision::kFp8;
  EXPECT_EQ(precision_of(projection, service), WeightPrecision::kFp8);
}

TEST(Serve, AnotherEnginesLayersOfExpertsAreNamed) {
  Service service = service_with_experts(WeightPrecision::kBf16);
  service.laws = cost::ServingLaws{};
  service.engine.experts = "sglang";
  EXPECT_THAT(assumptions_of(service), testing::Contains(testing::HasSubstr("the products of training")));
  service.laws->experts["vllm"][Precision::kBf16].one_rank = constant_layer(10);
  EXPECT_THAT(assumptions_of(service), testing::Contains(testing::HasSubstr("the time of vllm's kernels")));
  service.pool.degrees.expert = 2;
  EXPECT_THAT(assumptions_of(service), testing::Contains(testing::HasSubstr("the law of experts on each GPU")));
  service.laws->experts["vllm"][Precision::kBf16].one_rank->evidence = {
      .provenance = cost::Provenance::kScaled, .scaled_from = "other-gpu", .source = "in proportion"};
  EXPECT_THAT(assumptions_of(service), testing::Contains(testing::HasSubstr("the law of other-gpu: in proportion")));
}

TEST(Serve, FewerExpertsAreMetWhereSomeArePopular) {
  model::Experts experts{.count = 128, .per_token = 4};
  EXPECT_DOUBLE_EQ(experts.chance_met(1), 4.0 / 128);
  const double even = experts.chance_met(64);
  experts.popularity_shape = 2;
  EXPECT_NEAR(experts.chance_met(64), 1 - 1 / 4.0, 1e-12) << "(1 + 64 x 4 / 128 / 2)^-2";
  EXPECT_LT(experts.chance_met(64), even);
  EXPECT_DOUBLE_EQ(experts.chance_met(1), 4.0 / 128) << "one token meets its own";
  experts.popularity_shape = 1e9;
  EXPECT_NEAR(experts.chance_met(64), 1 - std::exp(-2), 1e-6) << "as many of each";
}

TEST(Serve, TritonsExpertsTakeTheHostAndSortTokens) {
  Service service = service_with_experts(WeightPrecision::kMxfp4);
  service.engine.triton = TritonExperts{.launch = Seconds(1), .sort = Seconds(0.25), .sort_token = Seconds(0.001)};
  const auto first_stage = [&](const PassShape& pass) {
    std::vector<des::Duration> times;
    PassTimes(service, service.pool.degrees).time(pass, times);
    return des::to_seconds(times[0]).value();
  };
  const PassShape decoding{.prompts = {}, .decoding = 50, .cached = 5000};
  const PassShape prompts{.prompts = {{.sequences = 1, .tokens = 50, .before = 0, .last = true}}};
  const double layers = real(service.model.layers);
  const double plain = first_stage(decoding);
  service.moe_backend = MoeBackend::kTriton;
  EXPECT_NEAR(first_stage(decoding) - plain, layers * (0.25 + 50 * 0.001), 1e-6);
  EXPECT_NEAR(first_stage(prompts), layers * 1, 0.1 * layers)
      << "the host's launches, behind which the device waits not";
}

TEST(Serve, EnginesSumBySmallKernelsOfTheirOwn) {
  Service service = small_service();
  const auto table = [](double us) {
    const std::vector<cost::SmallAllReduce::Row> rows{{Bytes(1), microseconds(us)}, {Bytes(1e9), microseconds(us)}};
    return cost::SmallAllReduces{.source = "", .tables = {{.ranks = 2, .rows = rows}}};
  };
  const auto us = [&](cost::AllReduceKernels kernels, int ranks) {
    service.engine.all_reduce = kernels;
    const auto time = small_all_reduce_time(Bytes(1000), ranks, service);
    return time ? time->value() * 1e6 : -1;
  };
  using enum cost::AllReduceKernels;
  EXPECT_EQ(us(kVllm, 2), -1) << "no laws of the GPU";
  service.laws = cost::ServingLaws{};
  service.laws->all_reduces = {{kTrtLlm, table(3)}, {kVllm, table(5)}};
  EXPECT_DOUBLE_EQ(us(kVllm, 2), 5);
  EXPECT_DOUBLE_EQ(us(kSglang, 2), 3) << "another engine's, which the answer says";
  EXPECT_EQ(us(kVllm, 4), -1);
  EXPECT_EQ(us(kNccl, 2), -1);
}

TEST(Serve, MarlinsExpertsHaveTheirOwnLaw) {
  Service service = service_with_experts(WeightPrecision::kMxfp4);
  service.laws = cost::ServingLaws{};
  service.laws->mxfp4_experts =
      cost::NarrowExpertsLaw{.launch = microseconds(3), .bandwidth = gigabytes_per_second(1e9), .rate = teraflops(1e9)};
  EXPECT_EQ(experts_law(service), &*service.laws->mxfp4_experts);
  service.moe_backend = MoeBackend::kMarlin;
  EXPECT_EQ(experts_law(service), nullptr) << "the GPU has no table of Marlin's kernels";
  service.laws->marlin_experts = service.laws->mxfp4_experts;
  service.laws->marlin_experts->launch = microseconds(1);
  service.laws->marlin_experts->expert = microseconds(0.5);
  const GemmShape shape{.m = 1, .n = 8, .k = 8, .batch = 1, .kind = BatchKind::kGrouped};
  const double all = real(service.model.experts->count);
  EXPECT_NEAR(product_time(shape, WeightPrecision::kMxfp4, service).value() * 1e6, 1 + 0.5 * all, 1e-6);
}

TEST(Serve, Mxfp4NeedsExperts) {
  EXPECT_EQ(why_not(WeightPrecision::kMxfp4, service_with_experts(WeightPrecision::kMxfp4)), std::nullopt);
  const auto reason = why_not(WeightPrecision::kMxfp4, small_service());
  ASSERT_TRUE(reason.has_value());
  EXPECT_NE(reason->find("has no experts; try nvfp4 or int4"), std::string::npos);
}

/// An encoder in fp32 whose sequences of 100 tokens are padded.
Service padded_encoder(std::int64_t padded_tokens) {
  Service service = small_service();
  service.model.encoder = model::Encoder{};
  service.engine.encodes = true;
  service.precision = WeightPrecision::kFp32;
  cost::lend_wide_products(service.profile, Precision::kFp32, 1.0 / 16);
  service.batching = Batching::kStatic;
  service.requests = {
      .input_tokens = 100, .output_tokens = 0, .padded_tokens = padded_tokens, .at_once = 2, .count = 2};
  return service;
}

// Scores and values of 2 x 16 heads of 64, the softmax, its input and output sorted by heads.
TEST(Serve, UnfusedAttentionOf32BitsRunsOverThePadding) {
  const auto core = [](const Service& service, std::int64_t length) {
    const GemmShape scores{.m = length, .n = length, .k = 64, .batch = 32, .precision = Precision::kFp32};
    const GemmShape values{.m = length, .n = 64, .k = length, .batch = 32, .precision = Precision::kFp32};
    const auto moves = [&](double elements) { return cost::memory_bound_time({Bytes(4 * elements)}, service.profile); };
    const double padded = 2.0 * real(length);
    return cost::gemm_time(scores, service.profile) + cost::gemm_time(values, service.profile) +
           moves(2 * 32.0 * real(length * length)) + moves(2 * padded * 1024) + moves((200 + padded) * 3 * 1024);
  };
  const Service kept = padded_encoder(0), padded = padded_encoder(200);
  const double apart = predict(padded).latency.mean - predict(kept).latency.mean;
  EXPECT_NEAR(apart, 4 * (core(padded, 200) - core(kept, 100)).value(), 1e-10);
}

TEST(Serve, HeadsWithoutFusedKernelsRunOverThePadding) {
  Service service = padded_encoder(200);
  service.precision = WeightPrecision::kBf16;
  EXPECT_FALSE(runs_unfused(service));
  service.engine.fused_head_dims = std::vector<std::int64_t>{32, service.model.head_dim};
  EXPECT_FALSE(runs_unfused(service));
  const double fused = predict(service).latency.mean;
  service.engine.fused_head_dims = std::vector<std::int64_t>{32};
  EXPECT_TRUE(runs_unfused(service));
  EXPECT_GT(predict(service).latency.mean, fused);
}

TEST(Serve, EverythingOfAnEncoderIn32BitsHas4Bytes) {
  Service service = padded_encoder(200);
  service.engine.activation_widths = 10;
  const Memory memory = memory_of(service, service.pool);
  EXPECT_DOUBLE_EQ(memory.weights.value(), 4 * model::total_parameters(service.model));
  EXPECT_DOUBLE_EQ(memory.activations.value(), 10 * 4 * 1024 * 200.0 + 4 * 16 * 2 * 200.0 * 200);
  EXPECT_EQ(memory.max_context, service.model.max_positions);
  service.model.max_positions = 0;
  const Memory endless = memory_of(service, service.pool);
  const double longest = real(endless.max_context), room = (endless.capacity - endless.weights).value();
  const auto needs = [](double tokens) { return 10 * 4 * 1024 * tokens + 4 * 16 * tokens * tokens; };
  EXPECT_LE(needs(longest), room);
  EXPECT_GT(needs(longest + 1), room);
}

// Products in integers, other kernels with half the bytes, and one kernel that puts attention's outputs into tiles.
TEST(Serve, AnEncoderInW8a8HasIntegersThroughout) {
  Service service = padded_encoder(0);
  const auto latency = [&](WeightPrecision precision) {
    service.precision = precision;
    return predict(service).latency.mean;
  };
  const cost::Profile& profile = service.profile;
  service.profile.gemm[Precision::kInt8] = profile.gemm.at(Precision::kBf16);
  service.precision = WeightPrecision::kBf16;
  const model::LayerContext context = [&] {
    model::LayerContext of_pass = job_of(service, service.pool.degrees).layer_context();
    of_pass.sequence = 200;
    return of_pass;
  }();
  const auto moves = [&](double bytes) { return cost::memory_bound_time({Bytes(bytes)}, profile).value(); };
  double apart = 4 * moves(2 * 200 * 1024);
  const auto layers = model::decoder_layers(service.model, context);
  for (const model::LayerOp& op : served_layer(layers[0].ops, context, service.model, service.pool.degrees)) {
    if (const auto* kernel = std::get_if<MemoryBoundShape>(&op.work))
      apart += 4 * (moves(kernel->bytes.value() / 2) - moves(kernel->bytes.value()));
    if (const auto* product = std::get_if<GemmShape>(&op.work)) {
      GemmShape narrow = *product;
      narrow.precision = Precision::kInt8;
      apart += 4 * (cost::gemm_time(narrow, profile) - cost::gemm_time(*product, profile)).value();
    }
  }
  const model::BlockOps embedding = model::embedding_block(service.model, context);
  for (const model::LayerOp& op : model::forward_kernels(embedding, context))
    if (const auto* kernel = std::get_if<MemoryBoundShape>(&op.work))
      apart += moves(kernel->bytes.value() / 2) - moves(kernel->bytes.value());
  const double wide = latency(WeightPrecision::kBf16);
  EXPECT_NEAR(latency(WeightPrecision::kW8a8) - wide, apart, 1e-10);
  EXPECT_LT(latency(WeightPrecision::kW8a8), wide);
}

// Mode 1: products write 4 bytes an element, and the next kernel reads them; two norms keep 2 bytes of the residual,
// and two kernels make 8 bits of it.
TEST(Serve, AnEncoderWhoseProductsWrite32BitsMovesMore) {
  Service service = padded_encoder(0);
  service.precision = WeightPrecision::kW8a8;
  service.profile.gemm[Precision::kInt8] = service.profile.gemm.at(Precision::kBf16);
  const double narrow = predict(service).latency.mean;
  service.engine.int8_mode = 1;
  const auto& law = service.profile.memory_bound;
  const double tokens = 200, hidden = 1024, outputs = 3 * hidden + hidden + real(service.model.ffn_hidden) + hidden;
  const double beyond = tokens * (2 * 3 * outputs + 2 * 2 * hidden);
  const Seconds quantized = cost::memory_bound_time({Bytes(3 * tokens * hidden)}, service.profile);
  const double layer = (Bytes(beyond) / (law.efficiency * law.bandwidth) + 2 * quantized).value();
  EXPECT_NEAR(predict(service).latency.mean - narrow, 4 * layer, 1e-9);
}

TEST(Serve, W8a8IsOfEncodersAndNeedsProductsInIntegers) {
  Service encoder = padded_encoder(0);
  encoder.profile.gemm.erase(Precision::kInt8);
  EXPECT_THAT(why_not(WeightPrecision::kW8a8, encoder).value_or(""),
              testing::AllOf(testing::HasSubstr("has no products in int8; try "), testing::HasSubstr("bf16")));
  encoder.profile.gemm[Precision::kInt8] = encoder.profile.gemm.at(Precision::kBf16);
  EXPECT_EQ(why_not(WeightPrecision::kW8a8, encoder), std::nullopt);
  EXPECT_THAT(why_not(WeightPrecision::kW8a8, small_service()).value_or(""),
              testing::HasSubstr("generates tokens; try int8 (weights alone) or fp8"));
}

/// A T5 of 2 + 2 layers with 16 heads of 64, whose memory-bound kernels take no time.
Service two_halves() {
  Service service = small_service();
  service.model.encoder_decoder = model::EncoderDecoder{.encoder_layers = 2, .position_buckets = 32};
  service.model.positions = model::Positions::kNone;
  service.model.max_positions = 0;
  service.model.norm = model::Norm::kRmsNorm;
  service.model.linear_bias = service.model.qkv_bias = false;
  service.engine.encoder_decoders = true;
  service.engine.pass = {};
  service.batching = Batching::kStatic;
  service.requests = {.input_tokens = 100, .output_tokens = 3, .at_once = 8, .count = 8};
  return service;
}

// Encoder: 4 h^2 + 2 h f and two norms a layer. Decoder: 8 h^2 + 2 h f and three. Two tables of 32 x 16 positions.
TEST(Serve, MemoryOfAnEncoderDecoderIsCountedByHand) {
  Service service = two_halves();
  const Memory memory = memory_of(service, service.pool);
  const double h = 1024, f = 4096;
  const double layers = 2 * (4 * h * h + 2 * h * f + 2 * h) + 2 * (8 * h * h + 2 * h * f + 3 * h);
  EXPECT_DOUBLE_EQ(memory.weights.value(), 2 * (layers + 51200 * h + 2 * h + 2 * 32 * 16));
  EXPECT_DOUBLE_EQ(memory.token.value(), 2 * 2 * 1024 * 2.0) << "keys and values of the decoder's layers";
  EXPECT_DOUBLE_EQ(memory.cache.value(), 8 * 103 * memory.token.value()) << "the answer's, and those of the prompt";
  service.cache_bytes = 4;
  EXPECT_DOUBLE_EQ(memory_of(service, service.pool).cache.value(), 2 * memory.cache.value());
}

// All passes take one token a sequence through the decoder. The first has the encoder, too, and makes the keys and
// values of its output.
TEST(Serve, ThePassesOfAnEncoderDecoderHaveTheProductsCountedByHand) {
  Service service = two_halves();
  service.profile.memory_bound = {.bandwidth = BytesPerSecond(1e30), .efficiency = 1};
  PassTimes times(service, service.pool.degrees);
  std::vector<des::Duration> first, step, longer;
  times.time({.prompts = {{.sequences = 8, .tokens = 100}}}, first);
  times.time({.prompts = {}, .decoding = 8, .cached = 8, .encoded = 800}, step);
  const auto product = [&](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1) {
    return cost::gemm_time({.m = m, .n = n, .k = k, .batch = batch}, service.profile).value();
  };
  const auto mlp = [&](std::int64_t rows) { return product(rows, 4096, 1024) + product(rows, 1024, 4096); };
  const double attention = product(100, 100, 64, 128) + product(100, 64, 100, 128);
  const double encoder = product(800, 3072, 1024) + attention + product(800, 1024, 1024) + mlp(800);
  const double keys_and_values = product(800, 2048, 1024);
  const double decoder = product(8, 3072, 1024) + 3 * product(8, 1024, 1024) + mlp(8);
  const auto time = [](const std::vector<des::Duration>& stages) { return des::to_seconds(stages.at(0)).value(); };
  EXPECT_NEAR(time(first) - time(step), 2 * (encoder + keys_and_values), 2e-12);
  EXPECT_NEAR(time(step), 2 * decoder + product(8, 51200, 1024), 2e-12);
  const serve::Run run = run_of(service);
  EXPECT_NEAR(des::to_seconds(run.makespan).value(), time(first) + 2 * time(step), 1e-11);
}

TEST(Serve, AnEncoderDecoderReadsBothCaches) {
  Service service = two_halves();
  PassTimes times(service, service.pool.degrees);
  const auto time = [&](double cached, double encoded) {
    std::vector<des::Duration> stages;
    times.time({.prompts = {}, .decoding = 8, .cached = cached, .encoded = encoded}, stages);
    return des::to_seconds(stages[0]).value();
  };
  const cost::MemoryBoundLaw& law = service.profile.memory_bound;
  const double bytes = 2 * 8e4 * 2 * 1024 * 2.0;  // two layers
  const double grown = bytes / (law.efficiency * law.bandwidth.value());
  EXPECT_NEAR(time(9e4, 1e4) - time(1e4, 1e4), grown, 0.01 * grown);
  EXPECT_NEAR(time(1e4, 9e4) - time(1e4, 1e4), grown, 0.01 * grown);
}

Service with_beams(std::int64_t beams) {
  Service service = two_halves();
  service.requests.beam_width = beams;
  return service;
}

double pass_time(const Service& service, const PassShape& pass) {
  std::vector<des::Duration> stages;
  PassTimes(service, service.pool.degrees).time(pass, stages);
  return des::to_seconds(stages.at(0)).value();
}

// Four beams of eight requests are rows as those of 32 requests, with the choice of beams in place of sampling.
TEST(Serve, ABeamSearchHasARowForEachBeam) {
  Service service = with_beams(4), sampled = with_beams(1);
  service.engine.beam = microseconds(70);
  service.engine.sequence = sampled.engine.sequence = microseconds(9);
  const PassShape eight{.prompts = {}, .decoding = 8, .cached = 80, .encoded = 800};
  const PassShape many{.prompts = {}, .decoding = 32, .cached = 320, .encoded = 3200};
  const auto& law = service.profile.memory_bound;
  const double logits = 3 * 2 * 32 * 51200.0;
  const double chosen = 70e-6 + (Bytes(logits) / (law.efficiency * law.bandwidth)).value();
  EXPECT_NEAR(pass_time(service, eight), pass_time(sampled, many) - 32 * 9e-6 + chosen, 2e-12);
}

// From 16 beams on log probabilities of 4 bytes are moved 7 times, and once more for each beam.
TEST(Serve, ManyBeamsAreSortedByReadingAllLogProbabilitiesForEach) {
  const Service service = with_beams(16);
  const PassShape two{.prompts = {}, .decoding = 2, .cached = 20, .encoded = 200};
  const PassShape many{.prompts = {}, .decoding = 32, .cached = 320, .encoded = 3200};
  const auto& law = service.profile.memory_bound;
  const double bytes = (3 * 2 + 4 * (7 + 16)) * 32 * 51200.0;
  const double chosen = (Bytes(bytes) / (law.efficiency * law.bandwidth)).value();
  EXPECT_NEAR(pass_time(service, two), pass_time(with_beams(1), many) + chosen, 2e-12);
}

// The encoder runs once a prompt. Each row has keys and values of its output for itself.
TEST(Serve, TheFirstPassOfABeamSearchRunsTheEncoderOnce) {
  Service service = with_beams(4), sampled = with_beams(1);
  service.profile.memory_bound = sampled.profile.memory_bound = {.bandwidth = BytesPerSecond(1e30), .efficiency = 1};
  const auto encoder = [](const Service& asked) {
    const PassShape first{.prompts = {{.sequences = 8, .tokens = 100}}};
    return pass_time(asked, first) - pass_time(asked, {.prompts = {}, .decoding = 8, .cached = 8, .encoded = 800});
  };
  const auto keys = [&](std::int64_t tokens) {
    return cost::gemm_time({.m = tokens, .n = 2048, .k = 1024}, service.profile).value();
  };
  EXPECT_NEAR(encoder(service) - encoder(sampled), 2 * (keys(3200) - keys(800)), 4e-12);
}

TEST(Serve, ABeamSearchCountsTheBestAnswerAlone) {
  const Service service = with_beams(4);
  const Prediction searched = predict(service), sampled = predict(with_beams(1));
  EXPECT_EQ(searched.output_tokens, sampled.output_tokens);
  EXPECT_EQ(searched.passes, sampled.passes);
  EXPECT_GT(searched.latency.mean, sampled.latency.mean);
  EXPECT_NEAR(searched.mean_in_system, searched.requests_per_s * searched.latency.mean, 1e-6) << "Little's law";
  const double h = 1024, f = 4096, products = 2 * (6 * h * h + 2 * h * f) + 51200 * h;  // of the decoder's passes
  EXPECT_LT(2 * products * 4 * searched.output_tokens_per_s, service.cluster.gpu.peak.at(Precision::kBf16).value());
}

TEST(Serve, MemoryOfABeamSearchIsCountedByHand) {
  const auto memory = [](std::int64_t beams) {
    Service service = with_beams(beams);
    service.engine.logit_bytes = 45;
    service.engine.activation_widths = 24;
    return memory_of(service, service.pool);
  };
  const Memory sampled = memory(1), four = memory(4), sixteen = memory(16);
  const double vocabulary = 51200, encoded = 2 * 100 * 1024.0, widths = 24 * 2 * 1024.0;
  EXPECT_DOUBLE_EQ(four.token.value(), sampled.token.value());
  EXPECT_DOUBLE_EQ(four.cache.value(), 8 * 4 * (103 * four.token.value() + 2 * 4 * 4)) << "two indices a token";
  EXPECT_DOUBLE_EQ(sampled.activations.value() - 8 * 45 * vocabulary,
                   four.activations.value() - 8 * 4 * (4 * vocabulary + encoded));
  EXPECT_DOUBLE_EQ(sixteen.activations.value() - four.activations.value(),
                   8 * 16 * (12 * vocabulary + encoded) - 8 * 4 * (4 * vocabulary + encoded));
  EXPECT_DOUBLE_EQ(memory(256).activations.value(), 2048 * (widths + 12 * vocabulary + encoded) +
                                                        (sampled.activations.value() - 800 * widths - 360 * vocabulary))
      << "more rows than tokens of prompts";
  const Bytes room = four.capacity - four.weights - four.activations - four.overhead;
  EXPECT_NEAR(real(four.max_context), room / (4 * four.token), 1);
  EXPECT_LT(sixteen.max_batch, four.max_batch / 3);
}

TEST(Serve, AStaticBatchEndsWithItsLongestAnswer) {
  Service service = two_halves();
  const Prediction equal = predict(service);
  service.requests.mean_output_tokens = 2;
  const Prediction shorter = predict(service);
  EXPECT_DOUBLE_EQ(shorter.latency.mean, equal.latency.mean);
  EXPECT_EQ(shorter.output_tokens, 8 * 2);
  EXPECT_DOUBLE_EQ(shorter.output_tokens_per_s, equal.output_tokens_per_s * 2 / 3);
  EXPECT_DOUBLE_EQ(memory_of(service, service.pool).cache.value(), memory_of(two_halves(), service.pool).cache.value());
}

struct SplitCase {
  const char* name;
  std::int64_t batch, length;
  int stages;
  std::int64_t expected;
};

TEST(Serve, StaticBatchesAreCutForTheStages) {
  constexpr SplitCase kCases[] = {{"one stage takes the batch whole", 128, 128, 1, 128},
                                  {"three stages do not divide 16", 16, 20, 3, 16},
                                  {"they divide 12", 12, 20, 3, 4},
                                  {"a long prompt is halved until it has 2048 tokens", 64, 128, 3, 16},
                                  {"an odd number is not halved", 5, 4000, 3, 5}};
  const Engine engine{.splits_batch = true, .split_tokens = 2048};
  for (const auto& [name, batch, length, stages, expected] : kCases) {
    SCOPED_TRACE(name);
    EXPECT_EQ(micro_batch(engine, batch, length, stages), expected);
  }
}

TEST(Serve, ABatchTakesATimeForEachLayerOnce) {
  Service service = small_service();
  service.batching = Batching::kStatic;
  service.requests = {.kind = ArrivalKind::kBatch, .input_tokens = 100, .output_tokens = 8, .at_once = 4, .count = 4};
  const Prediction without = predict(service);
  service.engine.request_layer = Seconds(0.25);
  const Prediction with = predict(service);
  const double once = 0.25 * real(service.model.layers);
  EXPECT_NEAR(with.latency.mean - without.latency.mean, once, 1e-9) << "for 8 tokens as for one";
  EXPECT_NEAR(with.ttft.mean - without.ttft.mean, once, 1e-9) << "before the first pass";
  EXPECT_NEAR(with.tpot->mean, without.tpot->mean, 1e-9);
}

TEST(Serve, SpeculationGivesTheExpectedTokensOfAPass) {
  const Speculation some{.tokens = 4, .acceptance = 0.6};
  double sum = 0;
  for (int i = 0; i <= 4; ++i) sum += std::pow(0.6, i);
  EXPECT_NEAR(some.tokens_a_pass(), sum, 1e-12);
  EXPECT_DOUBLE_EQ((Speculation{.tokens = 4, .acceptance = 1}).tokens_a_pass(), 5);
}

TEST(Serve, MemoryIsWeightsCacheActivationsAndTheEngines) {
  Service service = small_service();
  service.engine.overhead = Bytes(1e9);
  const Memory memory = memory_of(service, service.pool);
  EXPECT_DOUBLE_EQ(memory.token.value(), 4 * 2 * 1024 * 2.0) << "keys and values of 4 layers in 16 bits";
  EXPECT_DOUBLE_EQ(memory.weights.value(), 2 * model::total_parameters(service.model));
  EXPECT_LE(memory.peak(), memory.capacity);
  EXPECT_EQ(memory.max_batch, memory.pages / ((250 + 15) / 16));
  service.cluster.gpu.memory = Bytes(1.1e9);
  EXPECT_EQ(memory_of(service, service.pool).limit, MemoryLimit::kWeights);
  EXPECT_FALSE(predict(service).fits);
}

TEST(Serve, EveryHeadReadsTheSameLatentVectors) {
  Service service = small_service();
  cost::ServingLaws laws;
  laws.decode[cost::CacheKind::kWide] = {.bandwidth = service.profile.memory_bound.bandwidth};
  laws.decode[cost::CacheKind::kLatent] = laws.decode[cost::CacheKind::kWide];
  service.laws = laws;
  CacheAttention shape{.sequences = 8,
                       .cached = 4096,
                       .heads = 128,
                       .kv_heads = 128,
                       .head_dim = 576,
                       .value_dim = 512,
                       .token_bytes = 2 * 576,
                       .latent = true};
  const auto time = [&] { return cache_attention_time(shape, service).value(); };
  const double few = time();
  shape.cached *= 64;
  const double bytes = 63.0 * 4096 * 8 * 2 * 576;
  const double rate = bytes / (time() - few);
  EXPECT_NEAR(rate / service.profile.memory_bound.bandwidth.value(), 1, 0.05)
      << "576 numbers a token, whatever the heads";
}

TEST(Serve, WhatFitsRunsToTheEnd) {
  Service prefixes = small_service(), speculation = small_service();
  prefixes.requests.prefix_share = 0.3;
  speculation.speculation = Speculation{.tokens = 5, .acceptance = 0.5};
  for (Service service : {prefixes, speculation}) {
    service.requests.count = 20;
    service.requests.length_spread = 0;
    int fitting = 0;
    for (double tokens = 200; tokens < 300; tokens += 8) {
      const Prediction prediction = predict(with_cache(service, tokens));
      if (!prediction.fits) continue;
      ++fitting;
      EXPECT_EQ(prediction.requests, 20);
    }
    EXPECT_GT(fitting, 0);
    EXPECT_LT(fitting, 13);
  }
}

TEST(Serve, RoomOfAStaticBatchIsTheLargestBatchThatFits) {
  Service service = small_service();
  service.batching = Batching::kStatic;
  service.requests = {.kind = ArrivalKind::kBatch, .input_tokens = 200, .output_tokens = 50, .at_once = 1, .count = 1};
  const std::int64_t room = memory_of(service, service.pool).max_batch;
  const auto with = [&](std::int64_t batch) {
    service.requests.at_once = service.requests.count = batch;
    return memory_of(service, service.pool);
  };
  EXPECT_TRUE(with(room).fits());
  EXPECT_FALSE(with(room + 1).fits());
  EXPECT_EQ(with(room / 2).max_batch, room);
  EXPECT_EQ(with(2 * room).max_batch, room);
}

TEST(Serve, APromptThatIsNotChunkedHasItsActivations) {
  Service service = small_service();
  service.engine.activation_widths = 10;
  service.requests.input_tokens = 10 * service.engine.token_budget;
  const double chunked = memory_of(service, service.pool).activations.value();
  service.engine.chunks_prompts = false;
  EXPECT_GT(memory_of(service, service.pool).activations.value(), 2 * chunked);
}

TEST(Serve, AGrowingQueueIsTold) {
  Service service = small_service();
  service.requests.count = 400;
  service.requests.rate_per_s = 5;
  EXPECT_FALSE(predict(service).queue_grows);
  service.requests.rate_per_s = 100000;
  const Prediction prediction = predict(service);
  EXPECT_TRUE(prediction.queue_grows);
  ASSERT_EQ(warnings_of(service, prediction).size(), 1U);
  service.model.max_positions = 100;
  EXPECT_EQ(warnings_of(service, prediction).size(), 2U) << "requests of 250 tokens";
}

TEST(Serve, TheHostWorksForSequencesNotForTokensThatAreChecked) {
  Service service = small_service();
  service.engine.pass = {};
  const auto time = [&] {
    std::vector<des::Duration> stages;
    PassTimes(service, service.pool.degrees).time({.prompts = {}, .decoding = 4, .checked = 5, .cached = 400}, stages);
    return des::to_seconds(stages[0]).value();
  };
  const double device = time();
  service.engine.sequence = Seconds(0.5);
  EXPECT_NEAR(time(), device + 2, 1e-9);
}

}  // namespace
}  // namespace foretoken::serve
