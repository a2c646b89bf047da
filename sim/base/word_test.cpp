// Tests that equal words are one word, also across threads.
#include "sim/base/word.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace foretoken {
namespace {

TEST(Word, EqualTextsAreOneWord) {
  const std::string text = "interleaved";
  const Word word = text, same = std::string_view("interleaved"), other = "1f1b";
  EXPECT_EQ(word, same);
  EXPECT_EQ(&word.text(), &same.text());
  EXPECT_EQ(word.text(), text);
  EXPECT_FALSE(word == other);
  EXPECT_EQ(Word(), Word(""));
  EXPECT_EQ(Word().text(), "");
}

TEST(Word, ThreadsMakeTheSameWords) {
  constexpr int kThreads = 4, kWords = 200;
  std::vector<std::vector<Word>> made(kThreads);
  std::vector<std::thread> threads;
  for (std::vector<Word>& words : made)
    threads.emplace_back([&words] {
      for (int i = 0; i < kWords; ++i) words.emplace_back(std::to_string(i));
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<Word>& words : made) EXPECT_TRUE(words == made.front());
  EXPECT_EQ(made.front().back().text(), "199");
}

}  // namespace
}  // namespace foretoken
