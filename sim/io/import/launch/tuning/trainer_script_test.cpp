// Tests scripts that start Hugging Face's Trainer: what launchers, flags, and files of DeepSpeed and accelerate say.
#include "sim/io/import/launch/tuning/trainer_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/io/import/launch/read_launch.h"
#include "sim/io/import/launch/test_launch.h"
#include "sim/io/json/test_text.h"

namespace foretoken::io::launch::tuning {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

/// A folder of files that no other test has.
class Folder {
 public:
  Folder() : path_(fs::path(testing::TempDir()) / ("trainer-script-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }

  [[nodiscard]] Report read(const std::string& script, const std::string& row = "") const {
    write("run.sh", script);
    Launch launch;
    launch.files = {path_ / "run.sh"};
    launch.sets = {"cluster=dgx-h100-ndr"};
    launch.row = row;
    Findings findings;
    Report report = read_launch(launch, findings);
    EXPECT_EQ(lines_of(findings.complaints), "");
    return report;
  }

 private:
  fs::path path_;
};

std::string refusals_of(const Report& report) {
  std::string text;
  for (const Refused& one : report.refused) text += one.setting + ": " + one.because + "\n";
  return text;
}

constexpr const char* kArguments =
    " --model_name_or_path meta-llama/Llama-2-7b-hf --per_device_train_batch_size 4 --gradient_accumulation_steps 8 "
    "--model_max_length 2048 --bf16 True --learning_rate 2e-5 --data_path a.json";

TEST(TrainerScript, TorchrunAndItsArguments) {
  const Folder folder;
  const Report report = folder.read(std::string("torchrun --nproc_per_node=8 --master_port=29500 train.py") +
                                    kArguments + " --fsdp 'full_shard auto_wrap'\n");
  EXPECT_EQ(refusals_of(report), "");
  EXPECT_EQ(report.framework, "Hugging Face Trainer");
  EXPECT_EQ(report.whole("gpus"), 8);
  EXPECT_EQ(report.whole("batch.micro"), 4);
  EXPECT_EQ(report.whole("batch.global"), 4 * 8 * 8);
  EXPECT_EQ(report.whole("batch.sequence_length"), 2048);
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(report.at("precision"), Json("bf16"));
}

TEST(TrainerScript, UnitsOfShardingAreAssumedWithoutAutoWrap) {
  const Folder folder;
  const auto assumes = [&](const std::string& launcher, const std::string& flags) {
    const Report report = folder.read(launcher + " train.py" + kArguments + flags + "\n");
    EXPECT_EQ(refusals_of(report), "");
    return std::ranges::any_of(report.assumed, [](const Assumed& one) { return one.key == "auto_wrap"; });
  };
  const std::string torchrun = "torchrun --nproc_per_node=8",
                    accelerate = "accelerate launch --num_processes 8 --use_fsdp";
  EXPECT_TRUE(assumes(torchrun, " --fsdp full_shard"));
  EXPECT_FALSE(assumes(torchrun, " --fsdp 'full_shard auto_wrap'"));
  EXPECT_TRUE(assumes(accelerate, ""));
  EXPECT_FALSE(assumes(accelerate + " --fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP", ""));
  EXPECT_THAT(refusals_of(folder.read(accelerate + " --fsdp_auto_wrap_policy NO_WRAP train.py" + kArguments + "\n")),
              HasSubstr("the model is one unit"));
}

TEST(TrainerScript, ShardsInEachMachineAreReplicasOnSeveral) {
  const Folder folder;
  const auto refused = [&](const std::string& launcher, const std::string& flags) {
    return refusals_of(folder.read(launcher + " train.py" + kArguments + flags + "\n"));
  };
  const std::string words = " --fsdp 'hybrid_shard auto_wrap'",
                    accelerate = "accelerate launch --use_fsdp --fsdp_sharding_strategy HYBRID_SHARD --num_processes 8";
  EXPECT_THAT(refused("torchrun --nnodes 2 --nproc_per_node 4", words), HasSubstr("fsdp: several replicas"));
  EXPECT_EQ(refused("torchrun --nproc_per_node 8", words), "");
  EXPECT_THAT(refused(accelerate + " --num_machines 2", ""), HasSubstr("fsdp: several replicas"));
  EXPECT_EQ(refused(accelerate + " --num_machines 1", ""), "");
}

TEST(TrainerScript, LaunchersThatTakeAllGpusDoNotCountTheTasksOfSlurm) {
  const Folder folder;
  const auto gpus = [&](const std::string& launcher) {
    return folder
        .read("#!/bin/bash\n#SBATCH --gpus 8 --nodes=2 --ntasks-per-node=1\nsrun " + launcher + kArguments + "\n")
        .whole("gpus");
  };
  for (const char* launcher : {"accelerate launch train.py", "deepspeed train.py", "llamafactory-cli train"})
    EXPECT_EQ(gpus(launcher), 8) << launcher;
  EXPECT_EQ(gpus("torchrun train.py"), 2) << "one process on each node";
  EXPECT_EQ(gpus("torchrun --nproc_per_node 4 train.py"), 8);
}

TEST(TrainerScript, AnAccumulationWithoutAValueNamesItsVariable) {
  const Folder folder;
  const std::string start =
      "torchrun --nproc_per_node=8 train.py --model_name_or_path meta-llama/Llama-2-7b-hf --bf16 --max_seq_length 512 "
      "--per_device_train_batch_size 4 ";
  for (const char* flag : {"--gradient_accumulation_steps $ACC", "--gradient_accumulation_steps ${ACC}",
                           "--gradient-accumulation-steps \\\n $ACC", "--gradient_accumulation_steps=\"$ACC\""}) {
    SCOPED_TRACE(flag);
    const Report report = folder.read(start + flag + "\n");
    EXPECT_FALSE(report.has("batch.global"));
    ASSERT_EQ(report.asked.size(), 1U);
    EXPECT_THAT(report.asked.front().because, HasSubstr("state it with --env ACC=VALUE, or --global-batch N"));
  }
}

TEST(TrainerScript, WithoutABatchTheTrainersDefaultCounts) {
  const Folder folder;
  const std::string start = "deepspeed --include localhost:0,1 train.py --model_name_or_path internlm2-base-7b ";
  const Report report = folder.read(start + "--output_dir o --bf16 true --model_max_length 512 --num_train_epochs 1\n");
  EXPECT_EQ(report.whole("batch.micro"), 8);
  EXPECT_EQ(report.whole("batch.global"), 16);
  EXPECT_TRUE(std::ranges::any_of(report.assumed, [](const Assumed& one) {
    return one.because.find("the Trainer's default (training_args.py)") != std::string::npos;
  }));
}

TEST(TrainerScript, AModelFromScratchHasTheDefaultsOfItsKindAndOverrides) {
  const Folder folder;
  const std::string start =
      "torchrun --nproc_per_node 4 run_clm.py --per_device_train_batch_size 8 --block_size 512 --bf16 true "
      "--mlm_probability 0.3 --pad_to_max_length ";
  const Report small = folder.read(start + "--model_type gpt2 --config_overrides n_embd=1024,n_layer=24,n_head=16\n");
  EXPECT_EQ(refusals_of(small), "");
  EXPECT_EQ(small.whole("model.n_embd"), 1024);
  EXPECT_EQ(small.whole("model.n_layer"), 24);
  EXPECT_EQ(small.whole("model.n_positions"), 1024) << "of the kind";
  const Report named = folder.read(start + "--config_name gpt2 --config_overrides n_embd=4096,n_layer=32,n_head=16\n");
  EXPECT_EQ(named.whole("model.n_embd"), 4096);
  EXPECT_FALSE(folder.read(start + "--model_type gpt2 --config_name configs/small.json\n").has("model"));
  const Report masked = folder.read(start + "--model_type roberta\n");
  EXPECT_EQ(masked.at("model.architectures"), Json({"RobertaForMaskedLM"}));
  EXPECT_EQ(masked.whole("model.num_hidden_layers"), 12);
  EXPECT_THAT(refusals_of(folder.read(start + "--model_type bert --config_overrides small\n")),
              HasSubstr("config_overrides: expected KEY=VALUE,KEY=VALUE, found \"small\""));
}

TEST(TrainerScript, AStageOfTheProgramsOwnTrainsAsItsNameSays) {
  const Folder folder;
  const std::string start =
      "torchrun --nproc_per_node 4 train.py --finetuning_type lora --dataset d --cutoff_len 512 --fp16 "
      "--model_name_or_path mistralai/Mistral-7B-v0.1 --per_device_train_batch_size 1 --stage ";
  EXPECT_EQ(refusals_of(folder.read(start + "chat_sft\n")), "");
  EXPECT_THAT(refusals_of(folder.read(start + "chat_rm\n")), HasSubstr("stage chat_rm"));
}

TEST(TrainerScript, WeightsOfFourBitsByTheirName) {
  const Folder folder;
  const Report report = folder.read(
      "python train.py --model_name_or_path unsloth/llama-3-8b-bnb-4bit --use_lora true --lora_r 16 --bf16 true "
      "--per_device_train_batch_size 2 --max_seq_length 2048\n");
  EXPECT_EQ(report.at("model"), Json("llama-3-8b"));
  EXPECT_EQ(report.at("training.method"), Json("qlora"));
}

TEST(TrainerScript, PythonAloneHasOneGpuAndSlurmHasItsOwn) {
  const Folder folder;
  EXPECT_EQ(folder.read(std::string("python train.py") + kArguments).whole("gpus"), 1);
  EXPECT_EQ(
      folder.read(std::string("#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4\nsrun torchrun train.py") + kArguments)
          .whole("gpus"),
      8);
  EXPECT_FALSE(folder.read(std::string("deepspeed train.py") + kArguments).has("gpus")) << "all of its hosts";
}

TEST(TrainerScript, TheFileOfDeepSpeedDecides) {
  const Folder folder;
  folder.write("ds.json", R"({"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}},
                              "bf16": {"enabled": "auto"}, "train_batch_size": "auto"})");
  const Report report =
      folder.read(std::string("deepspeed --num_gpus 8 train.py --deepspeed configs/ds.json") + kArguments);
  EXPECT_EQ(refusals_of(report), "");
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 2);
  EXPECT_EQ(report.at("offload.optimizer"), Json("cpu"));
  EXPECT_EQ(report.whole("batch.global"), 256);
  const Report bare =
      folder.read(std::string("deepspeed --num_gpus 8 main.py --deepspeed --zero_stage 3") + kArguments);
  EXPECT_EQ(bare.whole("optimizer.zero_stage"), 3);
  const Report unnamed = folder.read(std::string("deepspeed --num_gpus 8 a.py --deepspeed other.json") + kArguments);
  EXPECT_EQ(refusals_of(unnamed), "");
  EXPECT_FALSE(unnamed.has("optimizer.zero_stage")) << "nobody knows what a missing file decides";
}

TEST(TrainerScript, RecomputingOfFsdpIsThatOfItsFiles) {
  const Folder folder;
  const std::string file =
      "cat > acc.yaml <<'END'\ncompute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\n"
      "num_machines: 1\nnum_processes: 8\nfsdp_config:\n  fsdp_activation_checkpointing: true\nEND\n";
  const Report written =
      folder.read(file + "accelerate launch --config_file acc.yaml train.py" + std::string(kArguments));
  EXPECT_EQ(written.at("recompute.granularity"), Json("full"));
  EXPECT_EQ(written.whole("gpus"), 8);
  const Report module =
      folder.read(file + "accelerate launch --config_file acc.yaml -m trl.scripts.sft" + std::string(kArguments));
  EXPECT_EQ(module.at("recompute.granularity"), Json("full"));
  EXPECT_EQ(module.whole("gpus"), 8);
  folder.write("fsdp.json", R"({"activation_checkpointing": true})");
  const std::string launch = std::string("torchrun --nproc_per_node 8 train.py") + kArguments + " --fsdp full_shard ";
  EXPECT_EQ(folder.read(launch + "--fsdp_config fsdp.json").at("recompute.granularity"), Json("full"));
}

TEST(TrainerScript, WhatAFileThatIsNotThereDecidesIsAskedFor) {
  const Folder folder;
  const auto asked = [&](const std::string& script) {
    std::string keys;
    for (const Asked& one : folder.read(script).asked) keys += one.key + " ";
    return keys;
  };
  const std::string arguments = kArguments;
  EXPECT_EQ(asked("accelerate launch --num_processes 8 --config_file none.yaml train.py" + arguments),
            "optimizer.zero_stage ");
  EXPECT_EQ(asked("torchrun --nproc_per_node 8 train.py" + arguments + " --fsdp full_shard --fsdp_config none.json"),
            "recompute ");
  EXPECT_EQ(asked("deepspeed --num_gpus 8 train.py --deepspeed --zero_stage $(cat stage.txt)" + arguments),
            "optimizer.zero_stage ");
}

TEST(TrainerScript, TheFileOfAccelerateDecidesBesideAFileOfArguments) {
  const Folder folder;
  folder.write("sft.yaml", "model_name_or_path: Qwen/Qwen3-8B\nper_device_train_batch_size: 1\nmax_seq_length: 64\n");
  folder.write("fsdp.yaml",
               "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: BF16\nnum_processes: 2\n"
               "fsdp_config: {fsdp_sharding_strategy: FULL_SHARD, fsdp_offload_params: true}\n");
  const auto by = [&](const std::string& file) {
    return folder.read("accelerate launch --config_file " + file + " --num_processes=4 train.py sft.yaml\n");
  };
  const Report there = by("fsdp.yaml");
  EXPECT_EQ(there.whole("gpus"), 4);
  EXPECT_EQ(there.whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(there.at("offload.parameters"), Json("cpu"));
  EXPECT_EQ(there.at("precision"), Json("bf16"));
  const Report gone = by("gone.yaml");
  EXPECT_FALSE(gone.has("optimizer.zero_stage"));
  EXPECT_THAT(gone.json().dump(), HasSubstr("decides about sharding"));
}

TEST(TrainerScript, AnOpenNumberOfProcessesWinsOverTheFileOfAccelerate) {
  const Folder folder;
  folder.write("sft.yaml", "model_name_or_path: Qwen/Qwen3-8B\nper_device_train_batch_size: 1\nmax_seq_length: 64\n");
  folder.write("acc.yaml",
               "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config: {zero_stage: 3}\n"
               "mixed_precision: bf16\nnum_processes: 8\n");
  const std::string count = "N=16\nif grep -q vllm other.yaml; then N=8; fi\n",
                    launch = "accelerate launch --config_file acc.yaml --num_processes $N train.py ";
  for (const std::string& program : {launch + "--config sft.yaml", launch + kArguments}) {
    SCOPED_TRACE(program);
    const Report open = folder.read(count + program + "\n");
    EXPECT_FALSE(open.has("gpus"));
    EXPECT_THAT(open.json().at("asked").dump(), HasSubstr("--num_processes depends on"));
    EXPECT_EQ(open.whole("optimizer.zero_stage"), 3);
    EXPECT_EQ(folder.read("N=16\n" + program + "\n").whole("gpus"), 16);
  }
}

TEST(TrainerScript, TrlStartsAccelerateByItself) {
  const Folder folder;
  const std::string start =
      "trl sft --model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 8 --max_length 1024 --output_dir out ";
  const Report report = folder.read(start + "--accelerate_config zero2 --num_processes 4\n");
  EXPECT_EQ(report.whole("gpus"), 4);
  EXPECT_EQ(report.whole("batch.global"), 32);
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 2);
  EXPECT_EQ(report.at("precision"), Json("bf16"));
  EXPECT_EQ(folder.read(start + "--accelerate_config fsdp2\n").whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(folder.read(start + "--accelerate_config fsdp2\n").whole("gpus"), 8);
  EXPECT_FALSE(folder.read(start + "--accelerate_config zero2 --num_processes $(date)\n").has("gpus"));
  EXPECT_FALSE(folder.read(start + "--accelerate_config none.yaml\n").has("optimizer.zero_stage"));
  folder.write("sft.yaml",
               "model_name_or_path: Qwen/Qwen3-8B\nper_device_train_batch_size: 1\nmax_length: 64\n"
               "accelerate_config: zero3\nnum_processes: 2\n");
  const Report written = folder.read("trl sft --config sft.yaml\n");
  EXPECT_EQ(written.whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(written.whole("gpus"), 2);
  const std::string other =
      "accelerate launch train.py --model_name_or_path Qwen/Qwen3-8B "
      "--per_device_train_batch_size 8 --num_processes 4 --output_dir out/";
  EXPECT_EQ(folder.read(other + "trl\n").has("gpus"), folder.read(other + "x\n").has("gpus")) << "a folder";
}

TEST(TrainerScript, TheSwitchOfTheExamplesOfPeft) {
  const Folder folder;
  const auto with = [&](const std::string& state) {
    return folder.read(
        "accelerate launch --num_processes 8 train.py --model_name_or_path "
        "/c/models--meta-llama--Llama-2-7b-hf/snapshots/8cca5276 --per_device_train_batch_size 2 "
        "--max_seq_len 2048 --bf16 True --lora_r 8 --use_nested_quant True --use_peft_lora " +
        state);
  };
  const Report on = with("True");
  EXPECT_EQ(refusals_of(on), "");
  EXPECT_EQ(on.at("training.method"), Json("lora"));
  EXPECT_EQ(on.at("model"), Json("llama-2-7b"));
  EXPECT_FALSE(with("False").has("training"));
}

TEST(TrainerScript, RecomputingThatNothingStatesIsAssumed) {
  const Folder folder;
  const auto line = [&](const std::string& flags) {
    for (const Assumed& one :
         folder.read(std::string("torchrun --nproc_per_node 8 train.py") + kArguments + flags).assumed)
      if (one.key == "recompute.granularity") return one.because;
    return std::string();
  };
  EXPECT_EQ(line(""), "the Trainer's default (training_args.py)");
  EXPECT_EQ(line(" --gradient_checkpointing False"), "");
}

TEST(TrainerScript, AccelerateByFileAndByOptions) {
  const Folder folder;
  folder.write("acc.yaml",
               "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 2\n"
               "num_processes: 16\nfsdp_config:\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n");
  const std::string script =
      "accelerate launch --config_file acc.yaml sft.py --model_name_or_path Qwen/Qwen3-8B "
      "--per_device_train_batch_size 2 --max_seq_length 4096 --use_peft --lora_r 16\n"
      "accelerate launch --num_processes 4 --mixed_precision bf16 --use_deepspeed --zero_stage 2 sft.py "
      "--model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size $NOBODY --max_seq_length 4096\n";
  const Report by_file = folder.read(script);
  EXPECT_EQ(refusals_of(by_file), "");
  EXPECT_EQ(by_file.whole("gpus"), 16);
  EXPECT_EQ(by_file.whole("optimizer.zero_stage"), 2);
  EXPECT_EQ(by_file.at("precision"), Json("bf16"));
  EXPECT_EQ(by_file.at("training.method"), Json("lora"));
  const Report by_options = folder.read(script, "2");
  EXPECT_EQ(by_options.whole("gpus"), 4);
  EXPECT_EQ(by_options.whole("optimizer.zero_stage"), 2);
  EXPECT_FALSE(by_options.has("batch.micro")) << "a variable that nobody sets";
  EXPECT_EQ(refusals_of(by_options), "");
  EXPECT_FALSE(folder.read(script, "3").complete());
  folder.write(
      "acc.yaml",
      "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_machines: 1\n"
      "num_processes: 8\ndeepspeed_config:\n  zero_stage: 3\n  offload_param_device: cpu\n");
  const Report moved = folder.read(script);
  EXPECT_EQ(moved.whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(moved.at("offload.parameters"), Json("cpu"));
  EXPECT_FALSE(moved.has("offload.optimizer")) << "the file moves parameters only";
}

TEST(TrainerScript, WordsOfACommandLine) {
  const auto read_words = [](const std::string& text) {
    Launch launch;
    std::istringstream in(text);
    for (std::string word; in >> word;) launch.words.push_back(word);
    launch.sets = {"cluster=dgx-h100-ndr"};
    Findings findings;
    return read_launch(launch, findings);
  };
  const Report trainer = read_words(std::string("torchrun --nproc_per_node 8 --rdzv_conf a=b train.py") + kArguments);
  EXPECT_EQ(trainer.framework, "Hugging Face Trainer");
  EXPECT_EQ(trainer.whole("gpus"), 8);
  EXPECT_EQ(refusals_of(trainer), "");
  const Report megatron = read_words(
      "torchrun --nproc_per_node 8 --nnodes 2 --rdzv_conf a=b pretrain_gpt.py --num-layers 24 --hidden-size 2048 "
      "--num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 "
      "--global-batch-size 64 --vocab-size 50304 --bf16");
  EXPECT_EQ(refusals_of(megatron), "");
  EXPECT_EQ(megatron.whole("gpus"), 16);
  EXPECT_EQ(read_words("python train.py --model_name_or_path a --per_device_train_batch_size 1").whole("gpus"), 1);
}

TEST(TrainerScript, WordsThatNobodyKnowsAreNamed) {
  const Folder folder;
  const Report report = folder.read("torchrun --nproc_per_node 8 train.py" + std::string(kArguments) +
                                    " --fsdp full_shard $1 $EXTRA \"$@\"\n");
  EXPECT_EQ(report.at("optimizer.zero_stage"), 3) << "the words behind a known value are further ones";
  std::string notes;
  for (const Assumed& one : report.assumed)
    if (one.key == "a part of the command") notes += one.because + "\n";
  EXPECT_EQ(notes,
            "taken as empty: words that depend on argument 1 of the script; state them behind --\n"
            "taken as empty: words that depend on EXTRA, which the script does not set; state them with --env "
            "NAME=VALUE\n"
            "taken as empty: words that depend on the arguments of the script; state them behind --\n");
}

TEST(TrainerScript, NamesOfOtherScriptsMeanTheSame) {
  const Folder folder;
  const auto why_stage = [](const Report& report) {
    const auto found = std::ranges::find(report.assumed, "optimizer.zero_stage", &Assumed::key);
    return found == report.assumed.end() ? std::string() : found->because;
  };
  const auto with = [&](const std::string& flags) {
    return folder.read(
        "torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Llama-2-7b-hf "
        "--per_device_train_batch_size 4 --bf16 True " +
        flags);
  };
  EXPECT_FALSE(with("--deepspeed ds_zero2_no_offload.json").has("offload"));
  EXPECT_TRUE(with("--deepspeed ds_zero2_offload.json").has("offload"));
  EXPECT_EQ(with("--deepspeed ds_zero2_offload.json").at("offload"), (Json{{"optimizer", "cpu"}}));
  EXPECT_EQ(with("--deepspeed ds_z3_offload_config.json").at("offload"),
            (Json{{"optimizer", "cpu"}, {"parameters", "cpu"}}));
  EXPECT_EQ(with("--deepspeed zero3_bf16_cpuoffload_params.json").at("offload"), (Json{{"parameters", "cpu"}}));
  // Published files hold what they hold, whatever their names leave out.
  const Report second = with("--deepspeed ../playground/deepspeed_config_s2.json");
  EXPECT_EQ(second.at("offload"), (Json{{"optimizer", "cpu"}}));
  EXPECT_EQ(second.whole("optimizer.zero_stage"), 2);
  EXPECT_THAT(why_stage(second), HasSubstr("lm-sys/FastChat"));
  const Report third = with("--deepspeed playground/deepspeed_config_s3.json");
  EXPECT_EQ(third.at("offload"), (Json{{"optimizer", "cpu"}, {"parameters", "cpu"}}));
  EXPECT_EQ(third.whole("optimizer.zero_stage"), 3);
  const Report other = with("--deepspeed ours/deepspeed_config_s2.json");
  EXPECT_FALSE(other.has("offload"));
  EXPECT_THAT(why_stage(other), HasSubstr("--set offload.optimizer=cpu"));
  for (const char* clear : {"zero2_offload.json", "zero2_no_offload.json", "zero0.json"})
    EXPECT_EQ(why_stage(with(std::string("--deepspeed ") + clear)).find("--set"), std::string::npos) << clear;
  const Report whole = with("--lora_r 8 --modules_to_save embed_tokens,lm_head");
  EXPECT_EQ(refusals_of(whole), "");
  EXPECT_EQ(whole.at("training.whole"), (Json{"embedding", "head"}));
  EXPECT_THAT(refusals_of(with("--modules_to_save embed_tokens")), HasSubstr("train whole")) << "is it LoRA?";
  EXPECT_EQ(refusals_of(with("--use_lora False --modules_to_save embed_tokens")), "");
  EXPECT_EQ(with("--deepspeed configs/ds_stage_3.json").whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(with("--deepspeed deepspeed_zero-2.json").whole("optimizer.zero_stage"), 2);
  EXPECT_EQ(with("--deepspeed conf/s3_config.json").whole("optimizer.zero_stage"), 3);
  for (const char* file : {"s3://bucket/ds_config.json", "/mnt/s3/ds_config.json", "/fsx/s2_runs/ds_config.json",
                           "configs/v100s-3_ds.json", "cfg_s10.json", "ds_s10.json", "train_s3.json"})
    EXPECT_FALSE(with(std::string("--deepspeed ") + file).has("optimizer.zero_stage")) << file;
  EXPECT_EQ(with("--max_source_length 512 --max_target_length 128").whole("batch.sequence_length"), 640);
  const Report adapted =
      with("--use_lora True --lora_rank 40 --target_modules q_proj,v_proj --init_lora_weights pissa");
  EXPECT_EQ(adapted.at("training.method"), Json("lora"));
  EXPECT_EQ(adapted.whole("training.rank"), 40);
  EXPECT_EQ(adapted.at("training.targets"), Json({"q_proj", "v_proj"}));
  EXPECT_EQ(refusals_of(adapted), "");
  EXPECT_FALSE(with("--lora_enable False --lora_r 128").has("training.method"));
  EXPECT_EQ(with("--lora_r 64 --load_in_bits 4").at("training.method"), Json("qlora"));
  EXPECT_THAT(refusals_of(with("--vision_tower clip --mm_projector_type mlp2x_gelu")), HasSubstr("multimodal"));
}

TEST(TrainerScript, WhatChangesTheAnswerIsRefused) {
  const Folder folder;
  const auto with = [&](const std::string& flags) {
    return refusals_of(folder.read(std::string("torchrun --nproc_per_node 8 train.py") + kArguments + " " + flags));
  };
  EXPECT_THAT(with("--new_thing 3"), HasSubstr("new_thing: an unknown key")) << "a number may be a size";
  EXPECT_THAT(with("--profile_mode fp8"), HasSubstr("profile_mode: an unknown key")) << "a type is about precision";
  EXPECT_THAT(with("--precision_profile fp8"), HasSubstr("precision_profile: an unknown key"));
  EXPECT_EQ(with("--use_func --is_skip true --reduce_loss sum --load_checkpoint"), "") << "none of their words matters";
  EXPECT_THAT(with("--teacher_name a"), HasSubstr("teacher_name")) << "a word of its name may matter";
  EXPECT_THAT(with("--lora_dim 128 --lora_module_name layers."), HasSubstr("train whole beside the adapters"));
  EXPECT_THAT(with("--num_padding_at_beginning 1"), HasSubstr("a reward model"));
}

TEST(TrainerScript, SettingsOfTheProgramItselfAreTakenByTheirNames) {
  const Folder folder;
  const Report report = folder.read(std::string("torchrun --nproc_per_node 8 train.py --exp_name a --with_tracking "
                                                "--merge_and_push --task b --prompt_type c --model_prompt d") +
                                    kArguments);
  EXPECT_EQ(refusals_of(report), "");
  EXPECT_THAT(report.assumed, testing::Contains(testing::Field(&Assumed::key, "exp_name"))) << "the answer says so";
}

TEST(TrainerScript, DeepSpeedOptionsOfAccelerateDecide) {
  const Folder folder;
  const auto with = [&](const std::string& options) {
    return folder.read("accelerate launch --mixed_precision bf16 --num_processes 4 --use_deepspeed " + options +
                       " train.py" + kArguments);
  };
  folder.write("ds3.conf", R"({"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}})");
  EXPECT_EQ(with("--deepspeed_config_file configs/ds3.conf").whole("optimizer.zero_stage"), 3);
  const Report named = with("--deepspeed_config_file ds_configs/stage3_offloading_accelerate.conf");
  EXPECT_EQ(named.whole("optimizer.zero_stage"), 3) << "by its name, where it is not there";
  EXPECT_EQ(named.at("offload"), (Json{{"optimizer", "cpu"}, {"parameters", "cpu"}}));
  EXPECT_EQ(with("").whole("optimizer.zero_stage"), 2) << "accelerate's default";
  const Report moved = with("--zero_stage 3 --offload_optimizer_device cpu --offload_param_device none");
  EXPECT_EQ(moved.whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(moved.at("offload"), (Json{{"optimizer", "cpu"}}));
}

TEST(TrainerScript, DeepSpeedChatTrainsInHalfPrecisionUnlessItSaysOtherwise) {
  const Folder folder;
  const auto with = [&](const std::string& flags) {
    return folder.read(
        "deepspeed --num_gpus 8 main.py --model_name_or_path facebook/opt-1.3b --max_seq_len 512 "
        "--per_device_train_batch_size 4 --zero_stage 2 --deepspeed " +
        flags);
  };
  EXPECT_EQ(with("").at("precision"), Json("fp16"));
  EXPECT_EQ(with("--dtype bf16").at("precision"), Json("bf16"));
  EXPECT_EQ(refusals_of(with("--dtype bf16")), "");
}

TEST(TrainerScript, QloraHasSwitchesOfItsOwn) {
  const Folder folder;
  const auto with = [&](const std::string& flags) {
    return folder.read(std::string("torchrun --nproc_per_node 8 train.py") + kArguments + " " + flags);
  };
  EXPECT_EQ(with("--lora_r 16 --qlora True").at("training.method"), Json("qlora"));
  EXPECT_EQ(with("--lora_r 16 --q_lora False").at("training.method"), Json("lora"));
  EXPECT_EQ(with("--lora_r 16 --bits 4 --double_quant True").at("training.method"), Json("qlora"));
  EXPECT_FALSE(with("--full_finetune True --lora_r 64").has("training.method"));
}

TEST(TrainerScript, TheModelStandsBehindManyNames) {
  const Folder folder;
  const auto with = [&](const std::string& flags) {
    return folder.read(
        "torchrun --nproc_per_node 8 train.py --per_device_train_batch_size 1 --max_length 1024 --bf16 " + flags);
  };
  EXPECT_EQ(with("--model_path /a/Llama-2-7b-hf").at("model"), Json("llama-2-7b"));
  EXPECT_EQ(with("--base_model meta-llama/Llama-2-7b-hf").at("model"), Json("llama-2-7b"));
  EXPECT_EQ(with("--model_name mine --model_path /a/Llama-2-7b-hf").at("model"), Json("llama-2-7b"));
}

TEST(TrainerScript, OpenRlhfTrainsPlainly) {
  const Folder folder;
  const std::string flags =
      " --pretrain Qwen/Qwen2.5-14B-Instruct --train_batch_size 128 --micro_train_batch_size 1 --max_len 8192 --bf16 "
      "--zero_stage 3 --flash_attn --packing_samples --adam_offload --gradient_checkpointing --learning_rate 5e-7 "
      "--max_epochs 1 --input_key a";
  const Report report =
      folder.read("deepspeed --include localhost:0,1,2,3,4,5,6,7 --module openrlhf.cli.train_sft" + flags);
  EXPECT_EQ(report.whole("gpus"), 8);
  EXPECT_EQ(refusals_of(report), "");
  EXPECT_EQ(report.whole("batch.global"), 128);
  EXPECT_EQ(report.whole("batch.micro"), 1);
  EXPECT_EQ(report.whole("batch.sequence_length"), 8192);
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(report.at("offload"), (Json{{"optimizer", "cpu"}}));
  EXPECT_EQ(report.at("recompute.granularity"), Json("full"));
  EXPECT_THAT(refusals_of(folder.read("deepspeed --num_gpus 8 --module openrlhf.cli.train_dpo" + flags)),
              HasSubstr("dpo: preferences"));
}

TEST(TrainerScript, LlamaRecipesShardsAndRecomputesUnlessItSaysOtherwise) {
  const Folder folder;
  const Report report = folder.read(
      "torchrun --nproc_per_node 4 finetuning.py --enable_fsdp --use_peft --peft_method lora --pure_bf16 "
      "--model_name a/llama-2-70b-hf --batch_size_training 8 --context_length 2048 --fsdp_cpu_offload --num_epochs 1 "
      "--lr 2e-5 --dist_checkpoint_root_folder b\n");
  EXPECT_EQ(refusals_of(report), "");
  EXPECT_EQ(report.at("model"), Json("llama-2-70b"));
  EXPECT_EQ(report.whole("batch.micro"), 8);
  EXPECT_EQ(report.whole("batch.global"), 32);
  EXPECT_EQ(report.whole("batch.sequence_length"), 2048);
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(report.at("recompute.granularity"), Json("full"));
  EXPECT_EQ(report.at("precision"), Json("bf16"));
  EXPECT_EQ(report.at("training.method"), Json("lora"));
  EXPECT_EQ(report.at("training.targets"), Json({"q_proj", "v_proj"}));
  EXPECT_EQ(report.at("offload.parameters"), Json("cpu"));
  const Report cut = folder.read(
      "torchrun --nproc_per_node 2 finetuning.py --enable_fsdp --model_name a/Llama-2-7b-hf "
      "--batch_size_training 8 --micro_batch_size 2\n");
  EXPECT_EQ(cut.whole("batch.micro"), 2);
  EXPECT_EQ(cut.whole("batch.global"), 16);
}

TEST(TrainerScript, ProgramsThatDoNotTrainPlainlyAreRefusedByTheirName) {
  const Folder folder;
  for (const char* program : {"scripts/run_dpo.py", "src/grpo_value.py", "examples/reward_trainer.py"})
    EXPECT_THAT(refusals_of(folder.read("torchrun --nproc_per_node 8 " + std::string(program) + kArguments)),
                HasSubstr("not plain training"))
        << program;
  EXPECT_THAT(refusals_of(folder.read("accelerate launch --config_file gone/zero2.yaml src/grpo.py --config a.yaml\n")),
              HasSubstr("not plain training"))
      << "a missing file is no matter then";
  EXPECT_THAT(
      refusals_of(folder.read("ray job submit --runtime-env gone.yaml -- python3 -m my.trainer.main_ppo a.b=1\n")),
      HasSubstr("my.trainer.main_ppo: preferences"));
}

TEST(TrainerScript, AdaptersStandBesideProductsOfOtherFamilies) {
  const Folder folder;
  const auto with = [&](const std::string& targets) {
    return folder.read(std::string("torchrun --nproc_per_node 8 train.py") + kArguments + " --lora_r 8 --lora_target " +
                       targets);
  };
  EXPECT_EQ(with("wo,wqkv,w1,w2,w3").at("training.targets"),
            Json({"o_proj", "qkv_proj", "gate_proj", "down_proj", "up_proj"}));
  EXPECT_EQ(with("c_attn,c_proj,w1,w2").at("training.targets"),
            Json({"c_attn", "o_proj", "down_proj", "gate_proj", "up_proj"}));
  EXPECT_EQ(with("W_pack").at("training.targets"), Json({"qkv_proj"}));
}

TEST(TrainerScript, ASwitchThatIsOffLeavesItsMethodAlone) {
  const Folder folder;
  const Report report = folder.read(std::string("torchrun --nproc_per_node 8 train.py") + kArguments +
                                    " --use_peft False --peft_method lora --lora_r 16 --train_data_path a");
  EXPECT_EQ(refusals_of(report), "");
  EXPECT_FALSE(report.has("training.method"));
}

// LMFlow's switch for packing.
TEST(TrainerScript, TextsThatAreNotGroupedAreSequencesOfTheirOwn) {
  const Report report = read_test_launch(
      "torchrun --nproc_per_node 2 finetune.py --model_name_or_path gpt2 --block_size 1024 --bf16 --pad_to_multiple_of "
      "8 "
      "--per_device_train_batch_size 4 --disable_group_texts 1",
      "train.sh");
  EXPECT_EQ(refused_lines(report), "");
}

TEST(TrainerScript, LmflowLeavesTheProductsToPeft) {
  const auto targets = [](const std::string& model, const std::string& flags) {
    return read_test_launch(
               "deepspeed --num_gpus 8 examples/finetune.py --dataset_path a --model_name_or_path " + model +
                   " --block_size 512 --fp16 --per_device_train_batch_size 1 --use_lora 1 --lora_r 8 " + flags,
               "train.sh")
        .at("training.targets");
  };
  EXPECT_EQ(targets("facebook/opt-1.3b", ""), Json::array({"q_proj", "v_proj"}));
  EXPECT_EQ(targets("facebook/opt-1.3b", "--lora_target_modules all-linear"), Json::array({"all-linear"}));
  EXPECT_EQ(targets("EleutherAI/pythia-1b", "").size(), 1U);
}

TEST(TrainerScript, OmniQuantIsNoMultimodalModel) {
  const Folder folder;
  const auto with = [&](const std::string& model) {
    return refusals_of(
        folder.read("torchrun --nproc_per_node 8 train.py --per_device_train_batch_size 1 --max_length "
                    "512 --bf16 --model_name_or_path " +
                    model));
  };
  EXPECT_EQ(with("a/MagicLM-3B-OmniQuant"), "");
  EXPECT_THAT(with("Qwen/Qwen2.5-Omni-7B"), HasSubstr("multimodal"));
}

TEST(TrainerScript, GpusAreCountedByGrep) {
  const Folder folder;
  const Report report = folder.read(std::string("IDS=1,3,4,5,6,7\nN=$(($(echo $IDS | grep -o \",\" | wc -l)+1))\n"
                                                "torchrun --nproc_per_node=$N train.py") +
                                    kArguments);
  EXPECT_EQ(report.whole("gpus"), 6);
}

TEST(TrainerScript, VisibleDevicesAreTheGpusOfLaunchersThatReadThem) {
  const Folder folder;
  const auto gpus_of = [&](const std::string& launch) {
    return folder.read("export CUDA_VISIBLE_DEVICES=0,1,6,7\n" + launch + " train.py" + kArguments).whole("gpus");
  };
  EXPECT_EQ(gpus_of("deepspeed"), 4);
  EXPECT_EQ(gpus_of("deepspeed --num_gpus 2"), 2);
  EXPECT_EQ(gpus_of("deepspeed --include localhost:0"), 1);
  EXPECT_FALSE(gpus_of("deepspeed --hostfile a").has_value());
  EXPECT_EQ(gpus_of("accelerate launch --mixed_precision bf16"), 4);
  EXPECT_EQ(gpus_of("accelerate launch --num_processes 2"), 2);
  EXPECT_EQ(gpus_of("torchrun --nproc_per_node=auto"), 4);
  EXPECT_FALSE(gpus_of("nohup python").has_value()) << "one process for all of them is refused";
  EXPECT_EQ(folder
                .read("CUDA_VISIBLE_DEVICES=0,1 nohup llamafactory-cli train --stage sft --finetuning_type full "
                      "--gradient_checkpointing true" +
                      std::string(kArguments))
                .whole("gpus"),
            2);
}

TEST(TrainerScript, LlamaFactoryHasAKeyOfItsOwnForRecomputing) {
  const Folder folder;
  const auto with = [&](const std::string& flags) {
    return folder.read("CUDA_VISIBLE_DEVICES=0 llamafactory-cli train --stage sft --finetuning_type full " + flags +
                       kArguments);
  };
  const Report report = with("--gradient_checkpointing true --training_debug_steps 20");
  EXPECT_EQ(refusals_of(report), "");
  EXPECT_EQ(report.at("recompute.granularity"), Json("full"));
  EXPECT_EQ(with("--disable_gradient_checkpointing true").at("recompute.granularity"), Json("none"));
}

TEST(TrainerScript, OtherAdaptersAndModelsOfImagesAreRefused) {
  const Folder folder;
  const auto with = [&](const std::string& flags) {
    return folder.read(std::string("torchrun --nproc_per_node 8 train.py") + kArguments + " " + flags);
  };
  EXPECT_THAT(refusals_of(with("--finetuning_type p_tuning")), HasSubstr("finetuning_type p_tuning"));
  EXPECT_THAT(refusals_of(with("--peft_type prefix")), HasSubstr("peft_type prefix"));
  EXPECT_THAT(refusals_of(with("--freeze_vit true")), HasSubstr("multimodal"));
  EXPECT_THAT(refusals_of(with("--optim adamw_schedulefree")), HasSubstr("other costs"));
  const Report lora = with("--peft_type lora --lora_dim 8");
  EXPECT_EQ(refusals_of(lora), "");
  EXPECT_EQ(lora.at("training.method"), Json("lora"));
  EXPECT_EQ(lora.whole("training.rank"), 8);
}

TEST(TrainerScript, AModelOfAKindHasItsDefaultConfiguration) {
  const Folder folder;
  EXPECT_EQ(
      folder
          .read("torchrun --nproc_per_node 4 run_clm.py --model_type gpt2 --tokenizer_name gpt2 --block_size 1024 "
                "--per_device_train_batch_size 32 --fp16")
          .at("model"),
      Json("gpt2"));
}

TEST(TrainerScript, QloraHasItsOwnDefaults) {
  const Folder folder;
  const Report report = folder.read(
      "python qlora.py --model_name_or_path a/Llama-2-7b-hf/ --per_device_train_batch_size 1 --bf16 --do_train "
      "--source_max_len 512 --max_memory_MB 49000 --min_assistant_tokens 8\n");
  EXPECT_EQ(refusals_of(report), "");
  EXPECT_EQ(report.at("model"), Json("llama-2-7b")) << "a folder may end in a stroke";
  EXPECT_EQ(report.at("training.method"), Json("qlora"));
  EXPECT_EQ(report.whole("training.rank"), 64);
  EXPECT_EQ(report.whole("batch.sequence_length"), 512 + 256);
  EXPECT_EQ(report.whole("batch.global"), 16);
  EXPECT_EQ(report.at("recompute.granularity"), Json("full"));
  const Report whole = folder.read(
      "python qlora.py --full_finetune True --model_name_or_path a/Llama-2-7b-hf "
      "--per_device_train_batch_size 1 --bf16 --max_length 512\n");
  EXPECT_FALSE(whole.has("training.method"));
  EXPECT_EQ(whole.at("recompute.granularity"), Json("full"));
}

TEST(TrainerScript, QloraIsKnownByItsNameAndAModel) {
  const Folder folder;
  const Report report =
      folder.read("python qlora.py --model_name_or_path a/Llama-2-7b-hf --bits 8 --max_steps 100 --lora_r 32 --bf16\n");
  EXPECT_EQ(refusals_of(report), "");
  EXPECT_EQ(report.at("training.method"), Json("lora-int8"));
  EXPECT_EQ(report.whole("training.rank"), 32);
  EXPECT_EQ(report.whole("batch.micro"), 1) << "8 is the default of the Trainer alone";
  EXPECT_EQ(report.whole("batch.global"), 16);
  EXPECT_EQ(report.whole("batch.sequence_length"), 1024 + 256);
  const Report trained = folder.read(
      "python qlora.py --model_name_or_path a/Llama-2-7b-hf --learning_rate 0.0001 --output_dir a --bf16\n");
  EXPECT_EQ(trained.whole("batch.micro"), 1);
}

TEST(TrainerScript, AnAccumulationThatNobodyKnowsIsNotOne) {
  const Folder folder;
  const Report report = folder.read(
      "N=$(nvidia-smi -L | wc -l)\nexport STEPS=$((64/$N))\ntorchrun --nproc_per_node 8 train.py "
      "--model_name_or_path a/Llama-2-7b-hf --per_device_train_batch_size 1 --max_length 512 --bf16 "
      "--gradient_accumulation_steps $STEPS --checkpointing_steps epoch\n");
  EXPECT_EQ(refusals_of(report), "");
  EXPECT_FALSE(report.has("batch.global"));
  EXPECT_THAT(report.asked, testing::Contains(testing::Field(&Asked::key, "batch.global")));
}

TEST(TrainerScript, OpenBranchesAskForSharding) {
  const Folder folder;
  const Report report =
      folder.read(std::string("if [ \"$(hostname)\" = big ]; then DS='--deepspeed ds_zero3.json'; else DS=''; fi\n") +
                  "torchrun --nproc_per_node 8 train.py" + kArguments + " $DS");
  EXPECT_FALSE(report.has("optimizer.zero_stage"));
  EXPECT_TRUE(std::ranges::any_of(report.asked, [](const Asked& one) { return one.key == "optimizer.zero_stage"; }));
}

TEST(TrainerScript, NumbersOfSamplesAreFreeAndDiffusionIsNot) {
  const Folder folder;
  const auto with = [&](const std::string& flags) {
    return refusals_of(folder.read(std::string("torchrun --nproc_per_node 8 train.py") + kArguments + flags));
  };
  EXPECT_EQ(with(" --sample_size 15000"), "");
  EXPECT_THAT(with(" --unet_full True"), HasSubstr("unet_full"));
}

TEST(TrainerScript, ProgramsAndFilesThatNobodyKnows) {
  const Folder folder;
  const Report report =
      folder.read(std::string("torchrun --nproc_per_node=8 --nnodes=1 --master_port=29500 \"$ENTRY\"") + kArguments +
                  " --deepspeed \"$CONFIG\"");
  EXPECT_EQ(refusals_of(report), "");
  EXPECT_EQ(report.whole("gpus"), 8);
  EXPECT_FALSE(report.has("optimizer.zero_stage")) << "a file decides";
}

TEST(TrainerScript, WeightsInFp8BesideAdapters) {
  const Folder folder;
  EXPECT_THAT(
      refusals_of(folder.read("torchrun --nproc_per_node 2 train.py --model_name_or_path Qwen/Qwen3-32B-FP8 "
                              "--per_device_train_batch_size 1 --max_length 2048 --bf16 --use_peft True --lora_r 8")),
      HasSubstr("fp8: LoRA beside frozen weights of this format"));
}

TEST(TrainerScript, WeightsOf8BitsAreThoseOfBitsandbytes) {
  const Folder folder;
  const auto with = [&](const std::string& flags) {
    return folder.read(
        "torchrun --nproc_per_node 2 train.py --model_name_or_path Qwen/Qwen2.5-7B --bf16 "
        "--per_device_train_batch_size 1 --max_length 2048 --finetuning_type lora --lora_rank 8 " +
        flags);
  };
  EXPECT_EQ(with("--quantization_bit 8").at("training.method"), Json("lora-int8"));
  EXPECT_EQ(with("--load_in_8bit True").at("training.method"), Json("lora-int8"));
  EXPECT_EQ(refusals_of(with("--quantization_bit 8 --quantization_method bnb")), "");
  EXPECT_THAT(refusals_of(with("--quantization_bit 8 --quantization_method hqq")), HasSubstr("hqq of 8 bits"));
  EXPECT_THAT(refusals_of(with("--quantization_bit 4 --quantization_method hqq")), HasSubstr("hqq of 4 bits"));
  EXPECT_THAT(refusals_of(with("--quantization_bit 4 --quantization_method eetq")), HasSubstr("eetq of 4 bits"));
  for (const char* bits : {"1", "2", "3", "5", "6"})
    EXPECT_THAT(refusals_of(with(std::string("--quantization_method hqq --quantization_bit ") + bits)),
                HasSubstr(std::string("hqq of ") + bits + " bits"));
  EXPECT_THAT(refusals_of(with("--quantization_bit 3")), HasSubstr("bitsandbytes of 3 bits"));
  EXPECT_EQ(with("--quantization_bit 4 --quantization_method bnb").at("training.method"), Json("qlora"));
  EXPECT_EQ(with("--quantization_bit 16").at("training.method"), Json("lora"));
}

TEST(TrainerScript, ABlankBehindABackslashIsSaid) {
  const Folder folder;
  const Report report = folder.read(
      "torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Llama-2-7b-hf \\\n  --fp16 True \\  # not "
      "bf16\n"
      "  --per_device_train_batch_size 3 \\ \n  --gradient_accumulation_steps 5 --model_max_length 2048\n");
  EXPECT_EQ(report.whole("batch.global"), 120);
  EXPECT_TRUE(
      std::ranges::any_of(report.assumed, [](const Assumed& one) { return one.key == "a blank behind a backslash"; }));
}

TEST(TrainerScript, ARankWithoutASwitchIsLora) {
  const Folder folder;
  const auto with = [&](const std::string& flags) {
    return folder.read(std::string("python3 finetune.py") + kArguments +
                       " --max_step 500 --lora_rank=8 --lora_alpha=16" + flags);
  };
  const Report report = with("");
  EXPECT_EQ(refusals_of(report), "");
  EXPECT_EQ(report.at("training.method"), Json("lora"));
  EXPECT_EQ(report.whole("training.rank"), 8);
  EXPECT_TRUE(std::ranges::any_of(report.assumed,
                                  [](const Assumed& one) { return one.because.starts_with("a rank is stated"); }));
  EXPECT_FALSE(with(" --use_lora False").has("training"));
}

TEST(TrainerScript, AnOpenCountOfALauncherIsNamed) {
  const Report report = read_test_launch(
      "deepspeed --num_nodes $NODES --num_gpus 8 train.py --model_name_or_path meta-llama/Llama-2-7b-hf "
      "--per_device_train_batch_size 2 --bf16 True --model_max_length 2048 --deepspeed ds_z2.json",
      "train.sh");
  EXPECT_FALSE(report.has("gpus"));
  EXPECT_NE(report.json().at("asked").dump().find("--num-nodes has no value"), std::string::npos);
}

TEST(TrainerScript, TheTrainingWithTheMostFlagsIsRead) {
  const Folder folder;
  const std::string few = "python a.py --model_name_or_path gpt2 --per_device_train_batch_size 2 --block_size 512\n";
  const std::string script = few + "deepspeed --num_gpus 4 train.py" + kArguments + "\n" + few;
  const Report report = folder.read(script);
  EXPECT_EQ(report.whole("gpus"), 4);
  EXPECT_EQ(report.whole("batch.micro"), 4);
  EXPECT_EQ(folder.read(script, "1").whole("batch.micro"), 2);
  EXPECT_EQ(folder.read(few + few).whole("batch.micro"), 2) << "the first of equals";
}

TEST(TrainerScript, AModelMayHaveAPrefix) {
  const Folder folder;
  const auto model = [&](const std::string& flags) {
    return folder
        .read("python a.py --per_device_train_batch_size 2 --max_length 512 --learning_rate 1e-5 --bf16 True" + flags +
              "\n")
        .at("model");
  };
  for (const char* flag : {"llm_model_name_or_path", "hf_name_or_path", "backbone_model_path"})
    EXPECT_EQ(model(std::string(" --") + flag + " meta-llama/Llama-2-7b-hf"), Json("llama-2-7b")) << flag;
  EXPECT_TRUE(model(" --teacher_model_name_or_path meta-llama/Llama-2-7b-hf").is_null());
  EXPECT_TRUE(model(" --a_name_or_path meta-llama/Llama-2-7b-hf --b_name_or_path meta-llama/Llama-2-13b-hf").is_null())
      << "nobody knows which of them trains";
}

TEST(TrainerScript, AModuleBehindAccelerateIsAProgram) {
  const Folder folder;
  for (const char* start : {"accelerate launch -m a.train", "accelerate launch --num_processes 4 -m a.train",
                            "accelerate launch --num_processes=4 --module a.train"}) {
    const Report report = folder.read(start + std::string(kArguments) + "\n");
    EXPECT_EQ(report.whole("batch.micro"), 4) << start;
    EXPECT_EQ(report.has("gpus"), std::string(start).find('4') != std::string::npos) << start;
  }
}

// transformers, integrations/deepspeed.py: 64 sequences a step in the file, 4 x 8 x 8 by the flags.
TEST(TrainerScript, ABatchOfDeepSpeedThatDiffersIsRefused) {
  const Folder folder;
  const auto refused = [&](const std::string& batch) {
    folder.write("ds.json", "{\"zero_optimization\": {\"stage\": 1}, \"bf16\": {\"enabled\": true}" + batch + "}");
    return refusals_of(
        folder.read(std::string("deepspeed --num_gpus 8 train.py --deepspeed ds.json") + kArguments + "\n"));
  };
  EXPECT_THAT(refused(", \"train_batch_size\": 64"), HasSubstr("says 64, the arguments make 256"));
  EXPECT_THAT(refused(", \"train_micro_batch_size_per_gpu\": 2"),
              HasSubstr("says 2, per_device_train_batch_size is 4"));
  EXPECT_THAT(refused(", \"gradient_accumulation_steps\": 1"), HasSubstr("says 1, the arguments say 8"));
  EXPECT_EQ(refused(", \"train_batch_size\": 256, \"train_micro_batch_size_per_gpu\": 4"), "");
  EXPECT_EQ(refused(", \"train_batch_size\": \"auto\", \"gradient_accumulation_steps\": \"auto\""), "");
}

constexpr const char* kWithoutModel =
    "torchrun --nproc_per_node 8 train.py --per_device_train_batch_size 4 --gradient_accumulation_steps 2 --bf16 True "
    "--model_max_length 2048 --fsdp 'full_shard auto_wrap' --gradient_checkpointing True ";

TEST(TrainerScript, PrefixesOfAModelThatTrains) {
  const auto model = [](const std::string& key) {
    return read_test_launch(std::string(kWithoutModel) + "--" + key + " meta-llama/Llama-2-7b-hf", "run.sh")
        .at("model");
  };
  for (const char* key : {"llm_model_name_or_path", "language_model_path", "lm_name_or_path", "hf_model_path",
                          "base_model_path", "backbone_name_or_path", "policy_model_path", "pretrained_model_path"})
    EXPECT_EQ(model(key), Json("llama-2-7b")) << key;
  for (const char* key :
       {"output_model_path", "save_model_path", "judge_model_name_or_path", "vision_model_name_or_path",
        "speaker_model_path", "rm_model_path", "encoder_name_or_path", "teacher_model_path", "my_model_path"})
    EXPECT_TRUE(model(key).is_null()) << key;
}

Report read_with(const std::string& key) {
  return read_test_launch(kWithoutModel + std::string("--model_name_or_path meta-llama/Llama-2-7b-hf ") + key,
                          "run.sh");
}

TEST(TrainerScript, AnAdapterAsksForItsMethod) {
  for (const char* key : {"adapter_name_or_path", "lora_model_dir", "adapter_folder"}) {
    const Report open = read_with(std::string("--") + key + " saves/a");
    ASSERT_EQ(open.asked.size(), 1U) << key;
    EXPECT_EQ(open.asked.front().key, "training.method");
    EXPECT_THAT(open.asked.front().because, HasSubstr(key));
  }
  for (const char* known : {"", "--finetuning_type lora --adapter_name_or_path saves/a",
                            "--use_peft --lora_r 8 --lora_target_modules q_proj --adapter_name_or_path saves/a"})
    EXPECT_TRUE(read_with(known).asked.empty()) << known;
}

TEST(TrainerScript, KeysOfOtherMethodsAreRefused) {
  for (const char* key : {"--teacher_lr 1e-5",
                          "--draft_model_lr 1e-5",
                          "--critic_lr 1e-5",
                          "--reward_model_lr 1e-5",
                          "--muon_lr 1e-5",
                          "--lomo_lr 1e-5",
                          "--vision_tower_lr 1e-5",
                          "--offload_optimizer_lr 1e-5",
                          "--use_fp8_lr 1e-5",
                          "--nvfp4_init_method normal",
                          "--fp8_init_scale 1",
                          "--kv_cache_init_type fp8",
                          "--qlora_init_method normal",
                          "--lora_init_type gaussian",
                          "--ema_init_std 0.1",
                          "--vae_init_fn x",
                          "--prune_init_method x",
                          "--bitnet_init_method ternary",
                          "--neptune_sequence_parallel 4",
                          "--comet_moe_experts 8",
                          "--aim_vision_tower x",
                          "--logging.offload_activations true",
                          "--trackio_fp8 1",
                          "--wandb_offload true",
                          "--hf_fp8 true",
                          "--custom_nvfp4 true",
                          "--test_parallel 2"})
    EXPECT_NE(refused_lines(read_with(key)), "") << key;
  for (const char* key : {"--lora_A_init_method kaiming", "--embed_lr 1e-5", "--comet_mode online", "--wandb_notes x",
                          "--logging_steps 10", "--trackio_project_name a"})
    EXPECT_EQ(refused_lines(read_with(key)), "") << key;
}

TEST(TrainerScript, AVariableThatVanishesBehindDeepSpeedIsAskedFor) {
  const Folder folder;
  const auto asks = [&](const std::string& words) {
    const Report report = folder.read("deepspeed --num_gpus 8 --num_nodes 2 train.py " + words + kArguments + "\n");
    return std::ranges::find(report.asked, "optimizer.zero_stage", &Asked::key) != report.asked.end();
  };
  EXPECT_TRUE(asks("--deepspeed $DS_CONFIG"));
  EXPECT_TRUE(asks("--deepspeed \"$DS_CONFIG\""));
  EXPECT_FALSE(asks("--deepspeed --zero_stage 2"));
}

TEST(TrainerScript, DeepSpeedsLauncherWithoutAFileAsksForTheStage) {
  const Folder folder;
  const auto read = [&](const std::string& launcher) {
    return folder.read(launcher +
                       " train.py --model_name_or_path meta-llama/Llama-2-7b-hf --per_device_train_batch_size 1 "
                       "--gradient_accumulation_steps 1 --model_max_length 2048 --bf16 True");
  };
  EXPECT_TRUE(read("deepspeed --num_gpus 8").asks("optimizer.zero_stage"));
  EXPECT_EQ(read("torchrun --nproc_per_node 8").whole("optimizer.zero_stage"), 0);
  EXPECT_EQ(read("deepspeed --num_gpus 1").whole("optimizer.zero_stage"), 0);
}

}  // namespace
}  // namespace foretoken::io::launch::tuning
