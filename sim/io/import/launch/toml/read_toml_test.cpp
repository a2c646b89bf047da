// Tests the reading of TOML, and of torchtitan's configurations.
#include "sim/io/import/launch/toml/read_toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/io/import/launch/read_launch.h"
#include "sim/io/import/launch/torchtitan/read_torchtitan.h"
#include "sim/io/json/test_text.h"

namespace foretoken::io::launch {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

struct TomlForm {
  const char *what, *text, *json;
};

constexpr TomlForm kTomlForms[] = {
    {"tables and comments", "# a\n[a] # b\nx = 1\n[b.c]\ny = 'z'", R"({"a": {"x": "1"}, "b": {"c": {"y": "z"}}})"},
    {"dotted and quoted keys", "a.b = 1\n\"c d\" = true", R"({"a": {"b": "1"}, "c d": "true"})"},
    {"numbers stay as written", "a = 1_000\nb = -1.5e-4\nc = inf", R"({"a": "1_000", "b": "-1.5e-4", "c": "inf"})"},
    {"arrays over lines", "a = [1, # one\n  2,\n]", R"({"a": ["1", "2"]})"},
    {"inline tables", "a = {b = 1, c = {d = 2}}", R"({"a": {"b": "1", "c": {"d": "2"}}})"},
    {"texts over lines", "a = \"\"\"x\ny\"\"\"", R"({"a": "x\ny"})"},
    {"escapes", R"(a = "x\ty\"z")", R"({"a": "x\ty\"z"})"},
    {"nothing", "", "{}"}};

TEST(ReadToml, Forms) {
  for (const TomlForm& form : kTomlForms) {
    SCOPED_TRACE(form.what);
    Findings findings;
    const auto read = read_toml(form.text, "t.toml", findings);
    ASSERT_TRUE(read.has_value()) << lines_of(findings.complaints);
    EXPECT_EQ(*read, ordered_json::parse(form.json));
  }
}

struct TomlWrong {
  std::string text;
  const char* complaint;
};

TEST(ReadToml, RefusesWithLineAndColumn) {
  for (const auto& [text, complaint] :
       {TomlWrong{"a = 1\nb", "t.toml:2:2: not TOML that can be read: expected ="},
        TomlWrong{"a = ", "expected a value"}, TomlWrong{"a = yes", "expected a value, found \"yes\""},
        TomlWrong{"a = 1 2", "expected the end of the line"}, TomlWrong{"a = \"x", "a string without its end"},
        TomlWrong{"a = 1\na = 2", "\"a\" is stated twice"}, TomlWrong{"a = 1\n[a.b]", "\"a\" is no table"},
        TomlWrong{"[[a]]", "arrays of tables"},
        TomlWrong{"a = " + std::string(100, '['), "nested deeper than 64 levels"}}) {
    Findings findings;
    EXPECT_FALSE(read_toml(text, "t.toml", findings).has_value()) << text;
    EXPECT_THAT(lines_of(findings.complaints), HasSubstr(complaint));
  }
}

Report torchtitan_report(const std::string& text, std::optional<std::int64_t> gpus = std::nullopt) {
  Findings findings;
  Report report;
  torchtitan::read_torchtitan(read_toml(text, "t.toml", findings).value(), gpus, report);
  EXPECT_EQ(lines_of(findings.complaints), "");
  return report;
}

TEST(ReadTorchtitan, AConfigurationBecomesAScenario) {
  Launch launch;
  launch.files = {FORETOKEN_SOURCE_DIR "/sim/io/testdata/launch/llama.toml"};
  launch.sets = {"cluster=dgx-h100-ndr"};
  Findings findings;
  const Report report = read_launch(launch, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  EXPECT_TRUE(report.refused.empty());
  EXPECT_TRUE(report.complete());
  EXPECT_EQ(report.at("model"), Json("llama-3-8b"));
  EXPECT_EQ(report.whole("gpus"), 16 * 2);
  EXPECT_EQ(report.whole("batch.global"), 2 * 16) << "two sequences for each data rank";
  EXPECT_EQ(report.at("recompute.modules"), Json({"op"}));
  EXPECT_EQ(report.at("precision"), Json("fp8"));
  EXPECT_EQ(report.at("runtime"), Json("torchtitan-compiled"));
}

TEST(ReadTorchtitan, KeysOfOlderVersions) {
  const Report report = torchtitan_report(
      "[model]\nname='llama3'\nflavor='70B'\n[training]\nbatch_size=4\nseq_len=4096\ntensor_parallel_degree=8\n"
      "[experimental]\npipeline_parallel_degree=2\npipeline_parallel_schedule='Interleaved1F1B'\n"
      "[float8]\nenable_float8_linear=false",
      64);
  EXPECT_EQ(report.whole("parallelism.tensor"), 8);
  EXPECT_EQ(report.at("schedule"), Json("interleaved-1f1b"));
  EXPECT_EQ(report.whole("batch.global"), 4 * (64 / 16));
  EXPECT_EQ(report.at("precision"), Json("bf16"));
  EXPECT_EQ(report.at("recompute.granularity"), Json("full")) << "every second layer, by default";
  EXPECT_EQ(report.whole("recompute.layers"), 80 / 2 / 2);
}

TEST(ReadTorchtitan, RefusesOtherModelsAndAsksForUnknownOnes) {
  EXPECT_EQ(torchtitan_report("[model]\nname='flux'\n[training]\nseq_len=8").refused[0].setting, "model.name");
  EXPECT_EQ(torchtitan_report("[model]\nname='deepseek_v3'\nflavor='16B'\n[training]\nseq_len=8").asked[0].key,
            "model");
  EXPECT_EQ(torchtitan_report("[training]\nseq_len=8\n[brand_new]\na=1").refused[0].setting, "[brand_new]");
}

TEST(ReadTorchtitan, NoKeyIsSilent) {
  const auto document = Json::parse(R"({"model": {"name": "llama3", "flavor": "8B"},
      "training": {"local_batch_size": "1", "seq_len": "8192", "mixed_precision_param": "float16",
                   "enable_cpu_offload": "true", "nonsense": "1", "steps": "10"},
      "parallelism": {"pipeline_parallel_degree": "4", "pipeline_parallel_schedule": "DualPipeV",
                      "data_parallel_shard_degree": "2", "disable_loss_parallel": "false"}})");
  Report report;
  torchtitan::read_torchtitan(document, 16, report);
  std::string refused;
  for (const Refused& one : report.refused) refused += one.setting + ": " + one.because + "\n";
  for (const char* part : {"training.nonsense: an unknown key", "training.mixed_precision_param: passes in \"float16\"",
                           "the degrees make up 8 GPUs, found 16"})
    EXPECT_THAT(refused, testing::HasSubstr(part));
  EXPECT_EQ(report.refused.size(), 3U) << refused;
  EXPECT_EQ(report.at("offload.parameters"), Json("cpu"));
  EXPECT_EQ(report.at("schedule"), Json("dualpipe-v"));
  EXPECT_EQ(report.whole("parallelism.virtual_pipeline"), 2);
}

std::string titan_refusals(const Report& report) {
  std::string refused;
  for (const Refused& one : report.refused) refused += one.setting + ": " + one.because + "\n";
  return refused;
}

TEST(ReadTorchtitan, LayersOfAChunkGiveTheChunksOfAStage) {
  const std::string run =
      "[model]\nname='llama3'\nflavor='70B'\n[parallelism]\npipeline_parallel_degree=8\n"
      "pipeline_parallel_schedule='Interleaved1F1B'\npipeline_parallel_layers_per_stage=";
  const Report two = torchtitan_report(run + "6\n");  // 80 layers, embedding and head: 14 chunks
  EXPECT_EQ(titan_refusals(two),
            "parallelism.pipeline_parallel_layers_per_stage: 14 chunks of 6 layers for 8 stages\n");
  EXPECT_EQ(torchtitan_report(run + "5\npipeline_parallel_first_stage_less_layers=0\n"
                                    "pipeline_parallel_last_stage_less_layers=0\n")
                .whole("parallelism.virtual_pipeline"),
            2);
}

TEST(ReadTorchtitan, ConvertersAndTypesDecideAboutThePrecision) {
  const std::string model = "[model]\nname='llama3'\nflavor='8B'\n";
  const Report mx = torchtitan_report(model + "converters=['mx']\n[mx]\nrecipe_name='mxfp8_cublas'\n");
  EXPECT_EQ(mx.at("precision"), Json("fp8"));
  EXPECT_EQ(mx.at("precision_recipe.fp8_recipe"), Json("mxfp8"));
  EXPECT_EQ(titan_refusals(mx), "");
  EXPECT_THAT(titan_refusals(torchtitan_report(model + "converters=['mx']\n[mx]\nrecipe_name='mxfp4'\n")),
              testing::HasSubstr("\"mxfp4\""));
  EXPECT_THAT(titan_refusals(torchtitan_report(model + "converters=['quantize.dense.int4']\n")),
              testing::HasSubstr("the converter \"quantize.dense.int4\""));
  EXPECT_THAT(titan_refusals(torchtitan_report(model + "[training]\ndtype='float16'\n")),
              testing::HasSubstr("weights and optimizer states in \"float16\""));
}

TEST(ReadTorchtitan, KnowsKeysThatChangeLittle) {
  EXPECT_EQ(titan_refusals(torchtitan_report(
                "[model]\nname='llama3'\nflavor='8B'\n[optimizer]\nname='AdamW'\nfused=true\n"
                "implementation='foreach'\n[parallelism]\ncontext_parallel_rotate_method='alltoall'\n"
                "module_fqns_per_model_part=[]\n[compile]\nbackend='inductor'\n[mx]\nfilter_fqns=['output']\n")),
            "");
}

}  // namespace
}  // namespace foretoken::io::launch
