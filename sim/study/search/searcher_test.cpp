// Tests that the search gives the exhaustive answer: pruning, threads and interruptions change nothing.
#include "sim/study/search/searcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sim/base/test_sanitized.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/study/search/test_questions.h"

namespace foretoken::search {
namespace {

std::string text_of(const std::vector<Outcome>& outcomes) {
  std::string text;
  for (const Outcome& o : outcomes)
    text += std::to_string(o.candidate) + ":" + std::to_string(static_cast<int>(o.verdict)) + ":" +
            std::to_string(o.step_time.ps) + ":" + std::to_string(o.peak.value()) + "\n";
  return text;
}

std::string answer(const Ranking& ranking) {
  return text_of(ranking.top()) + "front\n" + text_of(ranking.front()) + "smallest\n" + text_of(ranking.smallest());
}

// Makes a random question: a small model on a few GPUs, with some keys stated.
std::string random_question(std::mt19937& random) {
  const auto pick = [&](std::initializer_list<const char*> words) {
    return std::string(*(words.begin() + static_cast<std::ptrdiff_t>(random() % words.size())));
  };
  return R"({"model": {"model_type": "gpt2", "n_layer": )" + pick({"4", "6", "8", "12", "30"}) + R"(, "n_embd": )" +
         pick({"1024", "4096", "6144"}) + R"(, "n_head": 16, "n_positions": 2048, "vocab_size": 50257},
  "cluster": ")" +
         pick({"dgx-a100-80gb-hdr", "dgx-h100-ndr"}) + R"(", "gpus": )" + pick({"4", "8", "16", "24"}) +
         R"(, "runtime": ")" + pick({"megatron-2021", "megatron-2022", "megatron-core"}) +
         R"(", "batch": {"global": )" + pick({"16", "24", "48", "96"}) + R"(, "sequence_length": )" +
         pick({"1024", "2048"}) + "}" + pick({"", R"(, "recompute": "selective")", R"(, "schedule": "gpipe")"}) +
         pick({"", R"(, "overlap": {"grad_reduce": true})"}) + "}";
}

// Makes a random question about a model with experts. It states some keys, so that everything can be replayed.
std::string random_expert_question(std::mt19937& random) {
  const auto pick = [&](std::initializer_list<const char*> words) {
    return std::string(*(words.begin() + static_cast<std::ptrdiff_t>(random() % words.size())));
  };
  return R"({"model": {"base": )" +
         pick({R"("mixtral-8x7b", "num_hidden_layers": 4)", R"("qwen3-30b-a3b", "num_hidden_layers": 8)",
               R"("deepseek-v2", "num_hidden_layers": 4)"}) +
         R"(}, "cluster": ")" + pick({"dgx-a100-80gb-hdr", "dgx-h100-ndr", "dgx-b200-ndr"}) + R"(", "gpus": )" +
         pick({"8", "16"}) + R"(, "runtime": ")" +
         pick({"megatron-core", "megatron-core-2024", "megatron-core-2026", "megatron-2022"}) +
         R"(", "batch": {"global": )" + pick({"16", "32"}) + R"(, "sequence_length": 2048}, "recompute": ")" +
         pick({"none", "selective", "full"}) + R"(", "parallelism": {"context": 1)" +
         pick({"", R"(, "expert": 4)", R"(, "expert_tensor": 1)"}) + "}" +
         pick({"", R"(, "moe": {"imbalance": 1.5})", R"(, "moe": {"capacity_factor": 1})",
               R"(, "moe": {"dispatcher": "deepep"})", R"(, "moe": {"overlap": true})"}) +
         pick({"", R"(, "overlap": {"grad_reduce": true, "p2p": true})"}) + "}";
}

TEST(Searcher, PruningNeverChangesTheAnswerAboutExperts) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  std::mt19937 random(4321);
  std::size_t slower = 0, hides = 0;
  for (int run = 0; run < 40; ++run) {
    const std::string text = random_expert_question(random);
    SCOPED_TRACE(text);
    const io::OpenScenario question = io::read_open_scenario_text(text, "question");
    const Space space(question, {});
    SearchOptions options;
    options.objective = static_cast<Objective>(run % 4);
    options.top = 1 + random() % 5;
    options.require_fit = run % 3 != 0;
    const SearchResult pruned = run_search(space, options);
    options.prune = false;
    const SearchResult exhaustive = run_search(space, options);
    EXPECT_EQ(answer(pruned.ranking), answer(exhaustive.ranking));
    slower += pruned.ranking.count(Verdict::kSlower);
    for (const Outcome& outcome : exhaustive.ranking.top()) hides += outcome.overlap.exchanges ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(slower, 100u) << "the bound should rule something out";
  EXPECT_GT(hides, 10u) << "exchanges beside another micro-batch should pay";
}

TEST(Searcher, PruningNeverChangesTheAnswer) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  std::mt19937 random(1234);
  std::size_t slower = 0;
  for (int run = 0; run < 40; ++run) {
    const std::string text = random_question(random);
    SCOPED_TRACE(text);
    const io::OpenScenario question = io::read_open_scenario_text(text, "question");
    const Space space(question, {.gpus = {},
                                 .schedules = run % 4 == 0 ? every_schedule() : schedules_with_a_flush(),
                                 .cross_node_tensor = run % 2 == 0,
                                 .partition = run % 8 == 0 ? Partition::kPipeDream : Partition::kEven});
    SearchOptions options;
    options.objective = static_cast<Objective>(run % 4);
    options.top = 1 + random() % 5;
    options.require_fit = run % 3 != 0;
    if (run % 5 == 0) options.axes = {Objective::kCost, Objective::kMemory};
    const SearchResult pruned = run_search(space, options);
    options.prune = false;
    const SearchResult exhaustive = run_search(space, options);
    EXPECT_EQ(answer(pruned.ranking), answer(exhaustive.ranking));
    slower += pruned.ranking.count(Verdict::kSlower);
    EXPECT_EQ(exhaustive.ranking.count(Verdict::kSlower), 0u);
    if (HasFailure()) return;
  }
  EXPECT_GT(slower, 100u) << "the bound should rule something out";
}

// Steps of these schedules overlap, so no plan holds them: they are replayed whole.
TEST(Searcher, LittleMemoryChangesNoAnswer) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  std::mt19937 random(77);
  for (int run = 0; run < 2; ++run) {
    const io::OpenScenario question = io::read_open_scenario_text(random_expert_question(random), "question");
    const Space space(question, {});
    SearchOptions options;
    options.threads = 2;
    const std::string usual = answer(run_search(space, options).ranking);
    options.memory = {.steps = 1, .layers = 1, .ops = 1};  // full after every candidate
    EXPECT_EQ(answer(run_search(space, options).ranking), usual);
  }
}

TEST(Searcher, FindsSchedulesWithoutAFlushAndPostValidation) {
  const std::string model = R"({"model": {"model_type": "gpt2", "n_layer": 12, "n_embd": 2048, "n_head": 16,
    "n_positions": 2048, "vocab_size": 50257, "tie_word_embeddings": false}, "cluster": "dgx-a100-80gb-hdr",
    "gpus": 8, "batch": {"global": 32, "sequence_length": 2048}, "parallelism": {"pipeline": 4})";
  const auto best = [&](const std::string& more, std::vector<std::string> schedules, Partition partition) {
    const io::OpenScenario question = io::read_open_scenario_text(model + more + "}", "question");
    const Space space(question, {.schedules = std::move(schedules), .partition = partition});
    SearchOptions options;
    options.top = 3;
    const SearchResult pruned = run_search(space, options);
    options.prune = false;
    EXPECT_EQ(answer(pruned.ranking), answer(run_search(space, options).ranking));
    const Candidate& first = space.candidates()[pruned.ranking.top().front().candidate];
    return std::pair(space.schedules()[static_cast<std::size_t>(first.schedule)].name, first.layers_per_stage);
  };
  EXPECT_EQ(best("", {"1f1b", "pipedream-2bw"}, Partition::kEven).first, "pipedream-2bw");
  EXPECT_EQ(best("", {"1f1b", "pipedream"}, Partition::kPipeDream).second, std::vector<int>({3, 3, 4, 2}));
  const std::string validated = R"(, "optimizer": {"post_validation": true, "zero_stage": 0})";
  EXPECT_EQ(best(validated, {"zb-h1", "zb-h2"}, Partition::kEven).first, "zb-h2");
  EXPECT_NE(best(validated, {}, Partition::kEven).first, "1f1b");
}

TEST(Searcher, APartitionOfItsOwnNeedsNoOther) {
  const std::string text = R"({"model": "gpt2", "cluster": "dgx-a100-80gb-hdr", "gpus": 8,
    "batch": {"global": 32, "sequence_length": 1024}, "parallelism": {"pipeline": 4, )";
  for (const char* stated : {R"("layers_per_stage": [3, 3, 3, 3]}})", R"("embedding_and_head_as_layers": true}})"}) {
    const io::OpenScenario question = io::read_open_scenario_text(text + stated, "question");
    EXPECT_THROW(Space(question, {.partition = Partition::kPipeDream}), ConfigError);
  }
}

struct Reported {
  std::string in_order, answer;
  std::vector<Outcome> outcomes;
};

Reported search(const Space& space, SearchOptions options, std::map<std::size_t, Outcome> known = {}) {
  Reported reported;
  SearchHooks hooks;
  hooks.known = std::move(known);
  hooks.decided = [&](std::span<const Outcome> outcomes) {
    reported.outcomes.insert(reported.outcomes.end(), outcomes.begin(), outcomes.end());
  };
  reported.answer = answer(run_search(space, options, hooks).ranking);
  reported.in_order = text_of(reported.outcomes);
  return reported;
}

// A round holds no candidate that the others of it would rule out. So few more than those that are printed run.
TEST(Searcher, FewCandidatesAreReplayed) {
  const io::OpenScenario question =
      io::read_open_scenario_file(FORETOKEN_SOURCE_DIR "/scenarios/gpt3-175b-1024-a100.json",
                                  std::vector<std::string>{"parallelism=null", "schedule=null", "recompute=null",
                                                           "batch.micro=null", "optimizer=null", "overlap=null"});
  const Space space(question, {});
  const Ranking ranking = run_search(space, {}).ranking;
  EXPECT_EQ(ranking.top().size(), 10u);
  EXPECT_LT(ranking.count(Verdict::kReplayed), 2 * (ranking.top().size() + ranking.front().size()));
}

TEST(Searcher, ThreadsChangeNothing) {
  const io::OpenScenario question = io::read_open_scenario_text(small_questions()[0], "question");
  const Space space(question, {});
  const Reported one = search(space, {});
  for (const std::size_t threads : {2u, 3u, 8u}) {
    const Reported many = search(space, {.threads = threads});
    EXPECT_EQ(one.in_order, many.in_order) << threads;
    EXPECT_EQ(one.answer, many.answer) << threads;
  }
}

TEST(Searcher, WhatIsKnownIsNotReplayedAndChangesNothing) {
  const io::OpenScenario question = io::read_open_scenario_text(small_questions()[0], "question");
  const Space space(question, {});
  const Reported whole = search(space, {});
  std::map<std::size_t, Outcome> known;
  for (std::size_t i = 0; i < whole.outcomes.size(); i += 2)
    if (whole.outcomes[i].verdict == Verdict::kReplayed) known[whole.outcomes[i].candidate] = whole.outcomes[i];
  ASSERT_GT(known.size(), 20u);
  EXPECT_EQ(search(space, {}, known).in_order, whole.in_order);
}

TEST(Searcher, AStoppedSearchSaysSo) {
  const io::OpenScenario question = io::read_open_scenario_text(small_questions()[0], "question");
  const Space space(question, {});
  std::atomic<bool> stop = false;
  SearchHooks hooks;
  hooks.stop = &stop;
  hooks.progress = [&](const Progress& progress) { stop = stop || progress.replayed >= 20; };
  const SearchResult result = run_search(space, {}, hooks);
  EXPECT_FALSE(result.complete);
  EXPECT_FALSE(result.ranking.top().empty()) << "the best so far";
}

TEST(Searcher, InterruptedBeforeTheFirstReplayItStillShowsSomething) {
  const io::OpenScenario question = io::read_open_scenario_text(small_questions()[0], "question");
  const Space space(question, {});
  std::atomic<bool> stop = false;
  SearchHooks hooks;
  hooks.stop = &stop;
  std::size_t reported = 0;
  hooks.decided = [&](std::span<const Outcome> outcomes) { reported += outcomes.size(); };
  hooks.progress = [&](const Progress& progress) { stop = stop || progress.decided > 0; };
  const SearchResult result = run_search(space, {}, hooks);
  EXPECT_FALSE(result.complete);
  EXPECT_FALSE(result.ranking.top().empty());
  EXPECT_EQ(reported, 0U) << "only whole rounds are reported";
}

}  // namespace
}  // namespace foretoken::search
