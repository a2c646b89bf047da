// Tests the reading of YAML: forms, merged and repeated keys, limits.
#include "sim/io/import/launch/yaml/read_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/io/json/test_text.h"

namespace foretoken::io::launch {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

struct Form {
  const char *what, *text, *json;
};

constexpr Form kForms[] = {
    {"scalars are texts", "a: 8\nb: true\nc: 1e-3", R"({"a": "8", "b": "true", "c": "1e-3"})"},
    {"plain null is null", "a: null\nb: ~\nc:\nd: \"null\"", R"({"a": null, "b": null, "c": null, "d": "null"})"},
    {"lists in blocks and brackets", "a: [1, x]\nb:\n- 2\n- y", R"({"a": ["1", "x"], "b": ["2", "y"]})"},
    {"the last of two keys wins", "a: 1\nb: 2\na: 3", R"({"a": "3", "b": "2"})"},
    {"anchors and aliases", "a: &x {b: 1}\nc: *x", R"({"a": {"b": "1"}, "c": {"b": "1"}})"},
    {"merged keys never replace stated ones", "d: &x {p: 1, q: 2}\ne:\n  <<: *x\n  q: 3",
     R"({"d": {"p": "1", "q": "2"}, "e": {"p": "1", "q": "3"}})"},
    {"tags are left out", "a: !!python/object:os.system {b: 1}", R"({"a": {"b": "1"}})"},
    {"only the first document", "a: 1\n---\nb: 2", R"({"a": "1"})"},
    {"nothing", "", "null"}};

TEST(ReadYaml, Forms) {
  for (const Form& form : kForms) {
    SCOPED_TRACE(form.what);
    Findings findings;
    const auto read = read_yaml(form.text, "t.yaml", findings);
    ASSERT_TRUE(read.has_value()) << lines_of(findings.complaints);
    EXPECT_EQ(*read, ordered_json::parse(form.json));
  }
}

std::string laughs() {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) text += last + (k < 9 ? ", " : "]\n");
  }
  return text;
}

std::string complaint(const std::string& text) {
  Findings findings;
  EXPECT_FALSE(read_yaml(text, "t.yaml", findings).has_value());
  return lines_of(findings.complaints);
}

TEST(ReadYaml, RefusesWithLineAndColumn) {
  EXPECT_THAT(complaint("a: [1, 2\nb: 3"), HasSubstr("t.yaml:2:"));
  EXPECT_THAT(complaint("a: *nowhere"),
              HasSubstr("t.yaml:1:4: not YAML that can be read: an alias without its anchor"));
  EXPECT_THAT(complaint(laughs()), HasSubstr("aliases or lists make more than 200000 values"));
  EXPECT_THAT(complaint(std::string(100, '[')), HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(complaint("a: \xff\xfe"), HasSubstr("not YAML that can be read"));
  EXPECT_THAT(complaint("\ta: 1"), HasSubstr("t.yaml:1:"));
}

}  // namespace
}  // namespace foretoken::io::launch
