// Tests that traces obey Perfetto's importer: slices of a thread nest, counters are numbers, arrows have two ends.
#include "sim/report/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/step/test_job.h"

namespace foretoken::report {
namespace {

using nlohmann::json;
using step::Fidelity;

job::Job small_scenario(int virtual_pipeline) {
  job::Job s = step::test_job(16, 1024);
  s.name = "small \"quoted\"";
  s.gpus = 32;
  s.parallelism = {.tensor = 2, .pipeline = 4, .virtual_pipeline = virtual_pipeline, .data = 4};
  s.schedule = schedule::schedule_named(virtual_pipeline > 1 ? "interleaved-1f1b" : "1f1b");
  s.batch = {.micro = 1, .global = 32, .sequence_length = 1024};
  s.overlap = {.grad_reduce = true, .param_gather = true, .p2p = virtual_pipeline > 1};
  s.optimizer.zero_stage = 1;
  return s;
}

struct Traced {
  json trace;
  std::string text;
  std::size_t messages = 0, passes = 0;
  double step_us = 0;
};

Traced traced(int virtual_pipeline, Fidelity fidelity, const PerStage<Gpu>& shown_gpus = {}) {
  const job::Job job = small_scenario(virtual_pipeline);
  const step::LoweredStep step = step::lower(job, fidelity);
  const des::RunResult run = des::run(step.workload.graph);
  const auto memory = observe::memory_timelines(job, step, run);
  Metrics metrics;
  metrics.name = job.name;
  metrics.simulated_step_time = metrics.step_time = des::to_seconds(run.makespan - des::Instant{});
  metrics.memory.per_stage.resize(memory.size());
  for (const Stage stage : memory.ids()) metrics.memory.per_stage[stage].other = memory[stage].transient_at_peak;
  metrics.shown_gpus = shown_gpus;
  Traced result;
  write_trace({.step = step, .run = run, .memory = memory, .metrics = metrics, .version = "1.2.3", .fidelity = "x"},
              [&](std::string_view text) { result.text += text; });
  result.trace = json::parse(result.text);
  for (const step::Meaning& meaning : step.workload.meaning)
    if (const step::Communication* row = step.workload.communication_of(meaning))
      result.messages += is_message(row->purpose) ? 1 : 0;
  for (const auto& passes : step.workload.passes) result.passes += passes.size();
  result.step_us = metrics.step_time.value() * 1e6;
  return result;
}

std::pair<int, int> thread_of(const json& event) { return {event["pid"].get<int>(), event["tid"].get<int>()}; }

std::int64_t ns(const json& us) { return std::llround(us.get<double>() * 1000); }

// Expects the slices of a thread, [begin, end) in nanoseconds, to nest: each lies within or behind the open ones.
void expect_nesting(const json& events) {
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> threads;
  for (const json& event : events)
    if (event["ph"] == "X") threads[thread_of(event)].emplace_back(ns(event["ts"]), ns(event["ts"]) + ns(event["dur"]));
  for (auto& [thread, slices] : threads) {
    std::stable_sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<std::int64_t> open;
    for (const auto& [begin, end] : slices) {
      while (!open.empty() && open.back() <= begin) open.pop_back();
      const std::int64_t limit = open.empty() ? end : open.back();
      ASSERT_LE(end, limit) << "stage " << thread.first << " thread " << thread.second;
      open.push_back(end);
    }
  }
}

void expect_names_and_counters(const json& events) {
  const std::set<std::string> known = {"process_name", "process_sort_index", "thread_name", "thread_sort_index"};
  std::set<std::pair<int, int>> named;
  for (const json& event : events) {
    if (event["ph"] == "M") {
      ASSERT_TRUE(known.count(event["name"].get<std::string>())) << event;
      if (event["name"] == "thread_name") named.insert(thread_of(event));
    } else if (event["ph"] == "C") {
      ASSERT_FALSE(event["args"].empty());
      for (const auto& [key, value] : event["args"].items()) {
        ASSERT_TRUE(value.is_number()) << event;
        ASSERT_GE(value.get<double>(), 0) << event;
      }
    } else {
      ASSERT_EQ(event["ph"], "X");
      ASSERT_TRUE(event["name"].is_string() && event["cat"].is_string());
    }
  }
  for (const json& event : events) ASSERT_TRUE(event["ph"] != "X" || named.count(thread_of(event)) == 1) << event;
}

// Expects every arrow to leave one slice, and to reach one that starts no earlier than the message arrives.
void expect_arrows(const Traced& traced) {
  std::map<std::string, const json*> out;
  for (const json& event : traced.trace["traceEvents"])
    ASSERT_TRUE(!event.value("flow_out", false) || out.emplace(event["bind_id"].get<std::string>(), &event).second)
        << event;
  EXPECT_EQ(out.size(), traced.messages);
  std::size_t arrived = 0;
  for (const json& event : traced.trace["traceEvents"]) {
    if (!event.value("flow_in", false)) continue;
    const auto from = out.find(event["bind_id"].get<std::string>());
    ASSERT_NE(from, out.end()) << event;
    ASSERT_LE(ns((*from->second)["ts"]) + ns((*from->second)["dur"]), ns(event["ts"])) << event;
    ASSERT_NE((*from->second)["pid"], event["pid"]) << "a message goes to another stage";
    ++arrived;
  }
  EXPECT_EQ(arrived, traced.messages);
}

TEST(Trace, NamesTheGpuOfEveryStageWhereAllAreSimulated) {
  const auto names = [](const std::vector<Gpu>& gpus) {
    const Traced result = traced(1, Fidelity::kStage, PerStage<Gpu>(gpus));
    std::vector<std::string> all;
    for (const json& event : result.trace["traceEvents"])
      if (event["name"] == "process_name") all.push_back(event["args"]["name"]);
    return all;
  };
  EXPECT_EQ(names({}).front(), "stage 0");
  EXPECT_EQ(names({Gpu{5}, Gpu{13}, Gpu{21}, Gpu{29}})[1], "stage 1 (GPU 13)");
}

TEST(Trace, HoldsToTheRulesOfTheImporter) {
  for (const int virtual_pipeline : {1, 2})
    for (const Fidelity fidelity : {Fidelity::kStage, Fidelity::kKernel}) {
      SCOPED_TRACE(virtual_pipeline);
      const Traced result = traced(virtual_pipeline, fidelity);
      const json& events = result.trace["traceEvents"];
      expect_nesting(events);
      expect_names_and_counters(events);
      expect_arrows(result);
      const auto passes = std::count_if(events.begin(), events.end(), [](const json& event) {
        return event["ph"] == "X" && event["tid"] == 0 && (event["cat"] == "forward" || event["cat"] == "backward") &&
               std::string("FB").find(event["name"].get<std::string>()[0]) != std::string::npos;
      });
      EXPECT_GE(static_cast<std::size_t>(passes), result.passes);
      double last = 0;
      for (const json& event : events)
        if (event["ph"] == "X") last = std::max(last, event["ts"].get<double>() + event["dur"].get<double>());
      EXPECT_NEAR(last, result.step_us, 0.001);
    }
}

TEST(Trace, SaysWhereItComesFrom) {
  const json metadata = traced(1, Fidelity::kStage).trace["metadata"];
  EXPECT_EQ(metadata["version"], "1.2.3");
  EXPECT_EQ(metadata["scenario"], "small \"quoted\"");
}

TEST(Trace, IsTheSameEveryTime) { EXPECT_EQ(traced(2, Fidelity::kKernel).text, traced(2, Fidelity::kKernel).text); }

}  // namespace
}  // namespace foretoken::report
