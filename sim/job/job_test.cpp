// How layers are dealt to stages and chunks: everything is dealt, once, as stated or evenly.
#include "sim/job/job.h"

#include <gtest/gtest.h>

namespace foretoken::job {
namespace {

using Dealt = std::vector<std::vector<int>>;

TEST(DealLayers, ExhaustivelyEvenOrNot) {
  for (int pipeline = 1; pipeline <= 6; ++pipeline)
    for (int chunks = 1; chunks <= 4; ++chunks)
      for (int layers = 1; layers <= 50; ++layers) {
        const auto dealt = deal_layers(layers, {.pipeline = pipeline, .virtual_pipeline = chunks});
        ASSERT_EQ(dealt.has_value(), layers % (pipeline * chunks) == 0) << layers << " " << pipeline << " " << chunks;
        if (dealt) {
          const std::vector<int> stage(static_cast<std::size_t>(chunks), layers / (pipeline * chunks));
          EXPECT_EQ(*dealt, Dealt(static_cast<std::size_t>(pipeline), stage));
        }
      }
}

TEST(DealLayers, EmbeddingAndHeadTakeThePlaceOfALayerEach) {
  Parallelism parallelism{.pipeline = 12, .embedding_and_head_as_layers = true};
  const auto bloom = deal_layers(70, parallelism);  // BLOOM: 70 + 2 = 12 x 6
  ASSERT_TRUE(bloom);
  EXPECT_EQ(bloom->front(), std::vector<int>{5});
  EXPECT_EQ((*bloom)[1], std::vector<int>{6});
  EXPECT_EQ(bloom->back(), std::vector<int>{5});
  EXPECT_FALSE(deal_layers(72, parallelism));
  parallelism = {.pipeline = 2, .virtual_pipeline = 2, .embedding_and_head_as_layers = true};
  EXPECT_EQ(deal_layers(6, parallelism), (Dealt{{1, 2}, {2, 1}}));
  EXPECT_FALSE(deal_layers(2, parallelism)) << "the first chunk would hold no layer";
  parallelism = {.pipeline = 1, .embedding_and_head_as_layers = true};
  EXPECT_EQ(deal_layers(7, parallelism), (Dealt{{7}}));
}

TEST(DealLayers, AsStated) {
  const auto dealt = [](int layers, int chunks, std::vector<int> stated) {
    Parallelism parallelism{.pipeline = 3, .virtual_pipeline = chunks};
    parallelism.layers_per_stage = std::move(stated);
    return deal_layers(layers, parallelism);
  };
  EXPECT_EQ(dealt(10, 1, {3, 4, 3}), (Dealt{{3}, {4}, {3}}));
  EXPECT_EQ(dealt(10, 2, {2, 4, 4}), (Dealt{{1, 1}, {2, 2}, {2, 2}}));
  EXPECT_FALSE(dealt(11, 1, {3, 4, 3})) << "sum";
  EXPECT_FALSE(dealt(10, 1, {5, 5})) << "one entry for each stage";
  EXPECT_FALSE(dealt(10, 2, {3, 4, 3})) << "chunks of a stage are equal";
  EXPECT_FALSE(dealt(10, 1, {10, 0, 0})) << "no empty stage";
}

TEST(DealLayers, OneChunkAskedForIsThatOfTheWholeDeal) {
  const auto compare = [](std::int64_t layers, const Parallelism& parallelism) {
    const auto dealt = deal_layers(layers, parallelism);
    if (!dealt) return;
    Job job;
    job.model.layers = layers;
    job.parallelism = parallelism;
    for (int stage = 0; stage < parallelism.pipeline; ++stage)
      for (int chunk = 0; chunk < parallelism.virtual_pipeline; ++chunk)
        EXPECT_EQ(job.layers_in(stage, chunk),
                  (*dealt)[static_cast<std::size_t>(stage)][static_cast<std::size_t>(chunk)]);
  };
  for (int pipeline = 1; pipeline <= 5; ++pipeline)
    for (int chunks = 1; chunks <= 3; ++chunks)
      for (int layers = 1; layers <= 40; ++layers)
        for (const bool ends : {false, true})
          compare(layers, {.pipeline = pipeline, .virtual_pipeline = chunks, .embedding_and_head_as_layers = ends});
  compare(10, {.pipeline = 3, .virtual_pipeline = 2, .layers_per_stage = {2, 4, 4}});
}

}  // namespace
}  // namespace foretoken::job
