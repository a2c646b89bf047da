// Tests configurations of llm-foundry, and of programs made after it.
#include "sim/io/import/launch/llm_foundry/read_llm_foundry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::llm_foundry {
namespace {

using testing::HasSubstr;

Report read_model(const std::string& model) {
  return read_test_launch(
      "max_seq_len: 2048\nglobal_train_batch_size: 64\ndevice_train_microbatch_size: 4\n"
      "precision: amp_bf16\nfsdp_config: {sharding_strategy: FULL_SHARD}\nmodel: {" +
          model + "}\n",
      "train.yaml");
}

TEST(ReadLlmFoundry, ALlamaHasNamesOfMpt) {
  const std::string sizes =
      "name: mosaic_llama2_370m, d_model: 1024, n_heads: 8, n_layers: 24, intermediate_size: 2816, vocab_size: 32000, "
      "max_seq_len: 2048, init_std: 0.02, rms_norm_eps: 1e-5, attn_pdrop: 0.0";
  const Report report = read_model(sizes + ", l0_module: null");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("model").value("model_type", ""), "llama");
  EXPECT_EQ(report.at("model").value("num_hidden_layers", 0), 24);
  EXPECT_EQ(report.at("model").value("intermediate_size", 0), 2816);
  EXPECT_THAT(refused_lines(read_model(sizes + ", l0_module: {target_model: {d_model: 512}}")),
              HasSubstr("model.l0_module: masks that prune"));
}

// llmfoundry/utils/config_utils.py, process_init_device: weights and gradients keep the type.
TEST(ReadLlmFoundry, WeightsOf16BitsHaveNoMasters) {
  const std::string model = "name: hf_causal_lm, pretrained_model_name_or_path: meta-llama/Llama-2-7b-hf, ";
  const Report report = read_model(model + "master_weights_dtype: bfloat16");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("precision_recipe.weights"), Json("bf16"));
  EXPECT_EQ(report.at("precision_recipe.master"), Json("none"));
  EXPECT_TRUE(read_model(model + "master_weights_dtype: bf16, peft_config: {peft_type: LORA, r: 8}")
                  .names("model.master_weights_dtype"));
  EXPECT_FALSE(read_model(model + "master_weights_dtype: float32").has("precision_recipe.master"));
  EXPECT_THAT(refused_lines(read_model(model + "master_weights_dtype: float16")), HasSubstr("expected bf16 or fp32"));
}

TEST(ReadLlmFoundry, MosaicGptIsMptWithItsKeysInTheModel) {
  const std::string sizes =
      "name: mosaic_gpt, d_model: 1024, n_heads: 8, n_layers: 12, mlp_ratio: 3, vocab_size: 50368";
  const Report report = read_model(sizes + ", attn_impl: triton, alibi: true, attn_clip_qkv: 6, attn_pdrop: 0.0");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("model").value("num_layers", 0), 12);
  EXPECT_EQ(report.at("model").value("ffn_hidden_size", 0), 3 * 1024);
  EXPECT_EQ(report.at("model").value("position_embedding_type", ""), "alibi");
  EXPECT_EQ(report.at("attention"), Json("flash-triton"));
  EXPECT_EQ(read_model(sizes + ", attn_impl: torch").at("attention"), Json("unfused"));
  EXPECT_THAT(refused_lines(read_model(sizes + ", attn_qk_ln: true")), HasSubstr("model.attn_qk_ln"));
}

TEST(ReadLlmFoundry, KernelsThatArePutIntoLlamaAreItsAttention) {
  const std::string llama = "name: hf_causal_lm, pretrained_model_name_or_path: meta-llama/Llama-2-7b-hf";
  const auto patched = [&](const std::string& kernel) {
    return read_model(llama + ", attention_patch_type: " + kernel);
  };
  EXPECT_EQ(refused_lines(patched("triton")), "");
  EXPECT_EQ(patched("triton").at("attention"), Json("flash-triton"));
  EXPECT_EQ(patched("torch").at("attention"), Json("unfused"));
  EXPECT_THAT(refused_lines(patched("own")), HasSubstr("model.attention_patch_type: expected torch or triton"));
}

TEST(ReadLlmFoundry, JobsCountTheirGpus) {
  const Report report = read_test_launch(
      "gpu_num: 16\ngpu_type: a100_40gb\nparameters: {max_seq_len: 2048, global_train_batch_size: 64, "
      "device_train_microbatch_size: 4, model: {name: mpt_causal_lm, d_model: 1024, n_heads: 8, n_layers: 12}}\n",
      "job.yaml");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("gpus"), 16);
}

// The shape of llmshearing/configs/llama2 as its scripts complete it.
TEST(ReadLlmFoundry, AModelOfLlmShearingIsReadWithThePathOfItsWeights) {
  const Report report = read_model(
      "name: mosaic_llama2_1.3b, path: models/a/state_dict.pt, init_device: cpu, tokenizer_name: hf-7B, "
      "d_model: 2048, n_heads: 16, n_layers: 24, intermediate_size: 5504, max_seq_len: 4096, vocab_size: 32000, "
      "init_std: 0.02, attn_pdrop: 0.0, resid_pdrop: 0.0, emb_pdrop: 0.0, attn_impl: flash, rms_norm_eps: 1e-5, "
      "l0_module: null");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("model").value("num_hidden_layers", 0), 24);
}

TEST(ReadLlmFoundry, AnEncoderOfTransformersHasTheSizesOfItsConfiguration) {
  const auto read = [](const std::string& configuration) {
    return read_model(
        "name: hf_bert, use_pretrained: false, pretrained_model_name: bert-base-uncased, tokenizer_name: "
        "bert-base-uncased, model_config: {" +
        configuration + "}");
  };
  const Report plain = read("num_hidden_layers: 12, max_position_embedding: 512");
  EXPECT_EQ(refused_lines(plain), "");
  EXPECT_EQ(plain.at("model"), Json("bert-base"));
  EXPECT_EQ(read("num_hidden_layers: 4").at("model").value("num_hidden_layers", 0), 4);
}

TEST(ReadLlmFoundry, AT5AsksForTheLengthOfItsAnswers) {
  const Report report = read_model("name: hf_t5, pretrained_model_name_or_path: t5-small");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(report.asks("batch.decoder_sequence_length"));
}

TEST(ReadLlmFoundry, AnEncoderOfTheCodesOwnIsRefusedByItsName) {
  const Report report =
      read_model("name: flex_bert, pretrained_model_name: bert-base-uncased, model_config: {num_hidden_layers: 22}");
  EXPECT_THAT(refused_lines(report), HasSubstr("model.name: \"flex_bert\""));
  EXPECT_FALSE(report.has("model")) << "the sizes of bert-base are not those of the model";
}

TEST(ReadLlmFoundry, OverridesChangeTheShapeOfANamedModel) {
  const std::string start = "name: hf_causal_lm, pretrained: false, pretrained_model_name_or_path: ";
  const Report small = read_model(start +
                                  "mistralai/Mistral-7B-v0.1, attn_implementation: flash_attention_2, "
                                  "config_overrides: {num_hidden_layers: 12, hidden_size: 1024, "
                                  "num_attention_heads: 16, num_key_value_heads: 4, intermediate_size: 3584, "
                                  "vocab_size: 48000, sliding_window: null, use_cache: false}");
  EXPECT_EQ(refused_lines(small), "");
  EXPECT_EQ(small.at("model").value("num_hidden_layers", 0), 12);
  EXPECT_EQ(small.at("model").value("vocab_size", 0), 48000);
  EXPECT_EQ(small.at("model").value("model_type", ""), "mistral");
  // A model that the importer holds as a row of sizes.
  const Report row = read_model(start + "EleutherAI/pythia-410m, config_overrides: {vocab_size: 64000}");
  EXPECT_EQ(row.at("model").value("vocab_size", 0), 64000);
  EXPECT_EQ(row.at("model").value("num_hidden_layers", 0), 24);
  // Nothing that changes the shape.
  EXPECT_EQ(read_model(start + "mistralai/Mistral-7B-v0.1, config_overrides: {use_cache: false, use_fused_loss: true}")
                .at("model"),
            Json("mistral-7b"));
  EXPECT_THAT(refused_lines(read_model(start + "mistralai/Mistral-7B-v0.1, config_overrides: {width: 5}")),
              HasSubstr("model.config_overrides: the model cannot be read with them: mistralai/Mistral-7B-v0.1: "
                        "/width: unknown key"));
}

TEST(ReadLlmFoundry, TheTypeOfAConfigurationIsSaidToBeOpen) {
  const auto reason = [](const std::string& pretrained, const std::string& type) {
    const Report report = read_model("name: hf_causal_lm, pretrained: " + pretrained +
                                     ", pretrained_model_name_or_path: mistralai/Mistral-7B-v0.1, config_overrides: "
                                     "{torch_dtype: " +
                                     type + "}");
    EXPECT_EQ(refused_lines(report), "");
    std::string all;
    for (const Assumed& one : report.assumed)
      if (one.key == "model.config_overrides.torch_dtype") all += one.because;
    return all;
  };
  EXPECT_THAT(reason("false", "bfloat16"), HasSubstr("newer ones make them in this type"));
  EXPECT_THAT(reason("true", "bfloat16"), HasSubstr("loaded in fp32"));
}

TEST(ReadLlmFoundry, OverridesOfASectionChangeWhatTheModelStates) {
  const Report report = read_model(
      "name: hf_causal_lm, pretrained_model_name_or_path: mosaicml/mpt-7b, config_overrides: {max_seq_len: 4096, "
      "attn_config: {attn_impl: triton, alibi: true}}");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("model").value("max_seq_len", 0), 4096);
  EXPECT_EQ(report.at("model").at("attn_config").value("alibi", false), true);
  EXPECT_EQ(report.at("attention"), Json("flash-triton"));
}

Report read_run(const std::string& lines) {
  return read_test_launch(
      "max_seq_len: 2048\nprecision: amp_bf16\nmodel: {name: hf_causal_lm, "
      "pretrained_model_name_or_path: mistralai/Mistral-7B-v0.1}\n" +
          lines + "\n",
      "train.yaml");
}

TEST(ReadLlmFoundry, FullPrecisionOfShardingLeavesTheProductsIn16Bits) {
  const std::string batch = "global_train_batch_size: 64\ndevice_train_microbatch_size: 4\n";
  const Report report = read_run(batch + "fsdp_config: {mixed_precision: FULL}");
  EXPECT_EQ(report.at("precision"), Json("bf16"));
  EXPECT_THAT(refused_lines(report), HasSubstr("fsdp_config.mixed_precision: FULL: weights are gathered"));
}

TEST(ReadLlmFoundry, TheSectionOfDeepSpeedStatesZeroAndTheGpus) {
  const Report report = read_run(
      "global_train_batch_size: 512\ndevice_train_microbatch_size: 8\ndeepspeed_config: {train_batch_size: 512, "
      "train_micro_batch_size_per_gpu: 8, gradient_accumulation_steps: 4, bfloat16: {enabled: true}, "
      "zero_optimization: {stage: 3}}");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("gpus"), 16);
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(report.at("runtime"), Json("deepspeed-zero3-2021"));
  EXPECT_EQ(report.at("precision"), Json("bf16"));
}

// Composer does not stop where the micro-batch does not divide the batch of a data rank.
TEST(ReadLlmFoundry, MicroBatchesOfSeveralSizesAreAskedAbout) {
  const std::string start = "compute: {gpus: 16}\nglobal_train_batch_size: 384\ndevice_train_microbatch_size: ";
  const Report uneven = read_run(start + "20\nfsdp_config: {}");
  EXPECT_EQ(refused_lines(uneven), "");
  EXPECT_FALSE(uneven.has("batch.micro"));
  EXPECT_TRUE(std::ranges::any_of(uneven.asked, [](const Asked& one) {
    return one.key == "batch.micro" && one.because.find("24 sequences of a data rank") != std::string::npos;
  }));
  EXPECT_EQ(read_run(start + "32\nfsdp_config: {}").whole("batch.micro"), 24);
}

// mosaicml/examples of early 2023, examples/llm/src/hf_causal_lm.py.
TEST(ReadLlmFoundry, AnOlderKeyNamesTheModelOfHuggingFace) {
  const Report report = read_test_launch(
      "max_seq_len: 256\nmodel: {name: hf_causal_lm, hf_config_name_or_path: gpt2, device: cpu, pretrained: true}\n"
      "global_train_batch_size: 64\ndevice_train_microbatch_size: 4\nprecision: amp_bf16\n",
      "gpt2.yaml");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("model"), "gpt2");
}

// composer/trainer/trainer.py before 0.13: grad_accum, which later became device_train_microbatch_size.
TEST(ReadLlmFoundry, GradAccumStatesTheMicroBatchWhereNothingElseDoes) {
  const auto read = [](const std::string& batch) {
    return read_test_launch("max_seq_len: 2048\nglobal_train_batch_size: 64\nprecision: amp_bf16\n" + batch +
                                "fsdp_config: {sharding_strategy: FULL_SHARD}\ncompute: {gpus: 8}\n"
                                "model: {name: mpt_causal_lm, d_model: 768, n_heads: 12, n_layers: 12}\n",
                            "train.yaml");
  };
  EXPECT_EQ(read("device_train_microbatch_size: 2\ngrad_accum: auto\n").at("batch.micro"), 2);
  EXPECT_EQ(refused_lines(read("device_train_microbatch_size: 2\ngrad_accum: auto\n")), "");
  EXPECT_EQ(read("grad_accum: 2\n").at("batch.micro"), 4);
  EXPECT_TRUE(read("grad_accum: auto\n").asks("batch.micro"));
}

TEST(ReadLlmFoundry, ArgumentsOfDataSetsMayStandAboveThem) {
  const Report report = read_test_launch(
      "max_seq_len: 2048\nglobal_train_batch_size: 64\ndevice_train_microbatch_size: 4\nprecision: amp_bf16\n"
      "num_canonical_nodes: 64\nfsdp_config: {sharding_strategy: FULL_SHARD}\n"
      "model: {name: mpt_causal_lm, d_model: 768, n_heads: 12, n_layers: 12}\n",
      "train.yaml");
  EXPECT_EQ(refused_lines(report), "");
}

}  // namespace
}  // namespace foretoken::io::launch::llm_foundry
