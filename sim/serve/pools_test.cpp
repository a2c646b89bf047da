// Tests transfers between pools, and attention groups.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/serve/run/transfer.h"
#include "sim/serve/test_service.h"

namespace foretoken::serve {
namespace {

/// Eight prompts at once, each on a GPU of its own, that one or eight GPUs of another node decode.
struct TransferCase {
  const char* name;
  int nics, receivers;
  double times;  ///< of a transfer alone, until the last cache arrives
};

TEST(ServePools, TransfersAtOnceShareTheNicsOfBothSides) {
  constexpr TransferCase kCases[] = {{"each has its own NICs", 8, 8, 1},
                                     {"one receives all", 8, 1, 8},
                                     {"the senders have one NIC together", 1, 8, 8},
                                     {"two senders a NIC", 4, 8, 2}};
  for (const auto& [name, nics, receivers, times] : kCases) {
    SCOPED_TRACE(name);
    Service service = small_service();
    service.cluster.links.nics = nics;
    service.disaggregated =
        Disaggregated{.prefill = {.gpus = 8, .degrees = {}}, .decode = {.gpus = receivers, .degrees = {}}};
    service.requests = {.kind = ArrivalKind::kTrace, .input_tokens = 400, .output_tokens = 2, .count = 8};
    service.requests.trace.assign(8, {0, 400, 2});
    const serve::Run run = run_of(service);
    PassTimes decode(service, {});
    std::vector<des::Duration> stages;
    decode.time({.prompts = {}, .decoding = 8 / receivers, .cached = 401.0 * 8 / receivers}, stages);
    const double moved = des::to_seconds(run.requests.back().finish - run.requests.back().first - stages[0]).value();
    EXPECT_NEAR(moved / transfer_time(service, 400).value(), times, 1e-6);
  }
}

// vLLM gives each attention group the whole budget; SGLang divides it.
TEST(ServePools, AttentionGroupsHaveTheirOwnBudgetOrShareOne) {
  for (const bool each : {false, true}) {
    SCOPED_TRACE(each);
    Service service = small_service();
    service.engine.limits_each_group = each;
    service.pool = {.gpus = 4, .degrees = {.attention_data = 4}};
    service.requests = {.kind = ArrivalKind::kTrace, .input_tokens = 600, .output_tokens = 1, .count = 4};
    service.requests.trace.assign(4, {0, 600, 1});
    std::int64_t most = 0;
    for (const TracedPass& pass : run_of(service, true).traced) most = std::max(most, pass.load.prompt_tokens);
    EXPECT_EQ(most, each ? 4 * 512 : 512) << "tokens of a pass over all groups";
    EXPECT_EQ(group_tokens(service.engine, service.pool.degrees), each ? 512 : 128);
  }
}

TEST(ServePools, NoOtherAttentionGroupHelpsWithAPrompt) {
  Service service = small_service();
  const auto time = [&](int groups, std::int64_t prompts) {
    std::vector<des::Duration> stages;
    PassTimes(service, {.attention_data = groups}).time({.prompts = {{.sequences = prompts, .tokens = 400}}}, stages);
    return des::to_seconds(stages[0]).value();
  };
  EXPECT_NEAR(time(4, 1) / time(1, 1), 1, 1e-9);
  EXPECT_NEAR(time(4, 4) / time(1, 1), 1, 0.05);
  EXPECT_GT(time(1, 4), 1.5 * time(4, 4));
}

// A pass without prompts takes the same time again, though its slot had another pass in between.
TEST(ServePools, RepeatedPassesTakeTheTimeOfAFreshOne) {
  const Service service = small_service();
  const Degrees degrees{.pipeline = 2};
  PassTimes kept(service, degrees);
  std::vector<des::Duration> times, fresh;
  for (int round = 0; round < 2; ++round)
    for (int pass = 0; pass < 20'000; ++pass) {
      const PassShape shape{.prompts = {}, .decoding = 1 + pass % 32, .cached = 100.0 * (1 + pass % 32) + pass / 32};
      kept.time(shape, times);
      if (pass % 97 != 0) continue;
      PassTimes(service, degrees).time(shape, fresh);
      EXPECT_EQ(times, fresh) << pass;
    }
}

// An instant concerns few instances, so many instances cost no more than their passes do.
TEST(ServePools, ManyInstancesServeAsOneDoesWithItsShare) {
  Service one = small_service(), many = small_service();
  one.requests = {.kind = ArrivalKind::kTrace, .input_tokens = 200, .output_tokens = 30, .count = 1};
  one.requests.trace = {{0, 200, 30}};
  many.requests = {.kind = ArrivalKind::kTrace, .input_tokens = 200, .output_tokens = 30, .count = 2000};
  for (int i = 0; i < 2000; ++i) many.requests.trace.push_back({0.001 * i, 200, 30});
  many.pool.gpus = 2000;
  const serve::Run alone = run_of(one), run = run_of(many);
  for (const Request& request : run.requests)
    EXPECT_EQ(request.finish - request.arrival, alone.requests.front().finish - alone.requests.front().arrival);
}

}  // namespace
}  // namespace foretoken::serve
