// Tests that faults which the simulator itself makes are named first in noisy logs, and that a log of steps alone is
// said to be one.
#include "sim/study/diagnose/diagnose.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/hash.h"
#include "sim/io/import/log/read_log.h"
#include "sim/io/scenario/read_residuals.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/job/make.h"
#include "sim/study/diagnose/write_log.h"

namespace foretoken::study {
namespace {

// Jobs whose step has something of each fault: replicas over the network, overlaps, more than one rank.
constexpr const char* kFaultyQuestions[] = {
    R"({"model": "llama-3-8b", "cluster": "dgx-h100-ndr", "gpus": 32, "parallelism": {"tensor": 2},
        "batch": {"micro": 1, "global": 64, "sequence_length": 4096}, "optimizer": {"zero_stage": 1},
        "overlap": {"grad_reduce": true, "param_gather": true}})",
    R"({"model": "llama-2-7b", "cluster": "dgx-a100-80gb-hdr", "gpus": 32, "parallelism": {"tensor": 2, "pipeline": 2},
        "batch": {"micro": 1, "global": 64, "sequence_length": 4096}, "optimizer": {"zero_stage": 1},
        "overlap": {"grad_reduce": true, "param_gather": true}})",
    R"({"model": "llama-3-8b", "cluster": "dgx-a100-80gb-hdr", "gpus": 64, "parallelism": {"tensor": 4},
        "batch": {"micro": 1, "global": 64, "sequence_length": 2048}, "optimizer": {"zero_stage": 1},
        "overlap": {"grad_reduce": true, "param_gather": true}})",
};

job::Made made_of(const std::string& question, const std::vector<std::string>& sets = {}) {
  return io::read_scenario_text(question, "t.json", sets);
}

// Returns the times of a run with one GPU that is a tenth slower, drawn by the seed.
Signature with_slow_rank(job::Job job, std::uint64_t seed) {
  const auto gpu = static_cast<std::uint32_t>(hash(seed) % static_cast<std::uint64_t>(job.gpus));
  job.imperfections.slow_gpus.push_back({Gpu{gpu}, 1.1});
  return signature_of(job, 1);
}

Signature with_patch(const job::Job& job, const job::Patch& patch) {
  return signature_of(job::make(job::with(job::question_of(job), patch)).job, 1);
}

// Writes the log of a run, reads it, and returns its likeliest cause.
std::string first_cause(const job::Job& job, const std::vector<Cause>& causes, const Signature& base,
                        const Signature& run, const LogStyle& style) {
  io::Findings findings;
  const auto log = io::log::read_log_text(training_log_text(job, run, 400, style), "t.log", findings);
  EXPECT_TRUE(log);
  double unexplained = 0;
  return ranked(causes, base, observed_step(*log, steady_state(*log)), {}, unexplained).front().key;
}

using Counts = std::map<std::string, int>;  // by fault: the logs that name it first

struct Named {
  int cases = 0;
  Counts with_timers, by_step_alone;
};

// Injects 3 faults into 3 questions with 23 seeds: 207 logs, with and without timers.
Named named_first() {
  constexpr std::uint64_t kSeeds = 23;
  Named named;
  for (const char* question : kFaultyQuestions) {
    const job::Job job = made_of(question).job;
    const Signature base = signature_of(job, 1);
    const std::vector<Cause> causes = causes_of(job, base, 1);
    const Signature network = with_patch(job, {{job::Key::kNicRate, 0.5}});
    const Signature overlap = with_patch(job, {{job::Key::kGradReduce, false}, {job::Key::kParamGather, false}});
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
      for (const auto& [fault, run] : {std::pair<std::string, Signature>{"slow-rank", with_slow_rank(job, seed)},
                                       {"slow-network", network},
                                       {"overlap-off", overlap}}) {
        LogStyle style{.steps = 20, .noise = 0.01, .seed = seed};
        named.with_timers[fault] += first_cause(job, causes, base, run, style) == fault ? 1 : 0;
        style.timers = false;
        named.by_step_alone[fault] += first_cause(job, causes, base, run, style) == fault ? 1 : 0;
        ++named.cases;
      }
  }
  return named;
}

TEST(Diagnose, InjectedFaultsAreNamedFirst) {
  const Named named = named_first();
  ASSERT_GE(named.cases, 200);
  int by_step_alone = 0;
  for (const auto& [fault, count] : named.with_timers) EXPECT_GE(3 * count, 0.8 * named.cases) << fault;
  for (const auto& [fault, count] : named.by_step_alone) by_step_alone += count;
  EXPECT_GE(by_step_alone, 0.8 * named.cases) << testing::PrintToString(named.by_step_alone);
}

TEST(Diagnose, AHealthyRunIsUnexplained) {
  const job::Job job = made_of(kFaultyQuestions[0]).job;
  const Signature base = signature_of(job, 1);
  const std::vector<Cause> causes = causes_of(job, base, 1);
  io::Findings findings;
  const auto log = io::log::read_log_text(training_log_text(job, base, 400, {}), "t.log", findings);
  double unexplained = 0;
  const auto all = ranked(causes, base, observed_step(*log, steady_state(*log)), {}, unexplained);
  EXPECT_GT(unexplained, all.front().likelihood);
}

TEST(Diagnose, LikelihoodsAreOneInTotal) {
  const job::Job job = made_of(kFaultyQuestions[1]).job;
  const Signature base = signature_of(job, 1);
  ObservedStep observed{.step = 1.07 * base.step, .jitter = 0.01, .entries = 40, .timers = {}, .data = {}};
  double total = 0;
  for (const RankedCause& cause : ranked(causes_of(job, base, 1), base, observed, {}, total)) total += cause.likelihood;
  EXPECT_NEAR(total, 1, 1e-9);
}

TEST(Diagnose, ALogOfStepsAloneIsSaidToBeOne) {
  const std::string question = kFaultyQuestions[0];
  const job::Made made = made_of(question);
  const std::string text = training_log_text(made.job, signature_of(made.job, 1.2), 400, {.timers = false});
  io::Findings findings;
  const auto log = io::log::read_log_text(text, "t.log", findings);
  const trust::Evidence& evidence = io::read_shipped_residuals();
  const Diagnosis answer = diagnose(made, *log, steady_state(*log), IntervalQuestion{evidence});
  EXPECT_FALSE(answer.has_timers);
  EXPECT_THAT(answer.notes, testing::Contains(testing::HasSubstr("states only the time of a step")));
  EXPECT_NEAR(answer.measured / signature_of(made.job, 1.2).step, 1, 0.01);
}

TEST(Diagnose, AStepThatNoCauseMeetsIsNotExplained) {
  const trust::Evidence& evidence = io::read_shipped_residuals();
  for (const auto& [slower, expected] : {std::pair{1.1, true}, std::pair{0.05, false}}) {
    const job::Made made = made_of(kFaultyQuestions[0]);
    const std::string text = training_log_text(made.job, signature_of(made.job, slower), 400, {.timers = false});
    io::Findings findings;
    const auto log = io::log::read_log_text(text, "t.log", findings);
    const Diagnosis answer = diagnose(made, *log, steady_state(*log), IntervalQuestion{evidence});
    EXPECT_EQ(answer.explained(), expected) << slower;
  }
}

TEST(Diagnose, AnotherBatchInTheLogIsNoted) {
  const job::Made made = made_of(kFaultyQuestions[0]);
  const std::string text = training_log_text(made.job, signature_of(made.job, 1), 400, {});
  io::Findings findings;
  const auto log = io::log::read_log_text(text, "t.log", findings);
  const trust::Evidence& evidence = io::read_shipped_residuals();
  const Diagnosis answer = diagnose(made_of(kFaultyQuestions[0], {"batch.global=128"}), *log, steady_state(*log),
                                    IntervalQuestion{evidence});
  EXPECT_THAT(answer.notes, testing::Contains(testing::HasSubstr("try --set batch.global=64")));
}

}  // namespace
}  // namespace foretoken::study
