// Tests keys of torchtitan.
#include "sim/io/import/launch/torchtitan/read_torchtitan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "sim/io/import/launch/environment.h"
#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::torchtitan {
namespace {

TEST(ReadTorchtitan, CastingWeightsAnewIsASmallEffect) {
  const Report report = read_test_launch(
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n"
      "[float8]\nforce_recompute_fp8_weight_in_bwd = true\n",
      "a.toml");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(report.names("float8.force_recompute_fp8_weight_in_bwd"));
}

TEST(ReadTorchtitan, RecomputedLayersAreThoseOfTheModelThatTheUserNames) {
  const std::string file =
      "[model]\nname = \"own\"\nflavor = \"debugmodel\"\n[training]\nlocal_batch_size = 1\nseq_len = 2048\n"
      "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"2\"\n";
  const auto read = [&](const std::vector<std::string>& sets) {
    Findings findings;
    Launch launch;
    launch.sets = sets;
    const Report report = read_launch_text(file, "a.toml", launch, findings);
    EXPECT_TRUE(findings.complaints.empty());
    return report;
  };
  EXPECT_TRUE(read({}).asks("recompute.layers"));
  const Report named = read({"model=llama-3-8b"});
  EXPECT_EQ(named.whole("recompute.layers"), 16);
  EXPECT_FALSE(named.asks("recompute.layers"));
  EXPECT_EQ(read({"model=llama-3-8b", "recompute.layers=4"}).whole("recompute.layers"), 4) << "the user's own";
}

constexpr const char* kEightBillion =
    "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n";

TEST(ReadTorchtitan, ScalesOfFloat8AreDynamic) {
  const auto refused = [](const std::string& float8) {
    return refused_lines(read_test_launch(std::string(kEightBillion) + "[float8]\n" + float8, "a.toml"));
  };
  const std::string on = "enable_float8_linear = true\n";
  EXPECT_EQ(refused(on + "scaling_type_input = 'dynamic'\nscaling_type_weight = 'dynamic'\n"
                         "scaling_type_grad_output = 'dynamic'\n"),
            "");
  for (const char* key : {"scaling_type_input", "scaling_type_weight", "scaling_type_grad_output"}) {
    const std::string delayed = std::string(key) + " = 'delayed'\n";
    EXPECT_EQ(refused(on + delayed),
              "float8." + std::string(key) + ": float8 with scales that are \"delayed\" is not modelled; dynamic is\n");
    EXPECT_EQ(refused("enable_float8_linear = false\n" + delayed), "") << key;
  }
}

TEST(ReadTorchtitan, KeysOfFloat8CountBesideItsConverterOnly) {
  const auto refused = [](const std::string& switch_of_float8) {
    return refused_lines(read_test_launch(std::string(kEightBillion) + "[float8]\n" + switch_of_float8 +
                                              "enable_fp8_fa = true\nfp8_fa_granularity = \"tensor\"\n"
                                              "enable_fp8_gmm = true\nenable_fp8_linear = true\n",
                                          "a.toml"));
  };
  EXPECT_EQ(refused(""), "");
  EXPECT_NE(refused("enable_float8_linear = true\n").find("float8.enable_fp8_fa: an unknown key"), std::string::npos);
}

TEST(ReadTorchtitan, NarrowProductsOfExpertsAreRefused) {
  const std::string start = "[model]\nname = \"llama3\"\nflavor = \"8B\"\nconverters = [\"";
  const Report report = read_test_launch(
      start + "quantize.grouped_mm.float8\"]\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n", "a.toml");
  EXPECT_NE(refused_lines(report).find("products of experts in 8 bits"), std::string::npos);
}

TEST(ReadTorchtitan, SectionsOfDataAndBetasHaveNoEffectAndWholeLogitsAreNoted) {
  const auto read = [](const std::string& tensor) {
    return read_test_launch(std::string(kEightBillion) +
                                "[s3_checkpoint]\nbucket = \"a\"\n[mosaic_dataloader]\nworkers = 4\n"
                                "[optimizer]\nbetas = [0.9, 0.95]\n[parallelism]\ndisable_loss_parallel = true\n"
                                "tensor_parallel_degree = " +
                                tensor + "\n",
                            "a.toml");
  };
  const auto notes = [](const Report& report) {
    return std::ranges::count(report.assumed, "parallelism.disable_loss_parallel", &Assumed::key);
  };
  EXPECT_EQ(refused_lines(read("2")), "");
  EXPECT_EQ(notes(read("2")), 1);
  EXPECT_EQ(notes(read("1")), 0);
}

TEST(ReadTorchtitan, ModelsOfOtherKindsAreRefusedAndUnknownOnesSaySo) {
  const auto read = [](const std::string& name) {
    return read_test_launch(
        "[model]\nname = \"" + name + "\"\nflavor = \"debugmodel\"\n[training]\nbatch_size = 1\nseq_len = 128\n",
        "a.toml");
  };
  for (const char* hybrid : {"bamba", "mamba2", "gdn_1B", "kda", "nemotron_h", "Mamba2", "Bamba"}) {
    const std::string expected = fmt::format("model.name: \"{}\" is a hybrid of state-space", hybrid);
    EXPECT_NE(refused_lines(read(hybrid)).find(expected), std::string::npos) << refused_lines(read(hybrid));
  }
  for (const char* other : {"flux", "Flux", "llama3-siglip2", "vlm", "qwen3_vl", "vision"})
    EXPECT_NE(refused_lines(read(other)).find("is not a language model"), std::string::npos) << other;
  const auto why = [&](const std::string& name) {
    const Report report = read(name);
    const auto asked = std::ranges::find(report.asked, "model", &Asked::key);
    return asked == report.asked.end() ? std::string() : asked->because;
  };
  EXPECT_NE(why("blt").find("blt debugmodel is no model that is known here"), std::string::npos) << why("blt");
  EXPECT_NE(why("deepseek_v3").find("stand in torchtitan's code"), std::string::npos) << why("deepseek_v3");
}

TEST(ReadTorchtitan, SizesOfImagesAreThoseOfFlux) {
  const std::string refused = refused_lines(read_test_launch(
      "[model]\nname = \"flux\"\nflavor = \"flux-dev\"\n[training]\nlocal_batch_size = 4\nimg_size = 256\n"
      "[encoder]\nclip_encoder = \"clip\"\n",
      "a.toml"));
  EXPECT_NE(refused.find("training.img_size: Flux"), std::string::npos) << refused;
  EXPECT_NE(refused.find("[encoder]: Flux"), std::string::npos) << refused;
}

TEST(ReadTorchtitan, SettingsOfDataChangeNothing) {
  const Report report =
      read_test_launch(std::string(kEightBillion) +
                           "dataset = \"blendcorpus\"\ndataloading_args = '{\"streaming\": true}'\n"
                           "[blendcorpus]\nnum_workers = 2\nmicro_batch_size = 4\nseq_length = 2048\n",
                       "a.toml");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("batch.micro"), 1);
  EXPECT_EQ(report.whole("batch.sequence_length"), 8192);
}

Json part_of_recipe(const Report& report, const char* part) {
  return report.at(std::string("precision_recipe.") + part);
}

TEST(ReadTorchtitan, WeightsAndStatesInBf16HaveNoCopy) {
  const std::string run = std::string(kEightBillion) + "dtype = \"bfloat16\"\n";
  const Report report = read_test_launch(run, "a.toml");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("precision"), Json("bf16"));
  for (const char* part : {"weights", "gradients", "moments"}) EXPECT_EQ(part_of_recipe(report, part), "bf16") << part;
  EXPECT_EQ(part_of_recipe(report, "master"), "none");
  EXPECT_EQ(part_of_recipe(report, "reduce"), "fp32") << "FSDP reduces in a type of its own";
  const Report narrow = read_test_launch(run + "mixed_precision_reduce = \"bfloat16\"\n", "a.toml");
  EXPECT_FALSE(narrow.has("precision_recipe.reduce")) << "as gradients are kept";
  const Report eight = read_test_launch(run + "[float8]\nenable_float8_linear = true\n", "a.toml");
  EXPECT_EQ(refused_lines(eight), "");
  EXPECT_EQ(eight.at("precision"), Json("fp8"));
  EXPECT_EQ(part_of_recipe(eight, "master"), "none");
}

TEST(ReadTorchtitan, GradientsReducedInBf16AreKeptInTheTypeOfTheWeights) {
  const std::string narrow = "mixed_precision_reduce = \"bfloat16\"\n";
  const Report report = read_test_launch(kEightBillion + narrow, "a.toml");
  EXPECT_EQ(part_of_recipe(report, "reduce"), "bf16");
  EXPECT_FALSE(report.has("precision_recipe.gradients"));
  const Report replicas = read_test_launch(
      kEightBillion + narrow + "[parallelism]\ndata_parallel_replicate_degree = 8\ndata_parallel_shard_degree = 1\n",
      "a.toml");
  EXPECT_FALSE(replicas.has("precision_recipe")) << "DDP has no type of its own";
}

TEST(ReadTorchtitan, PassesInFp32AreThePrecision) {
  const std::string wide = std::string(kEightBillion) + "mixed_precision_param = \"float32\"\n";
  const Report report = read_test_launch(wide + "mixed_precision_reduce = \"float32\"\n", "a.toml");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("precision"), Json("fp32"));
  EXPECT_FALSE(report.has("precision_recipe"));
  EXPECT_NE(refused_lines(read_test_launch(wide + "dtype = \"bfloat16\"\n", "a.toml")).find("training.dtype"),
            std::string::npos);
  EXPECT_NE(refused_lines(read_test_launch(wide + "[float8]\nenable_float8_linear = true\n", "a.toml"))
                .find("products in 8 bits"),
            std::string::npos);
}

TEST(ReadTorchtitan, WithoutFsdpTensorRanksHaveNoMixedPrecision) {
  const std::string alone =
      std::string(kEightBillion) + "[parallelism]\ndata_parallel_shard_degree = 1\ntensor_parallel_degree = 8\n";
  const Report report = read_test_launch(alone, "a.toml");
  EXPECT_EQ(report.at("precision"), Json("fp32"));
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 0);
  EXPECT_EQ(read_test_launch(alone + "context_parallel_degree = 2\n", "a.toml").at("precision"), Json("bf16"));
}

TEST(ReadTorchtitan, KeysOfAForkAboutStatesAndTheAllocator) {
  const Report report =
      read_test_launch(std::string(kEightBillion) +
                           "enable_detailed_memory_tracking = true\nclear_cache_between_steps = true\n"
                           "aggressive_memory_verbose = true\n[optimizer]\nname = \"AdamW\"\n"
                           "state_dtype = \"bfloat16\"\n",
                       "a.toml");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(part_of_recipe(report, "moments"), "bf16");
  EXPECT_FALSE(report.has("precision_recipe.weights"));
  const Report wide = read_test_launch(
      std::string(kEightBillion) + "dtype = \"bfloat16\"\n[optimizer]\nname = \"AdamW\"\nstate_dtype = \"float32\"\n",
      "a.toml");
  EXPECT_EQ(part_of_recipe(wide, "moments"), "fp32") << "beside weights in bf16";
  for (const char* key : {"enable_detailed_memory_tracking", "clear_cache_between_steps"})
    EXPECT_TRUE(report.names(std::string("training.") + key)) << key;
  EXPECT_NE(
      refused_lines(read_test_launch(std::string(kEightBillion) + "aggressive_memory_mode = \"maximum\"\n", "a.toml"))
          .find("emptied several times a step"),
      std::string::npos);
}

TEST(ReadTorchtitan, EarlyStepsStopBesideAPipelineAndExperts) {
  const auto read = [](const std::string& degree) {
    return refused_lines(read_test_launch(
        std::string(kEightBillion) + "[optimizer]\nearly_step_in_backward = true\n[parallelism]\n" + degree + " = 2\n",
        "a.toml"));
  };
  for (const char* axis : {"pipeline", "expert"})
    EXPECT_NE(read(std::string(axis) + "_parallel_degree").find("torchtitan stops beside " + std::string(axis)),
              std::string::npos);
  EXPECT_EQ(read("tensor_parallel_degree"), "");
}

TEST(ReadTorchtitan, PublishedModelsAreKnownByTheirFlavor) {
  const auto model = [](const std::string& name, const std::string& flavor) {
    return read_test_launch("[model]\nname = \"" + name + "\"\nflavor = \"" + flavor +
                                "\"\n[training]\nlocal_batch_size = 1\nseq_len = 2048\n",
                            "a.toml")
        .at("model");
  };
  EXPECT_EQ(model("gpt_oss", "120B"), Json("gpt-oss-120b"));
  EXPECT_EQ(model("gpt_oss", "20B"), Json("gpt-oss-20b"));
  EXPECT_EQ(model("deepseek_v3", "671B"), Json("deepseek-v3"));
  EXPECT_EQ(model("deepseek_v3", "kimi_k2"), Json("kimi-k2"));
  EXPECT_TRUE(model("deepseek_v3", "16B").is_null());
  EXPECT_TRUE(model("gpt_oss", "debugmodel").is_null());
}

TEST(ReadTorchtitan, SectionsOfAForkAreNoted) {
  for (const char* section :
       {"[batch_size_scheduler]\nmode = \"linear\"\nstart_batch_size = 8\n", "[deepep]\nsync_comm_stream = false\n"}) {
    const Report report = read_test_launch(std::string(kEightBillion) + section, "a.toml");
    EXPECT_EQ(refused_lines(report), "") << section;
  }
}

TEST(ReadTorchtitan, ExpertsAreJudgedBeforeAllFactsAreKnown) {
  const auto read = [](const std::string& name, const std::string& flavor, const std::string& rest) {
    return read_test_launch("[model]\nname = \"" + name + "\"\nflavor = \"" + flavor +
                                "\"\n[training]\nlocal_batch_size = 1\nseq_len = 2048\n" + rest,
                            "a.toml");
  };
  const std::string by_op = "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"op\"\n";
  EXPECT_EQ(refused_lines(read("qwen3", "30B-A3B", by_op)), "");
  for (const char* flavor : {"30B-A3B", "32B"})
    EXPECT_EQ(refused_lines(read("qwen3", flavor, by_op + "[compile]\nenable = true\n")), "");
  EXPECT_EQ(refused_lines(read("deepseek_v3", "671B", by_op)), "");
  for (const char* name : {"qwen3", "llama4", "our_experts"})
    EXPECT_EQ(refused_lines(read(name, "30B-A3B", "[parallelism]\nexpert_parallel_degree = 8\n")), "")
        << name << ": FSDP shards experts over their own ranks";
  EXPECT_NE(refused_lines(
                read("qwen3", "30B-A3B", "[parallelism]\nexpert_parallel_degree = 8\npipeline_parallel_degree = 2\n"))
                .find("/optimizer/zero_stage: expected 0 or 1 with pipeline 2"),
            std::string::npos);
  EXPECT_EQ(read("qwen3", "30B-A3B", "[parallelism]\ntensor_parallel_degree = 2\n").whole("parallelism.expert_tensor"),
            2);
}

TEST(ReadTorchtitan, TensorRanksOfExpertsCountBesideExpertParallelismAlone) {
  const auto read = [](const std::string& expert) {
    return read_test_launch(
        "[model]\nname = \"qwen3\"\nflavor = \"30B-A3B\"\n[training]\nlocal_batch_size = 1\nseq_len = 2048\n"
        "[parallelism]\ntensor_parallel_degree = 4\nexpert_tensor_parallel_degree = 4\nexpert_parallel_degree = " +
            expert + "\n",
        "a.toml");
  };
  const Report alone = read("1");
  EXPECT_EQ(refused_lines(alone), "");
  EXPECT_TRUE(alone.names("parallelism.expert_tensor_parallel_degree"));
  EXPECT_EQ(alone.whole("parallelism.expert_tensor"), 4) << "TensorParallel over all tensor ranks";
  EXPECT_NE(refused_lines(read("2")).find("expert_tensor_parallel_degree: experts that tensor ranks share"),
            std::string::npos);
}

TEST(ReadTorchtitan, PrimusNamesTheFilesAndKeysThatAreNotRead) {
  const Report report = read_test_launch(
      "modules:\n  pre_trainer:\n    framework: torchtitan\n    config: our_trainer.yaml\n    model: absent.yaml\n"
      "    overrides:\n      file_sink_level: DEBUG\n      training: {local_batch_size: 1, seq_len: 2048}\n"
      "      primus_turbo: {enable_primus_turbo: true, enable_attention_float8: true}\n",
      "a.yaml");
  EXPECT_NE(refused_lines(report).find("our_trainer.yaml: the module file of the experiment is not in"),
            std::string::npos);
  for (const char* name :
       {"our_trainer.yaml", "primus_turbo", "primus_turbo.enable_attention_float8", "file_sink_level"})
    EXPECT_TRUE(report.names(name)) << name;
}

// Layout and values: AMD-AGI/Primus, primus/configs/modules/torchtitan/pre_trainer.yaml.
TEST(ReadTorchtitan, SwitchesOfAModuleOfPrimusAreAskedFor) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "primus_torchtitan";
  const auto write = [&](const std::string& name, const std::string& text) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << text;
  };
  write("primus/configs/models/torchtitan/eight.yaml", "model: {name: llama3, flavor: 8B}\n");
  write("primus/configs/modules/torchtitan/ours.yaml",
        "training: {local_batch_size: 3, seq_len: 1024, seed: null}\nparallelism: {tensor_parallel_degree: 2}\n"
        "activation_checkpoint: {mode: none}\ncompile: {enable: true}\nprimus_turbo: {enable_primus_turbo: true}\n");
  const auto read = [&](const std::string& module, const std::string& overrides, std::vector<std::string> sets) {
    write("run.yaml", "modules:\n  pre_trainer:\n    framework: torchtitan\n    config: " + module +
                          "\n    model: eight.yaml\n    overrides: {training: {seq_len: 4096}" + overrides + "}\n");
    Launch launch;
    launch.files = {folder / "run.yaml"};
    launch.sets = std::move(sets);
    launch.sets.insert(launch.sets.end(), {"cluster=dgx-h100-ndr", "gpus=8"});
    Findings findings;
    return read_launch(launch, findings);
  };
  const auto questions = [](const Report& report) {
    std::string text;
    for (const Asked& one : report.asked) text += one.key + ": " + one.because + "\n";
    return text;
  };
  const Report open = read("ours.yaml", "", {});
  EXPECT_EQ(refused_lines(open), "");
  EXPECT_EQ(open.whole("batch.micro"), 3) << "of the module";
  EXPECT_EQ(open.whole("parallelism.tensor"), 2);
  EXPECT_EQ(open.whole("batch.sequence_length"), 4096) << "the experiment wins";
  EXPECT_TRUE(open.names("primus_turbo"));
  for (const char* part :
       {R"(the experiment states no activation_checkpoint.mode: Primus takes "none" from ours.yaml)",
        "type --set recompute.granularity=none for Primus's value, -- "
        "modules.pre_trainer.overrides.activation_checkpoint.mode=selective for torchtitan's",
        "type --set runtime=torchtitan-compiled for Primus's value, --set runtime=torchtitan for torchtitan's"})
    EXPECT_NE(questions(open).find(part), std::string::npos) << questions(open);
  EXPECT_EQ(questions(read("ours.yaml", ", activation_checkpoint: {mode: full}, compile: {enable: true}", {})), "");
  const Report answered = read("ours.yaml", "", {"recompute={\"granularity\": \"none\"}", "runtime=torchtitan"});
  EXPECT_TRUE(answered.complete()) << questions(answered);
  const Report typed = read("ours.yaml", "", {"recompute.granularity=none", "runtime=torchtitan-compiled"});
  EXPECT_TRUE(typed.complete()) << questions(typed);
  EXPECT_EQ(typed.at("recompute"), Json({{"granularity", "none"}}));
  EXPECT_NE(questions(read("pre_trainer.yaml", "", {})).find("\"none\" from pre_trainer.yaml"), std::string::npos)
      << "Primus's own, also where it is not there";
}

TEST(ReadTorchtitan, VariablesReachTheModuleOfPrimus) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "primus_variables";
  const auto write = [&](const std::string& name, const std::string& text) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << text;
  };
  write("primus/configs/models/torchtitan/eight.yaml", "model: {name: llama3, flavor: \"${SIZE:8}${UNIT:B}\"}\n");
  write("primus/configs/modules/torchtitan/ours.yaml",
        "training: {local_batch_size: \"${MBS:1}\", seq_len: \"${oc.env:LENGTH,1024}\"}\n"
        "parallelism: {tensor_parallel_degree: \"${env:TP,2}\"}\n");
  const auto read = [&](const Environment& variables) {
    Launch launch;
    launch.sets = {"cluster=dgx-h100-ndr", "gpus=8"};
    launch.variables = variables;
    Findings findings;
    Report report = read_launch_text(
        "modules:\n  pre_trainer:\n    framework: torchtitan\n    config: ours.yaml\n    model: eight.yaml\n"
        "    overrides: {training: {steps: 5}}\n",
        folder / "run.yaml", launch, findings);
    EXPECT_EQ(lines_of(findings.complaints), "");
    EXPECT_EQ(refused_lines(report), "");
    return report;
  };
  const Report plain = read({});
  EXPECT_EQ(plain.whole("batch.micro"), 1);
  EXPECT_EQ(plain.whole("batch.sequence_length"), 1024);
  EXPECT_EQ(plain.whole("parallelism.tensor"), 2);
  EXPECT_TRUE(plain.has("model")) << "two expressions in one text";
  const Report stated = read({{"MBS", "4"}, {"LENGTH", "512"}, {"TP", "4"}});
  EXPECT_EQ(stated.whole("batch.micro"), 4);
  EXPECT_EQ(stated.whole("batch.sequence_length"), 512);
  EXPECT_EQ(stated.whole("parallelism.tensor"), 4);
}

TEST(ReadTorchtitan, VariablesOfPrimusHaveTheirDefaults) {
  const Report report = read_test_launch(
      "modules:\n  pre_trainer:\n    framework: torchtitan\n    config: pre_trainer.yaml\n    model: absent.yaml\n"
      "    overrides:\n      training: {local_batch_size: 1, seq_len: 2048}\n"
      "      primus_turbo: {enable_attention_float8: \"${FP8:true}\"}\n",
      "a.yaml");
  EXPECT_TRUE(report.names("primus_turbo.enable_attention_float8"));
}

}  // namespace
}  // namespace foretoken::io::launch::torchtitan
