// Tests layers dealt to stages and chunks: every layer is dealt once, as stated or evenly.
#include "sim/job/layout.h"

#include <gtest/gtest.h>

namespace foretoken::job {
namespace {

using Dealt = std::vector<std::vector<int>>;

std::optional<Dealt> deal(std::int64_t layers, const Parallelism& parallelism) {
  const std::optional<Dealing> dealing = deal_layers(layers, parallelism);
  if (!dealing) return std::nullopt;
  Dealt dealt;
  for (const Stage stage : ids<Stage>(parallelism.pipeline)) {
    dealt.emplace_back();
    for (const Chunk chunk : ids<Chunk>(parallelism.virtual_pipeline))
      dealt.back().push_back(dealing->layers(stage, chunk));
  }
  return dealt;
}

TEST(DealLayers, ExhaustivelyEvenOrNot) {
  for (int pipeline = 1; pipeline <= 6; ++pipeline)
    for (int chunks = 1; chunks <= 4; ++chunks)
      for (int layers = 1; layers <= 50; ++layers) {
        const auto dealt = deal(layers, {.pipeline = pipeline, .virtual_pipeline = chunks});
        ASSERT_EQ(dealt.has_value(), layers % (pipeline * chunks) == 0) << layers << " " << pipeline << " " << chunks;
        if (dealt) {
          const std::vector<int> stage(static_cast<std::size_t>(chunks), layers / (pipeline * chunks));
          EXPECT_EQ(*dealt, Dealt(static_cast<std::size_t>(pipeline), stage));
        }
      }
}

TEST(DealLayers, EmbeddingAndHeadTakeThePlaceOfALayerEach) {
  Parallelism parallelism{.pipeline = 12, .embedding_and_head_as_layers = true};
  const auto bloom = deal(70, parallelism);  // BLOOM: 70 + 2 = 12 x 6
  ASSERT_TRUE(bloom);
  EXPECT_EQ(bloom->front(), std::vector<int>{5});
  EXPECT_EQ((*bloom)[1], std::vector<int>{6});
  EXPECT_EQ(bloom->back(), std::vector<int>{5});
  EXPECT_FALSE(deal(72, parallelism));
  parallelism = {.pipeline = 2, .virtual_pipeline = 2, .embedding_and_head_as_layers = true};
  EXPECT_EQ(deal(6, parallelism), (Dealt{{1, 2}, {2, 1}}));
  EXPECT_EQ(deal(2, parallelism), (Dealt{{0, 1}, {1, 0}})) << "embedding and head alone, as in arXiv:2401.10241";
  parallelism = {.pipeline = 1, .embedding_and_head_as_layers = true};
  EXPECT_EQ(deal(7, parallelism), (Dealt{{7}}));
}

TEST(DealLayers, LayersBeforeAChunkAreThoseOfAllChunksBeforeIt) {
  const std::pair<int, Parallelism> kJobs[] = {
      {24, {.pipeline = 4, .virtual_pipeline = 3}},
      {22, {.pipeline = 4, .virtual_pipeline = 3, .embedding_and_head_as_layers = true}},
      {20, {.pipeline = 3, .virtual_pipeline = 2, .layers_per_stage = {4, 10, 6}}}};
  for (const auto& [layers, parallelism] : kJobs) {
    const std::optional<Dealing> dealing = deal_layers(layers, parallelism);
    ASSERT_TRUE(dealing);
    std::int64_t before = 0;
    for (const Chunk chunk : ids<Chunk>(parallelism.virtual_pipeline))
      for (const Stage stage : ids<Stage>(parallelism.pipeline)) {
        EXPECT_EQ(dealing->before(stage, chunk), before) << layers;
        before += dealing->layers(stage, chunk);
      }
    EXPECT_EQ(before, layers);
  }
}

TEST(DealLayers, AsStated) {
  const auto dealt = [](int layers, int chunks, std::vector<int> stated) {
    Parallelism parallelism{.pipeline = 3, .virtual_pipeline = chunks};
    parallelism.layers_per_stage = std::move(stated);
    return deal(layers, parallelism);
  };
  EXPECT_EQ(dealt(10, 1, {3, 4, 3}), (Dealt{{3}, {4}, {3}}));
  EXPECT_EQ(dealt(10, 2, {2, 4, 4}), (Dealt{{1, 1}, {2, 2}, {2, 2}}));
  EXPECT_EQ(dealt(10, 2, {3, 2, 2, 1, 1, 1}), (Dealt{{3, 1}, {2, 1}, {2, 1}})) << "by virtual stage";
  EXPECT_FALSE(dealt(11, 1, {3, 4, 3})) << "sum";
  EXPECT_FALSE(dealt(10, 1, {5, 5})) << "one entry for each stage";
  EXPECT_FALSE(dealt(10, 2, {3, 4, 3})) << "chunks of a stage are equal";
  EXPECT_EQ(dealt(10, 1, {0, 10, 0}), (Dealt{{0}, {10}, {0}})) << "embedding and head alone";
  EXPECT_EQ(dealt(10, 2, {2, 2, 2, 2, 2, 0}), (Dealt{{2, 2}, {2, 2}, {2, 0}}));
  EXPECT_FALSE(dealt(10, 1, {5, 0, 5})) << "no empty stage";
  EXPECT_FALSE(dealt(10, 2, {0, 6, 4})) << "chunks of a stage are equal";
}

model::Block block_of(std::string name) { return {.name = std::move(name), .at = {}}; }

using Layers = std::vector<model::LayerCount>;

// Returns a job with four dense layers, five sparse ones and three dense ones on two stages of two chunks.
Job mixed_job() {
  Job job;
  job.model.layers = 12;
  job.model.stack = {{block_of("dense"), 4}, {block_of("sparse"), 5}, {block_of("dense"), 3}};
  job.parallelism = {.pipeline = 2, .virtual_pipeline = 2};
  return job;
}

TEST(Layout, ChunksHoldTheKindsOfLayersInTheOrderOfTheStack) {
  const Job job = mixed_job();
  const auto at = [&](std::uint32_t stage, std::uint32_t chunk) {
    return contents_of(job, Stage{stage}, Chunk{chunk});
  };
  EXPECT_EQ(at(0, 0).layers, (Layers{{0, 3}}));
  EXPECT_EQ(at(1, 0).layers, (Layers{{0, 1}, {1, 2}}));
  EXPECT_EQ(at(0, 1).layers, (Layers{{1, 3}}));
  EXPECT_EQ(at(1, 1).layers, (Layers{{2, 3}}));
  EXPECT_TRUE(at(0, 0).embedding && !at(0, 0).head);
  EXPECT_TRUE(at(1, 1).head && !at(1, 1).embedding);
  EXPECT_FALSE(at(1, 0).embedding || at(1, 0).head || at(0, 1).embedding || at(0, 1).head);
  EXPECT_EQ(layers_of(job, id_of<Stage>(0)), (Layers{{0, 3}, {1, 3}}));
  EXPECT_EQ(first_layers(at(1, 0).layers, 2), (Layers{{0, 1}, {1, 1}}));
}

// Returns a schedule in V placement: one stage holds both ends of the model.
schedule::Schedule v_shaped() {
  return {.name = "v", .description = "", .interleaves = true, .place = [](schedule::PipelineShape shape) {
            return schedule::Placement::v_shaped(shape.stages);
          }};
}

TEST(Layout, FollowsThePlacementOfTheSchedule) {
  Job job = mixed_job();
  job.schedule = v_shaped();
  const auto at = [&](std::uint32_t stage, std::uint32_t chunk) {
    return contents_of(job, Stage{stage}, Chunk{chunk});
  };
  EXPECT_EQ(at(0, 0).layers, (Layers{{0, 3}}));
  EXPECT_EQ(at(1, 0).layers, (Layers{{0, 1}, {1, 2}}));
  EXPECT_EQ(at(1, 1).layers, (Layers{{1, 3}}));
  EXPECT_EQ(at(0, 1).layers, (Layers{{2, 3}}));
  EXPECT_TRUE(at(0, 0).embedding && at(0, 1).head);
  EXPECT_FALSE(at(0, 0).head || at(0, 1).embedding || at(1, 1).head || at(1, 0).head);
  EXPECT_EQ(stage_of_head(job), stage_of_embedding(job));
  EXPECT_FALSE(stages_share_embedding(job)) << "on one stage";
}

// Both copies of the model are whole, and each goes its own way over the stages.
TEST(Layout, TwoWaysHoldTwoCopiesOfTheModel) {
  Job job = mixed_job();
  job.schedule = schedule::schedule_named("chimera");
  job.parallelism.pipeline = 4;
  job.parallelism.virtual_pipeline = job.parallelism.copies = 2;
  const auto at = [&](std::uint32_t stage, std::uint32_t chunk) {
    return contents_of(job, Stage{stage}, Chunk{chunk});
  };
  for (std::uint32_t stage = 0; stage < 4; ++stage) EXPECT_EQ(at(stage, 0), at(3 - stage, 1)) << stage;
  EXPECT_TRUE(at(0, 0).embedding && at(3, 0).head && at(3, 1).embedding && at(0, 1).head);
  int layers = 0;
  for (std::uint32_t stage = 0; stage < 4; ++stage) layers += at(stage, 0).layer_count();
  EXPECT_EQ(layers, job.model.layers);
  EXPECT_FALSE(stages_share_embedding(job)) << "both ends stand on one stage, and copies reduce all gradients";
  job.parallelism.layers_per_stage = {1, static_cast<int>(job.model.layers) - 3, 1, 1};
  EXPECT_EQ(at(1, 0).layer_count(), job.model.layers - 3);
  EXPECT_EQ(at(2, 1).layer_count(), job.model.layers - 3);
  job.parallelism.virtual_pipeline = 3;
  EXPECT_FALSE(deal_layers(job.model.layers, job.parallelism)) << "no half of a chunk for a copy";
}

TEST(Layout, TheLastStageHasACopyOfTheEmbeddingWhereItNeedsOne) {
  Job job;
  EXPECT_FALSE(stages_share_embedding(job)) << "one stage";
  job.parallelism.pipeline = 2;
  EXPECT_TRUE(stages_share_embedding(job)) << "tied";
  job.model.tied_embeddings = false;
  EXPECT_FALSE(stages_share_embedding(job));
  job.model.prediction_layers = 1;
  EXPECT_TRUE(stages_share_embedding(job)) << "for the predicted tokens";
}

}  // namespace
}  // namespace foretoken::job
