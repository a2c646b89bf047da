// Compares the scanner with the library's parser: on every shipped file, and on texts that are nearly JSON.
#include "sim/io/json/scan_json.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "sim/io/json/parse_json.h"
#include "sim/io/json/test_text.h"

namespace foretoken::io {
namespace {

using nlohmann::json;

/// Takes every event.
struct Accepts final : json::json_sax_t {
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }
};

Scanned scanned(std::string_view text) {
  Accepts accepts;
  return scan_json(text, accepts);
}

TEST(ScanJson, TakesCorrectTextsAndLeavesOthersToTheLibrary) {
  for (const char* text : {"0", "-0", " [ ] ", "{}", "1.5e+3", "-12E-2", "18446744073709551615", "-9223372036854775808",
                           R"({"a": {"b": [true, false, null, "x\n\"\\"]}})"})
    EXPECT_EQ(scanned(text), Scanned::kWhole) << text;
  for (const char* text : {"",
                           "01",
                           "-",
                           "1.",
                           ".5",
                           "1e",
                           "+1",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{a: 1}",
                           "{\"a\":1,}",
                           "\"a",
                           "\"\n\"",
                           "\"\\x\"",
                           "nul",
                           "true1",
                           "{} {}",
                           "[",
                           "1e999",
                           "1e-999",
                           "18446744073709551616",
                           "-9223372036854775809",
                           "\"\\u0041\""})
    EXPECT_EQ(scanned(text), Scanned::kUnknown) << text;
}

// The answer of parse_json(), and what the library gives for the text: both a value, or both none.
void expect_the_librarys_answer(const std::string& text) {
  Findings findings;
  const auto parsed = parse_json(text, "t.json", findings);
  const json library = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (parsed) {
    EXPECT_EQ(parsed->dump(), library.dump()) << text;
  } else if (!library.is_discarded()) {
    EXPECT_NE(lines_of(findings.complaints).find("stated twice"), std::string::npos) << text;
  }
}

TEST(ScanJson, EveryShippedFileIsWhatTheLibraryReads) {
  int files = 0;
  for (const char* folder : {"calibration", "models", "scenarios", "topologies", "validate"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::filesystem::path(FORETOKEN_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".json" || entry.path().string().find("testdata") != std::string::npos) continue;
      std::ifstream in(entry.path());
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      SCOPED_TRACE(entry.path());
      Findings findings;
      const auto parsed = parse_json(text, "t.json", findings);
      ASSERT_TRUE(parsed);
      EXPECT_EQ(*parsed, json::parse(text));
      ++files;
    }
  }
  EXPECT_GT(files, 100);
}

TEST(ScanJson, ChangedTextsAreWhatTheLibraryReads) {
  const std::string whole =
      R"({"name": "a b", "n": [0, -1, 2.5, 1e3, -0.0, 12345678901234567890], "o": {"t": true, "f": false, "z": null}})";
  const std::string characters = "{}[]\",:.-+eE0123456789 \\ntfu\n";
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    std::string text = whole;
    for (int changes = 0; changes < 1 + i % 3; ++changes) {
      const std::size_t at = random() % text.size();
      const char other = characters[random() % characters.size()];
      switch (random() % 3) {
        case 0:
          text[at] = other;
          break;
        case 1:
          text.insert(at, 1, other);
          break;
        default:
          text.erase(at, 1);
      }
    }
    expect_the_librarys_answer(text);
  }
}

}  // namespace
}  // namespace foretoken::io
