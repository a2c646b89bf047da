// Tests layers of GPT-NeoX's forks and old versions.
#include "sim/io/import/launch/neox/read_neox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::neox {
namespace {

using testing::HasSubstr;

Report neox_with(const std::string& layer) {
  return read_test_launch(
      "{\"pipe-parallel-size\": 0, \"model-parallel-size\": 1, \"num-layers\": 24, \"hidden-size\": 2048,\n"
      " \"num-attention-heads\": 32, \"seq-length\": 4096, \"no-weight-tying\": true, \"precision\": \"bfloat16\",\n"
      " \"optimizer\": {\"type\": \"Adam\"}, \"train_micro_batch_size_per_gpu\": 2, " +
          layer + "}",
      "a.yml");
}

TEST(ReadNeox, NormsOfQueriesAndKeysHaveTwoNames) {
  for (const char* key : {"qk_norm", "use_qk_layernorm"}) {
    const Report report = neox_with("\"" + std::string(key) + "\": true");
    EXPECT_EQ(report.at("model.qk_layernorm"), Json(true)) << key;
    EXPECT_EQ(refused_lines(report), "") << key;
  }
  EXPECT_FALSE(neox_with("\"qk_norm\": false").has("model.qk_layernorm"));
  EXPECT_THAT(refused_lines(neox_with("\"post_norm\": true")), HasSubstr("post_norm: an unknown key"));
}

// Fill-in-the-middle permutes the tokens of the data: Stability-AI/gpt-neox, megatron/data/gpt2_dataset.py.
TEST(ReadNeox, FillingInTheMiddleIsAMatterOfTheData) {
  EXPECT_EQ(refused_lines(neox_with("\"fim_rate\": 0.9, \"fim_spm_rate\": 0.5, \"fim_split_sample\": null")), "");
  EXPECT_THAT(refused_lines(neox_with("\"moe_num_experts\": 4, \"moe_lora_experts\": 2")),
              HasSubstr("moe_lora_experts: adapters"));
}

TEST(ReadNeox, ExpertsOnRanksOfTheirOwnHaveNoShardedGradients) {
  const auto refused = [](const std::string& expert, const std::string& stage) {
    return refused_lines(neox_with("\"moe_num_experts\": 8, \"moe_expert_parallel_size\": " + expert +
                                   ", \"zero_optimization\": {\"stage\": " + stage + "}"));
  };
  EXPECT_THAT(refused("2", "3"), HasSubstr("what DeepSpeed's stage 3 shards of experts on 2 ranks is not known"));
  EXPECT_THAT(refused("2", "2"), HasSubstr("moe_expert_parallel_size"));
  EXPECT_EQ(refused("2", "1"), "");
  EXPECT_EQ(refused("1", "3"), "");
}

// deepspeed/runtime/engine.py, get_data_types and _do_optimizer_sanity_check.
TEST(ReadNeox, TheTypeOfItsGradientsIsDeepSpeeds) {
  const std::string wide = ", \"data_types\": {\"grad_accum_dtype\": \"fp32\"}";
  const auto gradients = [](const std::string& stage, const std::string& types) {
    return neox_with("\"zero_optimization\": {\"stage\": " + stage + "}" + types).at("precision_recipe.gradients");
  };
  EXPECT_EQ(gradients("0", ""), Json("fp32"));
  EXPECT_EQ(gradients("1", wide), Json(6));
  EXPECT_EQ(gradients("2", wide), Json("fp32"));
}

// 8 x 2048 / 3 = 5461, in steps of 256: the width of StableLM 2 1.6B.
TEST(NeoxMlp, OfALlamaBlockIsTwoThirdsWide) {
  for (const char* kind : {"\"mlp_type\": \"llama\"", "\"mlp_type\": \"gated\", \"mlp_multiple_of\": 256"}) {
    const Report report = neox_with(std::string("\"activation\": \"silu\", ") + kind +
                                    ", \"attention_head_type\": \"multihead\", \"use_flash_cross_entropy\": true, "
                                    "\"full_precision_lm_cross_entropy\": true");
    EXPECT_EQ(refused_lines(report), "") << kind;
    EXPECT_EQ(report.at("model.activation"), Json("swiglu")) << kind;
    EXPECT_EQ(report.whole("model.ffn_hidden_size"), 5632) << kind;
  }
  EXPECT_EQ(neox_with("\"activation\": \"gelu\", \"mlp_type\": \"llama\"").at("model.activation"), Json("geglu"));
  const Report plain = neox_with("\"activation\": \"silu\"");
  EXPECT_EQ(refused_lines(plain), "");
  EXPECT_TRUE(plain.names("activation")) << "it is taken as gelu";
  EXPECT_THAT(refused_lines(neox_with("\"activation\": \"mish\"")), HasSubstr("\"mish\" is not modelled"));
  EXPECT_THAT(refused_lines(neox_with("\"attention_head_type\": \"groupedquery\"")), HasSubstr("attention_head_type"));
}

TEST(NeoxNorm, MayHaveNoWeights) {
  const Report report = neox_with("\"norm\": \"non_parametric_layernorm\"");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("model.normalization"), Json("non_parametric_layernorm"));
  EXPECT_THAT(refused_lines(neox_with("\"norm\": \"scalenorm\"")), HasSubstr("\"scalenorm\" is not modelled"));
}

// The optimizer is the trainer's own: the GPU's Adam cannot update states in the host's memory.
TEST(NeoxOffload, NeedsTheOptimizerOfTheHost) {
  const std::string zero =
      ", \"zero_optimization\": {\"stage\": 3, \"cpu_offload\": true, \"cpu_offload_params\": true}";
  EXPECT_THAT(refused_lines(neox_with("\"gas\": 1" + zero)), HasSubstr("zero_optimization: states or parameters"));
  const Report report = neox_with("\"optimizer\": {\"type\": \"cpu_adam\"}" + zero);
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("offload"), (Json{{"optimizer", "cpu"}, {"parameters", "cpu"}}));
  EXPECT_EQ(report.at("runtime"), Json("deepspeed"));
}

TEST(NeoxPositions, NoneIsNoTable) {
  EXPECT_EQ(neox_with("\"pos-emb\": \"none\"").at("model.position_embedding_type"), Json("none"));
  EXPECT_EQ(neox_with("\"pos-emb\": \"rotary\"").at("model.position_embedding_type"), Json("rope"));
  EXPECT_EQ(neox_with("\"hidden-dropout\": 0").at("model.position_embedding_type"), Json("learned_absolute"));
}

// "zero_optimization": {"stage": S, "overlap_comm": true} beside a number of stages; the last key of a name counts.
TEST(NeoxOverlap, NeedsStageTwoAndNoPipelineModule) {
  const auto overlap = [](const char* stage, const char* stages) {
    return neox_with(std::string("\"zero_optimization\": {\"overlap_comm\": true, \"stage\": ") + stage +
                     "}, \"pipe_parallel_size\": " + stages)
        .at("overlap.grad_reduce");
  };
  EXPECT_EQ(overlap("1", "0"), Json(false)) << "DeepSpeed's engine switches it off";
  EXPECT_EQ(overlap("2", "0"), Json(true));
  EXPECT_EQ(overlap("2", "1"), Json(false)) << "a pipeline module of one stage";
}

TEST(NeoxDegrees, AreOneForZero) {
  const Report report = neox_with("\"model_parallel_size\": 0");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("parallelism.tensor"), 1);
}

TEST(NeoxLauncher, StatesItsGpus) {
  const auto gpus = [](const std::string& keys) { return neox_with(keys).whole("gpus"); };
  EXPECT_EQ(gpus("\"include\": \"127.0.0.1:1,2\", \"hostfile\": \"hosts\""), 2);
  EXPECT_EQ(gpus("\"include\": \"a:0,1@b:0,1,2,3\""), 6);
  EXPECT_EQ(gpus("\"num_gpus\": 8, \"num_nodes\": 2"), 16);
  EXPECT_EQ(gpus("\"num_gpus\": 8"), 8);
  EXPECT_EQ(gpus("\"num_gpus\": 8, \"hostfile\": \"hosts\""), std::nullopt) << "it holds the nodes";
  EXPECT_EQ(gpus("\"include\": \"a@b\""), std::nullopt);
}

TEST(NeoxExperts, StandInEveryNthLayerByAnyName) {
  for (const char* key : {"moe_expert_interval", "expert_interval", "moe_freq"}) {
    const Report report = neox_with(std::string("\"moe_num_experts\": 8, \"") + key + "\": 2");
    EXPECT_EQ(refused_lines(report), "") << key;
    EXPECT_EQ(report.whole("model.moe_layer_freq"), 2) << key;
  }
}

TEST(NeoxOverlap, OfStageThreeGathersWeightsAheadToo) {
  const auto overlap = [](const std::string& zero, const char* key) {
    return neox_with("\"pipe_parallel_size\": 0, \"zero_optimization\": {\"stage\": 3" + zero + "}").at(key);
  };
  for (const char* key : {"overlap.grad_reduce", "overlap.param_gather"}) {
    EXPECT_EQ(overlap(", \"overlap_comm\": true", key), Json(true)) << key;
    EXPECT_EQ(overlap("", key), Json(true)) << "DeepSpeed's default at stage 3";
    EXPECT_EQ(overlap(", \"overlap_comm\": false", key), Json(false)) << key;
  }
}

// megatron/model/transformer.py, ParallelTransformerLayer.forward.
TEST(NeoxPrecision, OfWholeLayersInFp8IsRefusedByName) {
  EXPECT_NE(refused_lines(neox_with("\"te_mha\": true, \"te_fp8_mha\": true")).find("te_fp8_mha: "), std::string::npos);
  EXPECT_EQ(refused_lines(neox_with("\"te_mha\": true, \"te_fp8_mha\": false, \"te_fp8_format\": \"hybrid\"")), "");
}

TEST(ReadNeox, UnknownExpertsAreRefusedAsSuch) {
  for (const char* key : {"num_experts", "expert_capacity", "my_moe_width"}) {
    const std::string refused = refused_lines(neox_with("\"" + std::string(key) + "\": 4"));
    EXPECT_THAT(refused, HasSubstr(std::string(key) + ": experts of a fork"));
    EXPECT_THAT(refused, testing::Not(HasSubstr("--allow")));
  }
  EXPECT_EQ(refused_lines(neox_with("\"num_experts\": 1")), "") << "a dense layer";
  EXPECT_NE(refused_lines(neox_with("\"expert_width\": 0")), "");
}

TEST(ReadNeox, DefaultsAreThoseOfNeox) {
  const auto reason = [](const Report& report, const char* key) {
    for (const Assumed& one : report.assumed)
      if (one.key == key) return one.because;
    return std::string();
  };
  const Report report = neox_with("\"seed\": 1"), newer = neox_with("\"pack_impl\": \"packed\"");
  EXPECT_EQ(report.at("model.hidden_dropout"), Json(0.1));
  EXPECT_EQ(newer.at("model.attention_dropout"), Json(0.0));
  EXPECT_THAT(reason(report, "model.hidden_dropout"), HasSubstr("GPT-NeoX"));
  EXPECT_THAT(reason(newer, "model.hidden_dropout"), HasSubstr("pack_impl"));
  EXPECT_EQ(neox_with("\"hidden_dropout\": 0.2").at("model.hidden_dropout"), Json(0.2));
  EXPECT_THAT(reason(report, "optimizer.zero_stage"), HasSubstr("not stated"));
  EXPECT_EQ(neox_with("\"zero_optimization\": {\"stage\": 1}").whole("optimizer.zero_stage"), 1);
}

}  // namespace
}  // namespace foretoken::io::launch::neox
