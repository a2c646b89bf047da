// Checks that the tables of docs/contributor/engine.md agree with this graph.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include "sim/des/deadlock.h"
#include "sim/des/engine.h"

namespace foretoken::des {
namespace {

constexpr Duration us(std::int64_t n) { return {n * 1'000'000}; }

/// Two workers, A and B. A makes two pieces and sends each to B. Then both meet, and B sends two files over one link.
struct Example {
  TaskGraph graph;
  std::map<std::string, TaskId> tasks;

  Example() {
    const StreamId a = graph.add_stream(), b = graph.add_stream();
    const LinkId wire = graph.add_link(BytesPerSecond(1e9));
    tasks["a1"] = graph.add_occupy(a, us(3));
    tasks["a2"] = graph.add_occupy(a, us(3));
    tasks["b1"] = graph.add_occupy(b, us(4));
    tasks["b2"] = graph.add_occupy(b, us(4));
    tasks["send1"] = graph.add_delay(us(1));
    tasks["send2"] = graph.add_delay(us(1));
    tasks["meet"] = graph.add_rendezvous(std::array{a, b}, us(2));
    tasks["file1"] = graph.add_flow({}, Bytes(4000), std::array{wire}, us(0));
    tasks["file2"] = graph.add_flow({}, Bytes(2000), std::array{wire}, us(0));
    for (const auto& [before, after] : {std::pair{"a1", "send1"},
                                        {"send1", "b1"},
                                        {"a2", "send2"},
                                        {"send2", "b2"},
                                        {"meet", "file1"},
                                        {"meet", "file2"}})
      graph.add_dependency(tasks.at(before), tasks.at(after));
  }
};

std::string the_page() {
  std::ifstream page(FORETOKEN_SOURCE_DIR "/docs/contributor/engine.md");
  return {std::istreambuf_iterator<char>(page), {}};
}

/// Returns the rows "| `task` | stream | starts | ends |" of the page, in microseconds.
std::map<std::string, std::pair<std::int64_t, std::int64_t>> rows_of_the_page() {
  std::istringstream page(the_page());
  static const std::regex kRow(R"(\| `([a-z0-9]+)` \| [^|]* \| ([0-9]+) \| ([0-9]+) \|.*)");
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> rows;
  std::smatch match;
  for (std::string line; std::getline(page, line);)
    if (std::regex_match(line, match, kRow)) rows[match[1]] = {std::stoll(match[2]), std::stoll(match[3])};
  return rows;
}

TEST(WorkedExample, ThePageShowsTheInstantsOfTheRun) {
  const Example example;
  const RunResult result = run(example.graph);
  ASSERT_TRUE(result.stuck.empty());
  const auto rows = rows_of_the_page();
  ASSERT_EQ(rows.size(), example.tasks.size());
  for (const auto& [name, task] : example.tasks) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(rows.contains(name));
    EXPECT_EQ(result.start[task.value].ps, rows.at(name).first * 1'000'000);
    EXPECT_EQ(result.end[task.value].ps, rows.at(name).second * 1'000'000);
  }
  EXPECT_EQ(result.makespan.ps, 20'000'000);
}

TEST(WorkedExample, ThePageShowsTheDeadlockInWords) {
  TaskGraph graph;
  const StreamId a = graph.add_stream(), b = graph.add_stream();
  const TaskId meet = graph.add_rendezvous(std::array{a, b}, us(2));
  const TaskId late = graph.add_occupy(b, us(1));
  graph.add_dependency(late, meet);
  const Names names{[&](TaskId task) { return task == meet ? "meet" : "late"; },
                    [&](StreamId stream) { return stream == a ? "A" : "B"; }};
  const std::string words = describe_deadlock(graph, run(graph), names);
  ASSERT_FALSE(words.empty());
  EXPECT_NE(the_page().find(words), std::string::npos) << words;
}

}  // namespace
}  // namespace foretoken::des
