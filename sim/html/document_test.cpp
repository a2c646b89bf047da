// Tests the page: well formed, complete, without requests, the same every time.
#include "sim/html/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "sim/draw/palette.h"
#include "sim/html/assets.h"
#include "sim/html/markup.h"
#include "sim/html/test_page.h"
#include "sim/io/scenario/read_scenario.h"

namespace foretoken::html {
namespace {

using testing::HasSubstr;
using testing::Not;

study::Prediction shipped(const std::string& name, const std::vector<std::string>& sets = {}) {
  return study::predict(
      io::read_scenario_file(std::string(FORETOKEN_SOURCE_DIR) + "/scenarios/" + name + ".json", sets),
      {.advice = true});
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + what.size())) ++found;
  return found;
}

TEST(Document, HasItsSectionsAndNothingFromElsewhere) {
  const study::Prediction base = shipped("gpt3-175b-1024-a100");
  const std::string page = page_of(base);
  for (const char* id : {"verdict", "configuration", "step", "timeline-section", "memory", "communication",
                         "sensitivity", "assumptions", "reproduce"})
    EXPECT_EQ(count(page, "<section id=\"" + std::string(id) + "\">"), 1U) << id;
  EXPECT_THAT(page, Not(HasSubstr("id=\"schedules\""))) << "a section without content is left out";
  for (const char* outside : {"src=", "http-equiv=\"refresh\"", "@import", "url(http", "<link"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  EXPECT_THAT(page, Not(HasSubstr("{{"))) << "every place is filled";
  EXPECT_EQ(page, page_of(shipped("gpt3-175b-1024-a100")));
}

TEST(Document, OnlyThePaletteColoursData) {
  const std::string page = page_of(shipped("gpt3-175b-1024-a100"));
  std::set<std::string> known;
  for (const draw::Swatch& each : draw::swatches()) known.insert(each.name);
  known.insert("c-bubble");
  const std::regex used("<(?:rect|path|circle) class=\"([^ \"]*)");
  for (std::sregex_iterator at(page.begin(), page.end(), used), end; at != end; ++at) {
    const std::string name = (*at)[1];
    EXPECT_TRUE(known.contains(name) || name == "bg" || name == "idle" || name == "line" || name == "band" ||
                name == "point")
        << name;
  }
  EXPECT_THAT(std::string(kReportCss), Not(HasSubstr(".c-forward"))) << "the palette defines it once";
  EXPECT_THAT(page, HasSubstr("forward, chunk 0 to 2")) << "shades of chunks stand in the legend";
}

TEST(Document, PhonesHaveNarrowDrawingsAndLabelledCells) {
  const std::string page = page_of(shipped("gpt3-175b-1024-a100"));
  EXPECT_EQ(count(page, "<div class=\"for-narrow\"><svg class=\"chart\" viewBox=\"0 0 340 "), 3U)
      << "waterfall, memory, sensitivity";
  EXPECT_EQ(count(page, "<div class=\"for-wide\"><svg class=\"chart\" viewBox=\"0 0 1000 "), 3U);
  EXPECT_EQ(count(page, "data-label=\"gradients\""), 8U) << "a cell for each stage";
}

TEST(Document, TheTimelineKnowsWhoSends) {
  const std::string page = page_of(shipped("gpt3-175b-1024-a100"));
  const std::size_t begin = page.find("\"senders\":[["), end = page.find("]]", begin);
  ASSERT_NE(begin, page.npos);
  const std::string senders = page.substr(begin, end - begin);
  EXPECT_EQ(count(senders, "["), 1U + 2 * (8 * 3 - 1)) << "forward and backward of 24 chunks, but for the first ones";
  EXPECT_THAT(senders, HasSubstr("[0,0,1,7,0]")) << "the second chunk of the first stage waits for the last stage";
}

TEST(Document, ElementsThatOpenClose) {
  const std::string page = page_of(shipped("gpt3-175b-1024-a100"));
  for (const std::string element : {"section", "table", "svg", "script", "figure", "div", "p", "ul", "dl", "thead"})
    EXPECT_EQ(count(page, "<" + element + ">") + count(page, "<" + element + " "), count(page, "</" + element + ">"))
        << element;
}

TEST(Document, TextOfTheUserStaysText) {
  const study::Prediction base = shipped("gpt-22b-8-a100-sp", {"name=\"<script>alert(1)</script> & \\\"x\\\"\""});
  const std::string page = page_of(base, R"({"name":"</script><script>alert(2)</script><!--"})");
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt; &amp;"));
}

TEST(Document, OneGpuHasNoPipelineToSpeakOf) {
  const study::Prediction base =
      shipped("llama-2-7b-8-a100", {"gpus=1", "parallelism={}", "batch.micro=1", "batch.global=1"});
  EXPECT_THAT(page_of(base), HasSubstr("nothing is exchanged"));
}

TEST(ScriptJson, CannotEndItsElement) {
  EXPECT_EQ(script_json(R"({"a":"</script><!--"})"), R"({"a":"\u003c/script>\u003c!--"})");
}

}  // namespace
}  // namespace foretoken::html
