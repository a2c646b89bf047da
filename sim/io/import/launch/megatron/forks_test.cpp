// Tests the flags of Megatron-LM's forks: EPFL's, FlagScale, MindSpeed, DeepSpeed's and ms-swift's command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/megatron/flag_table.h"
#include "sim/io/import/launch/megatron/flags_by_name.h"
#include "sim/io/import/launch/read_launch.h"
#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch {
namespace {

using testing::HasSubstr;

constexpr const char* kFlagsOfForks =
    "pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
    "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --vocab-size 50304 ";

Report read_text_of_fork(const std::string& text) { return read_test_launch(text, "train.sh"); }

Report with_flags_of_fork(const std::string& flags) {
  return read_text_of_fork(std::string("torchrun --nproc_per_node 8 --nnodes 2 ") + kFlagsOfForks + "--bf16 " + flags);
}

struct ForkCase {
  const char *what, *flags, *key, *value;
};

constexpr ForkCase kForkCases[] = {
    {"FlagScale rounds two thirds up", "--swiglu --multiple-of 256", "model.ffn_hidden_size", "5632"},
    {"after its factor", "--swiglu --multiple-of 4096 --hidden-dim-multiplier 1.3", "model.ffn_hidden_size", "8192"},
    {"a type of MLP by a word", "--mlp-type SwiGLU", "model.activation", "\"swiglu\""},
    {"another name of positions", "--pos-emb-type rotary", "model.position_embedding_type", "\"rope\""},
    {"DeepSpeed's plain experts", "--mlp-type standard --ul2-type sample --use-container-fused-kernels",
     "model.activation", "\"gelu\""},
    {"an optimizer on the host", "--cpu-optimizer --deepspeed --zero-stage 2", "offload.optimizer", "\"cpu\""},
    {"and its runtime", "--cpu-optimizer --deepspeed --zero-stage 2", "runtime", "\"deepspeed\""},
    {"FlagScale's RMSNorm", "--apply-layernorm-rms", "model.normalization", "\"RMSNorm\""},
    {"another fork's RMSNorm", "--use-rmsnorm", "model.normalization", "\"RMSNorm\""},
    {"a width as of Llama", "--llama-swiglu --swiglu-multiple-of 256", "model.ffn_hidden_size", "5632"},
    {"EPFL's RMSNorm has no biases", "--use_rms_norm --glu_activation swiglu", "model.add_bias_linear", "false"},
    {"unless they are asked for", "--use_rms_norm --glu_activation swiglu --use_bias", "model.add_bias_linear", "true"},
    {"EPFL's head of its own", "--no_tie_embed_logits", "model.untie_embeddings_and_output_weights", "true"},
    {"Falcon's two branches", "--parallel_attn --no_tie_embed_logits", "model.parallel_residual", "true"},
    {"EPFL's groups of queries", "--num_attention_heads_kv 4 --use_multiquery_attn --parallel_attn",
     "model.num_query_groups", "4"},
    {"and none", "--no_tie_embed_logits", "model.num_query_groups", "16"},
    {"MindSpeed's experts", "--num-experts 8 --moe-intermediate-size 768", "model.moe_ffn_hidden_size", "768"},
    {"and those for every token", "--num-experts 8 --moe-intermediate-size 768 --n-shared-experts 2",
     "model.moe_shared_expert_intermediate_size", "1536"},
    {"Ulysses on one rank is off", "--ds-sequence-parallel-size 1", "parallelism.context", "1"},
    {"Ulysses on four", "--ds-sequence-parallel-size 4 --deepspeed --zero-stage 1", "parallelism.context", "4"},
    {"exchanges heads", "--ds-sequence-parallel-size 4 --deepspeed --zero-stage 1", "parallelism.context_exchange",
     "\"all-to-all\""},
    {"MindSpeed's Ulysses", "--context-parallel-size 2 --context-parallel-algo ulysses_cp_algo",
     "parallelism.context_exchange", "\"all-to-all\""},
    {"MindSpeed's dense layers", "--num-experts 8 --first-k-dense-replace 3 --moe-layer-freq 1",
     "model.first_k_dense_replace", "3"},
    {"or none", "--num-experts 8 --first-k-dense-replace -1 --moe-layer-freq -1", "model.first_k_dense_replace", "0"},
    {"MindSpeed's stages", "--pipeline-model-parallel-size 4 --num-layer-list 7,6,6,5", "parallelism.layers_per_stage",
     "[7,6,6,5]"},
    {"MindSpeed's latent attention", "--multi-head-latent-attention --qk-nope-head-dim 192 --qk-rope-head-dim 32",
     "model.qk_head_dim", "192"},
    {"and its rotary part", "--multi-head-latent-attention --qk-nope-head-dim 192 --qk-rope-head-dim 32",
     "model.qk_pos_emb_head_dim", "32"},
    {"its layers by family", "--spec mindspeed_llm.tasks.models.spec.deepseek_spec layer_spec", "precision",
     "\"bf16\""},
    {"its other flags",
     "--shape-order BNSD --mla-mm-split --rope-scaling-type yarn --fix-router --ai-framework pytorch", "precision",
     "\"bf16\""},
    {"names, files and losses of a fork",
     "--experiment-run-id 7 --special-tokens-file a.txt --rampup-save-interval 9 --loss-mask-tokens N", "precision",
     "\"bf16\""},
    {"the code before core 0.4 has no fused attention", "--data-impl mmap", "attention", "\"unfused\""},
    {"unless asked", "--data-impl mmap --use-flash-attn", "attention", "\"flash\""},
    {"and Transformer Engine's has", "--data-impl mmap --transformer-impl transformer_engine", "attention",
     "\"flash\""},
    {"MindSpeed's chunks", "--pipeline-model-parallel-size 2 --virtual-pipeline-model-parallel-size 3",
     "parallelism.virtual_pipeline", "3"},
    {"a decoder's own length of the same name", "--decoder-seq-length 2048", "model.num_layers", "24"},
    {"layers of experts that are computed again", "--num-experts 8 --moe-layer-recompute", "recompute.granularity",
     "\"selective\""},
    {"Pai's layers of its own", "--transformer-type megatron --patch-tokenizer-type X", "precision", "\"bf16\""},
    {"Pai's gated shared expert",
     "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 512 --shared-moe-ffn-hidden-size 2048 "
     "--enable-shared-expert",
     "model.moe_shared_expert_intermediate_size", "2048"},
    {"has its gate",
     "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 512 --shared-moe-ffn-hidden-size 2048 "
     "--enable-shared-expert",
     "model.moe_shared_expert_gate", "true"},
    {"and is absent without the switch",
     "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 512 --shared-moe-ffn-hidden-size 2048",
     "model.moe_shared_expert_intermediate_size", "null"},
    {"the switch gives Megatron-LM's own shared expert a gate, too",
     "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 512 --moe-shared-expert-intermediate-size 2048 "
     "--enable-shared-expert",
     "model.moe_shared_expert_gate", "true"},
    {"Pai's mask of ALiBi", "--use-alibi-mask", "model.position_embedding_type", "\"alibi\""},
    {"Pai's Mistral", "--use-mistral-rotary-position-embeddings", "model.position_embedding_type", "\"rope\""},
    {"Pai's head and losses", "--use-normhead --z-loss-weight 1e-3 --transformer-timers", "precision", "\"bf16\""},
    {"YaRN of gpt-oss", "--enable-gpt-oss", "model.position_embedding_type", "\"rope\""},
    {"layers rounded up: the last stage lacks one",
     "--num-layers 31 --pipeline-model-parallel-size 8 --allow-padding-num-layers", "parallelism.layers_per_stage",
     "[4,4,4,4,4,4,4,3]"},
    {"then the first", "--num-layers 30 --pipeline-model-parallel-size 8 --allow-padding-num-layers",
     "parallelism.layers_per_stage", "[3,4,4,4,4,4,4,3]"},
    {"then the second", "--num-layers 29 --pipeline-model-parallel-size 8 --allow-padding-num-layers",
     "parallelism.layers_per_stage", "[3,3,4,4,4,4,4,3]"},
    {"chunks in the same order",
     "--num-layers 14 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2 "
     "--allow-padding-num-layers",
     "parallelism.layers_per_stage", "[1,2,2,2,2,2,2,1]"},
    {"layers that divide", "--pipeline-model-parallel-size 8 --allow-padding-num-layers",
     "parallelism.layers_per_stage", "null"},
    {"zero-bubble's other flags", "--auto-offload-time --no-pre-communication-optimization", "precision", "\"bf16\""},
    {"one layer that predicts once", "--mtp-num-layers 1 --mtp-use-repeated-layer", "model.mtp_num_layers", "1"},
    {"groups of messages", "--use-separate-send-recv-groups", "precision", "\"bf16\""},
    {"scales of muP", "--mup-input-scale 1.0", "precision", "\"bf16\""},
    {"tokens of a tokenizer", "--extra-hf-tokens 256", "precision", "\"bf16\""},
    {"an attention of a fork", "--use-flash-attn-cutlass", "attention", "\"flash\""},
    {"MindSpeed's LoRA", "--lora-r 16 --lora-target-modules linear_qkv linear_proj", "training.rank", "16"},
    {"has Megatron's runtime", "--lora-r 16 --lora-target-modules linear_qkv linear_proj", "runtime",
     "\"megatron-lora\""},
    {"by its old names", "--lora-r 16 --lora-target-modules query_key_value dense", "training.targets",
     R"(["linear_qkv","linear_proj"])"}};

TEST(ReadForks, MultiqueryAttentionWithoutANumberIsAskedFor) {
  const Report report = with_flags_of_fork("--use_multiquery_attn --parallel_attn");
  EXPECT_FALSE(report.has("model.num_query_groups"));
  EXPECT_TRUE(std::ranges::any_of(report.asked, [](const Asked& one) { return one.key == "model.num_query_groups"; }));
}

TEST(MegatronForks, AWidthThatTheForkRoundsIsAskedFor) {
  const Report report = with_flags_of_fork("--swiglu --llama-swiglu");
  EXPECT_TRUE(report.asks("model.ffn_hidden_size"));
  EXPECT_FALSE(report.has("model.ffn_hidden_size"));
  EXPECT_EQ(report.at("model.activation"), Json("swiglu"));
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(with_flags_of_fork("--swiglu --llama-swiglu --ffn-hidden-size 5632").whole("model.ffn_hidden_size"), 5632);
}

// Returns the reason of an assumption; empty for none.
std::string why_assumed_of_fork(const std::string& flags, const char* key) {
  const Report report = with_flags_of_fork(flags);
  const auto found = std::ranges::find(report.assumed, key, &Assumed::key);
  return found == report.assumed.end() ? "" : found->because;
}

TEST(MegatronForks, AnUnknownFlagNamesTheWordThatDecides) {
  EXPECT_THAT(why_assumed_of_fork("--weighted-loss", "--weighted-loss"), HasSubstr("by \"loss\" in its name"));
  EXPECT_THAT(why_assumed_of_fork("--origin-hf-ckpt-dir a", "--origin-hf-ckpt-dir"),
              HasSubstr("by \"dir\" in its name"));
}

// Flags of one row share a reason, which must fit each.
TEST(MegatronForks, ReasonsAreThoseOfTheFlag) {
  constexpr std::pair<const char*, const char*> kCases[] = {
      {"--partition-activations", "activations are kept on every tensor rank"},
      {"--scattered-embeddings", "activations are kept on every tensor rank"},
      {"--deepspeed-activation-checkpointing", "computes the same layers again"},
      {"--synchronize-each-layer", "the wait for the GPU"},
      {"--memory-centric-tiled-linear", "run in one piece"},
      {"--tensor-parallel-num-weight-shards", "weights are not sharded further"},
      {"--attention-softmax-in-fp32", "have the precision"},
      {"--attn-logit-softcapping", "fused kernels take as long without it"},
      {"--no-fp8-wgrad", "products in fp8"},
      {"--fused-single-qkv-rope", "kernels are fused as the runtime has them"},
      {"--moe-router-fusion", "kernels are fused as the runtime has them"}};
  for (const auto& [flag, because] : kCases)
    EXPECT_THAT(megatron::rule_of(std::string(flag).substr(2))->because, HasSubstr(because)) << flag;
  constexpr const char *kMethod = "--pp-partition-method", *kStages = "--pipeline-model-parallel-size 4 --deepspeed ";
  const auto because = [&](const char* method) {
    return why_assumed_of_fork(std::string(kStages) + "--zero-stage 1 " + kMethod + " '" + method + "'", kMethod);
  };
  EXPECT_EQ(because("type:transformer"), "");
  EXPECT_EQ(because("type:transformer|embedding"), "") << "a rule maps it";
  EXPECT_THAT(because("parameters"), HasSubstr("as evenly as they can be"));
}

TEST(MegatronForks, FlagsAreMapped) {
  for (const ForkCase& one : kForkCases) {
    SCOPED_TRACE(one.what);
    const Report report = with_flags_of_fork(one.flags);
    EXPECT_EQ(report.at(one.key).dump(), one.value);
    EXPECT_EQ(refused_lines(report), "");
  }
}

TEST(MegatronForks, AWidthWithoutItsSwitchIsListed) {
  const Report report = with_flags_of_fork(
      "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 512 --shared-moe-ffn-hidden-size 2048");
  EXPECT_TRUE(report.names("shared-moe-ffn-hidden-size"));
}

TEST(MegatronForks, OneLayerThatPredictsAtEveryDepthIsNoted) {
  const auto noted = [](const std::string& depths) {
    const Report report = with_flags_of_fork("--mtp-use-repeated-layer --mtp-num-layers " + depths);
    EXPECT_EQ(refused_lines(report), "");
    return std::ranges::count(report.assumed, "--mtp-use-repeated-layer", &Assumed::key);
  };
  EXPECT_EQ(noted("1"), 0);
  EXPECT_EQ(noted("2"), 1);
}

TEST(MegatronForks, WhatHasNoModelIsRefusedByName) {
  constexpr std::pair<const char*, const char*> kCases[] = {
      {"--linear-fp8", "Lumen"},
      {"--mlm-probability 0.3", "masked language model, attention is not causal"},
      {"--transformer-type huggingface", "a model of Hugging Face"},
      {"--moe --moe-topk 1", "DeepSpeed or Tutel"},
      {"--enable-vocab-parallel", "cut over the stages"},
      {"--enable-layer-redistribution --final-stage-num-layers 3", "layers_per_stage"},
      {"--router-std 0.1", "elastic networks"},
      {"--budget-list 1.0 0.5", "elastic networks"},
      {"--slice", "elastic networks"},
      {"--total-seq-length 4096", "a flag of multimodal programs"},
      {"--use-packed-sequence", "a flag of multimodal programs"},
      {"--use-te", "a flag of multimodal programs"},
      {"--no-rl-persist-cuda-graphs", "reinforcement learning"},
      {"--delay-offload-until-cuda-graph", "host's memory"},
      {"--enable-gradient-checkpointing", "Hugging Face's models"},
      {"--noop-layers 22,23", "--noop-layers"},
      {"--batch-invariant-mode", "do not depend on the batch"},
      {"--fake-process-group", "no communication"},
      {"--fake-pp 16", "no communication"},
      {"--recompute-method-per-stage 3 0 1 1", "differs by stage"},
      {"--enable-tensor-cache", "--enable-tensor-cache: an unknown flag"},
      {"--reuse-fp32-param", "--reuse-fp32-param"},
      {"--deltanet-use-output-gate", "--deltanet-use-output-gate: an unknown flag"},
      {"--moe-alltoall-overlap-comm", "--moe-alltoall-overlap-comm"},
      {"--swap-attention", "host's memory"},
      {"--pipeline-model-parallel-size 4 --num-layer-list 7,6,6,6", "sum is 24"},
      {"--num-experts 8 --first-k-dense-replace 1 --moe-layer-freq 2", "--first-k-dense-replace"},
      {"--use-mc2 --tensor-model-parallel-size 2", "overlaps"},
      {"--moe-num-experts=64 --moe-top-k=1", "MegaBlocks"},
      {"--reset-attention-mask --fix-sub-seq-length 16384", "packed"},
      {"--hetero-mode pp", "several kinds"},
      {"--rollout-batch-size 32 --advantage-estimator grpo", "reinforcement"},
      {"--mm-data a.json", "multimodal"},
      {"--teacher-model-path a", "--teacher-model-path"},
      {"--spec mindspeed_llm.tasks.models.spec.hunyuan_spec layer_spec", "--spec"},
      {"--stage dpo", "preference"},
      {"--mlp-type 1 2 4", "experts of several sizes"},
      {"--num-experts 8 --mlp-type residual", "a dense MLP beside the experts"},
      {"--cpu-optimizer", "--cpu-optimizer: it belongs to Megatron-DeepSpeed"},
      {"--swiglu --multiple-of 0", "--multiple-of"},
      {"--swiglu --multiple-of 256 --hidden-dim-multiplier -1", "--multiple-of"}};
  for (const auto& [flags, words] : kCases) {
    SCOPED_TRACE(flags);
    EXPECT_THAT(refused_lines(with_flags_of_fork(flags)), HasSubstr(words));
  }
}

TEST(MegatronForks, AConversionIsNoTraining) {
  EXPECT_THAT(refused_lines(with_flags_of_fork("--ckpt-convert-format torch --ckpt-convert-save a")),
              HasSubstr("it converts a checkpoint"));
  EXPECT_EQ(refused_lines(with_flags_of_fork("--delay-param-gather --use-fused-rope --no-loss-fusion "
                                             "--enable-fa-within-mla")),
            "");
}

TEST(MegatronForks, ScriptsOfOtherDevicesAndTasksAreToldByTheirNames) {
  const std::string run = std::string("torchrun --nproc_per_node 8 ") + kFlagsOfForks + "--bf16";
  EXPECT_EQ(refused_lines(read_text_of_fork(run)), "");
  for (const char* line : {"NPUS_PER_NODE=8\n", "source /usr/local/Ascend/ascend-toolkit/set_env.sh\n"})
    EXPECT_THAT(refused_lines(read_text_of_fork(line + run)), HasSubstr("ascend: the script is for Ascend NPUs"));
  const auto started = [](const std::string& program) {
    const std::string flags = std::string(kFlagsOfForks).substr(std::string("pretrain_gpt.py").size());
    return refused_lines(read_text_of_fork("torchrun --nproc_per_node 8 " + program + flags + "--bf16"));
  };
  EXPECT_EQ(started("tasks/math/sft.py"), "");
  EXPECT_THAT(started("tasks/main.py"), HasSubstr("a downstream task"));
}

TEST(OpenBranches, FlagsThatNobodyKnowsAreAskedFor) {
  const Report report = read_text_of_fork(
      "FLAGS=$(yq .MODEL_ARGS model.yaml)\nmpirun -np 16 python pretrain_gpt.py --decoder-last-pipeline-num-layers 1 "
      "$FLAGS");
  EXPECT_EQ(report.whole("gpus"), 16);
  for (const char* key : {"precision", "parallelism.tensor", "recompute.granularity", "optimizer.zero_stage"}) {
    EXPECT_FALSE(report.has(key)) << key;
    EXPECT_TRUE(std::ranges::any_of(report.asked, [&](const Asked& one) { return one.key == key; })) << key;
  }
}

TEST(MegatronForks, OneTensorRankHasNothingToOverlap) {
  EXPECT_EQ(refused_lines(with_flags_of_fork("--use-mc2 --use-ascend-coc --tensor-model-parallel-size 1")), "");
}

TEST(MegatronForks, PythonAloneIsOneGpuOnlyWhereNothingSaysMore) {
  const std::string model = std::string(kFlagsOfForks) + "--bf16 ";
  const auto gpus = [&](const std::string& begin, const std::string& end) {
    return read_text_of_fork(begin + "python " + model + end).at("gpus").dump();
  };
  EXPECT_EQ(gpus("", ""), "1");
  EXPECT_EQ(gpus("", "--world-size 16"), "16");
  EXPECT_EQ(gpus("", "--use-mpi"), "null");
  EXPECT_EQ(gpus("", "--rank $RANK --world-size $WORLD_SIZE"), "null");
}

TEST(MegatronForks, PrecisionIsAskedForWhereVariablesOfTheEnvironmentMayHoldIt) {
  const Report report = read_text_of_fork("run=\"srun python " + std::string(kFlagsOfForks) +
                                          "--tensor-model-parallel-size ${TP} ${pr_options}\"\neval ${run}");
  EXPECT_TRUE(report.at("precision").is_null());
  EXPECT_TRUE(std::ranges::any_of(report.asked, [](const Asked& one) { return one.key == "precision"; }));
}

TEST(MegatronForks, MindSporesLauncherCountsItsWorkers) {
  const Report report = read_text_of_fork("msrun --local_worker_num 8 --worker_num 16 --node_rank 0 --join True " +
                                          std::string(kFlagsOfForks) + "--bf16");
  EXPECT_EQ(report.whole("gpus"), 16);
  EXPECT_EQ(refused_lines(report), "");
}

TEST(MegatronForks, OneTensorRankInAPartOfALaunchTurnsSequenceParallelismOff) {
  const auto asked = [](const std::string& degree) {
    return read_text_of_fork(
               "ALL_ARGS=(--num-layers 16 --hidden-size 2048 --num-attention-heads 16 --bf16 "
               "--sequence-parallel " +
               degree + ")")
        .at("parallelism.sequence_parallel")
        .dump();
  };
  EXPECT_EQ(asked("--tensor-model-parallel-size 1"), "false");
  EXPECT_EQ(asked("--tensor-model-parallel-size 2"), "true");
  EXPECT_EQ(asked(""), "true");
}

TEST(MegatronForks, ADeepSpeedFileThatIsNotThereCountsByItsName) {
  const auto with = [](const std::string& flags) {
    return read_text_of_fork(
        "deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 "
        "--num-attention-heads 16 --micro-batch-size 1 --global-batch-size 8 --seq-length 1024 "
        "--vocab-size 50304 --fp16 --deepspeed " +
        flags);
  };
  const Report named = with("--deepspeed_config conf/ds_zero2.json");
  EXPECT_TRUE(named.complete());
  EXPECT_EQ(named.whole("optimizer.zero_stage"), 2);
  EXPECT_TRUE(std::ranges::any_of(named.assumed, [](const Assumed& one) { return one.key == "optimizer.zero_stage"; }));
  EXPECT_EQ(named.at("runtime"), Json("megatron-deepspeed-2022"));
  const Report stated = with("--deepspeed_config conf/ds.json --zero-stage 1");
  EXPECT_TRUE(stated.complete());
  EXPECT_EQ(stated.whole("optimizer.zero_stage"), 1);
  const Report brain = with_flags_of_fork("--deepspeed --deepspeed_config conf/ds.json --zero-stage 0");
  EXPECT_EQ(brain.whole("optimizer.zero_stage"), 1) << "BF16_Optimizer shards its states";
  EXPECT_EQ(with("--deepspeed_config conf/ds.json --zero-stage 0").whole("optimizer.zero_stage"), 0);
  const Report open = with("--deepspeed_config conf/ds.json");
  EXPECT_EQ(refused_lines(open), "");
  EXPECT_FALSE(open.has("optimizer.zero_stage"));
  ASSERT_EQ(open.asked.size(), 1U);
  EXPECT_EQ(open.asked[0].key, "optimizer.zero_stage");
}

TEST(MegatronForks, DistributedCheckpointsOf2021AreNoted) {
  EXPECT_EQ(refused_lines(read_text_of_fork("python pretrain_gpt.py --num-layers 2 --hidden-size 64 "
                                            "--num-attention-heads 2 --checkpoint-activations "
                                            "--distribute-checkpointed-activations --fp16")),
            "");
}

constexpr const char* kSwift =
    "NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 megatron sft --load Qwen3-8B-mcore --dataset a --max_length 4096 "
    "--dataloader_num_workers 4 --dataloader_persistent_workers true "
    "--tensor_model_parallel_size 2 --sequence_parallel true --save_interval 200 --max_epochs 3 ";

TEST(MegatronForks, SwiftsCommandHasDefaultsOfItsOwn) {
  const Report report = read_text_of_fork(kSwift);
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("model.num_hidden_layers"), 36);
  EXPECT_EQ(report.at("precision"), Json("bf16"));
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 1);
  EXPECT_EQ(report.whole("batch.sequence_length"), 4096);
  EXPECT_EQ(report.whole("batch.micro"), 1);
  EXPECT_EQ(report.whole("batch.global"), 16);
  EXPECT_EQ(report.whole("gpus"), 4);
  EXPECT_EQ(report.at("recompute.granularity"), Json("selective"));
  // Origins are as the user wrote them; what only this program has added is assumed.
  const auto origin = [&](std::string_view key) {
    for (const Mapped& one : report.mapped)
      if (one.key == key) return one.from;
    for (const Assumed& one : report.assumed)
      if (one.key == key) return one.because;
    return std::string();
  };
  EXPECT_THAT(origin("batch.sequence_length"), HasSubstr("--max_length"));
  EXPECT_THAT(origin("parallelism.tensor"), HasSubstr("--tensor_model_parallel_size"));
  EXPECT_THAT(origin("batch.global"), HasSubstr("ms-swift's default"));
  EXPECT_THAT(origin("gpus"), HasSubstr("the environment"));
  const Report lora = read_text_of_fork(std::string(kSwift) + "--train_type lora --lora_rank 32");
  EXPECT_EQ(lora.at("training.method"), Json("lora"));
  EXPECT_EQ(lora.whole("training.rank"), 32);
  EXPECT_EQ(lora.at("runtime"), Json("megatron-lora"));
}

TEST(MegatronForks, SwiftsOtherStagesAreRefused) {
  EXPECT_THAT(refused_lines(read_text_of_fork("megatron rlhf --load Qwen3-8B-mcore --rlhf_type dpo")),
              HasSubstr("preference"));
  EXPECT_THAT(refused_lines(read_text_of_fork("megatron sft --load Qwen2.5-VL-7B-Instruct-mcore")),
              HasSubstr("multimodal"));
  EXPECT_THAT(refused_lines(read_text_of_fork(std::string(kSwift) + "--train_type longlora")), HasSubstr("longlora"));
  EXPECT_THAT(refused_lines(read_text_of_fork(std::string(kSwift) + "--freeze_llm true")),
              HasSubstr("the language model does not train"));
}

TEST(MegatronForks, SwiftsArgumentsWithoutEffectAreListed) {
  std::string ignored;
  for (const auto& one : read_text_of_fork(std::string(kSwift) + "--packing true --merge_lora true").ignored)
    ignored += one.setting + " ";
  EXPECT_THAT(ignored, HasSubstr("--packing"));
  EXPECT_THAT(ignored, HasSubstr("--merge-lora"));
}

TEST(MegatronForks, OtherProgramsAreToldInOneLine) {
  const auto complaint = [](const std::string& text) {
    Findings findings;
    (void)read_launch_text(text + "\n", "opt.sh", {}, findings);
    EXPECT_EQ(findings.complaints.size(), 1U);
    return lines_of(findings.complaints);
  };
  EXPECT_THAT(complaint("srun --nodes 16 --gpus-per-node 8 python metaseq/cli/train.py --model-parallel-size 2 --fp16 "
                        "--decoder-layers 32 --decoder-embed-dim 4096 --tokens-per-sample 2048 --batch-size 32 "
                        "--checkpoint-activations --optimizer adam --seed 1"),
              HasSubstr("fairseq or metaseq"));
  EXPECT_THAT(complaint("deepspeed --num_gpus 8 finetune.py --model-parallel-size 1 --mode finetune --batch-size 4 "
                        "--checkpoint-activations --zero-stage 1 --skip-init --fp16"),
              HasSubstr("SwissArmyTransformer"));
}

constexpr const char* kOpenBranches =
    "AC=${AC:-$(cat ac)}\nZERO=${ZERO:-$(cat zero)}\nif [ $AC = full ]; then\n  AC_ARGS=\"--recompute-method uniform "
    "--recompute-granularity full\"\n"
    "elif [ $AC = none ]; then\n  AC_ARGS=\"\"\nfi\n"
    "if [ $ZERO = do ]; then\n  ZERO_ARGS=\"--use-distributed-optimizer\"\nelse\n  ZERO_ARGS=\"\"\nfi\n";

TEST(OpenBranches, AskForWhatTheirFlagsDecide) {
  const std::string run = std::string("torchrun --nproc_per_node 8 ") + kFlagsOfForks + "--bf16 $AC_ARGS $ZERO_ARGS";
  const Report report = read_text_of_fork(kOpenBranches + run);
  const auto why = [&](const std::string& key) {
    for (const Asked& one : report.asked)
      if (one.key == key) return one.because;
    return std::string();
  };
  EXPECT_EQ(why("recompute.granularity"),
            "--recompute-granularity stands in a branch of an open condition; state the branch with --env "
            "AC_ARGS=\"--FLAG ...\"");
  EXPECT_THAT(why("optimizer.zero_stage"), HasSubstr("--env ZERO_ARGS="));
  EXPECT_FALSE(report.has("recompute.granularity"));
  EXPECT_FALSE(report.has("optimizer.zero_stage"));
}

TEST(OpenBranches, OnArgumentsAreNotTaken) {
  const std::string branches =
      "DO=$2\nPR=$3\nif [ $DO = true ]; then\n  DO_ARGS=\"--use-distributed-optimizer\"\nelse\n  DO_ARGS=\"\"\nfi\n"
      "if [ $DO_ARGS = x ]; then SP_ARGS=--sequence-parallel; fi\n"
      "if [ $PR = bf16 ]; then PR_ARGS=--bf16; fi\n";
  const Report report =
      read_text_of_fork(branches + "torchrun --nproc_per_node 8 " + kFlagsOfForks + "$DO_ARGS $SP_ARGS $PR_ARGS");
  const auto why = [&](const std::string& key) {
    for (const Assumed& one : report.assumed)
      if (one.key == key) return one.because;
    return std::string();
  };
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 0);
  EXPECT_EQ(
      why("optimizer.zero_stage"),
      "--use-distributed-optimizer stands in a branch on argument 2 of the script, which is not known; the branch "
      "is not taken. State the argument behind --, or --env DO_ARGS=\"--FLAG ...\"");
  EXPECT_THAT(why("parallelism.sequence_parallel"), HasSubstr("argument 2 of the script"));
  ASSERT_EQ(report.asked.size(), 1U) << "few train in fp32";
  EXPECT_EQ(report.asked[0].key, "precision");
}

TEST(OpenBranches, ThatAllAgreeAreKnown) {
  const std::string run =
      std::string("torchrun --nproc_per_node $GPUS --nnodes $NODES ") + kFlagsOfForks + "--bf16 $ARGS";
  const auto with = [&](const std::string& last) {
    return read_text_of_fork(
        "if [ -f /etc/a ]; then GPUS=8; NODES=2; ARGS=--use-distributed-optimizer\n"
        "elif [ -f /etc/b ]; then GPUS=8; NODES=2; ARGS=--use-distributed-optimizer\n" +
        last + "fi\n" + run);
  };
  const Report all = with("else GPUS=8; NODES=2; ARGS=--use-distributed-optimizer\n");
  EXPECT_TRUE(all.asked.empty());
  EXPECT_EQ(all.whole("gpus"), 16);
  EXPECT_EQ(all.whole("optimizer.zero_stage"), 1);
  EXPECT_EQ(with("else echo neither; exit 1\n").whole("gpus"), 16);
  EXPECT_FALSE(with("").has("gpus")) << "no branch may run";
  EXPECT_FALSE(with("else GPUS=8; NODES=4; ARGS=\n").has("gpus"));
}

TEST(OpenBranches, OnArgumentsAndOnTheMachineAsk) {
  const std::string branch = "if [ $1 = true ] && [ -f /etc/x ]; then A=--use-distributed-optimizer; fi\n";
  const Report report = read_text_of_fork(branch + "torchrun --nproc_per_node 8 " + kFlagsOfForks + "--bf16 $A");
  ASSERT_EQ(report.asked.size(), 1U);
  EXPECT_EQ(report.asked[0].key, "optimizer.zero_stage");
}

TEST(OpenBranches, AskNothingThatTheCommandDecides) {
  const std::string run = std::string("torchrun --nproc_per_node 8 ") + kFlagsOfForks +
                          "--bf16 --use-distributed-optimizer --recompute-activations $AC_ARGS $ZERO_ARGS";
  const Report report = read_text_of_fork(kOpenBranches + run);
  EXPECT_TRUE(report.asked.empty());
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 1);
}

TEST(Precision, IsNotDoubtedForUnknownWordsOfTheLauncher) {
  const Report report = read_text_of_fork(std::string("HOST=$(scontrol show hostnames | head -n 1)\n"
                                                      "torchrun --nproc_per_node 8 --nnodes 1 --master_addr $HOST ") +
                                          kFlagsOfForks + "--save $1");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("precision"), Json("fp32"));
  const Report words = read_text_of_fork(std::string("torchrun --nproc_per_node 8 ") + kFlagsOfForks + "$(cat flags)");
  EXPECT_TRUE(words.asks("precision"));
}

TEST(Precision, IsRefusedWhereFlagsAndTheDeepSpeedConfigurationDiffer) {
  const std::string config =
      "cat > ds.json <<END\n{\"train_micro_batch_size_per_gpu\": 1, \"fp16\": {\"enabled\": true}}\nEND\n";
  const std::string run =
      std::string("deepspeed --num_gpus 8 ") + kFlagsOfForks + "--deepspeed --deepspeed_config ds.json ";
  EXPECT_EQ(refused_lines(read_text_of_fork(config + run + "--bf16")),
            "fp16.enabled: the DeepSpeed configuration says fp16, the flags say bf16; state one of them\n");
  EXPECT_EQ(refused_lines(read_text_of_fork(config + run + "--fp16")), "");
}

TEST(SlurmTasks, StateTheirGpus) {
  const std::string head = "#!/bin/bash\n#SBATCH --nodes=16\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-task=8\n";
  const std::string flags = std::string(kFlagsOfForks).substr(std::string("pretrain_gpt.py ").size());
  EXPECT_EQ(read_text_of_fork(head + "GPT_ARGS=\"" + flags + "--fp16\"\nsrun ./on_node.sh \"train.py $GPT_ARGS\"")
                .whole("gpus"),
            128);
  const std::string tasks = "#!/bin/bash\n#SBATCH --ntasks=32\n#SBATCH --gpus-per-task=1\n";
  EXPECT_EQ(read_text_of_fork(tasks + "srun python -u " + kFlagsOfForks + "--bf16").whole("gpus"), 32);
}

TEST(HarmlessFlags, OfForksAndOfPrecisionsThatAreOff) {
  EXPECT_EQ(
      refused_lines(with_flags_of_fork("--tp-only-amax-red --keep-last --low-freq-factor 1.0 --high-freq-factor 4.0 "
                                       "--num-experts 8 --moe-router-topk 2 --router-gating-in-fp32 --trace "
                                       "--trace-dir t --trace-granularity full --using-torchrun "
                                       "--metric-for-best-model valid_loss --optimizer-split-size 2")),
      "");
}

TEST(OpenBranches, MayLeaveSectionsThatNothingSets) {
  const Report report = read_text_of_fork(
      std::string("if [ $(cat ac) = yes ]; then A=--recompute-activations; else A=; fi\ntorchrun --nproc_per_node 8 "
                  "--nnodes $2 ") +
      "pretrain_gpt.py --num-layers $3 --hidden-size $4 --micro-batch-size $5 --seq-length $6 --bf16 $A");
  EXPECT_TRUE(std::ranges::any_of(report.asked, [](const Asked& one) { return one.key == "recompute.granularity"; }));
}

TEST(Conditions, InsideOfSubstitutionsAreDecided) {
  const std::string run =
      std::string("OFF=${1:-0}\ntorchrun --nproc_per_node 8 ") + kFlagsOfForks +
      "--bf16 --tensor-model-parallel-size 4 $( [ \"$OFF\" != \"1\" ] && echo --sequence-parallel ) "
      "$( [ \"$OFF\" = 1 ] && echo --use-distributed-optimizer || echo --recompute-activations )";
  const Report report = read_text_of_fork(run);
  EXPECT_EQ(report.at("parallelism.sequence_parallel"), Json(true));
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 0);
  EXPECT_EQ(report.at("recompute.granularity"), Json("selective"));
}

TEST(Fragments, NameTheirDegrees) {
  const std::string flags = std::string(kFlagsOfForks).substr(std::string("pretrain_gpt.py ").size());
  const Report report = read_text_of_fork("TP_SIZE=${TP_SIZE:-4}\nPP_SIZE=2\nMODEL_ARGS=\"" + flags + "--bf16\"\n");
  EXPECT_EQ(report.whole("parallelism.tensor"), 4);
  EXPECT_EQ(report.whole("parallelism.pipeline"), 2);
}

TEST(Launchers, CountProcessesOfMpiBeforeAShell) {
  const std::string run = std::string("'export RANK=$OMPI_COMM_WORLD_RANK\npython ") + kFlagsOfForks + "--bf16'";
  const Report report = read_text_of_fork("mpirun --hostfile h -npernode 4 -n 8 -x PATH bash -c " + run);
  EXPECT_EQ(report.whole("gpus"), 8);
  const auto gpus = std::ranges::find(report.mapped, "gpus", &Mapped::key);
  ASSERT_NE(gpus, report.mapped.end());
  EXPECT_THAT(gpus->from, HasSubstr("(mpirun -n)"));
}

TEST(OpenBranches, FollowFromSettingsThatAreNotThere) {
  const std::string flags = std::string(kFlagsOfForks).substr(std::string("pretrain_gpt.py ").size());
  const std::string branch = "if [[ $size == big ]]; then TP=8; else TP=2; fi\n";
  const std::string run =
      "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --tensor-model-parallel-size $TP " + flags + "--bf16";
  EXPECT_EQ(read_text_of_fork(branch + run).whole("parallelism.tensor"), 2);
  EXPECT_FALSE(read_text_of_fork("source ./model_config.sh\n" + branch + run).has("parallelism.tensor"));
  EXPECT_EQ(read_text_of_fork("source ~/.bashrc\n" + branch + run).whole("parallelism.tensor"), 2);
}

TEST(Fragments, OfAnEvaluationAreRefused) {
  const std::string flags = std::string(kFlagsOfForks).substr(std::string("pretrain_gpt.py ").size());
  const Report report = read_text_of_fork(
      "EXTRA_ARGS=\"" + flags + "\"\ntorchrun --nproc_per_node=8 -m lm_eval --model megatron_lm --args @a.json");
  EXPECT_THAT(refused_lines(report), HasSubstr("lm_eval: not a training entry point: evaluation"));
}

TEST(OtherPrograms, ThatShareSwitchesWithMegatronAreNoMegatron) {
  Findings findings;
  Launch launch;
  const Report report = read_launch_text(
      "torchrun --nnodes 1 --nproc_per_node 8 train.py --deepspeed_config zero3.json --fp16 True --bf16 False "
      "--train_batch_size 64\n",
      "train.sh", launch, findings);
  EXPECT_THAT(lines_of(findings.complaints), HasSubstr("the script starts train.py, which no reader here knows"));
}

TEST(Forks, MicroBatchesOfAStepStandInPlaceOfAGlobalBatch) {
  const std::string flags =
      "deepspeed --num_gpus 8 pretrain_gpt2.py --model-parallel-size 1 --pipe-parallel-size 2 --num-layers 24 "
      "--hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 --batch-size 4 "
      "--vocab-size 50304 --fp16 --deepspeed --zero-stage 1 ";
  EXPECT_EQ(read_text_of_fork(flags + "--gas 16").whole("batch.global"), 4 * 16 * (8 / 2));
  EXPECT_EQ(read_text_of_fork(flags).whole("batch.global"), 4 * (8 / 2)) << "one micro-batch a replica";
  EXPECT_EQ(read_text_of_fork(flags + "--gas 16 --global-batch-size 32").whole("batch.global"), 32);
  for (const char* wrong : {"0", "2000000"})
    EXPECT_NE(refused_lines(read_text_of_fork(flags + "--gas " + wrong)).find("micro-batches a step"),
              std::string::npos)
        << wrong;
}

TEST(MegatronForks, AnOptimizerOnTheHostNeedsItsSection) {
  const auto refused = [](const std::string& zero) {
    return refused_lines(read_text_of_fork("cat <<END > ds.json\n{\"zero_optimization\": {\"stage\": 2" + zero +
                                           "}}\nEND\ndeepspeed --num_gpus 8 " + kFlagsOfForks +
                                           "--bf16 --deepspeed --deepspeed_config ds.json --cpu-optimizer"));
  };
  EXPECT_EQ(refused(", \"offload_optimizer\": {\"device\": \"cpu\"}"), "");
  EXPECT_THAT(refused(""), HasSubstr("DeepSpeedCPUAdam stops"));
}

std::string why_asked_of_fork(const Report& report, std::string_view key) {
  for (const Asked& one : report.asked)
    if (one.key == key) return one.because;
  return "";
}

// bigscience-workshop/Megatron-DeepSpeed, megatron/model/gpt_model.py: PipelineModule balances layers by their type.
TEST(MegatronForks, DeepSpeedsPipelineDealsLayersOutUnevenly) {
  constexpr const char *kKey = "parallelism.layers_per_stage", *kStages = "--pipeline-model-parallel-size 16 ";
  const Report own = with_flags_of_fork(std::string(kStages) + "--deepspeed --zero-stage 1");
  EXPECT_THAT(why_asked_of_fork(own, kKey), HasSubstr("24 layers do not divide over 16 stages"));
  EXPECT_EQ(refused_lines(own), "");
  EXPECT_THAT(refused_lines(with_flags_of_fork(kStages)), HasSubstr("the run would stop"));
  EXPECT_THAT(
      refused_lines(with_flags_of_fork(std::string(kStages) + "--deepspeed --zero-stage 1 "
                                                              "--pp-partition-method 'type:transformer|embedding'")),
      HasSubstr("embedding and head do not divide over 16 stages; what DeepSpeed"));
  EXPECT_EQ(why_asked_of_fork(with_flags_of_fork("--pipeline-model-parallel-size 8 --deepspeed --zero-stage 1"), kKey),
            "");
}

// DeepSpeed, deepspeed/runtime/config.py, _batch_assertion: train_batch_size is micro x accumulation x data ranks.
TEST(MegatronForks, ADeepSpeedFileMayStateTheRanks) {
  const auto gpus = [](const std::string& batch, const std::string& flags) {
    return read_text_of_fork("cat <<END > ds.json\n{" + batch +
                             ", \"zero_optimization\": {\"stage\": 1}}\nEND\ndeepspeed --hostfile $HOSTS " +
                             kFlagsOfForks + "--bf16 --deepspeed --deepspeed_config ds.json " + flags)
        .whole("gpus");
  };
  const std::string all =
      "\"train_batch_size\": 64, \"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 8";
  EXPECT_EQ(gpus(all, ""), 64 / 8);
  EXPECT_EQ(gpus(all, "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2"), 64 / 8 * 4 * 2);
  EXPECT_EQ(gpus("\"train_batch_size\": 64, \"train_micro_batch_size_per_gpu\": 1", ""), std::nullopt);
}

// deepspeed/runtime/engine.py, get_data_types and _do_optimizer_sanity_check: BF16_Optimizer has two gradients.
TEST(MegatronForks, DeepSpeedDecidesAboutTheTypeOfGradients) {
  const auto gradients = [](const std::string& zero, const std::string& types, const std::string& type = "--bf16") {
    return read_text_of_fork("cat <<END > ds.json\n{\"zero_optimization\": {" + zero + "}" + types +
                             "}\nEND\ndeepspeed --num_gpus 8 " + kFlagsOfForks + type +
                             " --deepspeed --deepspeed_config ds.json")
        .at("precision_recipe.gradients");
  };
  const std::string wide = ", \"data_types\": {\"grad_accum_dtype\": \"fp32\"}",
                    brain = ", \"data_types\": {\"grad_accum_dtype\": \"bf16\"}";
  EXPECT_EQ(gradients("\"stage\": 0", ""), Json("fp32"));
  EXPECT_EQ(gradients("\"stage\": 0", wide), Json(6));
  EXPECT_EQ(gradients("\"stage\": 1", wide), Json(6));
  EXPECT_EQ(gradients("\"stage\": 1, \"offload_optimizer\": {\"device\": \"cpu\"}", wide), Json("fp32"));
  EXPECT_EQ(gradients("\"stage\": 2", wide), Json("fp32"));
  EXPECT_EQ(gradients("\"stage\": 1", brain), Json("bf16"));
  EXPECT_EQ(gradients("\"stage\": 1", wide, "--fp16"), Json(6)) << "reduced in 16 bits";
  EXPECT_EQ(gradients("\"stage\": 1", "", "--fp16"), Json("fp16"));
  const Report missing = with_flags_of_fork("--deepspeed --deepspeed_config conf/ds.json --zero-stage 0");
  const auto assumed = std::ranges::find(missing.assumed, "precision_recipe.gradients", &Assumed::key);
  ASSERT_NE(assumed, missing.assumed.end());
  EXPECT_THAT(assumed->because,
              HasSubstr("BF16_Optimizer adds the gradients up in fp32; its copy in bf16 is left out"));
}

TEST(MegatronForks, DeepSpeedGathersWeightsAheadBesideItsOverlap) {
  const auto gathers = [](const std::string& zero) {
    return read_text_of_fork("cat <<END > ds.json\n{\"zero_optimization\": {" + zero +
                             "}}\nEND\ndeepspeed --num_gpus 8 " + kFlagsOfForks +
                             "--bf16 --deepspeed --deepspeed_config ds.json")
        .at("overlap.param_gather");
  };
  EXPECT_EQ(gathers("\"stage\": 3, \"overlap_comm\": true"), Json(true));
  EXPECT_EQ(gathers("\"stage\": 3"), Json(true)) << "on by default";
  EXPECT_EQ(gathers("\"stage\": 3, \"overlap_comm\": false"), Json(false));
  EXPECT_EQ(gathers("\"stage\": 3, \"stage3_prefetch_bucket_size\": 0"), Json(false));
  EXPECT_EQ(gathers("\"stage\": 2, \"overlap_comm\": true"), Json(false));
}

// deepspeed/runtime/zero/constants.py, ZERO3_OPTIMIZATION_OVERLAP_COMM_DEFAULT.
TEST(MegatronForks, DeepSpeedReducesGradientsOfStageThreeAheadByDefault) {
  const auto reduces = [](const std::string& zero) {
    return read_text_of_fork("cat <<END > ds.json\n{\"zero_optimization\": {" + zero +
                             "}}\nEND\ndeepspeed --num_gpus 8 " + kFlagsOfForks +
                             "--bf16 --deepspeed --deepspeed_config ds.json")
        .at("overlap.grad_reduce");
  };
  EXPECT_EQ(reduces("\"stage\": 3"), Json(true));
  EXPECT_EQ(reduces("\"stage\": 3, \"overlap_comm\": false"), Json(false));
  EXPECT_EQ(reduces("\"stage\": 2"), Json(false));
}

// Megatron-LM of 2019, arguments.py: add_data_args.
TEST(MegatronForks, FlagsOf2019ThatReadDataAreFree) {
  EXPECT_EQ(with_flags_of_fork("--loose-json").at("runtime"), "megatron-2021");
  EXPECT_EQ(refused_lines(with_flags_of_fork("--lazy-loader --loose-json --presplit-sentences --resume-dataloader "
                                             "--tokenizer-model-type bert-base-uncased --cache-dir cache "
                                             "--text-key text --use-tfrecords --delim , --deep-init --fp32-layernorm")),
            "");
}

// NVIDIA/Megatron-LM, megatron/legacy/model/transformer.py, SwitchMLP.
TEST(Experts, OfOldCodeGetATokenOneByOne) {
  constexpr const char* kKey = "model.moe_router_topk";
  const Report open = with_flags_of_fork("--num-experts 8 --expert-model-parallel-size 1");
  EXPECT_THAT(why_asked_of_fork(open, kKey), HasSubstr("the code of 2023 sends a token to 1 expert"));
  EXPECT_FALSE(open.has(kKey));
  EXPECT_EQ(with_flags_of_fork("--num-experts 8 --moe-aux-loss-coeff 1e-2").whole(kKey), 2);
  EXPECT_EQ(with_flags_of_fork("--num-experts 8 --use-legacy-models").whole(kKey), 1);
  EXPECT_FALSE(with_flags_of_fork("--num-experts 8 --moe-grouped-gemm").has(kKey)) << "older than the flag";
  EXPECT_EQ(with_flags_of_fork("--num-experts 8 --deepspeed --zero-stage 1").whole(kKey), 1);
}

// Megatron-FSDP has ranks of experts of their own: NVIDIA/Megatron-LM, megatron/core/distributed/fsdp/
// mcore_fsdp_adapter.py, _init_dist_index.
TEST(Experts, OfMegatronFsdpAreShardedOverTheirOwnRanks) {
  const std::string flags = std::string(kFlagsOfForks).substr(std::string("pretrain_gpt.py ").size()) +
                            "--bf16 --num-experts 8 --moe-router-topk 2 --use-megatron-fsdp "
                            "--data-parallel-sharding-strategy optim_grads_params ";
  const auto refused = [&](const std::string& more) {
    return refused_lines(read_text_of_fork("ARGS=\"" + flags + more + "\""));
  };
  EXPECT_EQ(refused("--expert-model-parallel-size 2"), "");
  EXPECT_EQ(refused("--expert-model-parallel-size 1 --expert-tensor-parallel-size 1"), "");
}

// NVIDIA/Megatron-LM, megatron/training/arguments.py, validate_args.
TEST(Experts, OnRanksOfTheirOwnStopFsdp2) {
  const std::string flags = "--num-experts 8 --moe-router-topk 2 --use-torch-fsdp2 --expert-model-parallel-size ";
  EXPECT_THAT(refused_lines(with_flags_of_fork(flags + "2")),
              HasSubstr("--use-torch-fsdp2: Megatron-LM stops with it beside expert parallelism"));
  EXPECT_EQ(refused_lines(with_flags_of_fork(flags + "1")), "");
}

// NVIDIA/Megatron-LM, megatron/core/distributed/torch_fully_sharded_data_parallel.py.
TEST(Overlaps, OfFsdp2AreThoseOfItsRuntime) {
  for (const char* key : {"overlap.grad_reduce", "overlap.param_gather"}) {
    EXPECT_FALSE(with_flags_of_fork("--use-torch-fsdp2").has(key)) << key;
    EXPECT_EQ(with_flags_of_fork("").at(key), false) << key;
    EXPECT_EQ(with_flags_of_fork("--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params").at(key),
              false)
        << key;
  }
  EXPECT_EQ(with_flags_of_fork("--use-torch-fsdp2 --overlap-grad-reduce").at("overlap.grad_reduce"), true);
}

// deepspeed/runtime/engine.py, _configure_zero_optimizer.
TEST(Experts, OfDeepSpeedStopWithStageThree) {
  const auto refused = [](const std::string& stage) {
    return refused_lines(
        with_flags_of_fork("--num-experts 8 --topk 2 --moe-expert-parallel-size 2 --deepspeed --zero-stage " + stage));
  };
  EXPECT_THAT(refused("3"),
              HasSubstr("optimizer.zero_stage: expected 0, 1 or 2 beside DeepSpeed's layers with experts, found 3: "
                        "DeepSpeed stops with stage 3 there; try stage 2"));
  EXPECT_EQ(refused("2"), "");
}

// NVIDIA/Megatron-LM, megatron/core/distributed/distributed_data_parallel_config.py, megatron_fsdp_version.
TEST(Experts, TheSecondMegatronFsdpIsRefusedByName) {
  constexpr const char* kFsdp = "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params ";
  EXPECT_THAT(refused_lines(with_flags_of_fork(std::string(kFsdp) + "--megatron-fsdp-version 2")),
              HasSubstr("--megatron-fsdp-version: the second implementation"));
  EXPECT_EQ(refused_lines(with_flags_of_fork(std::string(kFsdp) + "--megatron-fsdp-version 1")), "");
}

// NVIDIA/Megatron-LM, megatron/core/parallel_state.py: replicas of the shards.
TEST(Experts, InstancesOfTheOptimizerBesideMegatronFsdpAreRefusedByName) {
  constexpr const char* kFsdp = "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params ";
  const auto with = [](const std::string& flags) { return with_flags_of_fork(flags); };
  EXPECT_THAT(refused_lines(with(std::string(kFsdp) +
                                 "--num-distributed-optimizer-instances 2 --outer-dp-sharding-strategy no_shard")),
              HasSubstr("--num-distributed-optimizer-instances: 2 replicas of shards (HSDP) are not modelled"));
  EXPECT_THAT(refused_lines(with("--use-torch-fsdp2 --num-distributed-optimizer-instances 4")), HasSubstr("HSDP"));
  const auto notes = [](const Report& report) {
    return std::ranges::count(report.assumed, "--num-distributed-optimizer-instances", &Assumed::key);
  };
  const Report one =
      with(std::string(kFsdp) + "--num-distributed-optimizer-instances 1 --outer-dp-sharding-strategy no_shard");
  EXPECT_EQ(refused_lines(one), "");
  EXPECT_EQ(notes(one), 0);
  const Report plain = with("--use-distributed-optimizer --num-distributed-optimizer-instances 2");
  EXPECT_EQ(refused_lines(plain), "");
  EXPECT_EQ(notes(plain), 1);
}

TEST(FlagsByName, CountsOfDataAndStepsAreFree) {
  for (const char* flag : {"force-train-samples", "skip-train-iterations", "extra-valid-iters", "drop-train-epochs"})
    EXPECT_NE(megatron::why_free_by_name(flag), "") << flag;
  for (const char* flag : {"train-samples-per-gpu", "packed-train-samples", "train-steps-frozen", "force-samples",
                           "train-fp8-steps", "train-teacher-steps"})
    EXPECT_EQ(megatron::why_free_by_name(flag), "") << flag;
}

TEST(FlagsByName, WeightsOfTheModelsOwnLossesAreFree) {
  for (const char* flag : {"mtp-loss-scaling-factor-decay", "mtp-loss-scaling-factor-decay-start",
                           "moe-z-loss-coefficient", "moe-load-balance-loss-weight"})
    EXPECT_NE(megatron::why_free_by_name(flag), "") << flag;
  for (const char* flag : {"mtp-loss", "mtp-num-heads", "moe-loss-layers-weight", "teacher-loss-weight"})
    EXPECT_EQ(megatron::why_free_by_name(flag), "") << flag;
}

}  // namespace
}  // namespace foretoken::io::launch
