// Tests searches about experts: the best equals the best of all simulations, and only choices of the runtime are tried.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "sim/base/test_sanitized.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/predict.h"
#include "sim/study/search/searcher.h"
#include "sim/study/search/test_questions.h"

namespace foretoken::search {
namespace {

using model::Dispatcher;

struct Simulated {
  std::int64_t step_ps = 0;
  double peak = 0;
};

// Returns the simulation of a question with these overrides, or nothing when it is no job.
std::optional<Simulated> simulate(const std::string& text, const std::vector<std::string>& sets) {
  try {
    const study::Prediction prediction = study::predict(io::read_scenario_text(text, "question", sets));
    if (!prediction.metrics.memory.fits) return std::nullopt;
    return Simulated{prediction.observations.makespan.ps, prediction.metrics.memory.peak.value()};
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

// Returns all lists with one choice for each key.
std::vector<std::vector<std::string>> all_sets(const std::vector<std::vector<std::string>>& keys) {
  std::vector<std::vector<std::string>> sets = {{}};
  for (const std::vector<std::string>& values : keys) {
    std::vector<std::vector<std::string>> longer;
    for (const std::vector<std::string>& before : sets)
      for (const std::string& value : values) {
        longer.push_back(before);
        longer.back().push_back(value);
      }
    sets = std::move(longer);
  }
  return sets;
}

constexpr const char* kStated[] = {
    R"({"model": {"base": "qwen3-30b-a3b", "num_hidden_layers": 8}, "cluster": "dgx-h100-ndr", "gpus": 16,
        "batch": {"global": 32, "micro": 1, "sequence_length": 4096}, "recompute": "none",
        "parallelism": {"context": 1, "tensor": 2, "pipeline": 1, "virtual_pipeline": 1}, )",
    R"({"model": {"base": "mixtral-8x7b", "num_hidden_layers": 4}, "cluster": "dgx-a100-80gb-hdr", "gpus": 16,
        "batch": {"global": 32, "micro": 1, "sequence_length": 4096}, "recompute": "selective",
        "parallelism": {"context": 1, "tensor": 1, "pipeline": 2, "virtual_pipeline": 2}, )",
    R"({"model": {"base": "deepseek-v2", "num_hidden_layers": 4}, "cluster": "dgx-b200-ndr", "gpus": 32,
        "batch": {"global": 64, "micro": 1, "sequence_length": 4096}, "recompute": "none",
        "parallelism": {"context": 1, "tensor": 1, "pipeline": 2, "virtual_pipeline": 2}, )"};
constexpr const char* kOthers =
    R"("optimizer": {"zero_stage": 1}, "overlap": {"grad_reduce": false, "param_gather": false, "p2p": true,
       "tensor_parallel": false}})";

// Every valid combination of the searched keys is simulated as a user would. Dispatchers that gather hide nothing in
// Megatron-Core, so these combinations are left out.
TEST(ExpertSearch, FindsTheBestOfAllSimulations) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  const auto sets = all_sets(
      {{"parallelism.expert=1", "parallelism.expert=2", "parallelism.expert=4", "parallelism.expert=5",
        "parallelism.expert=8", "parallelism.expert=10", "parallelism.expert=16"},
       {"parallelism.expert_tensor=1", "parallelism.expert_tensor=2", "parallelism.expert_tensor=4",
        "parallelism.expert_tensor=8"},
       {"moe.dispatcher=all-to-all", "moe.dispatcher=all-gather", "moe.dispatcher=deepep", "moe.dispatcher=hybridep"},
       {"moe.overlap=false", "moe.overlap=true"},
       {"parallelism.sequence_parallel=false", "parallelism.sequence_parallel=true"}});
  for (const char* stated : kStated) {
    const std::string text = std::string(stated) + kOthers;
    SCOPED_TRACE(text);
    std::optional<Simulated> fastest, smallest;
    for (const std::vector<std::string>& each : sets) {
      if (each[2] == "moe.dispatcher=all-gather" && each[3] == "moe.overlap=true") continue;
      const std::optional<Simulated> one = simulate(text, each);
      if (!one) continue;
      if (!fastest || one->step_ps < fastest->step_ps) fastest = one;
      if (!smallest || one->peak < smallest->peak) smallest = one;
    }
    ASSERT_TRUE(fastest);
    const io::OpenScenario question = io::read_open_scenario_text(text, "question");
    const Space space(question, {});
    const SearchResult found = run_search(space, {.top = 1});
    ASSERT_FALSE(found.ranking.top().empty());
    EXPECT_EQ(found.ranking.top().front().step_time.ps, fastest->step_ps);
    EXPECT_EQ(found.ranking.front().back().peak.value(), smallest->peak);
    EXPECT_TRUE(found.ranking.top().front().overlap.exchanges);
  }
}

std::set<Dispatcher> dispatchers_tried(const std::string& more) {
  const io::OpenScenario question = io::read_open_scenario_text(
      R"({"model": {"base": "qwen3-30b-a3b", "num_hidden_layers": 4}, "gpus": 8,
          "batch": {"global": 8, "sequence_length": 2048}, "parallelism": {"context": 1}, )" +
          more + "}",
      "question");
  std::set<Dispatcher> tried;
  const Space space(question, {});
  for (const Candidate& candidate : space.candidates()) tried.insert(*candidate.dispatcher);
  return tried;
}

TEST(ExpertSearch, OnlyDispatchersOfTheRuntimeAreTried) {
  using enum Dispatcher;
  using Set = std::set<Dispatcher>;
  const std::string h100 = R"("cluster": "dgx-h100-ndr")";
  EXPECT_EQ(dispatchers_tried(h100), (Set{kAllToAll, kAllGather, kDeepEp, kHybridEp}));
  EXPECT_EQ(dispatchers_tried(h100 + R"(, "profile": "v100-sxm2-32gb", "precision": "fp16")"),
            (Set{kAllToAll, kAllGather, kHybridEp}))
      << "nobody knows DeepEP's times";
  EXPECT_EQ(dispatchers_tried(R"("cluster": "gb200-nvl72")"), (Set{kAllToAll, kAllGather, kHybridEp}));
  EXPECT_EQ(dispatchers_tried(h100 + R"(, "runtime": "megatron-core-2024")"), (Set{kAllToAll, kAllGather}));
  EXPECT_EQ(dispatchers_tried(h100 + R"(, "runtime": "megatron-2022")"), (Set{kAllToAll}));
  EXPECT_EQ(dispatchers_tried(h100 + R"(, "moe": {"capacity_factor": 1})"), (Set{kAllToAll}));
  EXPECT_EQ(dispatchers_tried(h100 + R"(, "moe": {"dispatcher": "hybridep"})"), (Set{kHybridEp}));
}

TEST(ExpertSearch, ExchangesAreHiddenWhereMegatronCan) {
  const io::OpenScenario question = io::read_open_scenario_text(expert_questions().front(), "question");
  const Space space(question, {});
  std::size_t hidden = 0;
  for (const Candidate& c : space.candidates()) {
    const std::vector<job::Overlap> overlaps = space.overlaps(c);
    if (std::ranges::none_of(overlaps, &job::Overlap::exchanges)) continue;
    ++hidden;
    EXPECT_TRUE(overlaps.front().exchanges) << "most overlaps come first";
    EXPECT_GT(c.degrees[Axis::kExpert], 1);
    EXPECT_NE(c.dispatcher, Dispatcher::kAllGather);
    EXPECT_NE(c.recompute, model::RecomputeGranularity::kFull);
    EXPECT_TRUE(c.degrees[Axis::kPipeline] == 1 || c.virtual_pipeline > 1);
  }
  EXPECT_GT(hidden, 100U);
}

TEST(ExpertSearch, ADenseModelHasNoSuchChoice) {
  const io::OpenScenario question = io::read_open_scenario_text(small_questions().front(), "question");
  const Space space(question, {});
  for (const job::Key key : space.searched()) EXPECT_FALSE(job::is_about_experts(key)) << job::name_of(key);
  for (const Candidate& candidate : space.candidates()) {
    EXPECT_FALSE(candidate.dispatcher.has_value());
    EXPECT_EQ(degrees_by_key(candidate).size(), 5U);
  }
}

}  // namespace
}  // namespace foretoken::search
