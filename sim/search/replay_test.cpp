// A replayed step is the simulated one to the picosecond: on every shipped scenario, and on random candidates.
#include "sim/lowering/replay.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "sim/app/simulate.h"
#include "sim/io/read_scenario.h"
#include "sim/search/bounds.h"
#include "sim/search/space.h"
#include "sim/search/test_questions.h"

namespace foretoken::search {
namespace {

using lowering::Scenario;

void expect_the_same(const Scenario& scenario, lowering::Replayer& replayer) {
  std::vector<std::int64_t> scratch;
  const lowering::Passes passes = replayer.passes(scenario);
  const des::Duration replayed = replayer.step_time(scenario, passes, scratch);
  const Bytes peak = peak_memory(scenario, lowering::program_of(scenario));
  const bool fit = fits(scenario, peak);
  const des::Duration bound = least_step_time(scenario, passes);
  lowering::LoweredStep step = lowering::lower(scenario, lowering::Fidelity::kStage);
  const des::RunResult run = des::run(step.workload.graph);
  EXPECT_EQ(replayed.ps, run.makespan.ps);
  EXPECT_LE(bound.ps, run.makespan.ps);
  const report::Metrics metrics = report::measure(scenario, step, observe::observe_stages(step, run),
                                                  observe::memory_timelines(scenario, step, run));
  EXPECT_EQ(peak.value(), metrics.memory.peak.value());
  EXPECT_EQ(fit, metrics.memory.fits);
}

TEST(Replay, EveryShippedScenarioTakesWhatSimulateSays) {
  std::size_t scenarios = 0;
  for (const auto& file : std::filesystem::directory_iterator(FORETOKEN_SOURCE_DIR "/scenarios")) {
    if (file.path().extension() != ".json") continue;
    SCOPED_TRACE(file.path().filename());
    const Scenario scenario = io::read_scenario_file(file.path());
    if (!scenario.groups.empty()) continue;  // a search takes nodes of one kind
    lowering::Replayer replayer;
    expect_the_same(scenario, replayer);
    ++scenarios;
  }
  EXPECT_GE(scenarios, 30u);
}

TEST(Replay, RandomCandidatesOfOneQuestionShareWhatTheyShare) {
  std::mt19937 random(20240521);
  for (const std::string& text : small_questions()) {
    SCOPED_TRACE(text);
    const io::OpenScenario question = io::read_open_scenario_text(text, "question");
    const Space space(question, {.gpus = {}, .schedules = every_schedule(), .cross_node_tensor = true});
    lowering::Replayer replayer;
    Scenario scenario = question.base();
    int compared = 0;
    for (int tries = 0; tries < 400 && compared < 60; ++tries) {
      const std::size_t candidate = random() % space.candidates().size();
      space.apply(space.candidates()[candidate], scenario);
      if (!question.complete(scenario).empty() || scenario.microbatches() > 200) continue;
      SCOPED_TRACE(question.text_of(scenario));
      expect_the_same(scenario, replayer);
      ++compared;
      if (HasFailure()) return;
    }
    EXPECT_GE(compared, 30);
  }
}

// What a candidate is called on paper is what it was replayed as.
TEST(Replay, ACandidateReadsBackAsAScenario) {
  std::mt19937 random(7);
  for (const std::string& text : small_questions()) {
    SCOPED_TRACE(text);
    const io::OpenScenario question = io::read_open_scenario_text(text, "question");
    const Space space(question, {.gpus = {}, .schedules = every_schedule(), .cross_node_tensor = false});
    lowering::Replayer replayer;
    Scenario scenario = question.base();
    std::vector<std::int64_t> scratch;
    int compared = 0;
    for (int tries = 0; tries < 200 && compared < 12; ++tries) {
      space.apply(space.candidates()[random() % space.candidates().size()], scenario);
      if (!question.complete(scenario).empty() || scenario.microbatches() > 200) continue;
      const std::string written = question.text_of(scenario);
      SCOPED_TRACE(written);
      const app::Simulation simulation = app::simulate(io::read_scenario_text(written, "written"));
      EXPECT_EQ(replayer.step_time(scenario, replayer.passes(scenario), scratch).ps,
                simulation.observations.makespan.ps);
      ++compared;
    }
    EXPECT_GE(compared, 5);
  }
}

}  // namespace
}  // namespace foretoken::search
