// Tests of words that were probably meant, and of text that is safe to print.
#include "sim/base/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace foretoken {
namespace {

struct Words {
  const char *a, *b;
  std::size_t edits;
};

TEST(Text, EditDistance) {
  const Words cases[] = {{"", "", 0},
                         {"", "abc", 3},
                         {"tensor", "tensor", 0},
                         {"tesnor", "tensor", 1},
                         {"tenso", "tensor", 1},
                         {"tensors", "tensor", 1},
                         {"tensar", "tensor", 1},
                         {"ca", "abc", 3}};
  for (const Words& c : cases) {
    EXPECT_EQ(edit_distance(c.a, c.b), c.edits) << c.a << " " << c.b;
    EXPECT_EQ(edit_distance(c.b, c.a), c.edits) << c.b << " " << c.a;
  }
}

TEST(Text, FindsTheWordThatWasMeant) {
  const std::vector<std::string> words = {"data", "gpt-22b", "gpt3-175b", "tensor"};
  EXPECT_EQ(nearest("tesnor", words), "tensor");
  EXPECT_EQ(nearest("gpt3", words), "gpt3-175b") << "a beginning says more than an edit";
  EXPECT_EQ(nearest("date", words), "data");
  EXPECT_FALSE(nearest("pipeline", words));
  const std::vector<std::string> clusters = {"dgx-h100-ndr", "dgx-a100-40gb-hdr", "a100-hdr-dgx"};
  EXPECT_EQ(nearest("dgx-a100-hdr", clusters), "dgx-a100-40gb-hdr") << "parts say more than edits";
  EXPECT_EQ(nearest("dgx-h100-", clusters), "dgx-h100-ndr");
  EXPECT_EQ(nearest("-", clusters), std::nullopt);
  EXPECT_FALSE(nearest("", words));
  EXPECT_FALSE(nearest(std::string(100'000, 'x'), words));
}

TEST(Text, Printable) {
  EXPECT_EQ(printable("plain \xc3\xa9"), "plain \xc3\xa9");
  EXPECT_EQ(printable("a\nb\x1b[31m\x7f"), "a\\u000ab\\u001b[31m\\u007f");
  EXPECT_EQ(printable("\xe2\x80\xae right to left"), "\\u202e right to left");
  EXPECT_EQ(printable("\xff\xc0\xaf"), "\\xff\\xc0\\xaf");
  EXPECT_EQ(printable("\xf0\x9f"), "\\xf0\\x9f") << "a character cut short";
  EXPECT_EQ(printable("\u061c\u180e\ufffe\ufdd0\U0001ffff\U000e0041"),
            "\\u061c\\u180e\\ufffe\\ufdd0\\ud83f\\udfff\\udb40\\udc41")
      << "no mark of direction, no tag, and nothing that is no character";
  EXPECT_EQ(in_quotes(std::string(1000, 'x')), '"' + std::string(48, 'x') + "...\"");
  EXPECT_EQ(either(std::vector<std::string>{"a"}), "a");
  EXPECT_EQ(either(std::vector<std::string>{"a", "b", "c"}), "a, b or c");
}

TEST(Text, HarmlessKeepsLinesTabsAndColours) {
  const std::string screen = "\033[1;32mfits\033[0m\n\ta \xc3\xa9\n";
  EXPECT_EQ(harmless(screen), screen);
  EXPECT_EQ(harmless("a\033]0;title\a\033[2Jb\r\033[31"), "a\\u001b]0;title\\u0007\\u001b[2Jb\\u000d\\u001b[31");
  EXPECT_EQ(harmless("{\"a\":\"\u202e\x7f\"}"), "{\"a\":\"\\u202e\\u007f\"}") << "still JSON";
  EXPECT_EQ(harmless("\xff"), "\\xff");
  EXPECT_EQ(harmless(""), "");
}

TEST(Text, WrongBytesAreFoundWhereverTheyStand) {
  for (std::size_t length = 0; length < 40; ++length) {
    std::string text(length, 'a');
    EXPECT_EQ(invalid_utf8(text), std::nullopt);
    for (std::size_t at = 0; at < length; ++at) {
      text[at] = '\xff';
      EXPECT_EQ(invalid_utf8(text), at) << length;
      text[at] = 'a';
      std::string with = text;
      with.insert(at, "\u00e9");
      EXPECT_EQ(invalid_utf8(with), std::nullopt);
    }
  }
}

TEST(Text, ListsOfNamesStayOnTheLine) {
  const std::vector<std::string> few = {"list", "show"};
  EXPECT_EQ(meant_or_known("x", few, "see --help"), "; there are list, show");
  EXPECT_EQ(meant_or_known("lost", few, "see --help"), "; did you mean \"list\"?");

  std::vector<std::string> many;
  for (int i = 10; i < 50; ++i) many.push_back("cluster-" + std::to_string(i));
  EXPECT_EQ(first_names(many, "foretoken clusters list"),
            "cluster-10, cluster-11, cluster-12, cluster-13 and 36 more (foretoken clusters list)");
  many.front() = std::string(200, 'a');
  EXPECT_EQ(first_names(many, "see --help"), std::string(60, 'a') + "... and 39 more (see --help)");
}

TEST(Text, HoldsWholeWords) {
  EXPECT_TRUE(holds_word(" one two ", "two"));
  EXPECT_FALSE(holds_word(" one two ", "tw"));
}

TEST(Text, WordsOfANameAreInLowerCase) {
  EXPECT_EQ(lower_case("Zero-3 Ü"), "zero-3 Ü");
  EXPECT_EQ(words_of_name("train_DPO-v2.py"), (std::vector<std::string>{"train", "dpo", "v2", "py"}));
  EXPECT_EQ(words_of_name("__"), std::vector<std::string>{});
}

}  // namespace
}  // namespace foretoken
