// Tests made schedules: against every order of small cases, against the catalogue, and against the zero-bubble paper.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "sim/base/test_sanitized.h"
#include "sim/schedule/catalogue.h"
#include "sim/schedule/check_program.h"
#include "sim/schedule/made/make_schedule.h"

namespace foretoken::schedule {
namespace {

MakeQuestion random_question(std::mt19937& random, int stages, int microbatches) {
  MakeQuestion question{.microbatches = microbatches, .times = {}, .limits = {}};
  for (int stage = 0; stage < stages; ++stage) {
    const auto from_5 = [&] { return static_cast<std::int64_t>(5 + random() % 16); };
    question.times.stages.push_back({from_5(), from_5(), from_5() - 2});
    question.limits.push_back(
        {1, 0.25 * static_cast<double>(1 + random() % 3), 1 + 0.5 * static_cast<double>(random() % 6)});
  }
  question.times.message = random() % 5;
  return question;
}

/// Returns every order of a stage whose passes of a kind go through the micro-batches in order.
void add_orders(std::vector<StageProgram>& all, StageProgram& ops, const std::array<int, 3>& done, int microbatches) {
  constexpr std::array kKinds{OpKind::kForward, OpKind::kBackwardInput, OpKind::kBackwardWeight};
  if (ops.size() == 3 * static_cast<std::size_t>(microbatches)) all.push_back(ops);
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
    if (done[kind] == microbatches || (kind > 0 && done[kind] == done[kind - 1])) continue;
    std::array<int, 3> next = done;
    ops.push_back({kKinds[kind], id_of<MicroBatch>(next[kind]++)});
    add_orders(all, ops, next, microbatches);
    ops.pop_back();
  }
}

/// Returns the shortest makespan of all orders of all stages.
std::int64_t shortest_of_all(const MakeQuestion& question) {
  StageProgram none;
  std::vector<StageProgram> orders;
  add_orders(orders, none, {0, 0, 0}, question.microbatches);
  std::vector<std::vector<StageProgram>> fitting;
  for (const StageLimit& limit : question.limits) {
    auto& of_stage = fitting.emplace_back();
    for (const StageProgram& order : orders)
      if (most_held(order, limit) <= limit.limit) of_stage.push_back(order);
  }
  std::int64_t shortest = INT64_MAX;
  Program program{.placement = Placement::looped(static_cast<int>(fitting.size()), 1), .stages = {}};
  std::vector<std::size_t> at(fitting.size(), 0);
  for (bool more = true; more;) {
    program.stages = {};
    for (std::size_t stage = 0; stage < at.size(); ++stage) program.stages.push_back(fitting[stage][at[stage]]);
    if (const auto times = times_of(program, question.times)) shortest = std::min(shortest, times->makespan);
    more = false;
    for (std::size_t stage = 0; stage < at.size() && !more; ++stage) {
      more = ++at[stage] < fitting[stage].size();
      if (!more) at[stage] = 0;
    }
  }
  return shortest;
}

TEST(MakeSchedule, IsTheShortestOfAllOrdersOfSmallCases) {
  std::mt19937 random(20'260);
  for (int run = 0; run < 200; ++run) {
    const int stages = run % 10 == 0 ? 3 : 2, microbatches = stages == 3 ? 2 : 2 + run % 2;
    const MakeQuestion question = random_question(random, stages, microbatches);
    const MadeSchedule made = make_schedule(question);
    EXPECT_EQ(made.times.makespan, shortest_of_all(question)) << "run " << run;
    EXPECT_EQ(check_program(made.program, {.stages = stages, .microbatches = microbatches}),
              std::vector<std::string>{});
  }
}

TEST(MakeSchedule, IsNeverLongerThanTheCatalogueAndKeepsItsLimits) {
  std::mt19937 random(7);
  const int runs = kSanitized ? 40 : 1000;
  for (int run = 0; run < runs; ++run) {
    const int stages = 2 + static_cast<int>(random() % 7), microbatches = 1 + static_cast<int>(random() % 24);
    MakeQuestion question = random_question(random, stages, microbatches);
    for (StageLimit& limit : question.limits) limit.limit *= 2;
    if (run % 2 == 1) question.shorten = Shorten::kLongestSpan;
    const MadeSchedule made = make_schedule(question);
    const PipelineShape shape{.stages = stages, .microbatches = microbatches};
    EXPECT_EQ(check_program(made.program, shape), std::vector<std::string>{});
    for (const Stage stage : ids<Stage>(stages))
      EXPECT_LE(most_held(made.program.stages[stage], question.limits[stage]), question.limits[stage].limit);
    for (const Schedule& each : all_schedules()) {
      if (each.interleaves || each.moves_activations) continue;
      const Program program = each.build(shape);
      bool fits = true;
      for (const Stage stage : ids<Stage>(stages))
        fits = fits && most_held(program.stages[stage], question.limits[stage]) <= question.limits[stage].limit;
      if (!fits) continue;
      const ProgramTimes times = times_of(program, question.times).value();
      if (question.shorten == Shorten::kMakespan) {
        EXPECT_LE(made.times.makespan, times.makespan) << each.name;
      } else {
        EXPECT_LE(made.times.longest_span, times.longest_span) << each.name;
      }
    }
    if (HasFailure()) return;
  }
}

TEST(MakeSchedule, OfOneQuestionIsAlwaysTheSame) {
  std::mt19937 random(3);
  const MakeQuestion question = random_question(random, 6, 20);
  EXPECT_EQ(make_schedule(question).program, make_schedule(question).program);
}

/// Bubbles of the longest stage for limits of p and of 2p micro-batches: arXiv:2401.10241 Table 5, of the times of
/// Table 9 in microseconds. `ours` is that of 2p here.
struct PaperRow {
  int stages, microbatches;
  std::int64_t forward, input, weight, message;
  double zb_1p, zb_2p, ours;
};
constexpr PaperRow kPaper[] = {
    {8, 24, 18522, 18086, 9337, 601, .1585, .0433, .0442},  {8, 32, 18513, 18086, 9331, 626, .1242, .0039, .0055},
    {8, 64, 18546, 18097, 9321, 762, .0674, .0026, .0026},  {8, 24, 29718, 29444, 19927, 527, .1323, .0029, .0029},
    {8, 32, 29802, 29428, 19530, 577, .1045, .0022, .0022}, {8, 64, 29935, 29621, 19388, 535, .0554, .0010, .0010},
    {16, 48, 11347, 11248, 8132, 377, .1397, .0066, .0066}, {16, 64, 11307, 11254, 8101, 379, .1088, .0054, .0054},
    {32, 96, 10419, 10207, 7715, 408, .1421, .0038, .0068}, {32, 128, 10408, 10204, 7703, 408, .1106, .0029, .0052}};

TEST(MakeSchedule, HasTheBubblesOfTheSearchOfTheZeroBubblePaper) {
  for (const PaperRow& row : kPaper)
    for (const bool twice : {false, true}) {
      if (kSanitized && row.stages > 8) continue;
      MakeQuestion question{
          .microbatches = row.microbatches, .times = {}, .limits = {}, .shorten = Shorten::kLongestSpan};
      question.times.message = row.message;
      for (int stage = 0; stage < row.stages; ++stage) {
        question.times.stages.push_back({row.forward, row.input, row.weight});
        question.limits.push_back({1, 0.5, (twice ? 2.0 : 1.0) * row.stages});
      }
      const auto work = static_cast<double>(row.microbatches * (row.forward + row.input + row.weight));
      const double bubble = 1 - work / static_cast<double>(make_schedule(question).times.longest_span);
      EXPECT_NEAR(bubble, twice ? row.ours : row.zb_1p, 0.5e-4) << row.stages << " " << row.microbatches;
      EXPECT_LE(bubble, (twice ? row.zb_2p : row.zb_1p) + 0.0031);
    }
}

}  // namespace
}  // namespace foretoken::schedule
