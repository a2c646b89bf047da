// Tests DeepSpeed's JSON, accelerate's sections of it, and GPT-NeoX's batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/read_launch.h"
#include "sim/io/import/launch/test_launch.h"
#include "sim/io/json/test_text.h"

namespace foretoken::io::launch {
namespace {

using testing::HasSubstr;

Report read_deepspeed_text(const std::string& name, const std::string& text) {
  Findings findings;
  const Report report = read_launch_text(text, name, {}, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  return report;
}

std::string refusals_of_deepspeed(const Report& report) {
  std::string text;
  for (const Refused& one : report.refused) text += one.setting + ": " + one.because + "\n";
  return text;
}

std::string json_with(const std::string& zero) {
  return R"({"train_batch_size": 8, "bf16": {"enabled": true}, "zero_optimization": {"stage": 3, )" + zero + "}}";
}

TEST(DeepSpeedFile, KeysOfZeroThatChangeTheStepAreRefused) {
  const auto refused = [](const std::string& zero) {
    return refusals_of_deepspeed(read_deepspeed_text("ds.json", json_with(zero)));
  };
  EXPECT_THAT(refused(R"("zero_quantized_weights": true)"), HasSubstr("quantised ZeRO++"));
  EXPECT_THAT(refused(R"("zero_hpz_partition_size": 8)"), HasSubstr("quantised ZeRO++"));
  EXPECT_THAT(refused(R"("zenflow": {"topk_ratio": 0.05})"),
              HasSubstr("ZenFlow: the GPU updates the most important gradients"));
  EXPECT_EQ(refused(R"("zero_quantized_weights": false, "zero_hpz_partition_size": 1)"), "");
  EXPECT_EQ(refused(R"("offload_optimizer": {"device": "cpu", "pin_memory": true, "buffer_count": 4})"), "");
}

TEST(DeepSpeedFile, NumbersThatAreAutoComeFromTheTrainer) {
  const Report report =
      read_deepspeed_text("ds.json", R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto",
                     "gradient_accumulation_steps": "auto", "fp16": {"enabled": true}})");
  const auto why = [&](const char* key) {
    const auto found = std::ranges::find(report.asked, key, &Asked::key);
    return found == report.asked.end() ? "" : found->because;
  };
  EXPECT_EQ(why("batch.micro"), "\"auto\" takes it from the arguments of the trainer");
  EXPECT_THAT(why("batch.global"), HasSubstr("is open: \"auto\" takes it"));
}

TEST(DeepSpeedFile, APartOfTheOptimizerIsOnTheHost) {
  const auto optimizer = [](const std::string& ratio) {
    return read_deepspeed_text("ds.json",
                               json_with(R"("offload_optimizer": {"device": "cpu", "ratio": )" + ratio + "}"))
        .at("offload.optimizer");
  };
  EXPECT_EQ(optimizer("0.3"), Json(0.3));
  EXPECT_EQ(optimizer("1.0"), Json("cpu"));
}

// deepspeed.ai: offload_param is valid with stage 3 only.
TEST(DeepSpeedFile, ParametersStayOnTheGpuBelowStageThree) {
  const auto moved = [](const std::string& zero) {
    return read_deepspeed_text("ds.json", "{\"bf16\": {\"enabled\": true}, \"zero_optimization\": {" + zero + "}}")
        .has("offload.parameters");
  };
  EXPECT_FALSE(moved(R"("stage": 2, "offload_param": {"device": "cpu"})"));
  EXPECT_FALSE(moved(R"("stage": 2, "cpu_offload_params": true)"));
  EXPECT_TRUE(moved(R"("stage": 3, "offload_param": {"device": "cpu"})"));
  const auto of_accelerate = [](const std::string& stage) {
    return read_deepspeed_text("acc.yaml",
                               "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nmixed_precision: "
                               "bf16\nnum_processes: 8\ndeepspeed_config: {offload_param_device: cpu, zero_stage: " +
                                   stage + "}\n")
        .has("offload.parameters");
  };
  EXPECT_FALSE(of_accelerate("2"));
  EXPECT_TRUE(of_accelerate("3"));
}

// DeepSpeed reads none of them: names of accelerate, and notes.
TEST(DeepSpeedFile, KeysThatDeepSpeedDoesNotReadAreSortedByTheirNames) {
  const auto refused = [](const std::string& key) {
    return refusals_of_deepspeed(read_deepspeed_text("ds.json", "{\"bf16\": {\"enabled\": true}, " + key + "}"));
  };
  EXPECT_EQ(refused(R"("zero3_init_flag": true, "_read_the_docs": "https://www.deepspeed.ai", "about": "a run")"), "");
  EXPECT_THAT(refused(R"("expert_model": 8)"), HasSubstr("expert_model: an unknown key"));
}

TEST(DeepSpeedFile, SectionsInAccelerateAreNotRead) {
  EXPECT_THAT(refusals_of_deepspeed(read_deepspeed_text(
                  "acc.yaml",
                  "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nmixed_precision: bf16\n"
                  "num_processes: 8\ndeepspeed_config:\n  zero_optimization: {stage: 3}\n")),
              HasSubstr("zero_optimization.stage"));
}

constexpr const char* kNeoxBatch =
    "{\"pipe_parallel_size\": 1, \"model_parallel_size\": 2, \"num_layers\": 32, \"hidden_size\": 4096,\n"
    " \"num_attention_heads\": 32, \"seq_length\": 2048, \"train_batch_size\": 1024, \"iteration_offset\": 10,\n"
    " \"train_micro_batch_size_per_gpu\": 4, \"gradient_accumulation_steps\": 8, \"fp16\": {\"enabled\": true}}\n";

TEST(AccelerateFile, UlyssesExchangesHeads) {
  const auto read = [](const std::string& degrees) {
    return read_test_launch(
        "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_processes: 8\n"
        "deepspeed_config: {zero_stage: 3}\nparallelism_config: {" +
            degrees + "}\n",
        "a.yaml");
  };
  const Report first = read("parallelism_config_cp_size: 2, parallelism_config_cp_backend: deepspeed");
  EXPECT_EQ(first.whole("parallelism.context"), 2);
  EXPECT_EQ(first.at("parallelism.context_exchange"), Json("all-to-all"));
  const Report later = read("parallelism_config_sp_size: 4, parallelism_config_cp_size: 1");
  EXPECT_EQ(later.whole("parallelism.context"), 4);
  EXPECT_EQ(later.at("parallelism.context_exchange"), Json("all-to-all"));
  EXPECT_FALSE(read("parallelism_config_cp_size: 2").has("parallelism.context_exchange"));
  EXPECT_NE(refused_lines(read("parallelism_config_cp_size: 2, parallelism_config_sp_size: 2")).find("it excludes"),
            std::string::npos);
}

// Reads a file with facts that the user states.
Report read_with(const std::string& text, const std::string& name, const std::vector<std::string>& facts) {
  Findings findings;
  Launch launch;
  launch.sets = facts;
  launch.sets.insert(launch.sets.end(), {"cluster=dgx-h100-ndr", "model=llama-3-8b", "batch.sequence_length=2048"});
  Report report = read_launch_text(text, name, launch, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  return report;
}

TEST(AccelerateFile, ItsAccumulationMakesTheGlobalBatch) {
  const auto read = [](const std::string& steps, const std::vector<std::string>& facts) {
    return read_with(
        "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_processes: 8\n"
        "deepspeed_config: {zero_stage: 2, gradient_clipping: 1.0, zero3_save_16bit_model: true, zero3_init_flag: "
        "false, gradient_accumulation_steps: " +
            steps + "}\n",
        "a.yaml", facts);
  };
  const Report report = read("4", {"batch.micro=8"});
  EXPECT_EQ(report.whole("batch.global"), 8 * 4 * 8);
  EXPECT_TRUE(report.complete()) << refused_lines(report);
  EXPECT_EQ(read("1", {"batch.micro=8"}).whole("batch.global"), 8 * 8);
  EXPECT_EQ(read("4", {"batch.global=128"}).whole("batch.micro"), 128 / 4 / 8);
  EXPECT_EQ(refused_lines(read("4", {"batch.micro=8", "batch.global=256"})), "");
  EXPECT_NE(refused_lines(read("4", {"batch.micro=8", "batch.global=64"})).find("8 data ranks are 256, found 64"),
            std::string::npos);
  EXPECT_FALSE(read("auto", {"batch.micro=8"}).has("batch.global")) << "the program states it";
}

TEST(AccelerateFile, LayersAreTheUnitsOfSharding) {
  const auto read = [](const std::string& keys) {
    return read_test_launch(
        "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 8\n"
        "fsdp_config: {" +
            keys + "}\n",
        "a.yaml");
  };
  const Report layers = read("fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP, fsdp_min_num_params: 0");
  EXPECT_EQ(refused_lines(layers), "");
  EXPECT_TRUE(std::ranges::any_of(layers.assumed,
                                  [](const Assumed& one) { return one.key == "fsdp_config.fsdp_auto_wrap_policy"; }));
  const std::string sized = "fsdp_auto_wrap_policy: SIZE_BASED_WRAP, fsdp_min_num_params: 500000000";
  EXPECT_THAT(refused_lines(read(sized)), HasSubstr("fsdp_min_num_params: units of a size"));
  EXPECT_THAT(refused_lines(read("fsdp_auto_wrap_policy: NO_WRAP")), HasSubstr("the model is one unit"));
  EXPECT_EQ(refused_lines(read(sized + ", fsdp_sharding_strategy: NO_SHARD")), "") << "nothing is gathered";
}

TEST(DeepSpeedFile, ItsAccumulationHoldsForAMicroBatchThatTheUserStates) {
  const std::string file =
      R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}, "gradient_accumulation_steps": 32,
          "train_micro_batch_size_per_gpu": "auto"})";
  EXPECT_EQ(read_with(file, "ds.json", {"gpus=8", "batch.micro=2"}).whole("batch.global"), 2 * 32 * 8);
  EXPECT_THAT(refused_lines(read_with(file, "ds.json", {"gpus=8", "batch.micro=2", "batch.global=64"})),
              HasSubstr("are 512, found 64"));
}

// Megatron-DeepSpeed's scripts write it; DeepSpeed reads no such key.
TEST(DeepSpeedFile, ASwitchOfItsOwnNameChangesNothing) {
  const Report report =
      read_with(R"({"deepspeed": true, "train_batch_size": 8, "bf16": {"enabled": true}})", "ds.json", {"gpus=8"});
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(report.names("deepspeed"));
}

// deepspeed/runtime/config.py, _set_batch_related_parameters.
TEST(DeepSpeedFile, OneKeyOfTheBatchAloneHasOneAccumulation) {
  const std::string start = R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}, )";
  const Report all = read_with(start + R"("train_batch_size": 400})", "ds.json", {"gpus=8"});
  EXPECT_EQ(all.whole("batch.micro"), 50);
  EXPECT_TRUE(all.names("gradient_accumulation_steps"));
  const Report micro = read_with(start + R"("train_micro_batch_size_per_gpu": 4})", "ds.json", {"gpus=8"});
  EXPECT_EQ(micro.whole("batch.global"), 32);
  const Report open =
      read_with(start + R"("train_batch_size": 400, "gradient_accumulation_steps": "auto"})", "ds.json", {"gpus=8"});
  EXPECT_FALSE(open.has("batch.micro"));
}

TEST(NeoxBatch, StatesTheGpus) {
  const Report report = read_deepspeed_text("a.yml", kNeoxBatch);
  EXPECT_EQ(report.whole("gpus"), 1024 / 4 / 8 * 2);
  EXPECT_EQ(report.whole("batch.global"), 1024);
  EXPECT_EQ(refusals_of_deepspeed(report), "");
}

// deepspeed/runtime/zero/parameter_offload.py: the stream of the gathers is another one with overlap_comm.
TEST(DeepSpeedFile, WeightsOfStageThreeAreGatheredAhead) {
  const auto gathers = [](const std::string& zero) {
    return read_deepspeed_text("ds.json", "{\"bf16\": {\"enabled\": true}, \"zero_optimization\": {" + zero + "}}")
        .at("overlap.param_gather");
  };
  EXPECT_EQ(gathers(R"("stage": 3)"), Json(true));
  EXPECT_EQ(gathers(R"("stage": 3, "stage3_prefetch_bucket_size": "auto")"), Json(true));
  EXPECT_EQ(gathers(R"("stage": 3, "overlap_comm": false)"), Json(false));
  EXPECT_EQ(gathers(R"("stage": 3, "stage3_prefetch_bucket_size": 0)"), Json(false));
  EXPECT_EQ(gathers(R"("stage": 2, "overlap_comm": true)"), Json());
}

// deepspeed/runtime/engine.py, _configure_distributed_model: amp.initialize.
TEST(DeepSpeedFile, MixedPrecisionByApexIsRefused) {
  const auto refused = [](const std::string& amp) {
    return refusals_of_deepspeed(
        read_deepspeed_text("ds.json", std::string("{\"amp\": ") + amp + ", \"zero_optimization\": {\"stage\": 1}}"));
  };
  EXPECT_NE(refused(R"({"enabled": true, "opt_level": "O1"})").find("amp.enabled: mixed precision by Apex"),
            std::string::npos);
  EXPECT_EQ(refused(R"({"enabled": "auto", "opt_level": "auto"})"), "");
  EXPECT_EQ(refused(R"({"enabled": false, "opt_level": "O1"})"), "");
}

// deepspeed/runtime/config_utils.py, DeepSpeedConfigModel: extra = "forbid".
TEST(DeepSpeed, NotesUnknownKeysOfZero) {
  const auto read = [](const std::string& keys) {
    return read_test_launch(
        R"({"train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": true}, "zero_optimization": {)" + keys + "}}",
        "ds.json");
  };
  const Report wrong = read(R"("stage": 3, "stage_prefetch_bucket_size": 0, "overlap_com": true)");
  EXPECT_THAT(why_assumed(wrong, "zero_optimization.stage_prefetch_bucket_size"),
              HasSubstr("did you mean \"stage3_prefetch_bucket_size\"?"));
  EXPECT_THAT(why_assumed(wrong, "zero_optimization.overlap_com"), HasSubstr("did you mean \"overlap_comm\"?"));
  EXPECT_EQ(wrong.at("overlap.param_gather"), Json(true)) << "the key that DeepSpeed reads is not stated";
  const Report right = read(R"("stage": 3, "prefetch_bucket_size": 0, "max_live_parameters": 1000, "other": "auto")");
  EXPECT_TRUE(right.refused.empty());
  EXPECT_EQ(right.at("overlap.param_gather"), Json(false));
  EXPECT_FALSE(read(R"("stage": 3, "mics_shard_size": 8)").refused.empty());
  EXPECT_TRUE(read(R"("stage": 3, "mics_shard_size": -1)").refused.empty());
}

// deepspeed/runtime/bf16_optimizer.py.
TEST(DeepSpeed, AddsGradientsUpInFp32WithoutZeroInBf16) {
  const std::string start = R"({"train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": true}, "zero_optimization": )";
  EXPECT_EQ(read_test_launch(start + R"({"stage": 0}})", "ds.json").at("precision_recipe.gradients"), Json("fp32"));
  EXPECT_FALSE(read_test_launch(start + R"({"stage": 1}})", "ds.json").has("precision_recipe.gradients"));
}

}  // namespace
}  // namespace foretoken::io::launch
