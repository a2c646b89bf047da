// Tests long lists of slow hardware, and entries that stand in them twice.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/base/test_sanitized.h"
#include "sim/io/json/test_text.h"
#include "sim/io/scenario/read_scenario.h"

namespace foretoken::io {
namespace {

using nlohmann::json;

constexpr int kRanks = kSanitized ? 4096 : 65536, kGpusPerNode = 8;

json large_job() {
  return {{"model", "gpt3-175b"},
          {"cluster", "selene"},
          {"gpus", kRanks},
          {"batch", {{"micro", 1}, {"global", kRanks}, {"sequence_length", 2048}}},
          {"parallelism", {{"tensor", 8}, {"pipeline", 8}}}};
}

json every_gpu() {
  json list = json::array();
  for (int gpu = 0; gpu < kRanks; ++gpu) list.push_back({{"gpu", gpu}, {"slowdown", 1.1}});
  return list;
}

json every_nic() {
  json list = json::array();
  for (int gpu = 0; gpu < kRanks; ++gpu)
    list.push_back({{"node", gpu / kGpusPerNode}, {"nic", gpu % kGpusPerNode}, {"rate_factor", 0.5}});
  return list;
}

json every_cable() {
  json list = json::array();
  for (int gpu = 0; gpu < kRanks; ++gpu) {
    const std::string node = "node " + std::to_string(gpu / kGpusPerNode);
    list.push_back({{"between", {node + " gpu " + std::to_string(gpu % kGpusPerNode), node + " nvswitch 0"}},
                    {"rate_factor", 0.5}});
  }
  return list;
}

TEST(ReadImperfections, OfEveryPartOfALargeCluster) {
  struct List {
    const char* key;
    json entries;
  };
  for (const List& list :
       {List{"slow_gpus", every_gpu()}, List{"slow_nics", every_nic()}, List{"slow_links", every_cable()}}) {
    SCOPED_TRACE(list.key);
    json scenario = large_job();
    scenario["imperfections"] = {{list.key, list.entries}};
    const job::Made made = read_scenario_text(scenario.dump(), "t.json");
    const job::Imperfections& what = made.job.imperfections;
    EXPECT_EQ(what.slow_gpus.size() + what.slow_nics.size() + what.slow_links.size(), std::size_t{kRanks});
  }
}

TEST(ReadImperfections, NothingIsSlowTwice) {
  for (const auto& [key, entry] :
       {std::pair{"slow_gpus", every_gpu()[0]}, {"slow_nics", every_nic()[0]}, {"slow_links", every_cable()[0]}}) {
    json scenario = large_job();
    scenario["imperfections"] = {{key, {entry, entry}}};
    EXPECT_NE(thrown_by([&] { (void)read_scenario_text(scenario.dump(), "t.json"); }).find("once"), std::string::npos)
        << key;
  }
  json scenario = large_job(), turned = every_cable()[0];
  std::swap(turned["between"][0], turned["between"][1]);
  scenario["imperfections"] = {{"slow_links", {every_cable()[0], turned}}};
  EXPECT_NE(thrown_by([&] { (void)read_scenario_text(scenario.dump(), "t.json"); }).find("found this one again"),
            std::string::npos);
}

}  // namespace
}  // namespace foretoken::io
