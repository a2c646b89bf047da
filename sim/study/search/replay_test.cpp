// Tests that a replayed step equals the simulated one to the picosecond, on every shipped scenario and random
// candidates.
#include "sim/fast/replay.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "sim/fast/bounds.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/job/make.h"
#include "sim/step/passes/lower_layer.h"
#include "sim/study/predict/measure.h"
#include "sim/study/predict/predict.h"
#include "sim/study/search/space.h"
#include "sim/study/search/test_questions.h"

namespace foretoken::search {
namespace {

using job::Job;

void expect_the_same(const Job& job, fast::Replayer& replayer) {
  std::vector<std::int64_t> scratch;
  const step::Passes passes = replayer.passes(job);
  const des::Duration replayed = replayer.step_time(job, passes, scratch);
  const Bytes peak = peak_memory(job);
  const bool fit = fits(job, peak);
  const des::Duration bound = least_step_time(job, {&passes, 1}, PassOrder(job, step::program_of(job)));
  step::LoweredStep step = step::lower(job, step::Fidelity::kStage);
  const des::RunResult run = des::run(step.workload.graph);
  const observe::Observations observations = observe::observe_stages(step, run);
  EXPECT_EQ(replayed.ps, observations.makespan.ps);
  EXPECT_LE(bound.ps, observations.makespan.ps);
  const report::Metrics metrics =
      study::measure(job, step, observations, observe::memory_timelines(job, step, run), step.workload.graph.tasks());
  EXPECT_EQ(peak.value(), metrics.memory.peak.value());
  EXPECT_EQ(fit, metrics.memory.fits);
}

// Overlaps drawn at random. The rules refuse some of them.
job::Overlap any_overlap(std::mt19937& random) {
  return {.grad_reduce = random() % 2 == 0,
          .param_gather = random() % 2 == 0,
          .p2p = random() % 2 == 0,
          .tensor_parallel = random() % 2 == 0,
          .exchanges = random() % 2 == 0};
}

std::vector<std::string> all_questions() {
  std::vector<std::string> questions = small_questions();
  for (std::string& question : expert_questions()) questions.push_back(std::move(question));
  return questions;
}

TEST(Replay, EveryShippedScenarioTakesWhatSimulateSays) {
  std::size_t scenarios = 0;
  for (const auto& file : std::filesystem::directory_iterator(FORETOKEN_SOURCE_DIR "/scenarios")) {
    if (file.path().extension() != ".json") continue;
    SCOPED_TRACE(file.path().filename());
    const Job job = io::read_scenario_file(file.path()).job;
    if (!job.groups.empty()) continue;  // a search takes nodes of one kind
    fast::Replayer replayer;
    expect_the_same(job, replayer);
    ++scenarios;
  }
  EXPECT_GE(scenarios, 30u);
}

TEST(Replay, IsFullUntilItIsTrimmed) {
  const Job job = io::read_scenario_file(FORETOKEN_SOURCE_DIR "/scenarios/gpt-22b-8-a100-selective-sp.json").job;
  const std::size_t ops = step::ops_of(step::time_blocks(job));
  fast::Replayer roomy({.ops = ops + 1}), narrow({.ops = ops});
  for (fast::Replayer* replayer : {&roomy, &narrow}) (void)replayer->passes(job);
  EXPECT_FALSE(roomy.is_full());
  EXPECT_TRUE(narrow.is_full());
  narrow.trim();
  EXPECT_FALSE(narrow.is_full());
  expect_the_same(job, narrow);
}

TEST(Replay, RandomCandidatesOfOneQuestionShareWhatTheyShare) {
  std::mt19937 random(20240521);
  for (const std::string& text : all_questions()) {
    SCOPED_TRACE(text);
    const io::OpenScenario question = io::read_open_scenario_text(text, "question");
    const Space space(question, {.gpus = {}, .schedules = every_schedule(), .cross_node_tensor = true});
    fast::Replayer replayer;
    job::Maker maker(question.asked());
    int compared = 0;
    for (int tries = 0; tries < 400 && compared < 60; ++tries) {
      const std::size_t candidate = random() % space.candidates().size();
      const Job* const made = maker.make(space.patch_of(space.candidates()[candidate], any_overlap(random)));
      if (made == nullptr || made->microbatches() > 200) continue;
      const Job& job = *made;
      SCOPED_TRACE(question.text_of(job));
      expect_the_same(job, replayer);
      ++compared;
      if (HasFailure()) return;
    }
    EXPECT_GE(compared, 30);
  }
}

// The scenario written for a candidate is the job that was replayed.
TEST(Replay, ACandidateReadsBackAsAScenario) {
  std::mt19937 random(7);
  for (const std::string& text : all_questions()) {
    SCOPED_TRACE(text);
    const io::OpenScenario question = io::read_open_scenario_text(text, "question");
    const Partition partition = text == small_questions().front() ? Partition::kPipeDream : Partition::kEven;
    const Space space(question, {.gpus = {}, .schedules = every_schedule(), .partition = partition});
    fast::Replayer replayer;
    job::Maker maker(question.asked());
    std::vector<std::int64_t> scratch;
    int compared = 0;
    for (int tries = 0; tries < 200 && compared < 12; ++tries) {
      const Candidate& candidate = space.candidates()[random() % space.candidates().size()];
      const Job* const made = maker.make(space.patch_of(candidate, any_overlap(random)));
      if (made == nullptr || made->microbatches() > 200) continue;
      const Job& job = *made;
      const std::string written = question.text_of(job);
      SCOPED_TRACE(written);
      const study::Prediction prediction = study::predict(io::read_scenario_text(written, "written"));
      EXPECT_EQ(replayer.step_time(job, replayer.passes(job), scratch).ps, prediction.observations.makespan.ps);
      ++compared;
    }
    EXPECT_GE(compared, 5);
  }
}

// The first two pipelines wait for every message. The third stands still before every pass.
TEST(Replay, TheBoundCountsTheTimeBetweenPasses) {
  using Edits = std::vector<std::string>;
  for (const auto& [scenario, edits] :
       {std::pair<std::string, Edits>{"gpt3-175b-1024-a100", {"parallelism.virtual_pipeline=12"}},
        std::pair<std::string, Edits>{"gpt3-175b-1024-a100", {"schedule=1f1b", "parallelism.virtual_pipeline=1"}},
        std::pair<std::string, Edits>{"llama-3-405b-1024-h100", {"overlap.p2p=false"}}}) {
    SCOPED_TRACE(scenario + " " + edits.front());
    const std::string file = FORETOKEN_SOURCE_DIR "/scenarios/" + scenario + ".json";
    const Job job = io::read_scenario_file(file, edits).job;
    fast::Replayer replayer;
    std::vector<std::int64_t> scratch;
    const step::Passes passes = replayer.passes(job);
    const des::Duration bound = least_step_time(job, {&passes, 1}, PassOrder(job, step::program_of(job)));
    const des::Duration time = replayer.step_time(job, passes, scratch);
    EXPECT_LE(bound.ps, time.ps);
    EXPECT_GT(static_cast<double>(bound.ps) / static_cast<double>(time.ps), 0.99);
  }
}

}  // namespace
}  // namespace foretoken::search
