// Tests peaks from counts of live activations against a walk over all ops.
#include <gtest/gtest.h>

#include "sim/observe/memory_timeline.h"
#include "sim/schedule/catalogue.h"

namespace foretoken::observe {
namespace {

// Returns the bytes of three chunks, of which those of the second kind differ.
Table<Chunk, step::PassMemory> chunks_of(const Table<Chunk, std::size_t>& kinds) {
  Table<Chunk, step::PassMemory> chunks;
  for (const std::size_t kind : kinds)
    chunks.push_back(kind == 0 ? step::PassMemory{Bytes(1000), Bytes(700)} : step::PassMemory{Bytes(1003), Bytes(11)});
  return chunks;
}

TEST(MostAlive, GivesThePeakOfAWalkOverTheOps) {
  const Table<Chunk, std::size_t> alike(std::vector<std::size_t>{0, 0, 0}), first(std::vector<std::size_t>{0, 1, 1}),
      last(std::vector<std::size_t>{0, 0, 1});
  const schedule::Program program =
      schedule::schedule_named("interleaved-1f1b").build({.stages = 4, .microbatches = 12, .chunks = 3});
  for (const Table<Chunk, std::size_t>& kinds : {alike, first, last})
    for (const Stage stage : program.stages.ids()) {
      const std::optional<MostAlive> most = most_alive(program, {stage}, kinds);
      ASSERT_TRUE(most.has_value());
      const Table<Chunk, step::PassMemory> chunks = chunks_of(kinds);
      EXPECT_EQ(peak_live_bytes(chunks, *most), peak_live_bytes(chunks, program.stages[stage], Bytes(0)))
          << stage.number();
    }
}

TEST(MostAlive, TakesTheMostOfSeveralStages) {
  const Table<Chunk, std::size_t> kinds(std::vector<std::size_t>{0});
  const schedule::Program program = schedule::schedule_named("1f1b").build({.stages = 4, .microbatches = 12});
  const std::optional<MostAlive> most = most_alive(program, {Stage{3}, Stage{1}, Stage{2}}, kinds);
  ASSERT_TRUE(most.has_value());
  EXPECT_EQ(most->at_backward[0].size(), 1U);
  EXPECT_EQ(most->at_backward[0].front().first, 3);  // stage 1 of four
}

TEST(MostAlive, FractionsOfBytesAndSplitBackwardPassesNeedTheWalk) {
  const Table<Chunk, std::size_t> kinds(std::vector<std::size_t>{0});
  const schedule::Program whole = schedule::schedule_named("1f1b").build({.stages = 4, .microbatches = 12});
  const Table<Chunk, step::PassMemory> fractions(std::vector<step::PassMemory>{{Bytes(0.5), Bytes(1)}});
  EXPECT_EQ(peak_live_bytes(fractions, most_alive(whole, {Stage{0}}, kinds).value()), std::nullopt);
  const schedule::Program split = schedule::schedule_named("zb-h1").build({.stages = 4, .microbatches = 12});
  EXPECT_FALSE(most_alive(split, {Stage{0}}, kinds).has_value());
}

}  // namespace
}  // namespace foretoken::observe
