// Compares the engine with the trusted one of plan_test.h, on random plans, in any numbering.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <span>

#include "sim/base/test_sanitized.h"
#include "sim/des/engine.h"
#include "sim/des/plan_test.h"

namespace foretoken::des::testing {
namespace {

struct Kind {
  const char* name;
  bool flows, circles;
};
constexpr Kind kKinds[] = {{"streams and tasks", false, false},
                           {"with circles", false, true},
                           {"with flows", true, false},
                           {"with flows and circles", true, true}};

constexpr int kPlans = kSanitized ? 4 : 20;  // per case: a plan is small and quick

TEST(EngineOracle, TimesEqualTheTrustedEngine) {
  for (const auto& [name, flows, circles] : kKinds) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(rc::check(name, [flows = flows, circles = circles] {
      for (int i = 0; i < kPlans; ++i) {
        const Plan plan = draw_plan(flows, circles);
        const Built built = build(plan);
        RC_ASSERT(times_of(built, run(built.graph)) == reference_run(plan));
      }
    }));
  }
}

TEST(EngineOracle, NumberingDoesNotShow) {
  for (const auto& [name, flows, circles] : kKinds) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(rc::check(name, [flows = flows, circles = circles] {
      for (int i = 0; i < kPlans; ++i) {
        const Plan plan = draw_plan(flows, circles);
        const Built one = build(plan), other = build_shuffled(plan, *rc::gen::arbitrary<std::uint32_t>());
        const RunResult result = run(one.graph), shuffled = run(other.graph);
        RC_ASSERT(times_of(one, result) == times_of(other, shuffled));
        RC_ASSERT(result.makespan == shuffled.makespan);
        RC_ASSERT(result.stuck.size() == shuffled.stuck.size());
      }
    }));
  }
}

TEST(EngineOracle, EndsFollowFromStarts) {
  EXPECT_TRUE(rc::check("ends", [] {
    const bool flows = *rc::gen::arbitrary<bool>();
    const Built built = build(draw_plan(flows, true));
    const RunResult both = run(built.graph), starts = run(built.graph, {}, Kept::kStarts);
    RC_ASSERT(starts.start == both.start && starts.makespan == both.makespan);
    RC_ASSERT(starts.stuck.size() == both.stuck.size());
    RC_ASSERT(starts.end.empty() == built.graph.flows().empty());
    for (std::uint32_t task = 0; task < both.end.size(); ++task)
      RC_ASSERT(end_of({task}, built.graph, starts) == both.end[task]);
  }));
}

/// Checks the observer's contract: no start before the ends that allow it, ends first in time.
class Witness : public Observer {
 public:
  void on_start(TaskId task, Instant at) override { note(task, at, true); }
  void on_end(TaskId task, Instant at) override { note(task, at, false); }
  struct Event {
    TaskId task;
    Instant at;
    bool start;
  };
  std::vector<Event> events;

 private:
  void note(TaskId task, Instant at, bool start) { events.push_back({task, at, start}); }
};

TEST(EngineOracle, ObserversSeeTheSameRunInCausalOrder) {
  EXPECT_TRUE(rc::check("observers", [] {
    const Plan plan = draw_plan(*rc::gen::arbitrary<bool>(), true);
    const Built built = build(plan);
    Witness witness;
    Observer* const observers[] = {&witness};
    const RunResult result = run(built.graph, observers);
    RC_ASSERT(times_of(built, result) == times_of(built, run(built.graph)));
    std::vector<std::size_t> started(plan.tasks.size(), 0), ended(plan.tasks.size(), 0);
    for (std::size_t i = 0; i < witness.events.size(); ++i) {
      const auto& [task, at, start] = witness.events[i];
      RC_ASSERT((i == 0 || witness.events[i - 1].at <= at));  // bare, || would not stop early
      RC_ASSERT(at == (start ? result.start : result.end)[task.value]);
      (start ? started : ended)[task.value] = i + 1;
    }
    for (const auto& [before, after] : plan.dependencies) {
      if (started[after] != 0) RC_ASSERT(ended[before] != 0 && ended[before] < started[after]);
    }
    const auto all_heard = [](std::span<const Instant> times, const std::vector<std::size_t>& heard) {
      for (std::size_t t = 0; t < times.size(); ++t)
        if ((times[t] != kNever) != (heard[t] != 0)) return false;
      return true;
    };
    RC_ASSERT(all_heard(result.start, started) && all_heard(result.end, ended));
  }));
}

}  // namespace
}  // namespace foretoken::des::testing
