// Tests reading JSON with checks: accepted values, the text of each complaint, and one complaint for one mistake.
#include "sim/io/json/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/io/json/test_text.h"

namespace foretoken::io {
namespace {

struct NumberCase {
  const char* name;
  const char* text;
  const char* complaint;
};

TEST(Node, WholeNumbers) {
  const NumberCase cases[] = {
      {"plain", R"({"n": 8})", ""},
      {"as a whole double", R"({"n": 3e2})", ""},
      {"string", R"({"n": "8"})", "t.json: /n: expected a positive whole number, found a string \"8\"\n"},
      {"zero", R"({"n": 0})", "t.json: /n: expected a positive whole number, found 0\n"},
      {"negative", R"({"n": -4})", "t.json: /n: expected a positive whole number, found -4\n"},
      {"fraction", R"({"n": 2.5})", "t.json: /n: expected a positive whole number, found 2.5\n"},
      {"beyond 2^53", R"({"n": 1e16})",
       "t.json: /n: expected a whole number from 1 to 9007199254740992, found 1e+16\n"},
      {"beyond 2^64", R"({"n": 99999999999999999999})",
       "t.json: /n: expected a whole number from 1 to 9007199254740992, found 1e+20\n"},
      {"true", R"({"n": true})", "t.json: /n: expected a positive whole number, found true\n"},
      {"null", R"({"n": null})", "t.json: /n: expected a positive whole number, found null\n"},
      {"missing", R"({})", "t.json: /n: missing; expected a positive whole number\n"},
      {"array", R"({"n": [1]})", "t.json: /n: expected a positive whole number, found an array\n"}};
  for (const NumberCase& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(complaints_of(c.text, [](const Node& root) { EXPECT_GE(root.whole("n"), 1); }), c.complaint);
  }
}

TEST(Node, SilentBelowAMissingObject) {
  EXPECT_EQ(complaints_of("{}",
                          [](const Node& root) {
                            const Node part = root.object("a").object("b");
                            EXPECT_EQ(part.positive_int("c"), 1);
                            EXPECT_EQ(part.text("d"), "");
                            part.complain("e", "a rule");
                          }),
            "t.json: /a: missing; expected an object\n");
}

TEST(Node, NumbersBeyondAllQuantitiesAreToldTheLimit) {
  EXPECT_EQ(complaints_of(R"({"a": 1e300, "b": -1e300, "c": 1e300})",
                          [](const Node& root) {
                            (void)root.number("a", kPositive);
                            (void)root.number("b");
                            (void)root.number("c", {.low = 0, .high = 4});
                          }),
            "t.json: /a: expected a positive number, at most 1e+36, found 1e+300\n"
            "t.json: /b: expected a number, at least -1e+36, found -1e+300\n"
            "t.json: /c: expected a number from 0 to 4, found 1e+300\n");
}

TEST(Node, EscapesPointersAndKeepsComplaintsOnOneLine) {
  EXPECT_EQ(complaints_of(R"({"a/b~c\n": "x\ny\u202e"})", [](const Node& root) { (void)root.number("a/b~c\n"); }),
            "t.json: /a~1b~0c\\u000a: expected a number, found a string \"x\\u000ay\\u202e\"\n");
}

TEST(Node, UnknownKeysSayWhatWasMeant) {
  EXPECT_EQ(complaints_of(R"({"tesnor": 1, "zzz": 2})",
                          [](const Node& root) {
                            root.allow_only({"tensor", "data"});
                          }),
            "t.json: /tesnor: unknown key; did you mean \"tensor\"?\n"
            "t.json: /zzz: unknown key; known here: tensor, data\n");
}

TEST(Node, AnUnknownKeyListsTheKeysThatFitIntoALineTheMostAlikeFirst) {
  const auto complaint_about = [](const std::string& key) {
    return complaints_of("{\"" + key + "\": 1}", [](const Node& root) {
      root.allow_only({"context", "data_parallel_split", "expert", "expert_tensor", "interleaved_virtual_stages",
                       "pipeline", "sequence_parallel", "tensor", "zero_bubble_warm_up", "weights_in_a_group"});
    });
  };
  const std::string short_key = complaint_about("tp");
  EXPECT_TRUE(short_key.starts_with("t.json: /tp: unknown key; known here: tensor, expert, ")) << short_key;
  EXPECT_TRUE(short_key.ends_with(" more\n")) << short_key;
  EXPECT_LE(short_key.size(), 119U);
  EXPECT_TRUE(complaint_about("virtual_pp")
                  .starts_with("t.json: /virtual_pp: unknown key; known here: interleaved_virtual_stages, "));
  const std::string long_key(200, 'q');
  EXPECT_TRUE(complaint_about(long_key).find("known here: ") != std::string::npos) << "a long line lists some, too";
}

TEST(Node, DefaultsAreNotedOnlyWhereAsked) {
  Findings findings;
  const nlohmann::json value = nlohmann::json::parse(R"({"a": {"x": 1}})");
  const Source noted{.file = "n.json", .notes_defaults = true}, quiet{.file = "q.json"};
  EXPECT_EQ(Node(value, noted, findings).object("a").number_or("y", 7), 7);
  EXPECT_EQ(Node(value, quiet, findings).object("a").number_or("z", 7), 7);
  EXPECT_EQ(findings.notes.defaulted, std::vector<std::string>{"/a/y"});
  EXPECT_NO_THROW(findings.throw_if_wrong());
}

TEST(Node, OneOf) {
  EXPECT_EQ(complaints_of(R"({"k": "flsh"})",
                          [](const Node& root) {
                            (void)root.one_of<int>("k", {{"unfused", 1}, {"flash", 2}});
                          }),
            "t.json: /k: expected \"unfused\" or \"flash\", found \"flsh\"; did you mean \"flash\"?\n");
}

TEST(Node, CountsMayBeSpelled) {
  const auto read = [](const char* text) {
    std::int64_t found = 0;
    const std::string complaints = complaints_of(
        text, [&](const Node& root) { found = root.whole("n", {.low = 1, .high = 1'000'000, .thousand = 1000}); });
    return complaints.empty() ? std::to_string(found) : complaints;
  };
  EXPECT_EQ(read(R"({"n": "4k"})"), "4000");
  EXPECT_EQ(read(R"({"n": "0.5M"})"), "500000");
  for (const char* wrong : {R"("4")", R"("2M")", R"("1.0005k")", R"("4kk")"})
    EXPECT_THAT(read((std::string(R"({"n": )") + wrong + "}").c_str()),
                testing::StartsWith("t.json: /n: expected a whole number from 1 to 1000000, found"));
  EXPECT_EQ(complaints_of(R"({"n": "4k"})", [](const Node& root) { (void)root.whole("n"); }),
            "t.json: /n: expected a positive whole number, found a string \"4k\"\n")
      << "a key that is no count";
  EXPECT_EQ(complaints_of(R"({"n": "15T"})",
                          [](const Node& root) { EXPECT_EQ(root.number("n", {.low = 0, .thousand = 1000}), 15e12); }),
            "");
}

}  // namespace
}  // namespace foretoken::io
