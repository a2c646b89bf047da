// Tests programs that train as the Trainer does, under names and defaults of their own.
#include "sim/io/import/launch/tuning/other_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::tuning {
namespace {

using testing::HasSubstr;

Report read_script(const std::string& text) { return read_test_launch(text, "train.sh"); }

// tloen/alpaca-lora, finetune.py: --batch_size is that of all GPUs, and the weights are loaded in 8 bits.
TEST(OtherPrograms, AlpacaLoraIsNoMegatron) {
  const Report report = read_script(
      "torchrun --nproc_per_node=2 finetune.py --base_model decapoda/llama-7b-hf --data_path a --batch_size 128 "
      "--micro_batch_size 8 --num_epochs 3 --cutoff_len 512 --lora_r 16 --lora_target_modules "
      "'[q_proj,k_proj,v_proj,o_proj]' --group_by_length");
  EXPECT_EQ(report.framework, "Hugging Face Trainer");
  EXPECT_EQ(report.whole("gpus"), 2);
  EXPECT_EQ(report.whole("batch.micro"), 8);
  EXPECT_EQ(report.whole("batch.global"), 128);
  EXPECT_EQ(report.whole("batch.sequence_length"), 512);
  EXPECT_EQ(report.at("training.targets"), (Json{"q_proj", "k_proj", "v_proj", "o_proj"}));
  EXPECT_EQ(report.at("training.method"), Json("lora-int8"));
  EXPECT_EQ(refused_lines(report), "");
}

// Returns where a key of the scenario comes from: "batch_size", or "assumed: " with the reason.
std::string origin_of(const Report& report, std::string_view key) {
  for (const Mapped& one : report.mapped)
    if (one.key == key) return one.from;
  for (const Assumed& one : report.assumed)
    if (one.key == key) return "assumed: " + one.because;
  return "";
}

TEST(OtherPrograms, DefaultsOfAlpacaLoraAreAssumedAndItsFlagsNamed) {
  const std::string start =
      "torchrun --nproc_per_node=2 finetune.py --base_model huggyllama/llama-7b --micro_batch_size 8";
  const Report usual = read_script(start);
  for (const char* key :
       {"batch.global", "batch.sequence_length", "training.method", "training.rank", "training.targets", "precision"})
    EXPECT_EQ(origin_of(usual, key), "assumed: the default of alpaca-lora") << key;
  EXPECT_EQ(origin_of(usual, "batch.micro"), "micro_batch_size");
  EXPECT_EQ(origin_of(usual, "load_in_8bit"), "assumed: true is the default of alpaca-lora");
  EXPECT_EQ(usual.whole("batch.global"), 128);
  const Report stated =
      read_script(start + " --batch_size 64 --cutoff_len 512 --lora_r 16 --lora_target_modules q_proj");
  EXPECT_EQ(origin_of(stated, "batch.global"), "batch_size");
  EXPECT_EQ(origin_of(stated, "batch.sequence_length"), "cutoff_len");
  EXPECT_EQ(origin_of(stated, "training.rank"), "lora_r");
  EXPECT_EQ(origin_of(stated, "training.targets"), "lora_target_modules");
  const Report few =
      read_script("python finetune.py --base_model ../llama-13b/ --data_path a.json --lora_target_modules ['q_proj']");
  EXPECT_EQ(few.at("model").value("num_hidden_layers", 0), 40);
  EXPECT_EQ(origin_of(few, "batch.micro"), "assumed: the default of alpaca-lora");
}

TEST(OtherPrograms, DefaultsOfLlamaRecipesAreAssumed) {
  const std::string start =
      "torchrun --nproc_per_node 4 finetuning.py --enable_fsdp --model_name meta-llama/Llama-2-7b-hf "
      "--context_length 2048";
  const Report usual = read_script(start);
  for (const char* key : {"batch.micro", "precision", "recompute.granularity"})
    EXPECT_EQ(origin_of(usual, key), "assumed: the default of llama-recipes") << key;
  const Report stated = read_script(start + " --batch_size_training 2 --pure_bf16");
  EXPECT_EQ(origin_of(stated, "batch.micro"), "batch_size_training");
  EXPECT_EQ(origin_of(stated, "precision"), "bf16");
  EXPECT_EQ(stated.at("precision_recipe.weights"), Json("bf16")) << "they become bf16 before FSDP shards them";
  EXPECT_FALSE(usual.has("precision_recipe.weights"));
  const Report kept = read_script(start + " --fsdp_activation_checkpointing False");
  EXPECT_EQ(refused_lines(kept), "");
  EXPECT_EQ(kept.at("recompute.granularity"), Json("none"));
  const Report adapters = read_script(start + " --use_peft --peft_method lora");
  EXPECT_EQ(adapters.whole("training.rank"), 8);
  EXPECT_EQ(origin_of(adapters, "training.rank"), "assumed: the default of llama-recipes");
}

TEST(OtherPrograms, DefaultsOfDeepSpeedChatAreAssumed) {
  const Report report = read_script(
      "deepspeed --num_gpus 2 main.py --model_name_or_path facebook/opt-1.3b --gradient_accumulation_steps 4 "
      "--disable_dropout --zero_stage 2 --deepspeed --output_dir a");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("batch.global"), 2 * 16 * 4);
  for (const char* key : {"batch.micro", "batch.sequence_length"})
    EXPECT_EQ(origin_of(report, key), "assumed: the default of DeepSpeed-Chat") << key;
  EXPECT_EQ(report.whole("batch.sequence_length"), 512);
}

// peft/utils/other.py: weights of few bits are prepared with recomputing.
TEST(OtherPrograms, QuantisedWeightsOfLlamaRecipesAreRecomputed) {
  const Report report = read_script(
      "python finetuning.py --use_peft --peft_method lora --model_name meta-llama/Llama-2-7b-hf --context_length 2048 "
      "--batch_size_training 1 --quantization 4bit");
  EXPECT_EQ(origin_of(report, "recompute.granularity"), "assumed: the default of llama-recipes");
  EXPECT_EQ(report.at("recompute.granularity"), Json("full"));
}

TEST(OtherPrograms, ProductsOfDeepSpeedChatAreAssumedWhereNobodyStatesThem) {
  const std::string start =
      "deepspeed --num_gpus 8 main.py --model_name_or_path facebook/opt-1.3b --per_device_train_batch_size 4 "
      "--max_seq_len 512 --zero_stage 2 --deepspeed --lora_dim 128 --only_optimize_lora";
  EXPECT_THAT(origin_of(read_script(start), "training.targets"), HasSubstr("assumed: DeepSpeed-Chat's default"));
  EXPECT_EQ(origin_of(read_script(start), "training.rank"), "lora_dim");
  EXPECT_EQ(origin_of(read_script(start + " --lora_module_name decoder.layers."), "training.targets"),
            "lora_module_name");
}

// dschat/utils/module/lora.py freezes the weights beside its adapters.
TEST(OtherPrograms, LoraOfDeepSpeedChat) {
  const Report report = read_script(
      "deepspeed --num_gpus 8 main.py --model_name_or_path facebook/opt-1.3b --per_device_train_batch_size 4 "
      "--max_seq_len 512 --gradient_accumulation_steps 1 --zero_stage 2 --deepspeed --lora_dim 128 "
      "--lora_module_name decoder.layers. --only_optimize_lora");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("training.method"), Json("lora"));
  EXPECT_EQ(report.whole("training.rank"), 128);
  EXPECT_EQ(report.whole("model.num_hidden_layers"), 24);
}

// convert_linear_layer_to_lora replaces the modules whose names hold the text.
TEST(OtherPrograms, LoraOfDeepSpeedChatNeedsAModuleOfItsName) {
  const auto read = [](const std::string& model, const std::string& rest) {
    return read_script("deepspeed --num_gpus 8 main.py --model_name_or_path " + model +
                       " --per_device_train_batch_size 4 --max_seq_len 512 --gradient_accumulation_steps 1 "
                       "--zero_stage 2 --deepspeed --model_cache /models --lora_dim 128 --lora_module_name " +
                       rest);
  };
  const Report none = read("bigscience/bloomz-7b1", "decoder.layers.");
  EXPECT_EQ(refused_lines(none), "");
  EXPECT_FALSE(none.has("training.method")) << "all weights train";
  EXPECT_THAT(origin_of(none, "lora_module_name decoder.layers."), HasSubstr("all weights train"));
  EXPECT_THAT(refused_lines(read("bigscience/bloomz-7b1", "decoder.layers. --only_optimize_lora")),
              HasSubstr("freezes all others"));
  EXPECT_EQ(read("bigscience/bloomz-7b1", "transformer.h. --only_optimize_lora").at("training.method"), Json("lora"));
  EXPECT_EQ(read("/models/own", "decoder.layers. --only_optimize_lora").at("training.method"), Json("lora"))
      << "nobody knows its modules";
}

constexpr const char* kGrouped =
    "deepspeed --num_gpus 8 --module openrlhf.cli.train_sft --model.model_name_or_path Qwen/Qwen2.5-7B "
    "--train.batch_size 64 --train.micro_batch_size 2 --data.max_len 8192 --data.dataset a.jsonl "
    "--data.max_samples 5000 --ckpt.save_steps 100 --logger.wandb.run_name b --eval.steps -1 --adam.lr 1e-5 "
    "--train.max_epochs 3 --ds.packing_samples --model.gradient_checkpointing_enable --ds.adam_offload ";

// The flags of OpenRLHF in groups.
TEST(OtherPrograms, GroupsOfOpenRlhf) {
  const Report report = read_script(std::string(kGrouped) + "--ds.zero_stage 3");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("gpus"), 8);
  EXPECT_EQ(report.whole("batch.micro"), 2);
  EXPECT_EQ(report.whole("batch.global"), 64);
  EXPECT_EQ(report.whole("batch.sequence_length"), 8192);
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(report.at("offload.optimizer"), Json("cpu"));
  EXPECT_EQ(report.at("recompute.granularity"), Json("full"));
  EXPECT_EQ(report.at("precision"), Json("bf16"));
  EXPECT_EQ(origin_of(report, "batch.micro"), "train.micro_batch_size");
  EXPECT_TRUE(report.asked.empty());
  EXPECT_EQ(read_script(std::string(kGrouped) + "--ds.param_dtype fp16").at("precision"), Json("fp16"));
  EXPECT_THAT(refused_lines(read_script(std::string(kGrouped) + "--ds.zpg 8")), HasSubstr("zpg"));
}

// Ranks of a ring share a micro-batch: 64 sequences on 4 of 8 GPUs are 8 micro-batches of 2.
TEST(OtherPrograms, RingAttentionOfOpenRlhfIsAContextDegree) {
  const Report report = read_script(std::string(kGrouped) + "--ds.ring_attn_size 2");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("parallelism.context"), 2);
  EXPECT_EQ(report.whole("batch.global"), 64);
}

TEST(OtherPrograms, DefaultsOfOpenRlhfAreAssumed) {
  const Report report = read_script(
      "deepspeed --module --num_gpus 4 openrlhf.cli.train_sft --pretrain facebook/opt-1.3b --input_key a --bf16");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("gpus"), 4);
  EXPECT_EQ(report.whole("batch.micro"), 8);
  EXPECT_EQ(report.whole("batch.global"), 128);
  EXPECT_EQ(report.whole("batch.sequence_length"), 2048);
  EXPECT_EQ(origin_of(report, "batch.micro"), "assumed: the default of OpenRLHF");
}

// Forks let the optimizer be chosen.
TEST(OtherPrograms, OptimizersOfOpenRlhfHaveTheirMoments) {
  const Report report = read_script(
      "deepspeed --num_gpus 4 --module openrlhf.cli.train_sft --pretrain facebook/opt-1.3b --input_key a --bf16 "
      "--optimizer adamw_torchao_4bit");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("precision_recipe.moments"), 1);
  EXPECT_EQ(origin_of(report, "optimizer"), "assumed: a moment of 4 bits is counted as a byte");
}

// A stage such as 2moe of a fork is no number.
TEST(OtherPrograms, AnUnknownStageIsAskedFor) {
  const Report report = read_script(
      "deepspeed --num_gpus 8 --module openrlhf.cli.train_sft --pretrain Qwen/Qwen3-8B --micro_train_batch_size 1 "
      "--max_len 4096 --bf16 --zero_stage 2moe");
  EXPECT_FALSE(report.has("optimizer.zero_stage"));
  ASSERT_EQ(report.asked.size(), 1U);
  EXPECT_THAT(report.asked.front().because, HasSubstr("--zero_stage is \"2moe\""));
  EXPECT_THAT(report.asked.front().because, HasSubstr("state --set optimizer.zero_stage=N"));
}

std::string asked_for(const Report& report, std::string_view key) {
  for (const Asked& one : report.asked)
    if (one.key == key) return one.because;
  return "";
}

// Programs of the user's own: the batch of one may be that of a GPU, of another that of a step.
TEST(OtherPrograms, OwnProgramsAreReadAndTheirBatchIsAskedFor) {
  const Report report = read_script(
      "torchrun --nproc_per_node 4 my_sft.py --model_name Qwen/Qwen2.5-7B --max_length 4096 --train_batch_size 1 "
      "--accumulation_steps 6 --learning_rate 1e-4 --num_epochs 20 --bf16 --use_lora --lora_r 8");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.framework, "Hugging Face Trainer");
  EXPECT_EQ(report.whole("gpus"), 4);
  EXPECT_EQ(report.whole("model.num_hidden_layers"), 28);
  EXPECT_EQ(report.whole("batch.sequence_length"), 4096);
  EXPECT_EQ(report.at("training.method"), Json("lora"));
  EXPECT_FALSE(report.has("batch.micro"));
  ASSERT_EQ(report.asked.size(), 4U) << "the batch of a GPU, that of a step, the sharding, and the adapters' products";
  EXPECT_EQ(report.asked[0].because,
            "--train_batch_size 1 counts the sequences of a GPU or of a step, as the program has it; state --set "
            "batch.micro=N");
  EXPECT_EQ(report.asked[1].because,
            "state --global-batch N: the sequences of a micro-batch x 6 micro-batches x 4 data ranks");
}

TEST(OtherPrograms, AnUnknownModelOfAnOwnProgramIsAskedFor) {
  const Report report = read_script(
      "python -m torch.distributed.launch --nproc_per_node 8 finetune.py --model_path=bigcode/starcoder --seq_length "
      "2048 "
      "--max_steps 1000 --batch_size 1 --gradient_accumulation_steps 16 --learning_rate 1e-4");
  EXPECT_EQ(report.framework, "Hugging Face Trainer");
  EXPECT_TRUE(std::ranges::any_of(report.asked, [](const Asked& one) { return one.key == "model"; }));
  EXPECT_EQ(report.whole("batch.sequence_length"), 2048);
}

// A family of language models says as much as a length.
TEST(OtherPrograms, AnOwnProgramMayNameAModelOfAKnownFamily) {
  const Report report = read_script(
      "python train_model.py --model google/flan-t5-large --train_batch_size 16 --learning_rate 1e-4 --max_epochs 20 "
      "--num_workers 1 --log_every_n_steps 20");
  EXPECT_EQ(report.framework, "Hugging Face Trainer");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(std::ranges::any_of(report.asked, [](const Asked& one) { return one.key == "model"; }));
}

// DeepSpeed's file holds the batch.
TEST(OtherPrograms, AFileOfDeepSpeedMayStateTheBatch) {
  const std::string start =
      "deepspeed --num_gpus 2 train_it.py --model_name Qwen/Qwen2.5-0.5B --max_seq_length 512 --epochs 1 --bf16 ";
  const Report missing = read_script(start + "--deepspeed ds_zero2_config.json");
  EXPECT_EQ(missing.whole("optimizer.zero_stage"), 2);
  EXPECT_NE(asked_for(missing, "batch.micro"), "");
  const Report written = read_script(
      "cat > ds.json <<END\n{\"train_micro_batch_size_per_gpu\": 4, \"gradient_accumulation_steps\": 8, "
      "\"zero_optimization\": {\"stage\": 1}}\nEND\n" +
      start + "--deepspeed_config ds.json");
  EXPECT_EQ(written.whole("batch.micro"), 4);
  EXPECT_EQ(written.whole("batch.global"), 64);
  EXPECT_TRUE(written.asked.empty());
}

// --deepspeed_config is DeepSpeed's own flag: the program is no Trainer, whatever its other names are.
TEST(OtherPrograms, AFileOfDeepSpeedDecidesBesideNamesOfTheTrainer) {
  const Report report = read_script(
      "cat > ds.json <<END\n{\"train_micro_batch_size_per_gpu\": 4, \"gradient_accumulation_steps\": 2, "
      "\"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 3}}\nEND\n"
      "deepspeed --num_nodes 2 --num_gpus 8 train.py --deepspeed --deepspeed_config ds.json --model_name_or_path "
      "meta-llama/Llama-2-13b-hf --max_seq_len 2048 --gradient_checkpointing --output_dir out");
  EXPECT_TRUE(report.asked.empty());
  EXPECT_EQ(report.at("precision"), Json("bf16"));
  EXPECT_EQ(report.whole("batch.global"), 128);
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 3);
}

// The Trainer ends where its arguments and the file differ.
TEST(OtherPrograms, AFileOfDeepSpeedStatesThePrecisionOfTheTrainer) {
  const auto with = [](const std::string& flags) {
    return read_script(
        "cat > ds.json <<END\n{\"bf16\": {\"enabled\": true}, \"train_batch_size\": \"auto\", "
        "\"zero_optimization\": {\"stage\": 3}}\nEND\n"
        "deepspeed --num_gpus 8 --module training.trainer --input-model EleutherAI/pythia-6.9b --deepspeed ds.json "
        "--per-device-train-batch-size 6 --max-seq-length 1024 --epochs 2" +
        flags);
  };
  const Report report = with("");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(report.asked.empty());
  EXPECT_EQ(report.at("precision"), Json("bf16"));
  EXPECT_EQ(origin_of(report, "precision"), "bf16.enabled of the DeepSpeed configuration");
  EXPECT_EQ(origin_of(report, "model"), "input_model");
  EXPECT_EQ(with(" --fp16").at("precision"), Json("fp16"));
}

TEST(OtherPrograms, UnslothsRankIsThatOfLora) {
  const Report report = read_script(
      "python unsloth-cli.py --model_name unsloth/llama-3-8b --max_seq_length 2048 --load_in_4bit --r 64 --lora_alpha "
      "32 --per_device_train_batch_size 4 --gradient_accumulation_steps 8 --max_steps 400 --bf16");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("training.method"), Json("qlora"));
  EXPECT_EQ(report.whole("training.rank"), 64);
}

TEST(OtherPrograms, LitGptIsNamed) {
  Findings findings;
  (void)read_launch_text(
      "litgpt finetune_lora EleutherAI/pythia-1b --devices 4 --train.micro_batch_size 4 --lora_r 16\n", "tune.sh", {},
      findings);
  EXPECT_NE(lines_of(findings.complaints).find("the script starts LitGPT"), std::string::npos);
}

TEST(OtherPrograms, AFileOfDeepSpeedMayStateThePrecision) {
  const auto with = [](const std::string& types, const std::string& flags) {
    return read_script(
        "cat > ds.json <<END\n{\"train_micro_batch_size_per_gpu\": 4, \"train_batch_size\": 32, "
        "\"zero_optimization\": {\"stage\": 1}, " +
        types +
        "}\nEND\ndeepspeed --num_gpus 2 train_it.py --model_path Qwen/Qwen2.5-0.5B --max_seq_length 512 --epochs 1 "
        "--deepspeed_config ds.json" +
        flags);
  };
  const Report brain = with(R"("bf16": {"enabled": true})", "");
  EXPECT_TRUE(brain.asked.empty());
  EXPECT_EQ(brain.at("precision"), Json("bf16"));
  EXPECT_EQ(origin_of(brain, "precision"), "bf16.enabled of the DeepSpeed configuration");
  EXPECT_EQ(origin_of(brain, "batch.micro"), "train_micro_batch_size_per_gpu of the DeepSpeed configuration");
  EXPECT_EQ(origin_of(brain, "batch.global"), "train_batch_size of the DeepSpeed configuration");
  EXPECT_EQ(with(R"("fp16": {"enabled": true}, "bf16": {"enabled": false})", "").at("precision"), Json("fp16"));
  EXPECT_EQ(origin_of(with(R"("bf16": {"enabled": true})", " --bf16"), "precision"), "bf16");
  EXPECT_NE(asked_for(with(R"("bf16": {"enabled": "auto"})", ""), "precision"), "");
}

TEST(OtherPrograms, FastChatAdaptsQueriesAndValues) {
  const Report report = read_script(
      "deepspeed --num_gpus 4 FastChat/fastchat/train/train_lora.py --model_name_or_path Llama-2-7b-chat-hf --lora_r 8 "
      "--bf16 True --per_device_train_batch_size 8 --model_max_length 2048 --deepspeed conf/deepspeed_config_s2.json");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(report.asked.empty());
  EXPECT_EQ(report.at("training.targets"), Json::array({"q_proj", "v_proj"}));
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 2);
}

// Without --flash_attn FastChat leaves attention to transformers, which had no kernel of its own in 2023.
TEST(OtherPrograms, FastChatWithoutFlashAttentionIsUnfused) {
  const std::string run = "deepspeed --num_gpus 4 fastchat/train/train_lora.py --model_name_or_path Llama-2-7b-hf ",
                    rest = " --bf16 True --per_device_train_batch_size 8 --model_max_length 2048 --deepspeed ";
  const auto attention = [&](const std::string& flag) {
    return read_script(run + flag + rest + "s2.json").at("attention");
  };
  EXPECT_EQ(attention("--flash_attn False"), Json("unfused"));
  EXPECT_EQ(attention(""), Json("unfused"));
  EXPECT_EQ(attention("--flash_attn True"), Json());
  const Report report = read_script(run + rest + "s2.json");
  EXPECT_EQ(origin_of(report, "attention"), "assumed: the default of FastChat of 2023, with transformers before 4.36");
  for (const char* key : {"training.rank", "training.targets"})
    EXPECT_EQ(origin_of(report, key), "assumed: the default of FastChat") << key;
}

// THUDM/ChatGLM-6B, ptuning/main.py: gradient_checkpointing_enable() before trainer.train().
TEST(OtherPrograms, ChatGlmRecomputes) {
  const std::string run =
      "deepspeed --num_gpus 3 main.py --deepspeed zero2.json --do_train --prompt_column q --response_column a "
      "--max_source_length 64 --max_target_length 64 --per_device_train_batch_size 4 --fp16 --model_name_or_path ";
  const auto granularity = [&](const std::string& model) {
    return read_script(run + model).at("recompute.granularity");
  };
  EXPECT_EQ(granularity("THUDM/chatglm2-6b"), Json("full"));
  EXPECT_EQ(granularity("THUDM/chatglm2-6b --gradient_checkpointing False"), Json("full"));
  EXPECT_EQ(granularity("Qwen/Qwen2.5-7B"), Json("none"));
}

// fastchat/train/train_lora.py states lora_weight_path and does not use it.
TEST(OtherPrograms, APathOfAdaptersChangesNothingBesideAStatedMethod) {
  const std::string sizes =
      " --model_name_or_path Llama-2-7b-chat-hf --bf16 True --per_device_train_batch_size 8 --model_max_length 2048 "
      "--deepspeed conf/deepspeed_config_s2.json --lora_weight_path saves/a";
  const Report chat =
      read_script(std::string("deepspeed --num_gpus 4 fastchat/train/train_lora.py --lora_r 8") + sizes);
  EXPECT_EQ(refused_lines(chat), "");
  EXPECT_TRUE(chat.asked.empty());
  EXPECT_EQ(chat.at("training.method"), Json("lora"));
  EXPECT_NE(asked_for(read_script(std::string("deepspeed --num_gpus 4 train.py") + sizes), "training.method"), "");
}

TEST(OtherPrograms, DevicesOfOffloadingWinOverTheSwitch) {
  const std::string run =
      "deepspeed --num_gpus 2 main.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --max_seq_len 512 "
      "--learning_rate 1e-5 --dtype bf16 --deepspeed --zero_stage 3 --offload ";
  EXPECT_EQ(read_script(run).at("offload"), (Json{{"optimizer", "cpu"}, {"parameters", "cpu"}}));
  const Report moved =
      read_script(run +
                  "--offload_optimizer_device nvme --offload_param_device none --offload_optimizer_nvme_path /disk "
                  "--offload_optimizer_buffer_count 8 --aio_block_size 1048576");
  EXPECT_EQ(refused_lines(moved), "");
  EXPECT_EQ(moved.at("offload"), (Json{{"optimizer", "nvme"}}));
  EXPECT_TRUE(moved.names("offload_optimizer_buffer_count"));
  EXPECT_NE(refused_lines(read_script(run + "--offload_optimizer_ratio 0.3")).find("a part of the optimizer"),
            std::string::npos);
}

TEST(OtherPrograms, OwnProgramsMaySayThatABatchIsOfAGpu) {
  const Report report = read_script(
      "torchrun --nproc_per_node 4 my_sft.py --model Qwen/Qwen2.5-7B --seq_len 4096 --per_gpu_train_batch_size 2 "
      "--grad_accum_steps 3 --lr 1e-4 --bf16 --fsdp full_shard");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(report.asked.empty());
  EXPECT_EQ(report.whole("batch.micro"), 2);
  EXPECT_EQ(report.whole("batch.global"), 24);
  EXPECT_EQ(origin_of(report, "batch.micro"), "per_gpu_train_batch_size");
}

constexpr const char* kTraining =
    " train.py --model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 1 --max_seq_length 2048 --bf16 ";

constexpr const char* kOwn =
    "train.py --model_id meta-llama/Llama-2-7b-hf --lr 1e-5 --max_seq_length 2048 --bf16 --per_device_batch_size 4 ";

// The defaults of a program that nobody knows are none of the Trainer's.
TEST(OtherPrograms, NobodyKnowsTheDefaultsOfAnOwnProgram) {
  const Report report = read_script(std::string("deepspeed --num_gpus 8 ") + kOwn);
  EXPECT_FALSE(report.has("optimizer.zero_stage"));
  EXPECT_THAT(asked_for(report, "optimizer.zero_stage"), HasSubstr("--set optimizer.zero_stage=N"));
  EXPECT_EQ(origin_of(report, "batch.global"),
            "assumed: no flag states an accumulation: each rank has one micro-batch in a step");
  EXPECT_THAT(origin_of(report, "recompute.granularity"), HasSubstr("assumed: no flag states it"));
  EXPECT_THAT(origin_of(report, "optimizer.name"), HasSubstr("assumed: no flag states it"));
  EXPECT_EQ(report.json().dump().find("the Trainer's default"), std::string::npos);
  const Report bare = read_script(std::string("deepspeed --num_gpus 8 ") + kOwn + "--deepspeed");
  EXPECT_FALSE(bare.has("optimizer.zero_stage")) << "a bare --deepspeed states no stage";
}

TEST(OtherPrograms, AFlagOfAnOwnProgramMayStateItsSharding) {
  struct Case {
    const char *start, *flags;
    int stage;
  };
  constexpr Case kCases[] = {{"deepspeed --num_gpus 8 ", "--zero_stage 2", 2},
                             {"deepspeed --num_gpus 8 ", "--deepspeed --zero_stage 3", 3},
                             {"deepspeed --num_gpus 8 ", "--deepspeed conf/ds_z1.json", 1},
                             {"torchrun --nproc_per_node 8 ", "--fsdp full_shard", 3},
                             {"torchrun --nproc_per_node 8 ", "--ddp", 0},
                             {"torchrun --nproc_per_node 8 ", "--fsdp False --ddp", 0},
                             {"accelerate launch --multi_gpu --num_processes 8 ", "", 0},
                             {"accelerate launch --use_fsdp --num_processes 8 ", "", 3},
                             {"torchrun --nproc_per_node 1 ", "", 0}};
  for (const auto& [start, flags, stage] : kCases) {
    SCOPED_TRACE(std::string(start) + flags);
    const Report report = read_script(std::string(start) + kOwn + flags);
    EXPECT_EQ(refused_lines(report), "");
    EXPECT_EQ(report.whole("optimizer.zero_stage"), stage);
    EXPECT_EQ(report.at("precision"), Json("bf16"));
    EXPECT_TRUE(report.asked.empty());
  }
}

TEST(OtherPrograms, WordsThatChooseAWayToTrainAreRefused) {
  const std::string start = std::string("torchrun --nproc_per_node 8 ") + kOwn + "--fsdp full_shard ";
  const Report report = read_script(start +
                                    "--strategy zero3 --backend deepspeed --plugin gemini --freeze_layers 10 "
                                    "--valid_expert_parallel_size 8 --offload_optimizer_cache_dir /nvme");
  for (const char* key : {"strategy: ", "backend: ", "plugin: ", "freeze_layers: ", "valid_expert_parallel_size: ",
                          "offload_optimizer_cache_dir: "})
    EXPECT_THAT(refused_lines(report), HasSubstr(key));
  EXPECT_EQ(refused_lines(read_script(start + "--dist_backend nccl --save_strategy epoch --val_batch_size 4")), "");
}

TEST(OtherPrograms, TwoNamesOfOneSettingWithTwoValuesAreAskedFor) {
  const std::string start = std::string("torchrun --nproc_per_node 8 ") + kOwn + "--fsdp full_shard ";
  const Report batch = read_script(start + "--micro_batch_size 2");
  EXPECT_FALSE(batch.has("batch.micro"));
  EXPECT_EQ(asked_for(batch, "batch.micro"),
            "--per_device_batch_size 4 and --micro_batch_size 2 differ, and nobody knows which of them counts; state "
            "--set batch.micro=N");
  const Report steps = read_script(start + "--grad_accum 2 --accum_steps 4");
  EXPECT_FALSE(steps.has("batch.global"));
  EXPECT_THAT(asked_for(steps, "batch.global"), HasSubstr("--grad_accum 2 and --accum_steps 4 differ"));
  EXPECT_THAT(asked_for(read_script(start + "--seq_len 1024"), "batch.sequence_length"),
              HasSubstr("--max_seq_length 2048 and --seq_len 1024 differ"));
  EXPECT_EQ(read_script(start + "--micro_batch_size 4").whole("batch.micro"), 4) << "one value";
}

TEST(OtherPrograms, AnAccumulationWithoutAValueIsAskedFor) {
  const std::string start = "torchrun --nproc_per_node 8 ";
  const Report own = read_script(start + kOwn + "--fsdp full_shard --gradient_accumulation $ACC");
  EXPECT_FALSE(own.has("batch.global"));
  EXPECT_THAT(asked_for(own, "batch.global"), HasSubstr("--gradient_accumulation has no value"));
  const Report trainer = read_script(start + kTraining + "--gradient_accumulation_steps $ACC");
  EXPECT_FALSE(trainer.has("batch.global"));
  EXPECT_THAT(asked_for(trainer, "batch.global"), HasSubstr("--gradient_accumulation_steps has no value"));
  EXPECT_EQ(read_script("ACC=2\n" + start + kTraining + "--gradient_accumulation_steps $ACC").whole("batch.global"),
            16);
}

TEST(OtherPrograms, AnAccumulationOfNothingIsRefusedByItsName) {
  const Report report =
      read_script(std::string("torchrun --nproc_per_node 8 ") + kOwn + "--fsdp full_shard --grad_accum 0");
  EXPECT_THAT(refused_lines(report), HasSubstr("grad_accum: expected 1 or more, found 0"));
}

TEST(OtherPrograms, ALengthWithoutALimitIsAskedForWithTheWayToStateIt) {
  const Report report = read_script(
      "torchrun --nproc_per_node 8 train.py --model_name_or_path gpt2 --per_device_train_batch_size 4 --bf16 "
      "--max_seq_length -1");
  EXPECT_THAT(asked_for(report, "batch.sequence_length"), HasSubstr("is no limit; state --seq N"));
}

TEST(OtherPrograms, AProgramWithAPretrainFlagIsNoOpenRlhfUnlessItIsCalledSo) {
  const Report trainer = read_script(
      "torchrun pretrain.py --pretrain data/x --max_len 512 --model_name_or_path gpt2 --per_device_train_batch_size 4 "
      "--bf16");
  EXPECT_EQ(origin_of(trainer, "model"), "model_name_or_path");
  EXPECT_EQ(trainer.whole("batch.global"), 4);
  EXPECT_EQ(trainer.whole("optimizer.zero_stage"), 0);
  EXPECT_EQ(
      read_script("torchrun --nproc_per_node 8 my/train_sft.py --pretrain gpt2 --input_key q").whole("batch.global"),
      128)
      << "OpenRLHF's default";
}

TEST(OtherPrograms, AProgramWithAPretrainFlagMayBeNoTraining) {
  Findings findings;
  (void)read_launch_text("python serve.py --pretrain gpt2 --input_key q\n", "serve.sh", {}, findings);
  EXPECT_THAT(lines_of(findings.complaints), HasSubstr("serve.py, which no reader here knows"));
}

TEST(OtherPrograms, DefaultTypesAreAssumedAndStatedOnesNamed) {
  const Report chat = read_script(
      "deepspeed --num_gpus 2 main.py --model_name_or_path facebook/opt-1.3b --zero_stage 2 --deepspeed "
      "--output_dir a");
  EXPECT_THAT(origin_of(chat, "precision"), HasSubstr("assumed: DeepSpeed-Chat's default"));
  EXPECT_EQ(origin_of(read_script(kGrouped), "precision"), "assumed: the default of OpenRLHF");
  EXPECT_EQ(origin_of(read_script(std::string(kGrouped) + "--ds.param_dtype fp16"), "precision"), "ds.param_dtype");
}

TEST(OtherPrograms, TheBatchOfOldTrainers) {
  const Report report = read_script(
      "python -m torch.distributed.launch --nproc_per_node=8 run_lm.py --model_name_or_path=gpt2-large "
      "--per_gpu_train_batch_size=3 --per_gpu_eval_batch_size=3 --gradient_accumulation_steps=4 --fp16 "
      "--block_size 512 --learning_rate=1e-4");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("batch.micro"), 3);
  EXPECT_EQ(report.whole("batch.global"), 96);
}

TEST(OtherPrograms, AProgramOfQloraHas4BitsUnlessItStatesOthers) {
  const std::string start =
      "python train_qlora.py --model_name_or_path meta-llama/Llama-2-7b-hf --lora_r=4 --bf16 --max_seq_length 512 "
      "--per_device_train_batch_size=2 --lora_output_dir=a --val_batch_size 4";
  const Report report = read_script(start);
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("training.method"), Json("qlora"));
  EXPECT_EQ(origin_of(report, "load_in_4bit"), "assumed: true is the default of train_qlora.py, by its name");
  EXPECT_EQ(read_script(start + " --load_in_4bit false").at("training.method"), Json("lora"));
}

// deepspeed.ai: offload_param is valid with stage 3 only.
TEST(OtherPrograms, AFileThatMovesParametersIsStageThree) {
  const Report report = read_script(
      "deepspeed --num_gpus 4 train.py --model_name_or_path huggyllama/llama-7b --per_device_train_batch_size 2 --bf16 "
      "--max_seq_length 512 --deepspeed configs/offload_opt_param.json");
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(report.at("offload.optimizer"), Json("cpu"));
  EXPECT_EQ(report.at("offload.parameters"), Json("cpu"));
}

TEST(OtherPrograms, PythonAloneBesideSeveralDevicesIsRefused) {
  EXPECT_THAT(refused_lines(read_script(std::string("CUDA_VISIBLE_DEVICES=0,1 python") + kTraining)),
              HasSubstr("one process for 2 GPUs"));
  EXPECT_EQ(refused_lines(read_script(std::string("CUDA_VISIBLE_DEVICES=1 python") + kTraining)), "");
  EXPECT_EQ(refused_lines(read_script(std::string("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 2") + kTraining)),
            "");
}

TEST(OtherPrograms, OneTaskOfSlurmForSeveralGpusIsRefused) {
  const std::string job = "#!/bin/bash\n#SBATCH --nodes 1\n#SBATCH --gres=gpu:3\n";
  EXPECT_THAT(refused_lines(read_script(job + "srun --ntasks=1 python" + kTraining)),
              HasSubstr("one process for 3 GPUs"));
  EXPECT_EQ(refused_lines(read_script(job + "srun --ntasks=1 torchrun --nproc_per_node 3" + kTraining)), "");
}

TEST(OtherPrograms, FewerTasksOfSlurmThanGpusAreRefused) {
  const std::string nodes = "#!/bin/bash\n#SBATCH --nodes 2 --gpus-per-node=4 --ntasks-per-node=1\n";
  EXPECT_THAT(refused_lines(read_script(nodes + "srun python" + kTraining)),
              HasSubstr("--ntasks-per-node: 2 processes for 8 GPUs"));
  EXPECT_FALSE(read_script(nodes + "srun python" + kTraining).has("gpus"));
  const std::string one = "#!/bin/bash\n#SBATCH --gpus-per-node=4 --ntasks-per-node=1\n";
  EXPECT_THAT(refused_lines(read_script(one + "srun python" + kTraining)), HasSubstr("one process for 4 GPUs"));
  const std::string job = "#!/bin/bash\n#SBATCH --nodes 2 --gres=gpu:4\n";
  EXPECT_THAT(refused_lines(read_script(job + "srun --ntasks=2 python" + kTraining)),
              HasSubstr("--ntasks: 2 processes for 8 GPUs"));
  const std::string all = "#!/bin/bash\n#SBATCH --gpus=8\n";
  EXPECT_THAT(refused_lines(read_script(all + "srun --ntasks-per-node=1 python" + kTraining)),
              HasSubstr("one process for 8 GPUs"));
  EXPECT_EQ(refused_lines(read_script(job + "srun --ntasks-per-node=4 python" + kTraining)), "");
  EXPECT_EQ(refused_lines(read_script(job + "srun --ntasks=8 --ntasks-per-node=1 python" + kTraining)), "");
}

// A launcher starts the ranks of a node.
TEST(OtherPrograms, OneTaskOfSlurmOnEachNodeStartsALauncher) {
  const std::string nodes = "#!/bin/bash\n#SBATCH --nodes 2 --gpus-per-node=4 --ntasks-per-node=1\n";
  for (const char* launcher : {"torchrun --nnodes 2 --nproc_per_node 4", "accelerate launch --num_processes 8",
                               "deepspeed --num_gpus 4", "python -m torch.distributed.run --nproc_per_node 4"}) {
    const Report report = read_script(nodes + "srun " + launcher + kTraining);
    EXPECT_EQ(refused_lines(report), "") << launcher;
    EXPECT_EQ(report.whole("gpus"), 8) << launcher;
  }
}

// Programs of one's own: other names of the length, of the rank and of DeepSpeed's file.
TEST(OtherPrograms, NamesOfLengthsRanksAndFiles) {
  const Report report = read_script(
      "deepspeed --num_gpus 2 train.py --model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 2 --max_len "
      "2048 "
      "--max_src_len 1560 --lora_dim 16 --lora_alpha 64 --bf16 --gradient_checkpointing --ds_file ds_zero2.json "
      "--finetuning_type lora --show_loss_step 10 --lora_dropout_p 0.05 --use_deepspeed true");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("batch.sequence_length"), 2048);
  EXPECT_EQ(report.whole("training.rank"), 16);
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 2);
}

TEST(OtherPrograms, AKeyOfLlamaFactoryAloneIsNotItsRecomputing) {
  const std::string start = std::string("deepspeed --num_gpus 2") + kTraining + "--lora_r 8 --finetuning_type lora";
  EXPECT_EQ(read_script(start).at("recompute.granularity"), Json("none"));
  EXPECT_EQ(read_script(start + " --stage sft --template qwen").at("recompute.granularity"), Json("full"));
}

TEST(OtherPrograms, ProductsThatNobodyStatesAreAssumedOrAskedFor) {
  const auto why = [](const std::string& flags) {
    const Report report = read_script(std::string("torchrun --nproc_per_node 2") + kTraining + flags);
    for (const Assumed& one : report.assumed)
      if (one.key == "training.targets") return one.value + one.because;
    return std::string();
  };
  EXPECT_THAT(why("--use_peft --lora_r 8"), HasSubstr("PEFT's default"));
  EXPECT_THAT(why("--use_peft --lora_r 8"), HasSubstr("v_proj"));
  EXPECT_THAT(why("--lora_r 8 --finetuning_type lora"), HasSubstr("all linear products by default"));
  EXPECT_EQ(why("--use_lora --lora_r 8 --lora_target_modules q_proj"), "");
  const auto asked = [](const std::string& words) {
    const Report report = read_script("torchrun --nproc_per_node 2 " + words);
    for (const Asked& one : report.asked)
      if (one.key == "training.targets") return one.because;
    return std::string();
  };
  for (const char* flags : {"--use_lora --lora_r 8", "--lora_r 8 --lora_alpha 16"})
    EXPECT_THAT(asked(std::string("train.py --model_name_or_path gpt2 --per_device_train_batch_size 1 ") + flags),
                HasSubstr("state --set training.targets="))
        << flags;
  // Their defaults are known: artidoro/qlora, unslothai/unsloth, OpenRLHF.
  for (const char* program : {"qlora.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --lora_r 8",
                              "unsloth-cli.py --model_name gpt2 --per_device_train_batch_size 1 --r 8 --lora_alpha 16",
                              "train_sft.py --pretrain gpt2 --micro_train_batch_size 1 --lora_rank 8"})
    EXPECT_EQ(asked(program), "") << program;
}

// torch/distributed/run.py: --nproc-per-node is 1 by default.
TEST(OtherPrograms, TorchrunStartsOneProcessOnEachNode) {
  EXPECT_EQ(read_script(std::string("torchrun") + kTraining).whole("gpus"), 1);
  EXPECT_EQ(read_script(std::string("torchrun --nnodes 2") + kTraining).whole("gpus"), 2);
  EXPECT_EQ(read_script(std::string("#SBATCH --gpus-per-node=4\nsrun torchrun") + kTraining).whole("gpus"), 4);
}

// huggingface/optimum-habana, gaudi_spawn.py, starts another program on every device.
TEST(OtherPrograms, AProgramThatStartsAnotherHasItsCount) {
  EXPECT_EQ(
      read_script(std::string("python3 ../gaudi_spawn.py --use_deepspeed --world_size 8") + kTraining).whole("gpus"),
      8);
}

// axolotl of 2023: gradient_accumulation_steps is batch_size over micro_batch_size.
TEST(OtherPrograms, TheOldBatchOfAxolotlIsAnAccumulation) {
  const Report report = read_test_launch(
      "base_model: huggyllama/llama-7b\nsequence_len: 512\nbatch_size: 8\nmicro_batch_size: 2\nbf16: true\ndatasets: "
      "[]\n",
      "a.yml");
  EXPECT_THAT(report.json().dump(), HasSubstr("2 sequences x 4 micro-batches"));
}

TEST(OtherPrograms, AFileThatMayHoldArgumentsIsRefused) {
  EXPECT_THAT(refused_lines(read_script(std::string("torchrun --nproc_per_node 2") + kTraining + "--config a.yaml")),
              HasSubstr("config"));
  EXPECT_EQ(refused_lines(read_script(std::string("torchrun --nproc_per_node 2") + kTraining + "--conv_config a.json")),
            "");
}

TEST(OtherPrograms, AProgramThatGeneratesIsRefused) {
  const std::string flags = " --model_name_or_path gpt2 --per_device_train_batch_size 2 --max_seq_length 64 --bf16";
  EXPECT_THAT(refused_lines(read_script("python gpt2_generation.py" + flags)), HasSubstr("it generates"));
  EXPECT_EQ(refused_lines(read_script("python train_generation.py" + flags)), "");
}

TEST(OtherPrograms, DeepSpeedsConfigurationInsideOfTheFileDecides) {
  const Report report = read_test_launch(
      "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nper_device_train_batch_size: 1\nbf16: true\nmax_length: 512\n"
      "deepspeed:\n  zero_optimization: {stage: 2, offload_optimizer: {device: cpu}}\n",
      "sft.yaml");
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 2);
  EXPECT_EQ(report.at("offload.optimizer"), Json("cpu"));
}

TEST(OtherPrograms, APlaceToFillInIsNoModel) {
  const Report report = read_test_launch(
      "model_name_or_path: [your model, example: Qwen/Qwen3-8B]\nper_device_train_batch_size: 1\nbf16: true\n",
      "a.yaml");
  EXPECT_FALSE(report.has("model"));
}

TEST(OtherPrograms, TheStageInTheNameOfAFileIsAssumedAndThatOfAWordStated) {
  const auto is_assumed = [](const Report& report) {
    return std::ranges::any_of(report.assumed, [](const Assumed& one) { return one.key == "optimizer.zero_stage"; });
  };
  const Report file = read_script(std::string("deepspeed --num_gpus 2") + kTraining + "--deepspeed conf/ds_z3.json");
  EXPECT_EQ(file.whole("optimizer.zero_stage"), 3);
  EXPECT_TRUE(is_assumed(file));
  const Report word = read_script("NPROC_PER_NODE=2 swift sft --model Qwen/Qwen3-8B --max_length 64 --deepspeed zero3");
  EXPECT_EQ(word.whole("optimizer.zero_stage"), 3);
  EXPECT_FALSE(is_assumed(word));
}

TEST(OtherPrograms, DropoutOfDeepSpeedChatIsSmall) {
  EXPECT_EQ(refused_lines(read_script(
                "deepspeed --num_gpus 8 main.py --model_name_or_path bigscience/bloom-1b1 --dropout 0.1 --zero_stage 1 "
                "--per_device_train_batch_size 8 --gradient_accumulation_steps 2 --deepspeed --no_fused_kernels")),
            "");
}

// QwenLM/Qwen, finetune.py.
TEST(OtherPrograms, AdaptersOfQwenStandBesideAWholeHead) {
  const auto read = [](const std::string& model, const std::string& more) {
    return read_script("torchrun --nproc_per_node 8 finetune.py --model_name_or_path " + model +
                       " --bf16 True --per_device_train_batch_size 2 --gradient_accumulation_steps 8 "
                       "--learning_rate 3e-4 --model_max_length 512 --lazy_preprocess True --use_lora " +
                       more);
  };
  const Report base = read("Qwen/Qwen-7B", "");
  EXPECT_EQ(refused_lines(base), "");
  EXPECT_EQ(base.at("training.whole"), (Json{"embedding", "head"}));
  EXPECT_EQ(origin_of(base, "training.whole"), "assumed: the default of Qwen's finetune.py");
  EXPECT_EQ(origin_of(base, "training.rank"), "assumed: the default of Qwen's finetune.py");
  EXPECT_EQ(base.whole("training.rank"), 64);
  const Report chat = read("Qwen/Qwen-7B-Chat", "");
  EXPECT_EQ(refused_lines(chat), "");
  EXPECT_FALSE(chat.has("training.whole"));
  EXPECT_EQ(chat.whole("training.rank"), 64);
  EXPECT_FALSE(read("Qwen/Qwen-7B", "--q_lora").has("training.whole"));
  EXPECT_EQ(read("Qwen/Qwen-7B-Chat", "--lora_r 16").whole("training.rank"), 16);
  EXPECT_FALSE(read("Qwen/Qwen2.5-7B", "").has("training.rank")) << "another program";
}

TEST(OtherPrograms, SwitchesSayTheBitsOfFrozenWeightsByTheirLastWords) {
  const auto method = [](const std::string& words) {
    return read_test_launch(
               "accelerate launch finetune.py --base_model meta-llama/Llama-2-7b-hf --lora_r 16 --batch_size 4 "
               "--micro_batch_size 2 --cutoff_len 512 " +
                   words,
               "train.sh")
        .at("training.method");
  };
  for (const char* const on : {"--train_qlora True", "--enable_q_lora", "--use_4bit", "--load_in_4bit True"})
    EXPECT_EQ(method(on), Json("qlora")) << on;
  for (const char* const off : {"", "--train_qlora False", "--load_in_8bit"})
    EXPECT_EQ(method(off), Json("lora-int8")) << off << ": alpaca-lora's default";
}

// ZeRO-Offload moves the states of adapters alone, which FSDP does not.
TEST(OtherPrograms, AdaptersWhoseStatesAloneMoveRunUnderDeepSpeed) {
  const auto runtime = [](const std::string& offload) {
    const std::string config = R"({"zero_optimization": {"stage": 2)" + offload + R"(}, "bf16": {"enabled": true}})";
    return read_test_launch("cat <<EOF > ds.json\n" + config +
                                "\nEOF\ndeepspeed --num_gpus 8 train.py --model_name_or_path meta-llama/Llama-2-7b-hf "
                                "--lora_r 16 --lora_target_modules q_proj,v_proj --bf16 True --model_max_length 2048 "
                                "--per_device_train_batch_size 2 --gradient_accumulation_steps 1 --deepspeed ds.json\n",
                            "train.sh")
        .at("runtime");
  };
  EXPECT_EQ(runtime(R"(, "offload_optimizer": {"device": "cpu"})"), Json("deepspeed"));
  EXPECT_EQ(runtime(""), Json("huggingface-trainer"));
}

}  // namespace
}  // namespace foretoken::io::launch::tuning
