// Tests valid scenarios: defaults, overrides, and the resolution of names, paths and bases.
#include "sim/io/scenario/read_scenario.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "sim/io/hardware/read_nccl.h"
#include "sim/io/json/data_path.h"
#include "sim/io/json/test_text.h"
#include "sim/job/rules/precision_recipe.h"
#include "sim/step/source_notes.h"

namespace foretoken::io {
namespace {

namespace fs = std::filesystem;
using job::Job;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const char* const kLeast = R"({"model": "llama-3-8b", "cluster": "dgx-h100-ndr", "gpus": 8,
                               "batch": {"micro": 1, "global": 64, "sequence_length": 8192}})";

job::Made made(const std::string& text, const std::vector<std::string>& sets = {}) {
  job::Made made = Job();
  EXPECT_EQ(thrown_by([&] { made = read_scenario_text(text, "t.json", sets); }), "");
  return made;
}

Job read(const std::string& text, const std::vector<std::string>& sets = {}) { return made(text, sets).job; }

std::string complaints(const std::string& text, const std::vector<std::string>& sets) {
  return thrown_by([&] { (void)read_scenario_text(text, "t.json", sets); });
}

TEST(ReadScenario, BlocksOfMoreLayersThanAChunkHasAreAllOfThem) {
  const auto notes = made(kLeast, {R"(recompute={"granularity": "full", "method": "block", "layers": 500})"}).notes;
  EXPECT_THAT(notes.assumptions, Contains(HasSubstr("recompute.layers 500 as all layers of a chunk")));
}

TEST(ReadScenario, TheLeastIsFilledInAndSaysSo) {
  const auto [scenario, notes] = made(kLeast);
  EXPECT_EQ(scenario.parallelism.data, 8);
  EXPECT_EQ(scenario.schedule.name, "1f1b");
  EXPECT_EQ(scenario.runtime.name, "megatron-core");
  EXPECT_EQ(scenario.profile.gpu, "h100-sxm5-80gb");
  EXPECT_EQ(scenario.precision, Precision::kBf16);
  EXPECT_EQ(scenario.attention, model::AttentionKind::kFlash);
  EXPECT_EQ(scenario.recompute.granularity, model::RecomputeGranularity::kNone);
  EXPECT_EQ(scenario.microbatches(), 8);
  EXPECT_FALSE(scenario.run);
  EXPECT_THAT(notes.warnings, IsEmpty());
  for (const char* pointer : {"/profile", "/runtime", "/parallelism/tensor", "/parallelism/data", "/schedule",
                              "/precision", "/recompute", "/attention", "/optimizer/zero_stage", "/overlap/p2p"})
    EXPECT_THAT(notes.defaulted, Contains(pointer));
  EXPECT_THAT(notes.defaulted, Not(Contains("/batch/micro")));
  EXPECT_THAT(notes.defaulted, Not(Contains(HasSubstr("tie_word"))));
  EXPECT_THAT(notes.assumptions, Contains(HasSubstr("18 bytes per parameter")));
  EXPECT_THAT(step::source_notes(read(kLeast, {"precision=fp8"})),
              Contains(HasSubstr("runtime megatron-core: fp8_backward_factor = ")));
}

TEST(ReadScenario, AutocastOverFp32WeightsIsSaid) {
  const auto [cast, notes] = made(
      kLeast, {"runtime=huggingface-trainer",
               R"(precision_recipe={"weights": "fp32", "gradients": "fp32", "master": "none", "moments": "fp32"})"});
  EXPECT_TRUE(cast.layer_context().autocast);
  EXPECT_THAT(step::source_notes(cast), Contains(HasSubstr("autocast over fp32 weights: products in bf16")));
  EXPECT_FALSE(made(kLeast, {"runtime=huggingface-trainer"}).job.layer_context().autocast);
}

TEST(ReadScenario, FsdpShardsEverythingAndAttentionKernelsHaveNames) {
  const auto [fsdp, notes] = made(kLeast, {"runtime=pytorch-fsdp"});
  EXPECT_EQ(fsdp.optimizer.zero_stage, 3);
  EXPECT_TRUE(fsdp.overlap.grad_reduce && fsdp.overlap.param_gather);
  EXPECT_EQ(fsdp.flash_kernel, FlashKernel::kTriton);
  EXPECT_THAT(notes.assumptions, Contains(HasSubstr("the fp32 shards are the master weights")));
  EXPECT_EQ(read(kLeast, {"attention=flash-1"}).flash_kernel, FlashKernel::kFlash1);
  EXPECT_EQ(read(kLeast, {"attention=flash"}).flash_kernel, FlashKernel::kFastest);
  EXPECT_THAT(complaints(kLeast, {"attention=flash-2", "cluster=dgx-b200-ndr"}),
              HasSubstr("--set attention=flash-2: profile \"b200-sxm-180gb\" has no laws of FlashAttention-2; expected "
                        "\"flash\" or \"unfused\", found \"flash-2\""));
}

TEST(ReadScenario, APackageOfAttentionIsRefusedOnAGpuWithoutItsLaws) {
  for (const auto& [runtime, kernel] : {std::pair("nanotron", "flash-2"), std::pair("pytorch-fsdp", "flash-triton")})
    EXPECT_THAT(
        complaints(kLeast, {fmt::format("runtime={}", runtime), "cluster=dgx-b200-ndr"}),
        HasSubstr(fmt::format("/attention: profile \"b200-sxm-180gb\" has no laws of FlashAttention-2; expected "
                              "\"flash\" or \"unfused\", found \"{}\"",
                              kernel)));
}

TEST(ReadScenario, AGpuWithoutLawsOfPyTorchsKernelTakesAnother) {
  const auto [blackwell, notes] = made(kLeast, {"runtime=torchtitan", "cluster=dgx-b200-ndr"});
  EXPECT_EQ(blackwell.flash_kernel, FlashKernel::kFastest);
  EXPECT_THAT(
      notes.assumptions,
      Contains(HasSubstr("attention flash in the place of the runtime's flash-2: profile \"b200-sxm-180gb\" has "
                         "no laws of FlashAttention-2")));
  EXPECT_EQ(made(kLeast, {"runtime=torchtitan", "cluster=dgx-h100-ndr"}).job.flash_kernel, FlashKernel::kFlash2);
}

TEST(ReadScenario, StatedValuesArriveWhereTheyBelong) {
  const auto [scenario, notes] = read_scenario_file(FORETOKEN_SOURCE_DIR "/scenarios/gpt3-175b-1024-a100.json");
  EXPECT_EQ(scenario.name, "gpt3-175b on 1024 A100");
  EXPECT_EQ(scenario.gpus, 1024);
  EXPECT_EQ(scenario.parallelism.tensor, 8);
  EXPECT_EQ(scenario.parallelism.virtual_pipeline, 3);
  EXPECT_TRUE(scenario.parallelism.sequence_parallel);
  EXPECT_EQ(scenario.microbatches(), 96);
  EXPECT_EQ(scenario.schedule.name, "interleaved-1f1b");
  EXPECT_EQ(scenario.attention, model::AttentionKind::kUnfused);
  EXPECT_EQ(scenario.recompute.granularity, model::RecomputeGranularity::kSelective);
  EXPECT_TRUE(scenario.overlap.p2p);
  EXPECT_FALSE(scenario.overlap.tensor_parallel);
  EXPECT_TRUE(scenario.runtime.overlap_backward_collectives) << "userbuffers are a matter of their own";
  ASSERT_TRUE(scenario.run);
  EXPECT_EQ(scenario.run->tokens, 300e9);
  EXPECT_EQ(scenario.run->price_per_gpu_hour, 2.5);
  EXPECT_THAT(notes.defaulted, Not(Contains("/schedule")));
  const model::LayerContext context = scenario.layer_context();
  EXPECT_EQ(context.sequence, 2048);
  EXPECT_EQ(context.tensor, 8);
  EXPECT_EQ(context.gradient_accumulation_bytes, scenario.runtime.gradient_accumulation_bytes);
  EXPECT_EQ(scenario.layers_in(Stage{7}, Chunk{2}), 4);
}

TEST(ReadScenario, OverridesAreAppliedInOrder) {
  const Job scenario = read(kLeast, {"parallelism.tensor=2", "parallelism.tensor=4", "precision=fp16",
                                     "model.num_hidden_layers=16", "cluster.node.nics.gb_per_s=25",
                                     "recompute={\"granularity\": \"full\", \"method\": \"block\", \"layers\": 3}",
                                     "parallelism.sequence_parallel=true", "gpus=1.6e1", "dropout=0.25"});
  EXPECT_EQ(scenario.parallelism.tensor, 4);
  EXPECT_EQ(scenario.parallelism.data, 4);
  EXPECT_EQ(scenario.precision, Precision::kFp16);
  EXPECT_EQ(scenario.model.layers, 16);
  EXPECT_EQ(scenario.model.hidden, 4096);
  EXPECT_EQ(scenario.model.name, "llama-3-8b (modified)");
  EXPECT_EQ(scenario.model.hidden_dropout, 0.25);
  EXPECT_EQ(scenario.model.attention_dropout, 0.25);
  EXPECT_EQ(scenario.cluster.links.nic, gigabytes_per_second(25));
  EXPECT_EQ(scenario.cluster.links.gpus, 8);
  EXPECT_TRUE(scenario.recompute.block);
  EXPECT_EQ(scenario.recompute.layers, 3);
}

TEST(ReadScenario, WrongOverrides) {
  EXPECT_EQ(complaints(kLeast, {"parallelism.tensor", "=3", "a..b=1", "gpus.x=1", "run={\"tokens\": ", "batch.=2"}),
            "--set parallelism.tensor: expected KEY=VALUE, for instance parallelism.tensor=4\n"
            "--set =3: expected KEY=VALUE, for instance parallelism.tensor=4\n"
            "--set a..b=1: a key of the path is empty\n"
            "--set gpus.x=1: \"gpus\" is not an object, so it has no \"x\"\n"
            "--set run={\"tokens\": : in the value: not JSON: the text ends too early, at line 1, column 12\n"
            "--set batch.=2: a key of the path is empty\n");
  EXPECT_EQ(complaints(kLeast, {"gpus=NaN", "batch.global=1e400", "name=\xff"}), "--set name=\\xff: not UTF-8\n");
  EXPECT_EQ(complaints(kLeast, {"gpus=NaN", "batch.global=1e400"}),
            "--set gpus=NaN: expected a whole number from 1 to 1048576, found a string \"NaN\"\n"
            "--set batch.global=1e400: expected a whole number from 1 to 1073741824, found a string \"1e400\"\n");
  EXPECT_EQ(complaints(kLeast, {"paralelism.tensor=4"}),
            "t.json: /paralelism: unknown key; did you mean \"parallelism\"?\n");
}

TEST(ReadScenario, WarnsOfWhatIsIgnoredOrSlow) {
  EXPECT_THAT(made(kLeast, {"parallelism.sequence_parallel=true"}).notes.warnings,
              Contains(HasSubstr("sequence_parallel is ignored")));
  EXPECT_THAT(made(kLeast, {"overlap.p2p=true"}).notes.warnings, Contains(HasSubstr("overlap.p2p is ignored")));
  EXPECT_THAT(made(kLeast, {"gpus=16", "parallelism.tensor=16"}).notes.warnings,
              Contains(HasSubstr("tensor 16 is wider than the 8 GPUs")));
  EXPECT_THAT(made(kLeast, {"profile=a100-sxm4-80gb"}).notes.warnings,
              Contains(HasSubstr("profile \"a100-sxm4-80gb\" describes GPU \"a100-sxm4-80gb\"")));
  const std::vector<std::string> narrow{"attention=flash", "precision=fp8", "profile=null", "cluster=dgx-h100-ndr",
                                        R"(precision_recipe={"attention": "fp8"})"};
  const auto unmeasured = Contains(HasSubstr("attention in fp8 without a mask, as a ring of context ranks runs it,"));
  EXPECT_THAT(made(kLeast, narrow).notes.warnings, Not(unmeasured));
  std::vector<std::string> ring = narrow;
  ring.emplace_back(R"(parallelism={"context": 2, "data": 4})");
  EXPECT_THAT(made(kLeast, ring).notes.warnings, unmeasured);
}

TEST(ReadScenario, WarnsWhereStragglersMayCountTwice) {
  const auto twice = Contains(HasSubstr("may count them twice"));
  EXPECT_THAT(made(kLeast, {"stragglers=true"}).notes.warnings, twice);
  EXPECT_THAT(made(kLeast, {"stragglers=false"}).notes.warnings, Not(twice));
}

TEST(ReadScenario, ProfilesAreNeverTakenFromAnotherGpu) {
  EXPECT_THAT(complaints(kLeast, {"cluster.gpu.base=h100-sxm5-80gb", "cluster.gpu.name=h100-pcie"}),
              HasSubstr("t.json: /profile: missing, and there is no profile of the cluster's GPU \"h100-pcie\"; name "
                        "one: a10-"));
}

TEST(ReadScenario, TakesWhatWasMeasuredOnTheClustersSystem) {
  const auto of = [](const char* cluster) {
    return made(R"({"model": "llama-3-8b", "gpus": 16, "batch": {"micro": 1, "global": 64, "sequence_length": 8192},
                    "cluster": )" +
                std::string(cluster) + "}");
  };
  const job::Made plain = of(R"({"base": "aws-p5", "measured_collectives": null})"), measured = of(R"("aws-p5")");
  EXPECT_TRUE(plain.job.profile.network.curves.front().measured.empty() ||
              plain.job.profile.network.curves.front().latency != measured.job.profile.network.curves.front().latency);
  EXPECT_EQ(measured.job.profile.network.curves.front().measured.size(), 1u);
  EXPECT_THAT(measured.notes.assumptions, Contains(HasSubstr("collectives measured on aws-p5: awslabs")));
  EXPECT_THAT(plain.notes.assumptions, Not(Contains(HasSubstr("collectives measured on"))));
  const job::Made other = of(R"({"base": "aws-p5", "gpu": "a100-sxm4-80gb"})");
  EXPECT_THAT(other.notes.assumptions,
              Contains("collectives measured on aws-p5 are not used: its GPUs are hopper, these ampere"));
  const job::Made no_peers = of(R"({"base": "aws-p5", "node": {"p2p": false}})");
  EXPECT_THAT(no_peers.notes.assumptions,
              Contains("collectives measured on aws-p5 are not used: these GPUs do not reach each other's memory"));
}

TEST(ReadScenario, NcclStandsInWhereNobodyMeasured) {
  const auto of = [](const char* cluster, const char* precision = "bf16") {
    return made(R"({"model": "llama-3-8b", "gpus": 16, "batch": {"micro": 1, "global": 64, "sequence_length": 8192},
                    "cluster": )" +
                std::string(cluster) + R"(, "precision": ")" + precision + "\"}");
  };
  const std::string newest = read_nccl_tuning("").version;
  const job::Made plain = of(R"("dgx-b200-ndr")");
  ASSERT_TRUE(plain.job.profile.nccl && plain.job.profile.nccl->stands_in);
  EXPECT_EQ(plain.job.profile.nccl->architecture, cost::NcclArchitecture::kBlackwell);
  EXPECT_THAT(plain.notes.assumptions,
              Contains("all-to-all, broadcast, reduce across nodes: no table of these GPUs shows them; "
                       "NCCL " +
                       newest + "'s choice over the cluster's links"));
  EXPECT_FALSE(of(R"("dgx-2-v100-32gb-edr")", "fp16").job.profile.nccl) << "no table says what NCCL reaches on Volta";
  const auto stands_in = [&](const char* cluster) { return of(cluster).job.profile.nccl.value().stands_in; };
  EXPECT_FALSE(stands_in(R"("gb200-nvl72")")) << "B200's curves are of its architecture";
  EXPECT_FALSE(stands_in(R"("aws-p5")")) << "a system that was measured";
  EXPECT_TRUE(stands_in(R"({"base": "aws-p5", "measured_collectives": null})"));
  EXPECT_FALSE(of(R"("dgx-1-v100-32gb-edr")", "fp16").job.profile.nccl) << "no NVLink switch";
}

TEST(ReadScenario, RecipesOfThePublishedRuntimes) {
  struct Row {
    const char *runtime, *precision;
    double bytes;
  };
  // Megatron-LM's table (18, 20); MT-NLG and BLOOM accumulate 16-bit gradients into fp32 (20).
  for (const Row& row :
       {Row{"megatron-2021", "bf16", 18}, Row{"megatron-2021", "fp16", 20}, Row{"megatron-2022", "bf16", 18},
        Row{"megatron-deepspeed-2021", "fp16", 20}, Row{"megatron-deepspeed-2021", "bf16", 20},
        Row{"megatron-core", "bf16", 18}, Row{"megatron-core", "fp8", 18}}) {
    SCOPED_TRACE(std::string(row.runtime) + " " + row.precision);
    const Job scenario =
        read(kLeast, {"runtime=" + std::string(row.runtime), "precision=" + std::string(row.precision)});
    EXPECT_EQ(job::bytes_per_parameter(scenario.recipe), row.bytes);
  }
  const Job stated = read(kLeast, {R"(precision_recipe={"weights": 2, "gradients": "bf16", "master": "none"})"});
  EXPECT_EQ(job::bytes_per_parameter(stated.recipe), 2 + 2 + 0 + 8);
}

TEST(ReadScenario, GradientsAreReducedAsTheyAreKept) {
  EXPECT_EQ(read(kLeast, {}).recipe.reduce_bytes, 4) << "the runtime's";
  EXPECT_EQ(read(kLeast, {"precision_recipe.gradients=bf16"}).recipe.reduce_bytes, 2);
  const Job apart = read(kLeast, {R"(precision_recipe={"gradients": "fp32", "reduce": "bf16", "moments": "bf16"})"});
  EXPECT_EQ(apart.recipe.gradient_bytes, 4);
  EXPECT_EQ(apart.recipe.reduce_bytes, 2);
  EXPECT_EQ(apart.recipe.moment_bytes, 4) << "of two moments";
  const Job both = read(kLeast, {"precision=fp16", "runtime=megatron-2021", "precision_recipe.gradients=6"});
  EXPECT_EQ(both.recipe.gradient_bytes, 4) << "fp32, with a 16-bit copy beside it";
  EXPECT_EQ(both.recipe.extra_gradient_bytes, 2);
  EXPECT_EQ(both.recipe.reduce_bytes, 2) << "the runtime's in fp16";
}

TEST(ReadScenario, PrecisionsOfBlackwell) {
  const auto of = [](std::string_view precision) {
    return read(kLeast, {"cluster=dgx-b200-ndr", "precision=" + std::string(precision)});
  };
  EXPECT_EQ(of("mxfp8").precision_name(), "mxfp8");
  EXPECT_EQ(of("mxfp8").recipe.fp8, model::Fp8Recipe::kMxfp8);
  EXPECT_EQ(of("nvfp4").precision, Precision::kNvfp4);
  EXPECT_EQ(of("fp8").precision_name(), "fp8");
}

TEST(ReadScenario, ALowerPowerLimitSlowsBusyKernels) {
  const auto of = [](const char* cluster, const std::vector<std::string>& more) {
    std::vector<std::string> sets{"profile=null", "cluster=" + std::string(cluster)};
    sets.insert(sets.end(), more.begin(), more.end());
    const job::Made one = made(kLeast, sets);
    return std::pair(one.job.profile.attention.sustained_factor, one.notes.assumptions);
  };
  const auto [usual, notes] = of("dgx-h100-ndr", {});
  const auto [slow, more] = of(R"({"base": "dgx-h100-ndr", "node": {"power_limit_watts": 350}})", {});
  EXPECT_NEAR(slow / usual, std::cbrt(2.0), 1e-9);
  EXPECT_EQ(more.size(), notes.size() + 1) << "and says so";
  const auto [stated, none] =
      of(R"({"base": "dgx-h100-ndr", "node": {"power_limit_watts": 350}})", {"profile=h100-sxm5-80gb"});
  EXPECT_EQ(none.size(), notes.size());
  EXPECT_EQ(stated, usual) << "a stated profile holds for its own limit";
}

TEST(ReadScenario, EveryHopperMultipliesBlockwise) {
  for (const char* gpu :
       {"h100-sxm5-80gb", "h200-sxm5-141gb", "h800-sxm5-80gb", "h20-96gb", "h100-nvl-94gb", "h100-pcie-80gb"}) {
    SCOPED_TRACE(gpu);
    const Job job = read(kLeast, {"profile=" + std::string(gpu), "cluster=dgx-h100-ndr", "precision=fp8",
                                  R"(precision_recipe={"fp8_recipe": "blockwise"})"});
    EXPECT_TRUE(job.profile.gemm.contains(Precision::kFp8Block));
  }
}

TEST(ReadScenario, RuntimesByYear) {
  const auto of = [](std::string_view runtime) { return read(kLeast, {"runtime=" + std::string(runtime)}).runtime; };
  EXPECT_GT(of("megatron-core-2024").pass_overhead, of("megatron-core-2025").pass_overhead);
  EXPECT_GT(of("megatron-core-2023").step_overhead, Seconds(0));
  EXPECT_FALSE(of("nemo-2024").fusions.squared_relu);
  EXPECT_TRUE(of("nemo-2024").compiled_cross_entropy);
  EXPECT_FALSE(read(kLeast, {"runtime=nemo-2024"}).layer_context().compiled) << "only its loss is compiled";
  EXPECT_TRUE(read(kLeast, {"runtime=torchtitan-compiled"}).layer_context().compiled);
  EXPECT_FALSE(of("torchtitan").fusions.rotary || of("torchtitan").compiled_layers);
  EXPECT_TRUE(of("torchtitan-compiled").fusions.rotary && of("torchtitan-compiled").compiled_layers);
  EXPECT_TRUE(of("megatron-core-2023").fused_accumulation) << "from its base";
  EXPECT_TRUE(of("nemo-2024").experts_split_as_dense && of("megatron-2021").experts_split_as_dense);
  EXPECT_FALSE(of("deepspeed-zero3-2021").experts_split_as_dense);
  EXPECT_FALSE(of("torchtitan").experts_split_as_dense || of("megatron-deepspeed-2022").experts_split_as_dense);
  EXPECT_EQ(of("megatron-core-2025").name, "megatron-core") << "the same runtime by its year";
}

/// A folder with files, removed at the end.
class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("foretoken_io_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  fs::path folder_;
};

TEST_F(Files, RelativePathsStartAtTheFileTheyStandIn) {
  write("parts/gpu.json", R"({"base": "h100-sxm5-80gb", "memory_bytes": 1e11})");
  write("parts/cluster.json", R"({"base": "dgx-h100-ndr", "gpu": "gpu.json", "name": "ours"})");
  write("parts/base.json", R"({"model": "./small.json", "cluster": "cluster.json", "gpus": 8,
                              "batch": {"global": 64, "sequence_length": 1024}})");
  write("parts/small.json", R"({"base": "llama-3-8b", "num_hidden_layers": 2})");
  const std::string top = write("top/scenario.json", R"({"base": "../parts/base.json", "gpus": 4})");
  const Job scenario = read_scenario_file(top).job;
  EXPECT_EQ(scenario.gpus, 4);
  EXPECT_EQ(scenario.model.layers, 2);
  EXPECT_EQ(scenario.cluster.name, "ours");
  EXPECT_EQ(scenario.cluster.gpu.memory, Bytes(1e11));
  EXPECT_EQ(scenario.profile.gpu, "h100-sxm5-80gb");
}

TEST_F(Files, BasesInACircleAreRefused) {
  const std::string a = write("a.json", R"({"base": "./b.json"})");
  write("b.json", R"({"base": "./a.json"})");
  EXPECT_THAT(thrown_by([&] { (void)read_scenario_file(a); }), HasSubstr("/base: "));
  EXPECT_THAT(thrown_by([&] { (void)read_scenario_file(a); }), HasSubstr("is its own base"));
}

TEST_F(Files, ComplaintsNameTheFileTheyAreAbout) {
  write("model.json", R"({"base": "llama-3-8b", "hidden_size": -1})");
  const std::string top = write("s.json", R"({"model": "./model.json", "cluster": "dgx-h100-ndr", "gpus": 0,
                                             "batch": {"global": 64, "sequence_length": 1024}})");
  EXPECT_EQ(thrown_by([&] { (void)read_scenario_file(top); }),
            (folder_ / "./model.json").string() +
                ": /hidden_size: expected a whole number from 1 to 16777216, found -1\n" + top +
                ": /gpus: expected a whole number from 1 to 1048576, found 0\n");
}

TEST_F(Files, DataOfTheUserComeFirst) {
  write("models/llama-3-8b.json", R"({"base": "llama-3-70b", "name": "mine"})");
  write("models/zz-only-here.json", R"({"base": "llama-3-70b"})");
  const ScopedEnvironment data("FORETOKEN_DATA", folder_.string());
  EXPECT_EQ(read(kLeast).model.name, "mine");
  EXPECT_EQ(read(kLeast).model.layers, 80);
  {
    const ScopedEnvironment absent("FORETOKEN_DATA", "/no/such");
    EXPECT_EQ(complaints(kLeast, {}), "FORETOKEN_DATA: expected a folder with data, found \"/no/such\"\n");
  }
  EXPECT_THAT(list_names(kModels), Contains("zz-only-here"));
  EXPECT_THAT(list_names(kModels), Contains("gpt3-175b"));
}

TEST_F(Files, AFolderOfAModelStandsForItsConfig) {
  std::filesystem::create_directories(folder_ / "small");
  (void)write("small/config.json",
              R"({"model_type": "llama", "num_hidden_layers": 3, "hidden_size": 512, "num_attention_heads": 8,
                  "intermediate_size": 1024, "vocab_size": 32000})");
  const std::string set = "model=" + (folder_ / "small").string();
  const job::Job job = read(kLeast, {set});
  EXPECT_EQ(job.model.layers, 3);
  EXPECT_EQ(job.model.name, "small");
  nlohmann::json beside = nlohmann::json::parse(kLeast);
  for (const char* name : {"small", "./small", "small/"}) {
    beside["model"] = name;
    EXPECT_EQ(read_scenario_file(write("beside.json", beside.dump())).job.model.layers, 3) << name;
  }
}

TEST_F(Files, WrongFilesAndNames) {
  const auto thrown = [](const std::string& path) { return thrown_by([&] { (void)read_scenario_file(path); }); };
  EXPECT_EQ(thrown(write("empty.json", "")), (folder_ / "empty.json").string() + ": empty; expected a JSON object\n");
  EXPECT_EQ(thrown(write("array.json", "[]")),
            (folder_ / "array.json").string() + ": expected an object, found an empty array\n");
  EXPECT_EQ(thrown(folder_.string()), folder_.string() + ": is a directory; expected a file\n");
  EXPECT_EQ(thrown("no/such.json"), "no/such.json: no such file\n");
  EXPECT_EQ(thrown("gpt3-175b-1024-a10"),
            "gpt3-175b-1024-a10: unknown scenario \"gpt3-175b-1024-a10\"; did you mean \"gpt3-175b-1024-a100\"?\n");
  EXPECT_EQ(read_scenario_file("gpt3-175b-1024-a100").job.gpus, 1024);
  EXPECT_THAT(thrown(std::string(5000, 'x') + ".json"), HasSubstr(": cannot be read: File name too long\n"));
}

TEST(ReadScenario, CountsMayBeSpelled) {
  const std::vector<std::string> sets = {"batch.sequence_length=4k", "batch.global=1k", "run.tokens=15T",
                                         "gpus=0.008k"};
  const job::Job job = read_scenario_text(kLeast, "t.json", sets).job;
  EXPECT_EQ(job.batch.sequence_length, 4096);
  EXPECT_EQ(job.batch.global, 1000);
  EXPECT_EQ(job.gpus, 8);
  EXPECT_EQ(job.run->tokens, 15e12);
}

TEST(ReadScenario, ASequenceBeyondTheAttentionWindowIsRefused) {
  const auto read = [&](const std::vector<std::string>& sets) {
    try {
      (void)read_scenario_text(kLeast, "t.json", sets);
    } catch (const ConfigError& error) {
      return error.complaints().front().message;
    }
    return std::string();
  };
  const std::string mistral = "model.model_type=mistral";
  EXPECT_EQ(read({mistral, "model.sliding_window=2048", "batch.sequence_length=2048"}), "");
  EXPECT_EQ(
      read({mistral, "model.sliding_window=2048", "batch.sequence_length=4096"}),
      "expected at most 2048, the attention window of model \"llama-3-8b (modified)\", found 4096: sliding-window "
      "attention is not supported; try --set model.sliding_window=null (full attention)");
  EXPECT_EQ(read({mistral, "model.sliding_window=2048", "model.sliding_window=null", "batch.sequence_length=4096"}),
            "");
}

TEST(ReadScenario, OnlyConstantsOfUseHaveNotes) {
  const auto notes = [](const std::string& text, const std::vector<std::string>& sets) {
    std::string all;
    for (const std::string& note : step::source_notes(made(text, sets).job)) all += note + '\n';
    return all;
  };
  EXPECT_THAT(notes(kLeast, {}), Not(HasSubstr("expert_")));
  EXPECT_THAT(notes(kLeast, {}), Not(HasSubstr("fp8_backward_factor")));
  EXPECT_THAT(notes(kLeast, {"precision=fp8"}), HasSubstr("fp8_backward_factor"));
  EXPECT_THAT(notes(kLeast, {"model=mixtral-8x7b", "parallelism.expert=8"}), HasSubstr("expert_wait_us"));
}

TEST(ReadScenario, LoraOfAProductAndItsPartsIsRefused) {
  const auto with = [](const char* targets) {
    return complaints(kLeast, {std::string(R"(training={"method": "lora", "rank": 16, "targets": )") + targets + "}"});
  };
  EXPECT_EQ(with(R"(["linear_qkv", "linear_fc1"])"), "");
  EXPECT_THAT(with(R"(["linear_qkv", "q_proj"])"),
              HasSubstr("training.targets: expected one product or its parts, found qkv and its parts"));
  EXPECT_THAT(with(R"(["gate_up_proj", "up_proj"])"),
              HasSubstr("training.targets: expected one product or its parts, found fc1 and its parts"));
}

TEST(ReadScenario, AStatedPriceBelongsToItsCluster) {
  const std::string text = R"({"model": "llama-3-8b", "cluster": "dgx-h100-ndr", "gpus": 8,
      "batch": {"micro": 1, "global": 64, "sequence_length": 8192}, "run": {"tokens": 1e9, "price_per_gpu_hour": 2}})";
  const auto price = [&](const std::vector<std::string>& sets) { return made(text, sets).job.run->price_per_gpu_hour; };
  EXPECT_EQ(price({}), 2);
  EXPECT_EQ(price({"cluster.node.nics.gb_per_s=25"}), 2) << "the same cluster, changed";
  EXPECT_EQ(price({"cluster=dgx-a100-80gb-hdr"}), std::nullopt);
  EXPECT_EQ(price({"cluster=dgx-a100-80gb-hdr", "run.price_per_gpu_hour=3"}), 3);
  EXPECT_EQ(price({"cluster=aws-p5"}), made(kLeast, {"cluster=aws-p5"}).job.cluster.price_per_gpu_hour);
  EXPECT_THAT(made(text, {"cluster=dgx-a100-80gb-hdr"}).notes.warnings,
              Contains("the scenario's price of 2 per GPU hour belongs to cluster dgx-h100-ndr, and is left out; state "
                       "run.price_per_gpu_hour"));
}

TEST(ReadScenario, AClusterWithAnotherPriceSaysIt) {
  const auto name = [](const std::vector<std::string>& sets) {
    return read_scenario_text(kLeast, "t.json", sets).job.cluster.name;
  };
  EXPECT_EQ(name({"cluster.price_per_gpu_hour=2.99"}), "dgx-h100-ndr at 2.99 USD");
  EXPECT_EQ(name({"cluster.price_per_gpu_hour=2.99", "cluster.notes=mine"}), "dgx-h100-ndr (modified)");
}

}  // namespace
}  // namespace foretoken::io
