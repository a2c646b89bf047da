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

constexpr const char* kNemoProgram = "python -m scripts.performance.llm.pretrain_llama3_8b slurm -a me -p batch ";
constexpr const char* kFlagsOfNemo = " -ng 64 -tp 2 -pp 1 -cp 1 -mb 1 -gb 128";

bool assumes(const Report& report, const char* key) {
  return std::ranges::any_of(report.assumed, [&](const Assumed& one) { return one.key == key; });
}

TEST(PerformanceScript, FineTuningOfNemoTrainsAdaptersUnlessItIsSft) {
  const auto method = [](const std::string& flags) {
    const Report report =
        read_command("python scripts/performance/llm/finetune_llama3_8b.py -g h100 " + flags + kFlagsOfNemo);
    EXPECT_EQ(refused_lines(report), "");
    return report.at("training.method");
  };
  EXPECT_EQ(method(""), "lora");
  EXPECT_EQ(method("-f lora"), "lora");
  EXPECT_TRUE(method("-f sft").is_null());
  EXPECT_TRUE(method("--finetuning=sft").is_null());
  const Report open =
      read_command("python scripts/performance/llm/finetune_llama3_8b.py -f $(cat kind)" + std::string(kFlagsOfNemo));
  EXPECT_NE(question(open, "training.method").find("the output of"), std::string::npos);
}

TEST(PerformanceScript, FlagsOfNemoHaveNamesOfTheirOwn) {
  const Report report = read_command(std::string(kNemoProgram) +
                                     "--gpu h100 --num_gpus 64 --tensor_parallel_size 2 --pipeline_parallel_size 4 "
                                     "--virtual_pipeline_parallel_size=8 --expert_parallel_size 1 -cp 1 -rm "
                                     "mlp,core_attn -cg true -fsdp f");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("parallelism.tensor"), 2);
  EXPECT_EQ(report.at("parallelism.pipeline"), 4);
  EXPECT_EQ(report.at("parallelism.virtual_pipeline"), 8);
  EXPECT_EQ(report.at("recompute.modules"), Json({"mlp", "core_attn"}));
  EXPECT_EQ(report.at("cuda_graphs"), "layer");
  EXPECT_EQ(report.at("optimizer.zero_stage"), 1);
  const auto tensor = std::ranges::find(report.mapped, "parallelism.tensor", &Mapped::key);
  EXPECT_EQ(tensor->from, "--tensor_parallel_size (submit.sh:1)");
  for (const char* graphs : {"false", "n"})
    EXPECT_TRUE(
        read_command(std::string(kNemoProgram) + "-g h100 -cg " + graphs + kFlagsOfNemo).at("cuda_graphs").is_null());
  EXPECT_NE(question(read_command(std::string(kNemoProgram) + "-cg $(date)" + kFlagsOfNemo), "cuda_graphs"), "");
  const std::string changed =
      refused_lines(read_command(std::string(kNemoProgram) + "-nlay 8 -hs 1024" + kFlagsOfNemo));
  EXPECT_NE(changed.find("--num_layers: it changes the recipe's model"), std::string::npos);
  EXPECT_NE(changed.find("--hidden_size: it changes the recipe's model"), std::string::npos);
}

TEST(PerformanceScript, NemosDefaultsOfTheGpuAndOfFp8AreNamed) {
  const Report report = read_command(std::string(kNemoProgram) + "-c fp8" + kFlagsOfNemo);
  EXPECT_EQ(report.at("gpus"), 64);
  EXPECT_TRUE(assumes(report, "--gpu h100"));
  EXPECT_EQ(report.at("precision_recipe.fp8_recipe"), "delayed");
  EXPECT_TRUE(assumes(report, "precision_recipe.fp8_recipe"));
  EXPECT_FALSE(assumes(read_command(std::string(kNemoProgram) + "-g b200" + kFlagsOfNemo), "--gpu h100"));
  const Report bridge = read_command(std::string(kBegin) + "-m llama3 -s 70b -ng 64 -c fp8" + kLayout);
  EXPECT_EQ(bridge.at("precision_recipe.fp8_recipe"), "tensorwise");
}

TEST(PerformanceScript, MuonIsTheDefaultOfKimi) {
  const std::string known = std::string(kBegin) + "-m kimi -mr kimi_k2 -ng 1024 -ep 32" + kLayout;
  EXPECT_NE(refused_lines(read_command(known)).find("--optimizer_type: muon"), std::string::npos);
  EXPECT_NE(refused_lines(read_command(known + " --optimizer_type $(cat kind)")), "");
  EXPECT_EQ(refused_lines(read_command(known + " --optimizer_type adam")), "");
}

TEST(PerformanceScript, FlagsBeforeTheProgramAreOfItsLauncher) {
  const Report report = read_command(
      "srun -c 16 -t 30 -p batch python scripts/performance/llm/pretrain_llama3_8b.py "
      "-g h100 -vp 1" +
      std::string(kFlagsOfNemo));
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("precision"), "bf16");
  const std::string module = "python -m scripts.performance.llm.pretrain_llama3_8b -g h100 --model_size ";
  EXPECT_EQ(read_command(module + "8b" + kFlagsOfNemo).at("model"), "llama-3-8b");
  EXPECT_EQ(refused_lines(read_command(module + "8b" + kFlagsOfNemo)), "");
  EXPECT_NE(refused_lines(read_command(module + "70b" + kFlagsOfNemo)), "");
}

TEST(PerformanceScript, ProgramsOfOtherFrameworksAreNotTaken) {
  for (const char* command :
       {"deepspeed --num_gpus 8 pretrain_gpt.py --gpu 0 --num-layers 12 --hidden-size 768 --num-attention-heads 12 "
        "--seq-length 1024 --micro-batch-size 1 --global-batch-size 8",
        "deepspeed finetune_llama.py --num_gpus 8 --gpu 0 --model_name_or_path meta-llama/Llama-2-7b-hf "
        "--per_device_train_batch_size 4 --bf16 --output_dir x",
        "torchrun --nproc_per_node 8 finetune_llama.py --num_gpus 8 --gpu 0 --model_name_or_path "
        "meta-llama/Llama-2-7b-hf --per_device_train_batch_size 4 --bf16 --output_dir x"})
    EXPECT_NE(read_command(command).framework, "NVIDIA's performance scripts") << command;
}

TEST(PerformanceScript, KeysWithoutEffectChangeNoRecipe) {
  const std::string command = std::string(kBegin) + "-m llama -mr llama3_70b -ng 64" + kLayout;
  const Report report =
      read_command(command + " train.manual_gc=true train.manual_gc_interval=100 scheduler.lr_warmup_iters=2");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_NE(refused_lines(read_command(command + " train.micro_batch_size=2")), "");
}

}  // namespace
}  // namespace foretoken::io::launch
