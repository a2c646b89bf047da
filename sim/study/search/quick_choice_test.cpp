// Tests the search for one answer.
#include "sim/study/search/quick_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "sim/io/scenario/read_residuals.h"
#include "sim/io/scenario/read_scenario.h"

namespace foretoken::study {
namespace {

TEST(QuickChoice, ShowsItsProgressToTheEnd) {
  const io::OpenScenario question = io::read_open_scenario_text(
      R"({"model": "gpt2-medium", "cluster": "dgx-a100-80gb-hdr", "gpus": 8,
          "batch": {"micro": 1, "global": 8, "sequence_length": 1024}})",
      "question");
  std::atomic<std::size_t> most = 0, of = 0;
  const QuickChoice chosen = choose_quickly(question, io::read_shipped_residuals(), 2,
                                            {.progress =
                                                 [&](std::size_t done, std::size_t total) {
                                                   most = std::max(most.load(), done);
                                                   of = total;
                                                 },
                                             .stop = nullptr});
  EXPECT_EQ(of, chosen.considered);
  EXPECT_EQ(most, of);
}

}  // namespace
}  // namespace foretoken::study
