// Tests that every number after "try" mends its complaint: random wrong scenarios, and their advice as overrides.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sim/io/json/test_text.h"
#include "sim/io/scenario/read_scenario.h"

namespace foretoken::io {
namespace {

// Makes a scenario whose numbers seldom go together.
std::string random_scenario(std::mt19937& random) {
  const auto number = [&](std::initializer_list<int> values) {
    return std::to_string(*(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size())));
  };
  const auto word = [&](std::initializer_list<const char*> words) {
    return std::string(*(words.begin() + static_cast<std::ptrdiff_t>(random() % words.size())));
  };
  return R"({"model": ")" + word({"gpt3-175b", "llama-3-8b", "bloom-176b", "gpt2"}) + R"(", "cluster": ")" +
         word({"dgx-a100-40gb-hdr", "dgx-2-v100-32gb-edr"}) + R"(", "gpus": )" +
         number({1, 3, 8, 12, 16, 24, 40, 64, 100, 128, 1000}) + R"(, "parallelism": {"tensor": )" +
         number({1, 2, 3, 4, 5, 8, 12}) + R"(, "pipeline": )" + number({1, 2, 3, 4, 5, 8, 12}) +
         word({"", R"(, "virtual_pipeline": 2)", R"(, "virtual_pipeline": 3)", R"(, "virtual_pipeline": 5)"}) +
         word({"", R"(, "data": 2)", R"(, "data": 5)"}) + word({"", R"(, "context": 2)", R"(, "context": 3)"}) +
         word({"", R"(, "sequence_parallel": true)", R"(, "embedding_and_head_as_layers": true)"}) + "}" +
         word({"", R"(, "schedule": "1f1b")", R"(, "schedule": "interleaved-1f1b")", R"(, "schedule": "gpipe")"}) +
         R"(, "batch": {"micro": )" + number({1, 2, 3}) + R"(, "global": )" + number({1, 6, 16, 30, 100, 256, 1530}) +
         R"(, "sequence_length": )" + number({1000, 1023, 1024, 2046}) +
         word({"", "", R"(, "microbatch_group": 3)", R"(, "microbatch_group": 8)"}) + "}" +
         word({"", R"(, "attention": "flash")"}) +
         word({"", R"(, "optimizer": {"zero_stage": 3})", R"(, "overlap": {"param_gather": true})"}) + "}";
}

std::vector<Complaint> complaints_about(const std::string& text, std::span<const std::string> sets = {}) {
  try {
    (void)read_scenario_text(text, "t.json", sets);
  } catch (const ConfigError& error) {
    return error.complaints();
  }
  return {};
}

// Splits "960 or 1024" and "parallelism.pipeline 7, 10 or parallelism.tensor 2 with parallelism.data 4" into overrides.
// A value without a key is one of the last key, at first of the complaint's own.
std::vector<std::vector<std::string>> advised(const Complaint& complaint) {
  const std::string start = "; try ";
  const std::size_t at = complaint.message.find(start);
  std::vector<std::vector<std::string>> tries;
  if (at == std::string::npos) return tries;
  std::string text = complaint.message.substr(at + start.size());
  for (std::size_t place; (place = text.find(" or ")) != std::string::npos;) text.replace(place, 4, ", ");
  std::string key = complaint.pointer.substr(1);
  std::replace(key.begin(), key.end(), '/', '.');
  for (std::size_t end = 0; end != std::string::npos; text.erase(0, end + 2)) {
    end = text.find(", ");
    std::string one = text.substr(0, end);
    std::vector<std::string> sets(1);
    if (const std::size_t with = one.find(" with "); with != std::string::npos) {
      std::string other = one.substr(with + 6);
      sets.push_back(other.replace(other.find(' '), 1, "="));
      one.erase(with);
    }
    if (const std::size_t space = one.find(' '); space != std::string::npos) {
      key = one.substr(0, space);
      one.erase(0, space + 1);
    }
    sets.front() = key + "=" + one;
    tries.push_back(sets);
    if (end == std::string::npos) break;
  }
  return tries;
}

TEST(Advice, EveryNumberAfterTryIsAccepted) {
  std::mt19937 random(11);
  std::size_t tried = 0, complaints_seen = 0;
  for (int run = 0; run < 30 && !testing::Test::HasFailure(); ++run) {
    const std::string text = random_scenario(random);
    const std::vector<Complaint> before = complaints_about(text);
    complaints_seen += before.size();
    for (const Complaint& complaint : before)
      for (const std::vector<std::string>& sets : advised(complaint)) {
        SCOPED_TRACE(text + "\n" + complaint.line() + "\n--set " + sets.front());
        for (const Complaint& left : complaints_about(text, sets)) {
          EXPECT_NE(left.pointer, complaint.pointer) << left.line();
          EXPECT_TRUE(std::ranges::any_of(before, [&](const Complaint& other) {
            return other.pointer == left.pointer;
          })) << left.line();
        }
        ++tried;
      }
  }
  EXPECT_GT(complaints_seen, 30U);
  EXPECT_GT(tried, 50U);
}

TEST(Advice, AnOverrideIsNamedAsItWasGiven) {
  const std::string text = R"({"model": "gpt2", "cluster": "dgx-a100-80gb-hdr", "gpus": 8,
                               "batch": {"global": 8, "sequence_length": 1024}})";
  const auto lines = [&](std::vector<std::string> sets) {
    return thrown_by([&] { (void)read_scenario_text(text, "t.json", sets); });
  };
  EXPECT_EQ(lines({"gpus=7", "parallelism.tensor=7"}),
            "--set parallelism.tensor=7: expected a divisor of the model's 12 attention heads, found 7\n"
            "--set parallelism.tensor=7: expected a divisor of the model's MLP width 3072, found 7\n");
  EXPECT_EQ(lines({"batch.global=many"}),
            "--set batch.global=many: expected a whole number from 1 to 1073741824, found a string \"many\"\n");
  EXPECT_EQ(lines({R"(batch={"global": 8, "sequence_length": -1})"}),
            "--set batch.sequence_length: expected a whole number from 1 to 268435456, found -1\n");
  EXPECT_EQ(lines({"parallelism.tensor=16"}).substr(0, 14), "t.json: /gpus:") << "the file holds the GPUs";
  EXPECT_EQ(thrown_by([&] { (void)read_open_scenario_text(text, "t.json", std::vector<std::string>{"gpus=none"}); }),
            "--set gpus=none: expected a whole number from 1 to 1048576, found a string \"none\"\n");
}

}  // namespace
}  // namespace foretoken::io
