// Tests recipes of NeMo AutoModel.
#include "sim/io/import/launch/nemo/automodel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::nemo {
namespace {

using testing::HasSubstr;

constexpr const char* kLlama =
    "step_scheduler: {global_batch_size: 64, local_batch_size: 2, max_steps: 9}\n"
    "dataset: {_target_: own.MockDataset, seq_len: 4096}\n"
    "model: {_target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained,\n"
    "  pretrained_model_name_or_path: meta-llama/Llama-3.1-70B, torch_dtype: bf16}\n";

Report read(const std::string& text) { return read_test_launch(text, "a.yaml"); }
Report read_llama(const std::string& more) { return read(kLlama + more); }

TEST(AutoModel, StatesBatchDegreesAndSharding) {
  const Report report = read_llama(
      "distributed: {strategy: fsdp2, dp_size: 4, tp_size: 2, cp_size: 1, activation_checkpointing: true}\n"
      "optimizer: {_target_: torch.optim.AdamW, lr: 1e-5}\nrng: {seed: 3}\n");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.framework, "NeMo AutoModel");
  EXPECT_EQ(report.at("model"), "llama-3-70b");
  EXPECT_EQ(report.whole("gpus"), 4 * 2);
  EXPECT_EQ(report.whole("batch.micro"), 2);
  EXPECT_EQ(report.whole("batch.global"), 64);
  EXPECT_EQ(report.whole("batch.sequence_length"), 4096);
  EXPECT_EQ(report.whole("parallelism.tensor"), 2);
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(report.at("recompute.granularity"), "full");
  EXPECT_EQ(report.at("precision_recipe.master"), "none") << "weights train in the type in which they are loaded";
  EXPECT_EQ(report.at("precision_recipe.reduce"), "fp32");
}

TEST(AutoModel, OlderRecipesNameTheManagerOfASharding) {
  const Report sharded = read_llama("distributed: {_target_: own.fsdp2.FSDP2Manager, tp_size: 1, dp_size: none}\n");
  EXPECT_EQ(refused_lines(sharded), "");
  EXPECT_EQ(sharded.at("precision_recipe.reduce"), "bf16");
  EXPECT_FALSE(sharded.has("gpus"));
  EXPECT_EQ(read_llama("distributed: {_target_: own.ddp.DDPManager}\n").whole("optimizer.zero_stage"), 0);
  EXPECT_EQ(read_llama("distributed: {strategy: megatron_fsdp, zero_dp_strategy: 2}\n").whole("optimizer.zero_stage"),
            2);
  EXPECT_EQ(read_llama("slurm: {nodes: 4, ntasks_per_node: 8}\n").whole("gpus"), 4 * 8);
}

// components/_peft/module_matcher.py: match_all_linear counts the head, and *_proj is taken where nothing is stated.
TEST(AutoModel, AdaptersBesideAllProductsMayHoldTheHead) {
  const Report all = read_llama("peft: {_target_: own.PeftConfig, match_all_linear: true}\n");
  EXPECT_TRUE(all.names("peft.match_all_linear")) << "the head's adapter is left out";
  const Report unstated = read_llama("peft: {_target_: own.PeftConfig, dim: 4}\n");
  EXPECT_EQ(unstated.at("training.targets"), Json::array({"all-linear"}));
  EXPECT_EQ(refused_lines(unstated), "");
  EXPECT_FALSE(unstated.names("peft.match_all_linear"));
  const auto targets = std::ranges::find(unstated.assumed, "training.targets", &Assumed::key);
  ASSERT_NE(targets, unstated.assumed.end());
  EXPECT_THAT(targets->because, HasSubstr("*_proj"));
  EXPECT_FALSE(read_llama("peft: {exclude_modules: ['*lm_head*']}\n").names("peft.exclude_modules"));
  EXPECT_TRUE(read_llama("peft: {exclude_modules: ['*.gate']}\n").names("peft.exclude_modules"));
}

TEST(AutoModel, APipelineHasItsOwnMicroBatchAndChunks) {
  const std::string piped =
      "distributed: {strategy: fsdp2, tp_size: 1, pp_size: 4, dp_size: 8, pipeline: {pp_schedule: interleaved1f1b,\n"
      "  pp_microbatch_size: 1, layers_per_stage: 6, round_virtual_stages_to_pp_multiple: ";
  const Report up = read_llama(piped + "up}}\n");
  EXPECT_EQ(up.whole("batch.micro"), 1);
  EXPECT_EQ(up.at("schedule"), "interleaved-1f1b");
  EXPECT_EQ(up.whole("parallelism.virtual_pipeline"), 4) << "80 layers make 14 chunks, 16 of four stages";
  EXPECT_EQ(up.whole("optimizer.zero_stage"), 2) << "gathered weights stay";
  EXPECT_EQ(read_llama(piped + "down}}\n").whole("parallelism.virtual_pipeline"), 3);
  EXPECT_THAT(refused_lines(up), HasSubstr("filled 4 times a step")) << "64 sequences of 8 ranks, 2 at a time";
}

TEST(AutoModel, AdaptersStandBesideTheProductsThatItNames) {
  const auto adapters = [](const std::string& words) { return read_llama("peft: {_target_: own.PeftConfig" + words); };
  const Report all = adapters(", match_all_linear: true, dim: 16}\n");
  EXPECT_EQ(refused_lines(all), "");
  EXPECT_EQ(all.whole("training.rank"), 16);
  EXPECT_EQ(all.at("training.targets"), Json::array({"all-linear"}));
  EXPECT_EQ(adapters(", exclude_modules: ['*lm_head*', '*.gate']}\n").at("training.targets"),
            Json::array({"all-linear"}));
  EXPECT_EQ(adapters(", target_modules: ['*.q_proj', '*v_proj']}\n").at("training.targets"),
            Json::array({"q_proj", "v_proj"}));
  EXPECT_THAT(refused_lines(adapters(", exclude_modules: ['*q_proj*']}\n")), HasSubstr("peft.exclude_modules"));
  EXPECT_EQ(read_llama("quantization: {load_in_4bit: true}\npeft: {match_all_linear: true}\n").at("training.method"),
            "qlora");
}

TEST(AutoModel, SizesOfTheRecipeAreAModel) {
  const Report report = read(
      "step_scheduler: {global_batch_size: 8, local_batch_size: 1}\ndataset: {seq_length: 2048}\n"
      "model: {_target_: own.from_config, dtype: float32, config: {_target_: transformers.Qwen3Config,\n"
      "  num_hidden_layers: 20, hidden_size: 1024, tie_word_embeddings: false}}\n"
      "optimizer: {_target_: own.FusedAdam, master_weights: true}\n");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("model").at("model_type"), "qwen3");
  EXPECT_EQ(report.at("model").at("hidden_size"), 1024);
  EXPECT_EQ(report.at("model").at("tie_word_embeddings"), false);
  EXPECT_FALSE(report.has("precision_recipe.weights")) << "they are in fp32";
}

TEST(AutoModel, ExpertsAndOptimizersAreReadByName) {
  const Report report = read_llama(
      "distributed: {ep_size: 8}\noptimizer: {_target_: own.FusedAdam, master_weights: true}\n"
      "fp8: {enabled: false}\n");
  EXPECT_EQ(report.whole("parallelism.expert"), 8);
  EXPECT_EQ(report.at("precision_recipe.moments"), "fp32");
  EXPECT_EQ(report.at("precision_recipe.master"), "fp32");
  EXPECT_THAT(refused_lines(read_llama("optimizer: {_target_: flashoptim.FlashAdamW}\n")), HasSubstr("FlashAdamW"));
  EXPECT_THAT(refused_lines(read_llama("fp8: {enabled: true, recipe_name: rowwise}\n")), HasSubstr("rowwise"));
  EXPECT_THAT(refused_lines(read_llama("teacher_model: {_target_: own}\n")), HasSubstr("a second model runs"));
}

Report read_single(const std::string& more) {
  return read(
      "step_scheduler: {global_batch_size: 8, local_batch_size: 1}\ndataset: {_target_: own.MockDataset, seq_len: "
      "512}\n"
      "model: {_target_: own.from_pretrained, pretrained_model_name_or_path: meta-llama/Llama-3.1-8B,\n"
      "  torch_dtype: torch.float32}\n" +
      more);
}

TEST(AutoModel, DdpRunsInTheTypeOfItsWeightsUnlessAutocastIsStated) {
  for (const char* name : {"strategy: ddp", "_target_: own.ddp.DDPManager"}) {
    const Report report = read_single(std::string("distributed: {") + name + "}\n");
    EXPECT_EQ(refused_lines(report), "") << name;
    EXPECT_EQ(report.at("precision"), "fp32") << name;
  }
  const Report cast = read_single("distributed: {strategy: ddp, autocast_dtype: bfloat16}\n");
  EXPECT_EQ(refused_lines(cast), "");
  EXPECT_EQ(cast.at("precision"), "bf16");
  EXPECT_EQ(cast.at("precision_recipe.weights"), "fp32");
  EXPECT_EQ(cast.at("precision_recipe.master"), "none");
  EXPECT_EQ(read_single("distributed: {strategy: fsdp2}\n").at("precision"), "bf16") << "FSDP2 casts";
  EXPECT_EQ(read_single("distributed: {strategy: ddp}\nslurm: {nodes: 1, ntasks_per_node: 1}\n").at("precision"),
            "bf16")
      << "one GPU";
  EXPECT_THAT(refused_lines(read_single("distributed: {strategy: ddp, autocast_dtype: torch.float16}\n")),
              HasSubstr("distributed.autocast_dtype: products in \"torch.float16\""));
  EXPECT_THAT(refused_lines(read_single("distributed: {strategy: ddp}\npeft: {match_all_linear: true}\n")),
              HasSubstr("DDP with weights in fp32 beside adapters"));
}

TEST(AutoModel, MomentsAndCopiesOfFusedAdamAreCounted) {
  const auto fused = [](const std::string& words) { return "optimizer: {_target_: own.FusedAdam, " + words + "}\n"; };
  const std::string narrow = "exp_avg_dtype: torch.bfloat16, exp_avg_sq_dtype: torch.bfloat16";
  EXPECT_EQ(read_single(fused(narrow)).at("precision_recipe.moments"), "bf16");
  EXPECT_FALSE(read_single(fused("lr: 1e-5")).has("precision_recipe.moments")) << "they are in fp32";
  EXPECT_EQ(read_llama(fused("exp_avg_dtype: torch.bfloat16")).at("precision_recipe.moments"), (2 + 4) / 2)
      << "the other moment is in fp32";
  EXPECT_THAT(refused_lines(read_llama(fused("exp_avg_dtype: torch.uint8"))), HasSubstr("moments in \"torch.uint8\""));
  const std::string copies = "master_weights: true, store_param_remainders: true";
  EXPECT_EQ(read_llama(fused(copies)).at("precision_recipe.master"), 2) << "the lower 16 bits";
  EXPECT_THAT(why_assumed(read_single(fused(copies)), "optimizer.master_weights"),
              HasSubstr("4 bytes a parameter more"));
  EXPECT_THAT(refused_lines(read_llama(fused("master_weights: true, master_weight_dtype: torch.float16"))),
              HasSubstr("copies of weights in \"torch.float16\""));
}

TEST(AutoModel, TheParallelizerOfExpertsKeepsGatheredWeights) {
  const std::string manager = "distributed: {_target_: own.fsdp2.FSDP2Manager, ep_size: 8}\nparallelizer: {_target_: ";
  const Report old = read_llama(manager + "own.moe.parallelizer.parallelize_model, activation_checkpointing: true}\n");
  EXPECT_EQ(refused_lines(old), "");
  EXPECT_EQ(old.whole("optimizer.zero_stage"), 2);
  EXPECT_EQ(old.at("precision_recipe.reduce"), "fp32");
  EXPECT_EQ(why_assumed(old, "parallelizer.activation_checkpointing"), "") << "whole layers are recomputed";
  const Report deepseek = read_llama(manager + "own.moe.deepseek_v3.parallelizer.parallelize_model}\n");
  EXPECT_EQ(deepseek.whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(deepseek.at("precision_recipe.reduce"), "bf16");
  const Report kept = read_llama("distributed: {strategy: fsdp2, ep_size: 8, moe: {wrap_outer_model: false}}\n");
  EXPECT_EQ(kept.whole("optimizer.zero_stage"), 2);
  const Report again = read_llama("distributed: {ep_size: 8, moe: {reshard_after_forward: true}}\n");
  EXPECT_EQ(refused_lines(again), "");
  EXPECT_EQ(again.whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(read_llama("distributed: {ep_size: 8, moe: {mp_policy: {reduce_dtype: bfloat16}}}\n")
                .at("precision_recipe.reduce"),
            "bf16");
  EXPECT_THAT(refused_lines(read_llama(
                  "distributed: {ep_size: 8, reshard_after_forward: false, moe: {reshard_after_forward: true}}\n")),
              HasSubstr("contradicts distributed.reshard_after_forward"));
  EXPECT_THAT(refused_lines(read_llama("distributed: {ep_size: 8, moe: {checkpoint_moe_only: true}}\n")),
              HasSubstr("distributed.moe.checkpoint_moe_only"));
}

TEST(AutoModel, MegatronFsdpReducesInTheTypeOfTheWeights) {
  for (const char* name : {"mfsdp", "megatron_fsdp", "megatron-fsdp"}) {
    const Report report = read_llama(std::string("distributed: {zero_dp_strategy: 2, strategy: ") + name + "}\n");
    EXPECT_EQ(refused_lines(report), "") << name;
    EXPECT_EQ(report.whole("optimizer.zero_stage"), 2) << name;
    EXPECT_EQ(report.at("precision_recipe.reduce"), "bf16") << name;
  }
  const Report wide = read_llama(
      "distributed: {_target_: own.MegatronFSDPManager, grad_reduce_in_fp32: true, preserve_fp32_weights: true}\n");
  EXPECT_EQ(refused_lines(wide), "");
  for (const char* part : {"gradients", "reduce", "master", "moments"})
    EXPECT_EQ(wide.at(std::string("precision_recipe.") + part), "fp32") << part;
  EXPECT_EQ(wide.at("precision_recipe.weights"), "bf16");
  EXPECT_THAT(refused_lines(read_single("distributed: {strategy: mfsdp}\n")), HasSubstr("fp32 under Megatron-FSDP"));
  EXPECT_THAT(refused_lines(read_llama("distributed: {strategy: zero9}\n")), HasSubstr("the strategy \"zero9\""));
}

TEST(AutoModel, RecomputingKeepsMoreThanOneInputALayer) {
  const auto with = [](const std::string& words) { return read_llama("distributed: {" + words + "}\n"); };
  const Report report = with("activation_checkpointing: true, activation_checkpointing_scope: all");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_THAT(why_assumed(report, "distributed.activation_checkpointing"), HasSubstr("keeps four"));
  EXPECT_EQ(why_assumed(with("activation_checkpointing: selective"), "distributed.activation_checkpointing"), "");
  EXPECT_THAT(refused_lines(with("activation_checkpointing: true, activation_checkpointing_scope: vision")),
              HasSubstr("distributed.activation_checkpointing_scope"));
  EXPECT_THAT(refused_lines(with("activation_checkpointing: moe")), HasSubstr("recomputing \"moe\""));
}

TEST(AutoModel, APipelineTakesTheLocalBatchForEachStepOfAccumulation) {
  const auto piped = [](const std::string& batch) {
    return read("step_scheduler: {" + batch +
                "}\ndataset: {_target_: own.MockDataset, seq_len: 512}\n"
                "model: {_target_: own.from_pretrained, pretrained_model_name_or_path: meta-llama/Llama-3.1-8B}\n"
                "distributed: {pp_size: 2, dp_size: 4, pipeline: {pp_microbatch_size: 1}}\n");
  };
  const Report report = piped("local_batch_size: 8, grad_acc_steps: 2");
  EXPECT_EQ(report.whole("batch.micro"), 1);
  EXPECT_EQ(report.whole("batch.global"), 8 * 2 * 4);
  EXPECT_THAT(refused_lines(report), HasSubstr("step_scheduler.grad_acc_steps: the pipeline is filled 2 times"));
  EXPECT_THAT(refused_lines(piped("local_batch_size: 8, grad_acc_steps: 0")), HasSubstr("expected 1 or more, found 0"));
  const Report once = piped("local_batch_size: 8, grad_acc_steps: 1");
  EXPECT_EQ(refused_lines(once), "");
  EXPECT_EQ(once.whole("batch.global"), 8 * 1 * 4);
}

TEST(AutoModel, ChunksAreNotRoundedWhereTheRecipeDoesNotSayHow) {
  const auto chunks = [](int per) {
    return read_llama(
        "distributed: {pp_size: 4, dp_size: 32, pipeline: {pp_schedule: interleaved1f1b, layers_per_stage: " +
        std::to_string(per) + "}}\n");
  };
  EXPECT_THAT(refused_lines(chunks(6)), HasSubstr("80 layers make 14 chunks, no multiple of 4 stages"));
  EXPECT_EQ(refused_lines(chunks(10)), "");
  EXPECT_EQ(chunks(10).whole("parallelism.virtual_pipeline"), 80 / 10 / 4);
  EXPECT_THAT(refused_lines(chunks(20)), HasSubstr("two a stage or more"));
}

TEST(AutoModel, GpusAreThoseOfTheMeshOfSlurmOrOfTheCommandLine) {
  EXPECT_EQ(read_llama("distributed: {dp_size: 4, cp_size: 2, tp_size: 2, pp_size: 1}\n").whole("gpus"), 4 * 2 * 2);
  EXPECT_EQ(read_llama("distributed: {dp_size: 4}\nslurm: {nodes: 2, ntasks_per_node: 8}\n").whole("gpus"), 2 * 8);
  Findings findings;
  Launch launch;
  launch.sets = {"cluster=dgx-h100-ndr", "gpus=32"};
  const Report report =
      read_launch_text(std::string(kLlama) + "distributed: {dp_size: 4}\n", "a.yaml", launch, findings);
  EXPECT_EQ(report.whole("gpus"), 32);
  EXPECT_EQ(std::ranges::count(report.mapped, "gpus", &Mapped::key), 1);
}

TEST(AutoModel, ReplicasOfShardsAreRefused) {
  const auto read = [](const std::string& copies) {
    return refused_lines(read_llama("distributed: {dp_size: 8, dp_replicate_size: " + copies + "}\n"));
  };
  EXPECT_NE(read("2").find("dp_replicate_size: 2 replicas of sharded weights"), std::string::npos);
  EXPECT_EQ(read("1"), "");
  EXPECT_EQ(read("8"), "") << "each shard has one rank";
  const auto on_a_node = [](const std::string& degrees) {
    return read_llama("distributed: {dp_size: none, dp_replicate_size: 8" + degrees +
                      "}\nslurm: {nodes: 1, ntasks_per_node: 8}\n");
  };
  EXPECT_EQ(refused_lines(on_a_node("")), "") << "the data ranks follow from the GPUs";
  EXPECT_EQ(on_a_node("").whole("optimizer.zero_stage"), 0);
  EXPECT_THAT(refused_lines(read_llama("distributed: {dp_size: 4, dp_replicate_size: 4, cp_size: 2}\n")),
              HasSubstr("dp_replicate_size: 4 replicas of sharded weights"))
      << "context ranks share weights";
}

TEST(AutoModel, RecipesAreNamedByAWordToo) {
  for (const char* name : {"KnowledgeDistillationRecipeForNextTokenPrediction", "DistillationRecipe",
                           "TrainFinetuneRecipeForSequenceClassification", "FinetuneRecipeForVLM"}) {
    const Report report = read_llama(std::string("recipe: ") + name + "\n");
    EXPECT_TRUE(report.unread) << name;
    EXPECT_THAT(refused_lines(report),
                HasSubstr(std::string("recipe: no plain training of a language model: ") + name));
  }
  const Report plain = read_llama("recipe: TrainFinetuneRecipeForNextTokenPrediction\n");
  EXPECT_EQ(refused_lines(plain), "");
}

TEST(AutoModel, EachKeyOfFp8HasItsOwnReason) {
  const Report report = read_single(
      "fp8: {enabled: true, recipe_name: tensorwise, filter_fqns: [lm_head], enable_fsdp_float8_all_gather: true}\n");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_THAT(why_assumed(report, "fp8.filter_fqns"), HasSubstr("run in fp8"));
  EXPECT_THAT(why_assumed(report, "fp8.enable_fsdp_float8_all_gather"), HasSubstr("gathered in 16 bits"));
}

TEST(AutoModel, KeysOfDdpAndMegatronFsdpAreKnown) {
  const Report ddp = read_llama(
      "distributed: {strategy: ddp, broadcast_buffers: true, bucket_cap_mb: 25, gradient_as_bucket_view: true}\n");
  EXPECT_EQ(refused_lines(ddp), "");
  EXPECT_THAT(why_assumed(ddp, "distributed.bucket_cap_mb"), HasSubstr("as the runtime does it"));
  const Report megatron = read_llama(
      "distributed: {strategy: megatron_fsdp, megatron_fsdp_unit_modules: [own.LlamaDecoderLayer], nccl_ub: true,\n"
      "  check_for_nan_in_grad: true, fsdp_double_buffer: true, average_in_collective: true}\n");
  EXPECT_EQ(refused_lines(megatron), "");
  EXPECT_THAT(refused_lines(read_llama("distributed: {strategy: mfsdp, report_nan_in_param_grad: true}\n")),
              HasSubstr("which slows the step"));
  EXPECT_THAT(refused_lines(read_llama("distributed: {ep_size: 8, moe: {activation_checkpointing_modules: [attn]}}\n")),
              HasSubstr("recomputing a part of each layer"));
}

TEST(AutoModel, OtherTasksAreRefusedWhole) {
  const Report report =
      read("step_scheduler: {local_batch_size: 1}\nmodel: {_target_: own.NeMoAutoModelForImageTextToText.from}\n");
  EXPECT_TRUE(report.unread);
  EXPECT_THAT(refused_lines(report), HasSubstr("no plain training of a language model"));
}

}  // namespace
}  // namespace foretoken::io::launch::nemo
