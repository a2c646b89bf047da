// Tests texts that are not JSON, or that we refuse: each gives one clear complaint.
#include "sim/io/json/parse_json.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/io/json/test_text.h"

namespace foretoken::io {
namespace {

struct WrongText {
  const char* name;
  std::string text;
  const char* complaint;
};

std::string nested(int depth) { return std::string(static_cast<std::size_t>(depth), '['); }

TEST(ParseJson, WrongTexts) {
  const WrongText cases[] = {
      {"empty", "", "empty; expected a JSON object"},
      {"blank", " \n\t", "empty; expected a JSON object"},
      {"truncated object", "{\"a\": 1,\n \"b\"", "not JSON: the text ends too early, at line 2, column 5"},
      {"truncated string", "{\"a\": \"xy", "not JSON: the text ends too early, at line 1, column 10"},
      {"NaN", "{\"a\":\n  NaN}",
       "not JSON: unexpected \"NaN\" at line 2, column 3; JSON has no NaN and no infinity (Python writes "
       "them): write a finite number or leave the key out"},
      {"infinity", "[-Infinity]",
       "not JSON: unexpected \"-Infinity\" at line 1, column 2; JSON has no NaN and no infinity (Python writes "
       "them): write a finite number or leave the key out"},
      {"1e400", "{\"a\": 1e400}",
       "line 1, column 11: the number 1e400 is too large for a 64-bit floating-point number"},
      {"trailing comma", "{\"a\": 1,}",
       "not JSON: unexpected \"}\" at line 1, column 9; is there a comma too many before it?"},
      {"missing comma", "{\"a\": 1 \"b\": 2}",
       "not JSON: unexpected \"\"b\"\" at line 1, column 9; is there a comma or a colon missing before it?"},
      {"comment", "{ // x\n}", "not JSON: unexpected \"/\" at line 1, column 3; JSON has no comments"},
      {"single quotes", "{'a': 1}", "not JSON: unexpected \"'\" at line 1, column 2; strings take double quotes"},
      {"leading zero", "{\"a\": 08}", "not JSON: unexpected \"08\" at line 1, column 7"},
      {"two documents", "{} {}", "not JSON: unexpected \"{\" at line 1, column 4"},
      {"invalid UTF-8", "{\"a\": \"x\xff\"}", "not UTF-8: byte 0xff at offset 8 (line 1, column 9)"},
      {"overlong UTF-8", "{\"\xc0\xaf\": 1}", "not UTF-8: byte 0xc0 at offset 2 (line 1, column 3)"},
      {"high half of a surrogate pair", R"(["\ud800"])",
       "not JSON: \\ud800 at line 1, column 3 is half of a surrogate pair; expected the other half beside it"},
      {"low half of a surrogate pair", R"(["a\udc00b"])",
       "not JSON: \\udc00 at line 1, column 4 is half of a surrogate pair; expected the other half beside it"},
      {"lone surrogate in UTF-8", "[\"\xed\xa0\x80\"]", "not UTF-8: byte 0xed at offset 2 (line 1, column 3)"},
      {"duplicate key", R"({"a": [0, {"b": 1, "c": 2, "b": 3}]})", "/a/1/b: stated twice; keep one"},
      {"deep arrays", nested(100000), "nested deeper than 64 levels"}};
  for (const WrongText& c : cases) {
    SCOPED_TRACE(c.name);
    Findings findings;
    EXPECT_FALSE(parse_json(c.text, "t.json", findings));
    EXPECT_EQ(lines_of(findings.complaints), std::string("t.json: ") + c.complaint + "\n");
  }
}

TEST(ParseJson, NestingUpToTheLimit) {
  Findings findings;
  EXPECT_TRUE(parse_json(nested(kDeepestNesting) + std::string(kDeepestNesting, ']'), "t.json", findings));
  EXPECT_FALSE(parse_json(nested(kDeepestNesting + 1) + std::string(kDeepestNesting + 1, ']'), "t.json", findings));
}

TEST(ParseJson, BuildsWhatTheStockParserBuilds) {
  const std::string text = R"({"a": [1, -2, 3.5, {"b": null}, []], "c": {"d": true, "e": "x\u00e9"}, "f": 1e9})";
  Findings findings;
  EXPECT_EQ(parse_json(text, "t.json", findings), nlohmann::json::parse(text));
}

TEST(ReadTextFile, WrongFiles) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "read_text_file";
  std::filesystem::create_directories(folder);
  const auto complaint = [](const std::filesystem::path& path) {
    Findings findings;
    EXPECT_FALSE(read_text_file(path, "f", findings));
    return lines_of(findings.complaints);
  };
  EXPECT_EQ(complaint(folder), "f: is a directory; expected a file\n");
  EXPECT_EQ(complaint(folder / "absent"), "f: no such file\n");
  EXPECT_EQ(complaint("/dev/zero"), "f: larger than 32 MiB\n");
  EXPECT_EQ(complaint("/proc/self/mem"), "f: cannot be read: Input/output error\n");
}

// Returns `text` as gzip.
std::string packed(const std::filesystem::path& file, const std::string& text) {
  gzFile out = gzopen(file.c_str(), "wb");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(ReadTextFile, UnpacksGzip) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "read_text_file.gz";
  const std::string text = "m,n,k\n" + std::string(200000, '1'), bytes = packed(file, text);
  const auto read = [&](const std::string& contents) {
    std::ofstream(file, std::ios::binary) << contents;
    Findings findings;
    const auto found = read_text_file(file, "f", findings);
    return found ? *found : lines_of(findings.complaints);
  };
  EXPECT_EQ(read(bytes), text);
  EXPECT_EQ(read(bytes + bytes), text + text);
  EXPECT_EQ(read(bytes.substr(0, bytes.size() / 2)), "f: broken gzip; expected a whole file, or text\n");
  EXPECT_EQ(read(bytes + "rest"), "f: broken gzip; expected a whole file, or text\n");
  EXPECT_EQ(read(packed(file, std::string(kLargestFile + 1, ' '))), "f: larger than 32 MiB when unpacked\n");
}

}  // namespace
}  // namespace foretoken::io
