// Tests commands of NVIDIA's performance scripts.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch {
namespace {

constexpr const char* kBegin = "python scripts/performance/setup_experiment.py -a me -p batch -g h100 -gn 8 ";
constexpr const char* kLayout = " -tp 4 -pp 4 -vp 5 -cp 2 -mb 1 -gb 128 -sl 8192 --recompute_modules mlp,core_attn";

Report read_command(const std::string& command) { return read_test_launch(command, "submit.sh"); }

std::string question(const Report& report, const char* key) {
  const auto found = std::ranges::find(report.asked, key, &Asked::key);
  return found == report.asked.end() ? "" : found->because;
}

TEST(PerformanceScript, ShortAndLongFlagsAreColumnsOfARun) {
  for (const std::string& command :
       {std::string(kBegin) + "-m llama -mr llama3_70b -ng 64 -c fp8_cs" + kLayout,
        std::string(kBegin) + "-m llama3 -s 70b -ng 64 -c fp8 -fr cs" + kLayout,
        std::string(kBegin) +
            "--model_family_name llama --model_recipe_name llama3_70b --num_gpus=64 "
            "--compute_dtype fp8_cs --tensor_model_parallel_size 4" +
            kLayout,
        "python -m scripts.performance.llm.pretrain_llama3_70b -a me -g h100 -ng 64 -c fp8 -fr cs" +
            std::string(kLayout)}) {
    SCOPED_TRACE(command);
    const Report report = read_command(command);
    EXPECT_EQ(refused_lines(report), "");
    EXPECT_TRUE(report.asked.empty());
    EXPECT_EQ(report.at("model"), "llama-3-70b");
    EXPECT_EQ(report.at("gpus"), 64);
    EXPECT_EQ(report.at("precision"), "fp8");
    EXPECT_EQ(report.at("precision_recipe.fp8_recipe"), "tensorwise");
    EXPECT_EQ(report.at("parallelism.tensor"), 4);
    EXPECT_EQ(report.at("parallelism.pipeline"), 4);
    EXPECT_EQ(report.at("parallelism.virtual_pipeline"), 5);
    EXPECT_EQ(report.at("parallelism.context"), 2);
    EXPECT_EQ(report.at("batch.micro"), 1);
    EXPECT_EQ(report.at("batch.global"), 128);
    EXPECT_EQ(report.at("recompute.modules"), Json({"mlp", "core_attn"}));
  }
}

TEST(PerformanceScript, TheRecipeDecidesWhereNoFlagDoes) {
  const Report report = read_command(std::string(kBegin) + "-m llama -mr llama31_405b -ng 256");
  for (const char* key :
       {"parallelism.tensor", "parallelism.pipeline", "parallelism.context", "parallelism.virtual_pipeline",
        "batch.micro", "batch.global", "batch.sequence_length", "recompute.granularity"}) {
    EXPECT_NE(question(report, key).find("the recipe of llama31_405b decides"), std::string::npos) << key;
    EXPECT_TRUE(report.at(key).is_null()) << key;
  }
  EXPECT_EQ(question(report, "parallelism.expert"), "");
  EXPECT_TRUE(report.at("parallelism.sequence_parallel").is_null());
  const Report one = read_command(std::string(kBegin) + "-m llama -mr llama3_8b -ng 8 -tp 1 -pp 1");
  EXPECT_EQ(one.at("parallelism.virtual_pipeline"), 1);
  EXPECT_EQ(report.at("precision"), "bf16");
  const Report experts = read_command(std::string(kBegin) + "-m qwen -mr qwen3_30b_a3b -ng 16" + kLayout);
  EXPECT_NE(question(experts, "parallelism.expert"), "");
  const Report open = read_command(std::string(kBegin) + "-m llama -mr llama3_70b -ng 64 -mb $(date) -gb 128");
  EXPECT_NE(question(open, "batch.micro").find("--micro_batch_size is the output of"), std::string::npos);
}

TEST(PerformanceScript, ChangesOfTheRecipeAreRefused) {
  const std::string known = std::string(kBegin) + "-m llama -mr llama3_70b -ng 64" + kLayout;
  EXPECT_EQ(refused_lines(read_command(known + " --task pretrain --max_steps 50 -wdk key logger.log_interval=1")), "");
  for (const char* change : {" --num_layers 4", " --domain vlm", " --deterministic", " model.bias_dropout_fusion=false",
                             " --new_thing_size 3"})
    EXPECT_NE(refused_lines(read_command(known + change)), "") << change;
}

TEST(PerformanceScript, ASecondCommandIsLeftOut) {
  const std::string each = std::string(kBegin) + "-m llama -mr llama3_70b -ng $N" + kLayout;
  const Report report = read_command("for N in 64 128; do\n" + each + "\ndone");
  EXPECT_EQ(report.at("gpus"), 64);
  EXPECT_TRUE(std::ranges::any_of(report.assumed, [](const Assumed& one) { return one.key == "the training"; }));
}

}  // namespace
}  // namespace foretoken::io::launch
