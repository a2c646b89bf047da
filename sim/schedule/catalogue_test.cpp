// Tests the catalogue's names, and its reasons when a shape does not suit a schedule.
#include "sim/schedule/catalogue.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/parse_number.h"
#include "sim/schedule/check_program.h"
#include "sim/schedule/flush/interleaved_1f1b.h"

namespace foretoken::schedule {
namespace {

TEST(Catalogue, ListsTheSchedulesInOrder) {
  std::vector<std::string_view> names;
  for (const Schedule& schedule : all_schedules()) {
    names.push_back(schedule.name);
    EXPECT_FALSE(schedule.description.empty());
    EXPECT_EQ(find_schedule(schedule.name)->description, schedule.description);
  }
  EXPECT_EQ(names,
            (std::vector<std::string_view>{"gpipe",         "gpipe-fifo", "1f1b",    "interleaved-1f1b", "eager-1f1b",
                                           "looped-bfs",    "zb-h1",      "zb-h2",   "interleaved-zb",   "zb-v",
                                           "v-zb",          "v-half",     "v-min",   "hanayo",           "pipedream",
                                           "pipedream-2bw", "pipemare",   "chimera", "dualpipe",         "dualpipe-v",
                                           "bpipe"}));
  EXPECT_FALSE(find_schedule("1F1B")) << "names are exact";
}

struct ReasonCase {
  const char* name;
  const char* schedule;
  PipelineShape shape;
  const char* reason;
};

const ReasonCase kReasons[] = {
    {"no stages", "gpipe", {0, 4}, "gpipe: expected at least 1 pipeline stage, found 0; try 1"},
    {"no micro-batches", "1f1b", {4, 0}, "1f1b: expected at least 1 micro-batch, found 0; try a larger global batch"},
    {"no chunks", "1f1b", {4, 8, 0}, "1f1b: expected at least 1 chunk a stage, found 0; try 1"},
    {"negative group",
     "interleaved-1f1b",
     {4, 8, 2, -1},
     "interleaved-1f1b: expected a micro-batch group of at least 0, found -1; try 0 (the pipeline stages)"},
    {"chunks without interleaving",
     "1f1b",
     {4, 8, 2},
     "1f1b: expected 1 chunk a stage (virtual pipeline), found 2; try 1 chunk, or the schedule "
     "interleaved-1f1b"},
    {"a group without interleaving",
     "gpipe-fifo",
     {4, 8, 1, 4},
     "gpipe-fifo: expected no micro-batch group (only interleaved schedules have one), found 4; try without it, or "
     "the schedule interleaved-1f1b"},
    {"interleaving of one chunk",
     "interleaved-1f1b",
     {4, 8, 1},
     "interleaved-1f1b: expected at least 2 chunks a stage (virtual pipeline), found 1; try 2 chunks, or the "
     "schedule 1f1b"},
    {"interleaving of one stage",
     "interleaved-1f1b",
     {1, 8, 2},
     "interleaved-1f1b: expected at least 2 pipeline stages, found 1; try pipeline 2, or the schedule 1f1b"},
    {"breadth-first on one stage",
     "looped-bfs",
     {1, 8, 2},
     "looped-bfs: expected at least 2 pipeline stages, found 1; try pipeline 2, or the schedule 1f1b"},
    {"interleaved zero bubble on one stage",
     "interleaved-zb",
     {1, 8, 2},
     "interleaved-zb: expected at least 2 pipeline stages, found 1; try pipeline 2, or the schedule 1f1b"},
    {"unequal rounds",
     "interleaved-zb",
     {4, 9, 2},
     "interleaved-zb: expected micro-batches in 2 equal rounds of at least 4 (the pipeline stages), found 9; try 8 or "
     "12"},
    {"a V of three chunks",
     "zb-v",
     {4, 8, 3},
     "zb-v: expected 2 chunks a stage (virtual pipeline), found 3; try 2 chunks"},
    {"waves of three chunks",
     "hanayo",
     {4, 8, 3},
     "hanayo: expected an even number of chunks a stage (virtual pipeline), two for each wave, found 3; try 4 chunks"},
    {"two ways of three chunks",
     "chimera",
     {4, 8, 3},
     "chimera: expected 2 chunks a stage (virtual pipeline), one of each copy of the model, found 3; try "
     "2 chunks"},
    {"two ways over an odd number of stages",
     "dualpipe",
     {3, 12, 2},
     "dualpipe: expected an even number of pipeline stages, found 3; try pipeline 4"},
    {"half a unit",
     "chimera",
     {4, 6, 2},
     "chimera: expected a multiple of 4 micro-batches (the pipeline stages), "
     "found 6; try 8"},
    {"two ways in groups",
     "chimera",
     {4, 8, 2, 4},
     "chimera: expected no micro-batch group (only interleaved-1f1b has one), found 4; try without it"},
    {"too few for pairs",
     "dualpipe",
     {4, 6, 2},
     "dualpipe: expected at least 8 micro-batches (twice the pipeline stages), found 6; try 8"},
    {"an odd number over two ways",
     "dualpipe",
     {4, 9, 2},
     "dualpipe: expected an even number of micro-batches, half of them each way, found 9; try 10"},
    {"a stage without a partner",
     "bpipe",
     {3, 8},
     "bpipe: expected an even number of pipeline stages, found 3; try pipeline 4"},
    {"too few for pairs in a V",
     "dualpipe-v",
     {4, 7, 2},
     "dualpipe-v: expected at least 8 micro-batches (twice the pipeline stages), found 7; try 8"},
    {"fewer micro-batches than stages",
     "interleaved-1f1b",
     {4, 3, 2},
     "interleaved-1f1b: expected at least 4 micro-batches (the pipeline stages), found 3; try a global batch of 4 "
     "micro-batches per data-parallel replica, or the schedule 1f1b without virtual stages"},
    {"a group below the stages (Megatron: ValueError)",
     "interleaved-1f1b",
     {4, 8, 2, 3},
     "interleaved-1f1b: expected a micro-batch group from 4 (the pipeline stages) to 8 (the micro-batches), found 3; "
     "try 4, 8"},
    {"a group above the micro-batches",
     "interleaved-1f1b",
     {4, 8, 2, 9},
     "interleaved-1f1b: expected a micro-batch group from 4 (the pipeline stages) to 8 (the micro-batches), found 9; "
     "try 4, 8"},
    {"a rest of one (Megatron: RuntimeError)",
     "interleaved-1f1b",
     {4, 9, 2, 4},
     "interleaved-1f1b: expected 9 micro-batches to fill groups of 4 or leave at least 4 (the pipeline stages) over, "
     "found 1 over; try 8 or 12 micro-batches, or a group of 5, 9"},
    {"a rest of one, the group left to its default",
     "interleaved-1f1b",
     {4, 9, 2},
     "interleaved-1f1b: expected 9 micro-batches to fill groups of 4 or leave at least 4 (the pipeline stages) over, "
     "found 1 over; try 8 or 12 micro-batches, or a group of 5, 9"},
    {"a rest of two (Megatron: RuntimeError)",
     "interleaved-1f1b",
     {4, 6, 2, 4},
     "interleaved-1f1b: expected 6 micro-batches to fill groups of 4 or leave at least 4 (the pipeline stages) over, "
     "found 2 over; try 4 or 8 micro-batches, or a group of 6"},
    {"a rest just below the stages",
     "interleaved-1f1b",
     {4, 13, 2, 5},
     "interleaved-1f1b: expected 13 micro-batches to fill groups of 5 or leave at least 4 (the pipeline stages) over, "
     "found 3 over; try 10 or 14 micro-batches, or a group of 7, 8, 9, 13"},
};

TEST(Catalogue, SaysExpectedFoundAndWhatToTry) {
  for (const auto& [name, schedule, shape, reason] : kReasons) {
    SCOPED_TRACE(name);
    EXPECT_EQ(why_not(find_schedule(schedule).value(), shape), reason);
  }
}

struct LegalCase {
  const char* name;
  const char* schedule;
  PipelineShape shape;
};

const LegalCase kLegal[] = {
    {"one stage", "gpipe", {1, 8}},
    {"one stage, one micro-batch", "1f1b", {1, 1}},
    {"fewer micro-batches than stages", "1f1b", {8, 3}},
    {"as many micro-batches as stages", "interleaved-1f1b", {4, 4, 2}},
    {"a rest of exactly the stages", "interleaved-1f1b", {4, 14, 2, 5}},
    {"a group of all micro-batches", "interleaved-1f1b", {4, 9, 2, 9}},
};

TEST(Catalogue, HasNothingAgainstLegalShapes) {
  for (const auto& [name, schedule, shape] : kLegal) {
    SCOPED_TRACE(name);
    EXPECT_EQ(why_not(find_schedule(schedule).value(), shape), std::nullopt);
  }
}

/// Returns the numbers after `marker` in an advice such as "...; try 8 or 12 micro-batches, or a group of 5, 9".
std::vector<int> numbers_after(const std::string& text, const std::string& marker) {
  std::vector<int> numbers;
  std::size_t at = text.find(marker);
  if (at == std::string::npos) return numbers;
  for (at += marker.size(); at < text.size() && (std::isdigit(text[at]) != 0);) {
    std::string_view rest = std::string_view(text).substr(at);
    numbers.push_back(take_number<int>(rest).value());
    at = text.size() - rest.size();
    for (const char* separator : {", ", " or "}) {
      if (text.compare(at, std::string(separator).size(), separator) == 0) {
        at += std::string(separator).size();
        break;
      }
    }
  }
  return numbers;
}

TEST(Catalogue, AdviceForARestWorks) {
  const Schedule schedule = find_schedule("interleaved-1f1b").value();
  int advised = 0;
  for (int stages = 2; stages <= 6; ++stages) {
    for (int microbatches = stages; microbatches <= 24; ++microbatches) {
      for (int group = stages; group <= microbatches; ++group) {
        const PipelineShape shape{.stages = stages, .microbatches = microbatches, .chunks = 2, .group = group};
        const auto reason = why_not(schedule, shape);
        if (!reason) continue;
        SCOPED_TRACE(*reason);
        const auto counts = numbers_after(*reason, "; try ");
        const auto groups = numbers_after(*reason, "a group of ");
        ASSERT_EQ(counts.size(), 2U);
        ASSERT_FALSE(groups.empty());
        for (const int count : counts) {
          EXPECT_EQ(why_not(schedule, {stages, count, 2, group}), std::nullopt);
          ++advised;
        }
        for (const int other : groups) EXPECT_EQ(why_not(schedule, {stages, microbatches, 2, other}), std::nullopt);
      }
    }
  }
  EXPECT_GT(advised, 100);
}

TEST(CatalogueDeathTest, BuildingAnIllegalShapeBreaksAContract) {
  EXPECT_DEATH((void)interleaved_1f1b({4, 9, 2, 4}), "micro-batches fill groups from p to m, or leave at least p");
  EXPECT_DEATH((void)find_schedule("1f1b")->build({4, 8, 2}), "1F1B holds one chunk a stage");
  EXPECT_DEATH((void)find_schedule("gpipe")->build({0, 8}), "at least one stage and one micro-batch");
}

}  // namespace
}  // namespace foretoken::schedule
