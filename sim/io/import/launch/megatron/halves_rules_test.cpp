// Tests the flags of a T5: layers and lengths of both halves, stages of the encoder, relative positions.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "sim/io/import/launch/read_launch.h"

namespace foretoken::io::launch {
namespace {

constexpr const char* kSizesOfT5 =
    "--hidden-size 768 --num-attention-heads 12 --kv-channels 64 --ffn-hidden-size 3072 --encoder-seq-length 512 "
    "--micro-batch-size 16 --global-batch-size 1536 --max-position-embeddings 512 --vocab-size 29056 --fp16 ";
constexpr const char* kHalvesOfT5 = "--num-layers 12 --decoder-seq-length 128 ";

Report report_of_launch(const std::string& program, const std::string& flags) {
  Findings findings;
  const std::string script = "torchrun --nproc_per_node 8 --nnodes 3 " + program + " " + flags + "\n";
  return read_launch_text(script, "launch.sh", {}, findings);
}

Report report_of_t5(const std::string& flags) { return report_of_launch("pretrain_t5.py", kSizesOfT5 + flags); }

std::string refused_of_t5(const Report& report) {
  std::string text;
  for (const Refused& one : report.refused) text += one.setting + ": " + one.because + "\n";
  return text;
}

std::string question_of_t5(const Report& report, const std::string& key) {
  for (const Asked& one : report.asked)
    if (one.key == key) return one.because;
  return "";
}

TEST(ReadT5, NumLayersCountsTheLayersOfEachHalf) {
  const Report both = report_of_t5(kHalvesOfT5);
  EXPECT_EQ(refused_of_t5(both), "");
  EXPECT_EQ(both.at("model.encoder_num_layers"), Json(12));
  EXPECT_EQ(both.at("model.decoder_num_layers"), Json(12));
  EXPECT_EQ(both.at("model.num_layers"), Json());
  EXPECT_EQ(both.at("batch.sequence_length"), Json(512));
  EXPECT_EQ(both.at("batch.decoder_sequence_length"), Json(128));
  EXPECT_EQ(both.at("parallelism.encoder_pipeline"), Json());
  const Report each = report_of_t5("--encoder-num-layers 12 --decoder-num-layers 4 --decoder-seq-length 128");
  EXPECT_EQ(each.at("model.encoder_num_layers"), Json(12));
  EXPECT_EQ(each.at("model.decoder_num_layers"), Json(4));
}

// The program says that it is a T5, not the flags: without a length of the decoder it does not become a GPT.
TEST(ReadT5, AMissingLengthOfTheDecoderIsAskedFor) {
  const Report report = report_of_t5("--encoder-num-layers 12 --decoder-num-layers 4");
  EXPECT_EQ(report.at("model.encoder_num_layers"), Json(12));
  EXPECT_EQ(report.at("model.num_layers"), Json());
  EXPECT_EQ(question_of_t5(report, "batch.decoder_sequence_length"), "the flags state no --decoder-seq-length");
}

// The folder of a functional test names its model: .../test_cases/t5/NAME/model_config.yaml.
TEST(ReadT5, AFunctionalTestIsToldByItsFolder) {
  namespace fs = std::filesystem;
  const fs::path top = fs::path(testing::TempDir()) / ("t5-of-a-test-" + std::to_string(::getpid()));
  for (const auto& [kind, layers] : {std::pair{"t5", "encoder_num_layers"}, std::pair{"gpt", "num_layers"}}) {
    const fs::path file = top / "test_cases" / kind / "small" / "model_config.yaml";
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "MODEL_ARGS:\n  --num-layers: 12\n  --hidden-size: 768\n  --num-attention-heads: 12\n"
                           "  --seq-length: 512\n  --micro-batch-size: 4\n  --bf16: true\nTEST_TYPE: regular\n";
    Launch launch;
    launch.files = {file};
    Findings findings;
    EXPECT_EQ(read_launch(launch, findings).at(std::string("model.") + layers), Json(12)) << kind;
  }
  fs::remove_all(top);
}

TEST(ReadT5, StagesOfTheEncoderAreAPartOfThePipeline) {
  const std::string flags = std::string(kHalvesOfT5) + "--pipeline-model-parallel-size 3 ";
  const Report split = report_of_t5(flags + "--pipeline-model-parallel-split-rank 1");
  EXPECT_EQ(refused_of_t5(split), "");
  EXPECT_EQ(split.at("parallelism.pipeline"), Json(3));
  EXPECT_EQ(split.at("parallelism.encoder_pipeline"), Json(1));
  const Report missing = report_of_t5(flags);
  EXPECT_EQ(question_of_t5(missing, "parallelism.encoder_pipeline"),
            "the flags state no --pipeline-model-parallel-split-rank");
}

// Megatron-LM's encoder_decoder_parallelism.rst: the whole pipeline is the sum of both arguments.
TEST(ReadT5, StagesOfTheEncoderStandBeforeThePipeline) {
  const std::string flags =
      std::string(kHalvesOfT5) + "--pipeline-model-parallel-size 2 --encoder-pipeline-model-parallel-size ";
  const Report before = report_of_t5(flags + "1");
  EXPECT_EQ(refused_of_t5(before), "");
  EXPECT_EQ(before.at("parallelism.pipeline"), Json(3));
  EXPECT_EQ(before.at("parallelism.encoder_pipeline"), Json(1));
  const auto states = [](const Mapped& one) { return one.key == "parallelism.pipeline"; };
  EXPECT_EQ(std::count_if(before.mapped.begin(), before.mapped.end(), states), 1);
  EXPECT_EQ(
      report_of_t5(std::string(kHalvesOfT5) + "--encoder-pipeline-model-parallel-size 0").at("parallelism.pipeline"),
      Json(1));
  EXPECT_EQ(
      refused_of_t5(report_of_t5(flags + "1 --tensor-model-parallel-size 4 --encoder-tensor-model-parallel-size 2")),
      "--encoder-tensor-model-parallel-size: expected 4 tensor ranks, as in the decoder, found 2\n");
}

TEST(ReadT5, RelativePositionsRunUnfused) {
  const Report relative =
      report_of_t5(std::string(kHalvesOfT5) +
                   "--position-embedding-type relative --relative-attention-num-buckets 64 --use-flash-attn");
  EXPECT_EQ(refused_of_t5(relative), "");
  EXPECT_EQ(relative.at("model.relative_attention_num_buckets"), Json(64));
  EXPECT_EQ(relative.at("attention"), Json("unfused"));
  const Report learned = report_of_t5(std::string(kHalvesOfT5) + "--relative-attention-num-buckets 64");
  EXPECT_EQ(learned.at("model.relative_attention_num_buckets"), Json()) << "learned positions have no buckets";
}

TEST(ReadT5, AGptHasNoStagesOfAnEncoder) {
  const std::string gpt =
      "--num-layers 12 --hidden-size 768 --num-attention-heads 12 --seq-length 512 --micro-batch-size 1 "
      "--global-batch-size 24 --max-position-embeddings 512 --vocab-size 50304 --bf16 "
      "--pipeline-model-parallel-size 3 ";
  for (const std::string flag : {"--pipeline-model-parallel-split-rank", "--encoder-pipeline-model-parallel-size"})
    EXPECT_EQ(refused_of_t5(report_of_launch("pretrain_gpt.py", gpt + flag + " 1")),
              flag + ": an encoder in front of the decoder, and this is no T5\n");
}

}  // namespace
}  // namespace foretoken::io::launch
