// Tests that a question becomes a complete job or a list of complaints, and that a job can be asked for again.
#include "sim/job/make.h"

#include <gtest/gtest.h>

namespace foretoken::job {
namespace {

// Returns four layers on eight GPUs of one node.
Question small_question() {
  Question question;
  question.file = "q";
  question.model.layers = 4;
  question.model.heads = question.model.kv_heads = 8;
  question.model.ffn_hidden = 64;
  question.model.max_positions = 1024;
  question.cluster.gpus_per_node = question.cluster.links.gpus = 8;
  question.cluster.gpu.name = question.profile.gpu = "gpu";
  question.cluster.gpu.peak[Precision::kBf16] = FlopPerSecond(1e12);
  question.profile.gemm[Precision::kBf16] = {};
  question.profile.attention.flash2 = {};
  question.choices.gpus = 8;
  question.choices.batch = {.micro = {}, .global = 16, .sequence_length = 64, .microbatch_group = {}};
  return question;
}

std::vector<std::string> complaints(const Question& question) {
  std::vector<std::string> lines;
  for (const Complaint& complaint : attempt(question).complaints) lines.push_back(complaint.line());
  return lines;
}

TEST(Make, FillsInWhatIsNotStated) {
  const Job job = make(small_question()).job;
  EXPECT_EQ(job.parallelism.data, 8);
  EXPECT_EQ(job.batch.micro, 1);
  EXPECT_EQ(job.schedule.name, "1f1b");
  EXPECT_EQ(job.microbatches(), 2);
}

TEST(Make, AJobOfSeveralDomainsTakesSegmentsThatMakeUpItsGpus) {
  Question question = small_question();
  question.cluster.links.gpus = question.cluster.links.nics = 72;
  question.cluster.links.nic = question.cluster.links.nvlink_per_gpu = gigabytes_per_second(50);
  question.cluster.fabric_kind = "fat-tree";
  question.cluster.segment = net::Segment{.gpus = 64, .of = 72};
  const auto domain_of = [&](int gpus) {
    question.choices.gpus = gpus;
    question.choices.batch.global = gpus;
    return make(question).job.cluster.links.gpus;
  };
  EXPECT_EQ(domain_of(64), 72);
  EXPECT_EQ(domain_of(128), 64);
  EXPECT_EQ(domain_of(144), 72);
}

TEST(Make, ComplainsOfEveryRuleAtItsKey) {
  Question question = small_question();
  question.choices.parallelism.degrees[Axis::kTensor] = 3;
  question.choices.parallelism.degrees[Axis::kPipeline] = 3;
  EXPECT_EQ(complaints(question),
            (std::vector<std::string>{
                "q: /gpus: expected a multiple of tensor 3 x context 1 x pipeline 3 = 9, found 8; try 72",
                "q: /parallelism/tensor: expected a divisor of the model's 8 attention heads, found 3; try 1, 2, 4",
                "q: /parallelism/tensor: expected a divisor of the model's MLP width 64, found 3; try 1, 2, 4",
                "q: /parallelism/pipeline: the 4 layers do not split evenly over pipeline 3 x virtual_pipeline 1 = 3 "
                "chunks; try parallelism.embedding_and_head_as_layers true, parallelism.pipeline 1, 2, 4 or "
                "parallelism.layers_per_stage [2,1,1]"}));
}

TEST(Make, TakesAScheduleThatNoCatalogueHolds) {
  Question question = small_question();
  schedule::Schedule own = schedule::schedule_named("gpipe");
  own.name = "my own";
  question.choices.schedule = own;
  const Job job = make(question).job;
  EXPECT_EQ(job.schedule.name, "my own");
  EXPECT_EQ(make(question_of(job)).job.schedule.name, "my own");
  question.choices.parallelism.virtual_pipeline = 2;
  EXPECT_EQ(
      complaints(question),
      std::vector<std::string>{"q: /schedule: \"my own\" does not interleave, but parallelism.virtual_pipeline is "
                               "2; try parallelism.virtual_pipeline 1"});
}

TEST(Make, TheKindsOfLayersMakeUpTheModel) {
  Question question = small_question();
  question.model.stack = std::vector<model::LayerRun>{{.block = {}, .count = 3}};
  EXPECT_EQ(complaints(question),
            std::vector<std::string>{"q: /model: expected kinds of layers for 4 layers, found 3"});
  question.model.stack->push_back({.block = {}, .count = 1});
  EXPECT_TRUE(complaints(question).empty());
}

TEST(Make, AnUnsoundPartIsNotJudged) {
  Question question = small_question();
  question.choices.parallelism.degrees[Axis::kTensor] = 3;
  Sound sound;
  sound.parallelism = false;
  const Attempt tried = attempt(question, sound);
  EXPECT_TRUE(tried.complaints.empty());
  EXPECT_FALSE(tried.made) << "nor is there a job";
}

TEST(Make, AJobAskedForAgainIsTheSame) {
  Question question = small_question();
  question.choices.parallelism.degrees[Axis::kTensor] = 2;
  question.choices.parallelism.degrees[Axis::kPipeline] = 2;
  question.choices.parallelism.sequence_parallel = true;
  question.choices.zero_stage = 1;
  question.choices.batch.micro = 2;
  AskedRecipe& recipe = question.choices.recipe.emplace();
  recipe.reduce_bytes = 2;
  recipe.moment_bytes = 4;
  question.cuda_graphs = CudaGraphs::kFull;
  question.compile = true;
  const Job job = make(question).job, again = make(question_of(job)).job;
  EXPECT_EQ(again.parallelism.data, 2);
  EXPECT_EQ(again.parallelism.tensor, 2);
  EXPECT_TRUE(again.parallelism.sequence_parallel);
  EXPECT_EQ(again.optimizer.zero_stage, 1);
  EXPECT_EQ(again.microbatches(), job.microbatches());
  EXPECT_EQ(again.schedule.name, job.schedule.name);
  EXPECT_EQ(again.recipe.gradient_bytes, job.recipe.gradient_bytes);
  EXPECT_EQ(again.recipe.extra_gradient_bytes, job.recipe.extra_gradient_bytes);
  EXPECT_EQ(again.recipe.reduce_bytes, 2);
  EXPECT_EQ(again.recipe.moment_bytes, 4);
  EXPECT_EQ(again.cuda_graphs, CudaGraphs::kFull);
  EXPECT_TRUE(again.compile);
}

TEST(Make, AMakersJobsForgetThePatchBefore) {
  Maker maker(small_question());
  const Job* job = maker.make({{key_of(Axis::kTensor), std::int64_t{2}}, {Key::kMicroBatch, std::int64_t{4}}});
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(job->parallelism.data, 4);
  EXPECT_EQ(job->batch.micro, 4);
  EXPECT_EQ(maker.make({{key_of(Axis::kTensor), std::int64_t{3}}}), nullptr);
  EXPECT_FALSE(maker.complaints().empty());
  job = maker.make({});
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(job->parallelism.tensor, 1);
  EXPECT_EQ(job->batch.micro, 1);
}

}  // namespace
}  // namespace foretoken::job
