// Tests configurations of NeMo 1.
#include "sim/io/import/launch/nemo/read_nemo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::nemo {
namespace {

Report read_nemo_with(const std::string& trainer, const std::string& model) {
  return read_test_launch(
      "trainer: {precision: bf16" + trainer +
          "}\nmodel: {micro_batch_size: 1, global_batch_size: 64, num_layers: 24, hidden_size: 1024, "
          "num_attention_heads: 16, encoder_seq_length: 2048, transformer_engine: true" +
          model + "}\n",
      "gpt.yaml");
}

TEST(ReadNemo, Fp8CountsByEitherOfItsFormats) {
  const std::string nodes = ", devices: 8, num_nodes: 2";
  EXPECT_EQ(read_nemo_with(nodes, ", fp8: true, fp8_e4m3: false, fp8_hybrid: true").at("precision"), Json("fp8"));
  EXPECT_EQ(read_nemo_with(nodes, ", fp8: true, fp8_e4m3: true, fp8_hybrid: false").at("precision"), Json("fp8"));
  EXPECT_EQ(read_nemo_with(nodes, ", fp8: false, fp8_hybrid: true").at("precision"), Json("bf16"));
  EXPECT_EQ(read_nemo_with(nodes, ", fp8: true, fp8_e4m3: false, fp8_hybrid: false").at("precision"), Json("bf16"));
}

TEST(ReadNemo, EverySettingStandsInTheReport) {
  const Report report = read_nemo_with(", devices: 8, num_nodes: 2",
                                       ", megatron_amp_O2: true, activations_checkpoint_granularity: selective, "
                                       "activations_checkpoint_method: block, activations_checkpoint_num_layers: 0");
  EXPECT_EQ(report.at("recompute.granularity"), Json("none"));
  const auto read = [&](const char* key) { return std::ranges::find(report.read, key) != report.read.end(); };
  EXPECT_TRUE(read("model.activations_checkpoint_method"));
  EXPECT_FALSE(read("model.activations_checkpoint_num_layers")) << "the granularity follows from it";
  EXPECT_FALSE(read("model.num_layers")) << "a line names it";
  EXPECT_EQ(report.json().at("read").size(), report.read.size());
}

TEST(ReadNemo, FusionsOfMegatronCoreAreThoseOfTheRuntime) {
  const Report report = read_nemo_with(", devices: 8, num_nodes: 2",
                                       ", fused_single_qkv_rope: true, memory_efficient_layer_norm: true, "
                                       "fused_residual_rmsnorm: false");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(std::ranges::count(report.assumed, "model.fused_single_qkv_rope", &Assumed::key), 1);
  EXPECT_EQ(std::ranges::count(report.ignored, "model.fused_residual_rmsnorm", &Ignored::setting), 1);
}

// One node is Lightning's default; the command that starts a recipe states another number.
TEST(ReadNemo, NodesThatTheFileLeavesOutAreAskedFor) {
  EXPECT_EQ(read_nemo_with(", devices: 8, num_nodes: 2", "").whole("gpus"), 16);
  const Report report = read_nemo_with(", devices: 8", "");
  EXPECT_FALSE(report.has("gpus"));
  EXPECT_TRUE(std::ranges::any_of(report.asked, [](const Asked& one) {
    return one.key == "gpus" && one.because.find("trainer.num_nodes") != std::string::npos;
  }));
}

TEST(ReadNemo, TwoLengthsOfASequenceAreAskedAbout) {
  const auto asks = [](const std::string& data) {
    const Report report = read_nemo_with(", devices: 8, num_nodes: 2", ", data: {" + data + "}");
    EXPECT_EQ(report.whole("batch.sequence_length"), 2048);
    return std::ranges::any_of(report.asked, [](const Asked& one) {
      return one.key == "batch.sequence_length" && one.because.find("1024 differ") != std::string::npos;
    });
  };
  EXPECT_TRUE(asks("seq_length: 1024"));
  EXPECT_FALSE(asks("seq_length: 2048"));
}

// Transformer Engine takes both by default.
TEST(ReadNemo, VariablesThatTurnFusedAttentionOnChangeNothing) {
  const Report report = read_test_launch(
      "env_vars: {NVTE_FUSED_ATTN: 1}\ntrainer: {precision: bf16, devices: 8, num_nodes: 1}\nmodel: {micro_batch_size: "
      "1, global_batch_size: 64, num_layers: 24, hidden_size: 1024, num_attention_heads: 16, encoder_seq_length: 2048, "
      "transformer_engine: true}\n",
      "gpt.yaml");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("attention"), Json("flash"));
}

TEST(ReadNemo, ItsAdaptersHaveDefaults) {
  const Report report = read_nemo_with(
      ", devices: 8, num_nodes: 1",
      ", peft: {peft_scheme: lora, lora_tuning: {alpha: 32, layer_selection: null}, p_tuning: {virtual_tokens: 10}}");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("training.rank"), 32);
  EXPECT_EQ(report.at("training.targets"), Json::array({"linear_qkv"}));
  const Report none = read_nemo_with(", devices: 8, num_nodes: 1", ", peft: {peft_scheme: null, lora_tuning: {a: 3}}");
  EXPECT_EQ(refused_lines(none), "");
  EXPECT_FALSE(none.has("training"));
}

TEST(ReadNemo, ASiluWithoutAGateIsTakenAsGelu) {
  const Report report = read_nemo_with(", devices: 8, num_nodes: 1", ", activation: silu");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(report.names("model.activation"));
}

constexpr const char* kNodes = ", devices: 8, num_nodes: 2";

TEST(ReadNemo, SelectiveRecomputationOfSomeLayersIsThatOfAll) {
  const auto read = [](const std::string& layers) {
    return read_nemo_with(kNodes,
                          ", pipeline_model_parallel_size: 4, activations_checkpoint_granularity: selective, "
                          "activations_checkpoint_method: block, activations_checkpoint_num_layers: " +
                              layers);
  };
  const auto noted = [](const Report& report) {
    for (const Assumed& one : report.assumed)
      if (one.key == "model.activations_checkpoint_num_layers") return one.because;
    return std::string();
  };
  const Report some = read("1");
  EXPECT_EQ(refused_lines(some), "");
  EXPECT_EQ(some.at("recompute.granularity"), Json("selective"));
  EXPECT_NE(noted(some).find("in all 6 layers of a stage, as by some versions of NeMo; the others recompute 1 of them"),
            std::string::npos)
      << noted(some);
  EXPECT_EQ(noted(read("6")), "");
  EXPECT_EQ(read("24").at("recompute.granularity"), Json("selective"));
  EXPECT_EQ(read("0").at("recompute.granularity"), Json("none"));
}

TEST(ReadNemo, RecomputationInSomeMicroBatchesIsRefused) {
  const auto read = [](const std::string& granularity, const std::string& partial) {
    return refused_lines(read_nemo_with(
        kNodes,
        ", pipeline_model_parallel_size: 4, virtual_pipeline_model_parallel_size: 2, "
        "activations_checkpoint_granularity: " +
            granularity + ", activations_checkpoint_method: block, activations_checkpoint_num_layers: 0, " + partial));
  };
  const std::string key = "num_micro_batches_with_partial_activation_checkpoints: ";
  EXPECT_NE(read("full", key + "10").find("model.num_micro_batches"), std::string::npos);
  EXPECT_EQ(read("full", key + "11"), "") << "11 chunks are in flight: 6 of warm-up, 4 of the second chunk, and one";
  EXPECT_EQ(read("full", key + "null"), "");
  EXPECT_EQ(read("null", key + "2"), "") << "nothing is recomputed";
  EXPECT_NE(read("full", "activations_checkpoint_layers_per_pipeline: 1").find("later stages"), std::string::npos);
}

TEST(ReadNemo, MessagesOverlapOnlyWhereTheFileSaysSo) {
  const std::string chunks = ", pipeline_model_parallel_size: 2, virtual_pipeline_model_parallel_size: 2";
  EXPECT_EQ(read_nemo_with(kNodes, chunks).at("overlap.p2p"), Json(false));
  EXPECT_EQ(read_nemo_with(kNodes, chunks + ", overlap_p2p_comm: true").at("overlap.p2p"), Json(true));
}

TEST(ReadNemo, PartsOfTheTensorOverlapCountBesideItAlone) {
  const std::string tensor = ", tensor_model_parallel_size: 4, sequence_parallel: true, ub_tp_comm_overlap: ";
  const std::string parts = ", tp_comm_bulk_dgrad: false, tp_comm_overlap_rs_dgrad: true, tp_comm_bulk_wgrad: true";
  for (const std::string product : {"qkv", "fc1"}) {
    const std::string off = ", tp_comm_overlap_disable_" + product + ": true";
    EXPECT_EQ(refused_lines(read_nemo_with(kNodes, tensor + "false" + parts + off)), "");
    EXPECT_NE(refused_lines(read_nemo_with(kNodes, tensor + "true" + parts + off)).find("overlap of tensor"),
              std::string::npos);
  }
  EXPECT_EQ(refused_lines(read_nemo_with(kNodes, tensor + "true" + parts + ", tp_comm_overlap_disable_qkv: false")),
            "");
}

TEST(ReadNemo, NoPositionsAreNoTable) {
  EXPECT_EQ(read_nemo_with(kNodes, ", position_embedding_type: none").at("model.position_embedding_type"),
            Json("none"));
}

TEST(ReadNemo, ABertIsAnEncoderWithoutFusedAttention) {
  const Report report = read_nemo_with(kNodes, ", bert_binary_head: false, max_position_embeddings: 512");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("model").value("model_type", ""), "bert");
  EXPECT_EQ(report.at("model").at("architectures"), Json::array({"BertForMaskedLM"}));
  EXPECT_EQ(report.at("attention"), Json("unfused"));
  EXPECT_EQ(read_nemo_with(kNodes, ", bert_binary_head: true, mcore_bert: true").at("attention"), Json("flash"));
  EXPECT_NE(refused_lines(read_nemo_with(kNodes, ", bert_binary_head: true, position_embedding_type: rope"))
                .find("model.position_embedding_type"),
            std::string::npos);
}

TEST(ReadNemo, LayersOfOtherModelsCountByTheirName) {
  const std::string hyena = ", mcore_gpt: true, hyena: {long_conv: {order: 2, num_heads: 1}, fftconv_type: null}";
  EXPECT_EQ(refused_lines(read_nemo_with(kNodes, hyena)), "");
  EXPECT_NE(refused_lines(read_nemo_with(kNodes, hyena + ", name: te_gpt_hyena")).find("Hyena"), std::string::npos);
  const std::string scales = ", apply_embedding_scaling: true, sqrt_query_pre_attn_scalar: 16";
  EXPECT_EQ(refused_lines(read_nemo_with(kNodes, scales)), "");
  EXPECT_NE(refused_lines(read_nemo_with(kNodes, scales + ", name: megatron_gemma2")).find("Gemma 2"),
            std::string::npos);
}

TEST(ReadNemo, DefaultsPutFilesAtTheHalves) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "foretoken-nemo-halves-test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto read = [&](const std::string& name, const std::string& model) {
    return read_test_launch(std::string("defaults:\n  - .@model.encoder: half\n  - .@model.decoder: half\nname: ") +
                                name +
                                "\ntrainer: {precision: bf16, devices: 8, num_nodes: 1}\nmodel: {micro_batch_size: 1, "
                                "global_batch_size: 64, seq_length: 512, max_position_embeddings: 512, "
                                "pipeline_model_parallel_split_rank: 0" +
                                model + "}\n",
                            (folder / "bart.yaml").string());
  };
  const std::string bart = ", data: {dataset_type: bart}";
  EXPECT_NE(refused_lines(read("megatron_bart", bart)).find("half.yaml: incomplete"), std::string::npos);
  std::ofstream(folder / "half.yaml") << "num_layers: 12\nhidden_size: 768\nffn_hidden_size: 3072\n"
                                         "num_attention_heads: 12\narch: transformer\n"
                                         "position_embedding_type: learned_absolute\n";
  const Report report = read("megatron_bart", bart + ", decoder: {num_layers: 6}");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("model.encoder_num_layers"), 12);
  EXPECT_EQ(report.whole("model.decoder_num_layers"), 6) << "the document wins";
  EXPECT_EQ(report.at("attention"), Json("unfused"));
  EXPECT_EQ(report.whole("batch.decoder_sequence_length"), 512);
  EXPECT_EQ(read("megatron_t5", ", use_flash_attention: true").at("attention"), Json("flash"));
  std::filesystem::remove_all(folder);
}

TEST(ReadNemo, TheNameTellsAnEncoderDecoder) {
  EXPECT_NE(refused_lines(read_test_launch("name: megatron_bart\ntrainer: {devices: 8, num_nodes: 1}\n"
                                           "model: {micro_batch_size: 1, num_layers: 12, hidden_size: 768}\n",
                                           "a.yaml"))
                .find("the sections encoder and decoder"),
            std::string::npos);
}

TEST(ReadNemo, FsdpShardsWeightsInFp32BesideTensorParallelism) {
  const std::string sharded = ", fsdp: true, tensor_model_parallel_size: 2, sequence_parallel: true";
  const Report report = read_nemo_with(kNodes, sharded + ", fsdp_grad_reduce_dtype: bf16, megatron_amp_O2: false");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(report.at("runtime"), Json("pytorch-fsdp"));
  EXPECT_EQ(report.at("precision_recipe.gradients"), Json("fp32"));
  EXPECT_EQ(report.at("precision_recipe.reduce"), Json("bf16"));
  EXPECT_EQ(report.at("overlap.param_gather"), Json(true));
  EXPECT_FALSE(report.names("model.megatron_amp_O2")) << "the shards are what it keeps in fp32";
  const Report grad = read_nemo_with(kNodes, sharded + ", fsdp_sharding_strategy: grad");
  EXPECT_EQ(grad.whole("optimizer.zero_stage"), 2);
  EXPECT_EQ(grad.at("precision_recipe.reduce"), Json("fp32")) << "NeMo's default";
  const std::pair<const char*, const char*> kStops[] = {{", fsdp_sharding_strategy: hybrid", "found \"hybrid\""},
                                                        {", pipeline_model_parallel_size: 2", "beside a pipeline"},
                                                        {", optim: {name: distributed_fused_adam}", "distributed"},
                                                        {", fsdp_cpu_offload: true", "model.fsdp_cpu_offload"},
                                                        {", peft: {peft_scheme: lora}", "adapters"}};
  for (const auto& [keys, because] : kStops)
    EXPECT_NE(refused_lines(read_nemo_with(kNodes, ", fsdp: true" + std::string(keys))).find(because),
              std::string::npos)
        << keys;
  const Report off = read_nemo_with(kNodes, ", fsdp: false, fsdp_sharding_strategy: full, fsdp_grad_reduce_dtype: 32");
  EXPECT_EQ(refused_lines(off), "");
  EXPECT_EQ(off.whole("optimizer.zero_stage"), 0);
}

TEST(ReadNemo, TheVocabularyIsRoundedUp) {
  EXPECT_EQ(read_nemo_with(kNodes,
                           ", override_vocab_size: 32000, make_vocab_size_divisible_by: 1187, "
                           "tensor_model_parallel_size: 2")
                .whole("model.vocab_size"),
            14 * 1187 * 2);
}

TEST(ReadNemo, PartsOfASwitchThatIsOffHaveNoEffect) {
  const std::string parts =
      ", cpu_offloading_num_layers: 12, cpu_offloading_activations: true, cpu_offloading_weights: true";
  const Report off = read_nemo_with(kNodes, parts +
                                                ", cpu_offloading: false, megatron_timer_kwargs: {log_mode: minmax, "
                                                "log_every_n_steps: 5}, tp_comm_overlap_ag: true");
  EXPECT_EQ(refused_lines(off), "");
  EXPECT_FALSE(off.has("offload"));
  EXPECT_TRUE(read_nemo_with(kNodes, parts + ", cpu_offloading: true").has("offload"));
  EXPECT_NE(refused_lines(read_nemo_with(kNodes, ", ub_tp_comm_overlap: true, tp_comm_overlap_rs: false"))
                .find("model.tp_comm_overlap_rs"),
            std::string::npos);
}

Report read_plain_nemo(const std::string& precision, const std::string& model) {
  return read_test_launch("trainer: {precision: " + precision +
                              ", devices: 8, num_nodes: 2}\nmodel: {micro_batch_size: 1, global_batch_size: 64, "
                              "num_layers: 24, hidden_size: 1024, num_attention_heads: 16, encoder_seq_length: 2048" +
                              model + "}\n",
                          "gpt.yaml");
}

struct ReduceCase {
  const char *name, *precision, *model;
  bool overlaps;
};
constexpr const char* kTwoTensors = ", tensor_model_parallel_size: 2, megatron_amp_O2: true, sequence_parallel: ";
const ReduceCase kReduces[] = {
    {"fused_adam in bf16", "bf16", ", megatron_amp_O2: true, optim: {name: fused_adam}", true},
    {"fusion is switched off", "bf16", ", megatron_amp_O2: true, gradient_accumulation_fusion: true", true},
    {"a pipeline", "bf16", ", megatron_amp_O2: true, pipeline_model_parallel_size: 2", false},
    {"asked for", "bf16", ", megatron_amp_O2: true, async_grad_allreduce: false", false},
    {"autocast", "bf16", ", megatron_amp_O2: false", false},
    {"fp16", "16", ", megatron_amp_O2: true", false},
    {"one tensor rank shares nothing", "bf16", ", megatron_amp_O2: true, sequence_parallel: true", true},
    {"Apex's default", "bf16", ", megatron_amp_O2: true, optim: {name: distributed_fused_adam}", true},
    {"Apex's switch", "bf16", ", optim: {name: distributed_fused_adam, overlap_grad_sync: false}", false},
    {"Megatron-Core's default", "bf16", ", megatron_amp_O2: true, optim: {name: mcore_distributed_optim}", false}};

TEST(ReadNemo, OptimizersReduceInTheirOwnWays) {
  for (const auto& [name, precision, model, overlaps] : kReduces) {
    SCOPED_TRACE(name);
    const Report report = read_plain_nemo(precision, model);
    EXPECT_EQ(report.at("overlap.grad_reduce"), Json(overlaps));
    EXPECT_EQ(why_assumed(report, "overlap.grad_reduce").find("Megatron-LM"), std::string::npos);
    EXPECT_EQ(refused_lines(report), "");
  }
  for (const bool shared : {true, false})
    EXPECT_EQ(read_plain_nemo("bf16", kTwoTensors + std::string(shared ? "true" : "false")).at("overlap.grad_reduce"),
              Json(!shared));
}

TEST(ReadNemo, GradientsHaveTheWidthOfWeightsUnderAutocast) {
  const char* const kKey = "precision_recipe.gradients";
  EXPECT_EQ(read_plain_nemo("16", ", megatron_amp_O2: false").at(kKey), Json("fp32"));
  EXPECT_NE(why_assumed(read_plain_nemo("16", ""), kKey).find("megatron_amp_O2 is off"), std::string::npos);
  EXPECT_EQ(read_plain_nemo("16", ", megatron_amp_O2: true").at(kKey), Json("fp16"));
  EXPECT_EQ(read_plain_nemo("bf16", ", optim: {name: distributed_fused_adam, grad_sync_dtype: bf16}").at(kKey),
            Json("bf16"));
}

TEST(ReadNemo, Fp8NeedsTransformerEngine) {
  const std::string narrow = ", fp8: true, fp8_hybrid: true";
  for (const char* engine : {"", ", transformer_engine: false", ", mcore_gpt: true, transformer_engine: false"}) {
    const Report report = read_plain_nemo("bf16", narrow + engine);
    const std::string refused = refused_lines(report);
    EXPECT_NE(refused.find("model.fp8: "), std::string::npos) << engine;
    EXPECT_NE(refused.find("transformer_engine"), std::string::npos) << engine;
    EXPECT_EQ(report.at("precision"), Json("bf16")) << engine;
    EXPECT_EQ(report.at("attention"), Json("unfused")) << engine;
  }
  const Report named = read_plain_nemo("bf16", narrow + ", mcore_gpt: true, name: megatron_gpt_full_te_layer_autocast");
  EXPECT_EQ(refused_lines(named), "");
  EXPECT_EQ(named.at("precision"), Json("fp8"));
}

TEST(ReadNemo, LayersWithoutTransformerEngineHavePlainAttention) {
  EXPECT_EQ(read_plain_nemo("bf16", "").at("attention"), Json("unfused"));
  EXPECT_NE(why_assumed(read_plain_nemo("bf16", ""), "attention").find("transformer_engine"), std::string::npos);
  EXPECT_EQ(read_plain_nemo("bf16", ", use_flash_attention: true").at("attention"), Json("flash"));
  EXPECT_EQ(read_plain_nemo("bf16", ", transformer_engine: true").at("attention"), Json("flash"));
  EXPECT_FALSE(read_plain_nemo("bf16", "").asks("attention"));
  EXPECT_TRUE(read_plain_nemo("bf16", ", mcore_gpt: true").asks("attention")) << "versions differ";
  const Report core =
      read_plain_nemo("bf16", ", mcore_gpt: true, transformer_engine: false, use_flash_attention: true");
  EXPECT_EQ(core.at("attention"), Json("unfused")) << "layers of Megatron-Core itself";
}

TEST(ReadNemo, ReasonsNameTheKeysOfTheFile) {
  const Report report = read_plain_nemo("32", "");
  EXPECT_NE(why_assumed(report, "precision").find("trainer.precision is 32"), std::string::npos);
  EXPECT_NE(why_assumed(report, "recompute.granularity").find("activations_checkpoint_granularity"), std::string::npos);
  const Report none = read_plain_nemo("bf16",
                                      ", activations_checkpoint_granularity: selective, "
                                      "activations_checkpoint_method: block, "
                                      "activations_checkpoint_num_layers: 0");
  const auto found = std::ranges::find(none.mapped, "recompute.granularity", &Mapped::key);
  ASSERT_NE(found, none.mapped.end());
  EXPECT_NE(found->from.find("first 0 layers"), std::string::npos);
}

}  // namespace
}  // namespace foretoken::io::launch::nemo
