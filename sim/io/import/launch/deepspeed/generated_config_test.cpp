// Tests DeepSpeed's configurations that a script writes with values that nobody knows.
#include "sim/io/import/launch/deepspeed/generated_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/io/import/launch/shell/unknown.h"
#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string launch_of(const std::string& flags) {
  return "deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 12 --hidden-size 768 --num-attention-heads 12 "
         "--seq-length 512 --max-position-embeddings 512 --micro-batch-size 4 --global-batch-size 64 --vocab-size "
         "32000 --deepspeed --deepspeed_config ds.json " +
         flags;
}

Report read_generated(const std::string& before, const std::string& config, const std::string& flags = "--fp16") {
  return read_test_launch(before + "\ncat > ds.json <<END\n{" + config + "}\nEND\n" + launch_of(flags), "train.sh");
}

std::string asked_lines(const Report& report) {
  std::string text;
  for (const Asked& one : report.asked) text += one.key + ": " + one.because + "\n";
  return text;
}

TEST(GeneratedConfig, KeepsUnknownPartsAsTexts) {
  const std::string open = shell::unknown_because("argument 1 of \"the\" script");
  const auto config = deepspeed::parse_generated_config(R"({"bare": )" + open + R"(, "part": 1)" + open +
                                                        R"(0, "quoted \"": "x)" + open + R"(", "known": [1, true]})");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->at("bare"), Json(open));
  EXPECT_EQ(config->at("part"), Json("1" + open + "0"));
  EXPECT_EQ(config->at("quoted \""), Json("x" + open));
  EXPECT_EQ(config->at("known"), Json({"1", "true"}));
  EXPECT_FALSE(deepspeed::parse_generated_config(R"({"a": 1 )" + open + "}"));
}

struct OpenCase {
  const char *what, *before, *config, *key, *because;
};
constexpr OpenCase kOpenCases[] = {
    {"the stage is an argument", "Z=$1", R"("zero_optimization": {"stage": $Z})", "optimizer.zero_stage",
     "zero_optimization.stage of the DeepSpeed configuration: its value is argument 1 of the script; state it behind "
     "--"},
    {"the stage depends on a branch", "Z=1\nif [[ $1 == \"all\" ]]; then Z=3; fi",
     R"("zero_optimization": {"stage": $Z})", "optimizer.zero_stage",
     "a variable that depends on an open condition: Z; state it with --env NAME=VALUE"},
    {"the overlap follows an open stage", "", R"("zero_optimization": {"stage": $1})", "overlap.grad_reduce",
     "zero_optimization.stage"},
    {"the stage is an output", "Z=$(cat stage.txt)", R"("zero_optimization": {"stage": $Z})", "optimizer.zero_stage",
     "the output of"},
    {"the whole section is a switch", "", R"("zero_optimization": $1)", "optimizer.zero_stage", "argument 1"},
    {"the other type of 16 bits", "", R"("bf16": {"enabled": $1})", "precision", "bf16.enabled"},
    {"the overlap", "", R"("zero_optimization": {"stage": 3, "overlap_comm": $2})", "overlap.grad_reduce",
     "argument 2"},
    {"the weights ahead", "", R"("zero_optimization": {"stage": 3, "stage3_prefetch_bucket_size": $2})",
     "overlap.param_gather", "argument 2"},
    {"the device", "", R"("zero_optimization": {"stage": 2, "offload_optimizer": {"device": "$1"}})",
     "offload.optimizer", "argument 1"},
    {"the type of gradients", "", R"("data_types": {"grad_accum_dtype": "$1"})", "precision_recipe.gradients",
     "argument 1"}};

TEST(GeneratedConfig, ValuesThatNobodyKnowsAreAskedFor) {
  for (const auto& [what, before, config, key, because] : kOpenCases) {
    SCOPED_TRACE(what);
    const Report report = read_generated(before, config, "--fp16 --zero-stage 2");
    EXPECT_FALSE(report.has(key));
    EXPECT_THAT(asked_lines(report), AllOf(HasSubstr(std::string(key) + ": "), HasSubstr(because)));
    EXPECT_EQ(refused_lines(report), "");
  }
}

TEST(GeneratedConfig, TemplatesKeepTheirOpenValues) {
  const Report report = read_test_launch(
      "cat > base.json <<'END'\n{\"zero_optimization\": {\"stage\": STAGE}}\nEND\nif [ \"$1\" = big ]; then Z=3; else "
      "Z=2; fi\nsed \"s/STAGE/$Z/\" base.json > ds.json\n" +
          launch_of("--fp16"),
      "train.sh");
  EXPECT_THAT(asked_lines(report), HasSubstr("optimizer.zero_stage: "));
}

TEST(GeneratedConfig, MethodsThatMayBeOnAreRefused) {
  const Report report = read_generated("C=false\n[ \"$1\" = short ] && C=true",
                                       R"("curriculum_learning": {"enabled": $C, "min_difficulty": 8})");
  EXPECT_THAT(refused_lines(report), HasSubstr("curriculum_learning.enabled: curriculum learning changes the sequence "
                                               "length over time; its value is a variable that depends on an open "
                                               "condition: C; state it with --env NAME=VALUE"));
}

TEST(GeneratedConfig, ValuesWithoutEffectStayOpen) {
  for (const char* config :
       {R"("zero_optimization": {"stage": 1, "reduce_bucket_size": $1})", R"("fp16": {"enabled": $1})",
        R"("fp16": {"enabled": true, "loss_scale": $1})", R"("zero_optimization": {"stage": 1, "overlap_comm": $1})",
        R"("steps_per_print": $1, "train_micro_batch_size_per_gpu": $2, "train_batch_size": $3)"}) {
    SCOPED_TRACE(config);
    const Report report = read_generated("", config);
    EXPECT_EQ(asked_lines(report), "");
    EXPECT_EQ(refused_lines(report), "");
    EXPECT_EQ(report.at("precision"), "fp16");
  }
}

TEST(GeneratedConfig, TheTrainerAsksForItsStage) {
  const Report report = read_test_launch(
      "cat > ds.json <<END\n{\"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": $1}}\nEND\n"
      "deepspeed --num_gpus 8 train.py --model_name_or_path meta-llama/Llama-2-7b-hf --per_device_train_batch_size 1 "
      "--gradient_accumulation_steps 2 --model_max_length 2048 --bf16 True --output_dir out --deepspeed ds.json",
      "train.sh");
  EXPECT_THAT(asked_lines(report), AllOf(HasSubstr("optimizer.zero_stage: "), Not(HasSubstr("precision:"))));
  EXPECT_FALSE(report.has("optimizer.zero_stage"));
}

}  // namespace
}  // namespace foretoken::io::launch
