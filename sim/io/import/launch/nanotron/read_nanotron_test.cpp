// Tests configurations of nanotron.
#include "sim/io/import/launch/nanotron/read_nanotron.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "sim/io/import/launch/read_launch.h"
#include "sim/io/json/test_text.h"

namespace foretoken::io::launch {
namespace {

using testing::HasSubstr;

TEST(ReadNanotron, AConfigurationBecomesAScenario) {
  Launch launch;
  launch.files = {FORETOKEN_SOURCE_DIR "/sim/io/testdata/launch/nanotron.yaml"};
  launch.sets = {"cluster=dgx-h100-ndr"};
  Findings findings;
  const Report report = read_launch(launch, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  EXPECT_TRUE(report.complete()) << report.json().dump();
  EXPECT_EQ(report.whole("gpus"), 16 * 2) << "the last of two equal keys";
  EXPECT_EQ(report.whole("batch.global"), 2 * 4 * 16);
  EXPECT_EQ(report.at("parallelism.sequence_parallel"), Json(true));
  EXPECT_EQ(report.whole("model.num_query_groups"), 4);
  EXPECT_EQ(report.at("precision_recipe.gradients"), Json("fp32"));
  EXPECT_EQ(report.at("runtime"), Json("nanotron"));
}

TEST(ReadNanotron, FusedAttentionNeedsNoSelectiveRecomputing) {
  const auto refusals = [](const std::string& how) {
    const auto document = Json::parse(R"({"model": {"dtype": "bfloat16", "model_config": {"is_llama_config": "true"}},
                                          "tokens": {},
                                          "parallelism": {"recompute_granularity": ")" +
                                      how + "\"}}");
    Report report;
    nanotron::read_nanotron(document, report);
    std::string refused;
    for (const Refused& one : report.refused) refused += one.setting + "\n";
    return refused;
  };
  EXPECT_EQ(refusals("SELECTIVE"), "");
  EXPECT_THAT(refusals("FULL"), HasSubstr("parallelism.recompute_granularity"));
}

// nanotron/helpers.py: _vocab_size_with_padding.
TEST(ReadNanotron, TheVocabularyIsPaddedForItsTensorRanks) {
  const auto words = [](const std::string& multiple, const std::string& tensor) {
    Findings findings;
    return read_launch_text("model:\n  make_vocab_size_divisible_by: " + multiple +
                                "\n  model_config: {num_hidden_layers: 4, hidden_size: 256, num_attention_heads: 4,\n"
                                "    intermediate_size: 1024, vocab_size: 50259, is_llama_config: true}\n"
                                "parallelism: {dp: 4, pp: 1, tp: " +
                                tensor + "}\ntokens: {micro_batch_size: 4, sequence_length: 2048}\n",
                            "run.yaml", {}, findings)
        .whole("model.vocab_size");
  };
  EXPECT_EQ(words("1", "1"), 50259);
  EXPECT_EQ(words("64", "1"), 50304);
  EXPECT_EQ(words("1", "2"), 50260);
}

// parallelism_config.py: TensorParallelLinearMode[self.tp_mode.upper()]
TEST(ReadNanotron, KeysThatAreNotStatedHaveItsDefaults) {
  Findings findings;
  const Report report = read_launch_text(
      "model:\n  model_config: {num_hidden_layers: 16, hidden_size: 1280, num_attention_heads: 16,\n"
      "    intermediate_size: 4352, vocab_size: 128256, is_llama_config: true}\n"
      "parallelism: {dp: 4, tp: 1, pp: 2}\ntokens: {micro_batch_size: 4, sequence_length: 2048}\n",
      "run.yaml", {}, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  EXPECT_TRUE(report.refused.empty()) << report.json().dump();
  EXPECT_EQ(report.at("precision"), Json("bf16"));
  EXPECT_EQ(report.at("schedule"), Json("gpipe")) << "all forward, all backward";
  for (const char* key : {"precision", "schedule", "recompute.granularity", "parallelism.sequence_parallel"})
    EXPECT_TRUE(std::ranges::any_of(report.assumed, [&](const Assumed& one) { return one.key == key; })) << key;
}

// src/nanotron/models/qwen.py, CoreAttention: every layer has the window.
TEST(ReadNanotron, AWindowShorterThanTheSequenceIsRefused) {
  const auto refusals = [](const std::string& window) {
    Report report;
    nanotron::read_nanotron(
        Json::parse(R"({"model": {"model_config": {"is_qwen2_config": "true", "sliding_window_size": )" + window +
                    R"(}}, "parallelism": {}, "tokens": {"sequence_length": "2048"}})"),
        report);
    std::string refused;
    for (const Refused& one : report.refused) refused += one.setting + ": " + one.because + "\n";
    return refused;
  };
  EXPECT_THAT(refusals("\"64\""), HasSubstr("sliding_window_size: attention of every layer to a window of 64 tokens"));
  EXPECT_EQ(refusals("\"2048\""), "") << "it hides nothing";
  EXPECT_EQ(refusals("null"), "");
}

TEST(ReadNanotron, ModesHaveAnyCase) {
  const auto document = Json::parse(R"({"model": {"dtype": "bfloat16", "model_config": {"is_llama_config": "true"}},
                                        "tokens": {}, "parallelism": {"tp": "2", "tp_mode": "reduce_scatter"}})");
  Report report;
  nanotron::read_nanotron(document, report);
  EXPECT_EQ(report.at("parallelism.sequence_parallel"), Json(true));
}

TEST(ReadNanotron, OtherPipelineEnginesAreRefusedByName) {
  const auto report_of = [](const std::string& engine) {
    const auto document = Json::parse(R"({"model": {"dtype": "bfloat16", "model_config": {"is_llama_config": "true"}},
                                          "tokens": {}, "parallelism": {"pp": "2", "pp_engine": ")" +
                                      engine + "\"}}");
    Report report;
    nanotron::read_nanotron(document, report);
    return report;
  };
  for (const auto& [engine, schedule] : {std::pair("AFAB", "gpipe"), std::pair("1F1B", "1f1b")}) {
    EXPECT_EQ(report_of(engine).at("schedule"), Json(schedule));
    EXPECT_TRUE(report_of(engine).refused.empty()) << engine;
  }
  const Report zero_bubble = report_of("zb-h1");
  ASSERT_EQ(zero_bubble.refused.size(), 1U);
  EXPECT_EQ(zero_bubble.refused[0].setting, "parallelism.pp_engine");
  EXPECT_EQ(zero_bubble.refused[0].because, "expected 1f1b or afab, found \"zb-h1\"");
}

// A GPT-3 of a fork has layers of its own: nothing of nanotron's llama may be assumed for it.
TEST(ReadNanotron, AModelOfAForkHasNothingOfTheLlama) {
  const auto document = Json::parse(
      R"({"model": {"dtype": "bfloat16", "model_config": {"activation_function": "gelu", "layer_norm_epsilon": "1e-5",
                    "hidden_size": "512", "num_hidden_layers": "6"}},
          "parallelism": {"dp": "2", "tp": "1", "pp": "1", "pp_engine": "1f1b"},
          "tokens": {"micro_batch_size": "1", "sequence_length": "512", "val_steps": "10"}})");
  Report report;
  nanotron::read_nanotron(document, report);
  ASSERT_EQ(report.refused.size(), 1U);
  EXPECT_EQ(report.refused[0].setting, "model.model_config.activation_function");
  for (const char* key : {"model.activation", "model.normalization", "model.num_layers"})
    EXPECT_FALSE(report.has(key)) << key;
  EXPECT_EQ(report.whole("gpus"), 2);
  const auto rest = std::ranges::find(report.assumed, "model.model_config", &Assumed::key);
  ASSERT_NE(rest, report.assumed.end());
  EXPECT_THAT(rest->because, HasSubstr("num_hidden_layers"));
}

TEST(ReadNanotron, OtherModelsAreRefusedAndMissingDegreesAskedFor) {
  const auto document = Json::parse(R"({"model": {"dtype": "float8", "model_config": {"is_mamba_config": "true"}},
                                        "parallelism": {"tp": "two", "mystery": "3"}, "tokens": {}, "doremi": {"a": "1"}})");
  ASSERT_TRUE(nanotron::is_nanotron(document));
  Report report;
  nanotron::read_nanotron(document, report);
  std::string refused, asked;
  for (const Refused& one : report.refused) refused += one.setting + ": " + one.because + "\n";
  for (const Asked& one : report.asked) asked += one.key + " ";
  for (const char* part :
       {"is_mamba_config: Mamba, layers of state spaces", "parallelism.tp: expected a whole number",
        "model.dtype: expected bfloat16", "parallelism.mystery: an unknown key", "doremi: a reference model"})
    EXPECT_THAT(refused, HasSubstr(part));
  for (const char* part : {"model ", "batch.micro", "gpus"}) EXPECT_THAT(asked, HasSubstr(part));
}

TEST(ReadNanotron, MambaIsKnownByItsWidth) {
  Report report;
  nanotron::read_nanotron(Json::parse(R"({"model": {"model_config": {"d_model": "1024", "rms_norm": "true"}},
                                          "parallelism": {}, "tokens": {}})"),
                          report);
  ASSERT_FALSE(report.refused.empty());
  EXPECT_THAT(report.refused.front().because, HasSubstr("Mamba"));
  EXPECT_EQ(report.refused.size(), 1U) << "its other keys are not refused one by one";
}

// src/nanotron/models/qwen.py, CoreAttention.
TEST(ReadNanotron, MasksAndStridesCountInTheirKernelOnly) {
  const auto read = [](const std::string& keys, const std::string& degrees = "") {
    Report report;
    nanotron::read_nanotron(Json::parse(R"({"model": {"model_config": {"is_qwen2_config": "true", )" + keys +
                                        R"(}}, "tokens": {}, "parallelism": {)" + degrees + "}}"),
                            report);
    std::string lines;
    for (const Refused& one : report.refused) lines += "refused " + one.setting + ";";
    for (const Assumed& one : report.assumed)
      if (one.key.find("stride") != std::string::npos) lines += "assumed " + one.because + ";";
    return lines;
  };
  constexpr const char* kStride = R"("ring_attn_heads_k_stride": "1")";
  EXPECT_EQ(read(kStride), "");
  EXPECT_THAT(read(kStride, R"("context_parallel_size": "2")"), HasSubstr("of all heads are exchanged"));
  EXPECT_EQ(read(R"("flex_attention_mask": "causal", "_attn_implementation": "flash_attention_2")"), "");
  EXPECT_THAT(read(R"("flex_attention_mask": "document", "_attn_implementation": "flex_attention")"),
              HasSubstr("refused model.model_config.flex_attention_mask"));
}

TEST(ReadNanotron, UnknownSectionsAreRefused) {
  const auto with = [](const std::string& section) {
    Report report;
    nanotron::read_nanotron(Json::parse(R"({"model": {"model_config": {"is_llama_config": "true"}}, "tokens": {},
                                            "parallelism": {}, )" +
                                        section + "}"),
                            report);
    std::string refused;
    for (const Refused& one : report.refused) refused += one.setting + ";";
    return refused;
  };
  EXPECT_EQ(with(R"("infini_attention": {"segment_length": "1024"})"), "infini_attention;");
  EXPECT_EQ(with(R"("infini_attention": null)"), "") << "it is not there";
  EXPECT_EQ(with(R"("lighteval": {"tasks": "a"}, "dataset_logs": {"a": "1"})"), "");
}

Report read_nanotron_experts(const std::string& experts, const std::string& parallel) {
  Findings findings;
  Launch launch;
  launch.sets = {"cluster=dgx-h100-ndr"};
  Report report = read_launch_text(
      "model:\n  dtype: bfloat16\n  model_config: {num_hidden_layers: 4, hidden_size: 256, num_attention_heads: 4,\n"
      "    intermediate_size: 1024, vocab_size: 50304, " +
          experts + "}\nparallelism: {dp: 4, pp: 1, tp: 2, pp_engine: 1f1b" + parallel +
          "}\ntokens: {micro_batch_size: 4, sequence_length: 2048}\n",
      "run.yaml", launch, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  return report;
}

std::string refused_settings(const Report& report) {
  std::string refused;
  for (const Refused& one : report.refused) refused += one.setting + ";";
  return refused;
}

// src/nanotron/config/models_config.py, MoEConfig; src/nanotron/models/qwen.py; src/nanotron/nn/moe.py.
TEST(ReadNanotron, ExpertsOfItsQwenAreRead) {
  const Report plain = read_nanotron_experts("is_qwen2_config: true, moe_config: {num_experts: 8, top_k: 2}", "");
  EXPECT_TRUE(plain.complete()) << plain.json().dump();
  EXPECT_EQ(plain.whole("model.num_experts"), 8);
  EXPECT_EQ(plain.whole("model.moe_router_topk"), 2);
  EXPECT_EQ(plain.whole("model.moe_ffn_hidden_size"), 1024);
  EXPECT_EQ(plain.whole("parallelism.expert_tensor"), 2) << "each expert is split";
  const Report grouped = read_nanotron_experts(
      "is_qwen2_config: true, moe_config: {num_experts: 8, top_k: 2, moe_intermediate_size: 512, "
      "enable_shared_expert: true, shared_expert_intermediate_size: 768, layers: [-1], "
      "token_dispatcher_type: alltoall}",
      ", moe_layer_recompute: false");
  EXPECT_TRUE(grouped.complete()) << grouped.json().dump();
  EXPECT_EQ(grouped.whole("model.moe_ffn_hidden_size"), 512);
  EXPECT_EQ(grouped.whole("model.moe_shared_expert_intermediate_size"), 768);
  EXPECT_EQ(grouped.whole("parallelism.expert_tensor"), 1) << "each rank has its experts whole";
  EXPECT_EQ(refused_settings(read_nanotron_experts(
                "is_qwen2_config: true, moe_config: {num_experts: 8, layers: [1, 3]}", ", moe_layer_recompute: true")),
            "parallelism.moe_layer_recompute;model.model_config.moe_config.layers;");
  EXPECT_EQ(
      refused_settings(read_nanotron_experts("is_qwen2_config: true, moe_config: {num_experts: 8, mystery: 3}", "")),
      "model.model_config.moe_config.mystery;");
  EXPECT_FALSE(read_nanotron_experts("is_qwen2_config: true, moe_config: null", "").has("model.num_experts"));
}

// examples/moe/moe.py; ranks of experts: src/nanotron/parallel/context.py.
std::string refusals_of_experts(const std::string& experts, const std::string& parallel) {
  std::string text;
  for (const Refused& one : read_nanotron_experts(experts, parallel).refused)
    text += one.setting + ": " + one.because + "\n";
  return text;
}

TEST(ReadNanotron, ASharedExpertHasItsOwnWidth) {
  const std::string shared = "is_qwen2_config: true, moe_config: {num_experts: 8, moe_intermediate_size: 512, ",
                    key = "model.moe_shared_expert_intermediate_size";
  const Report stated =
      read_nanotron_experts(shared + "enable_shared_expert: true, shared_expert_intermediate_size: 768}", "");
  const auto mapped = std::ranges::find(stated.mapped, key, &Mapped::key);
  ASSERT_NE(mapped, stated.mapped.end());
  EXPECT_EQ(mapped->from, "model.model_config.moe_config.shared_expert_intermediate_size");
  EXPECT_THAT(refusals_of_experts(shared + "enable_shared_expert: true, shared_expert_intermediate_size: wide}", ""),
              HasSubstr("shared_expert_intermediate_size: expected a whole number, found"));
  const Report off =
      read_nanotron_experts(shared + "enable_shared_expert: false, shared_expert_intermediate_size: 768}", "");
  EXPECT_TRUE(off.complete()) << off.json().dump();
  EXPECT_TRUE(off.names("model.model_config.moe_config.shared_expert_intermediate_size"));
  EXPECT_FALSE(off.has(key));
  EXPECT_EQ(read_nanotron_experts("is_qwen2_config: true, moe_config: {num_experts: 8, enable_shared_expert: true}", "")
                .whole(key),
            1024)
      << "Qwen2MLP has intermediate_size";
  EXPECT_TRUE(read_nanotron_experts(shared + "moe_hidden_size: 256}", "").complete());
  EXPECT_THAT(refusals_of_experts(shared + "moe_hidden_size: 128}", ""),
              HasSubstr("expected hidden_size, 256, found 128"));
}

TEST(ReadNanotron, OnlyQwenHasAListOfExperts) {
  EXPECT_THAT(refusals_of_experts("is_llama_config: true, moe_config: {num_experts: 8}", ""),
              HasSubstr("moe_config: expected is_qwen2_config: true beside it, found is_llama_config"));
  EXPECT_THAT(refusals_of_experts("moe_config: {num_experts: 8}", ""), HasSubstr("found neither model"));
  const Report dense = read_nanotron_experts("is_qwen2_config: true, moe_config: {num_experts: 8, layers: []}", "");
  EXPECT_TRUE(dense.complete()) << dense.json().dump();
  EXPECT_FALSE(dense.has("model.num_experts"));
  EXPECT_THAT(refusals_of_experts("is_qwen2_config: true, moe_config: {num_experts: 8, layers: [1, 3]}", ""),
              HasSubstr("layers: expected [-1] or all 4 layers, found [1, 3]: experts in some layers only are not "
                        "modelled; try layers: [-1]"));
}

// src/nanotron/parallel/context.py at 009b8f71, _init_process_group_with_moe.
TEST(ReadNanotron, RanksOfGroupedExpertsAreDataRanks) {
  const auto read = [](const std::string& degrees, const std::string& width) {
    Findings findings;
    Launch launch;
    launch.sets = {"cluster=dgx-h100-ndr"};
    return read_launch_text(
        "model:\n  dtype: bfloat16\n  model_config: {num_hidden_layers: 4, hidden_size: 256, num_attention_heads: 4,\n"
        "    intermediate_size: 1024, vocab_size: 50304, is_qwen2_config: true, moe_config: {num_experts: 8" +
            width + "}}\nparallelism: {pp: 1, pp_engine: 1f1b, " + degrees +
            "}\ntokens: {micro_batch_size: 4, sequence_length: 2048}\n",
        "run.yaml", launch, findings);
  };
  const std::string grouped = ", moe_intermediate_size: 512", two = "expert_parallel_size: 2";
  const Report folded = read("dp: 4, tp: 1, enabled_moe: true, expert_data_parallel_size: 2, " + two, grouped);
  EXPECT_TRUE(folded.complete()) << folded.json().dump();
  EXPECT_EQ(folded.whole("gpus"), 4);
  EXPECT_EQ(folded.whole("parallelism.expert"), 2);
  EXPECT_EQ(folded.whole("batch.global"), 16);
  const auto refused = [&](const std::string& degrees, const std::string& width) {
    std::string text;
    for (const Refused& one : read(degrees, width).refused) text += one.setting + ": " + one.because + "\n";
    return text;
  };
  EXPECT_THAT(refused("dp: 4, tp: 1, enabled_moe: true, " + two, grouped),
              HasSubstr("dp x tp x context, 4, found 2: nanotron stops (parallel/context.py); try "
                        "expert_data_parallel_size: 2"));
  EXPECT_THAT(refused("dp: 4, tp: 1, " + two, grouped), HasSubstr("expected enabled_moe: true beside it"));
  EXPECT_EQ(read("dp: 4, tp: 1, " + two, grouped).whole("gpus"), 4);
  EXPECT_THAT(refused("dp: 4, tp: 2, enabled_moe: true, expert_data_parallel_size: 4, " + two, grouped),
              HasSubstr("expected tp: 1 beside 2 expert ranks, found 2"));
  EXPECT_THAT(refused("dp: 4, tp: 1, " + two, ""), HasSubstr("read the same sequences"));
  EXPECT_EQ(read("dp: 4, tp: 1, " + two, "").whole("gpus"), 8) << "older expert ranks have GPUs of their own";
}

TEST(ReadNanotron, ExpertsOfItsExampleHaveTwoProducts) {
  const std::string experts =
      "is_llamoe_config: true, moe_num_experts: 4, num_experts_per_tok: 1, "
      "moe_capacity_factor: 1";
  const Report report = read_nanotron_experts(experts, "");
  EXPECT_TRUE(report.complete()) << report.json().dump();
  EXPECT_EQ(report.at("model.activation"), Json("gelu"));
  EXPECT_EQ(report.whole("parallelism.expert_tensor"), 2);
  EXPECT_THAT(refused_settings(read_nanotron_experts(experts, ", expert_parallel_size: 2")),
              HasSubstr("parallelism.expert_parallel_size;"))
      << "they repeat the sequences of their data rank";
}

TEST(ReadNanotron, EveryKeyAboutCommunicationStandsInTheAnswer) {
  for (const char* value : {"true", "false"})
    EXPECT_TRUE(read_nanotron_experts("is_llama_config: true", std::string(", tp_linear_async_communication: ") + value)
                    .names("parallelism.tp_linear_async_communication"))
        << value;
}

TEST(ReadNanotron, ForksStateNormsAndSizesOfHeads) {
  const auto read = [](const std::string& keys) {
    const auto document = Json::parse(R"({"model": {"model_config": {"is_qwen2_config": "true", "hidden_size": "1024",
                                          "num_attention_heads": "16")" +
                                      keys + R"(}}, "tokens": {}, "parallelism": {}})");
    Report report;
    nanotron::read_nanotron(document, report);
    return report;
  };
  const Report report = read(R"(, "head_dim": "128", "_use_qk_norm": "true")");
  EXPECT_EQ(report.whole("model.kv_channels"), 128);
  EXPECT_EQ(report.at("model.qk_layernorm"), Json(true));
  EXPECT_EQ(report.refused.size(), 0U);
  const Report plain = read("");
  EXPECT_EQ(plain.whole("model.kv_channels"), 1024 / 16);
  EXPECT_FALSE(plain.has("model.qk_layernorm"));
  const Report unknown = read(R"(, "mystery": "3")");
  ASSERT_EQ(unknown.refused.size(), 1U);
  EXPECT_THAT(unknown.refused.front().because, HasSubstr("--allow model.model_config.mystery"));
}

}  // namespace
}  // namespace foretoken::io::launch
