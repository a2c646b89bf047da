// Tests the files below an experiment of Primus: whose keys count, and where they stand in the answer.
#include "sim/io/import/launch/megatron/primus_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::megatron {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

/// A tree of Primus with a list of defaults of models, one of the trainer, and a preset.
class PrimusTree {
 public:
  PrimusTree() : path_(fs::path(testing::TempDir()) / ("primus-files-" + std::to_string(::getpid()))) {
    write("models", "language_model.yaml",
          "num_layers: 24\nhidden_size: 1024\nnum_attention_heads: 16\nadd_position_embedding: false\n"
          "kv_lora_rank: 32\nmy_sparse_depth: 7\nrope_scaling_factor: 8.0\nswiglu: true\n");
    write("modules", "trainer_base.yaml",
          "bf16: true\nmy_vision_size: 224\nseq_length: 4096\nmicro_batch_size: 2\nglobal_batch_size: 16\n"
          "fp4: null\nfp4_recipe: nvfp4\n");
    write("modules", "pre_trainer.yaml", "extends: [trainer_base.yaml]\nseq_length: 1024\nlr: 2.0e-5\n");
  }
  PrimusTree(const PrimusTree&) = delete;
  PrimusTree& operator=(const PrimusTree&) = delete;
  ~PrimusTree() { fs::remove_all(path_); }

  /// Reads an experiment whose model is language_model.yaml with `keys` on top.
  [[nodiscard]] Report read(const std::string& keys, const std::string& overrides = "{}",
                            const Environment& variables = {}) const {
    write("models", "own_1b.yaml", "extends: [language_model.yaml]\n" + keys);
    Findings findings;
    Launch launch;
    launch.sets = {"cluster=dgx-h100-ndr"};
    launch.variables = variables;
    Report report = read_launch_text(
        "modules:\n  pre_trainer:\n    framework: megatron\n    config: pre_trainer.yaml\n"
        "    model: ${SIZE:own_1b}.yaml\n    overrides: " +
            overrides + "\n",
        path_ / "a.yaml", launch, findings);
    EXPECT_EQ(lines_of(findings.complaints), "");
    return report;
  }

  void write(const std::string& kind, const std::string& name, const std::string& text) const {
    const fs::path folder = path_ / "primus/configs" / kind / "megatron";
    fs::create_directories(folder);
    std::ofstream(folder / name) << text;
  }

 private:
  fs::path path_;
};

std::string ignored_of(const Report& report) {
  std::string text;
  for (const Ignored& one : report.ignored) text += one.setting + "\n";
  return text;
}

TEST(PrimusFiles, KeysOfAPresetAreSortedAsTheExperimentsOwn) {
  const PrimusTree tree;
  const Report report = tree.read(
      "num_layers: 16\nmoe_router_num_groups: 8\nrotary_base: 500000\nmy_attention_depth: 4\nmy_attention: false\n"
      "final_logit_softcapping: 50.0\nfully_parallel_save: true\n");
  EXPECT_EQ(report.whole("model.num_layers"), 16);
  EXPECT_EQ(refused_lines(report),
            "my_attention_depth: an unknown key; if it changes neither time nor memory, go on with --allow "
            "my_attention_depth\n");
  EXPECT_EQ(report.refused.front().from, "own_1b.yaml");
  EXPECT_TRUE(report.names("--moe-router-num-groups")) << "tokens are spread evenly";
  EXPECT_TRUE(report.names("--final-logit-softcapping"));
  EXPECT_THAT(ignored_of(report), HasSubstr("own_1b.yaml (1): rotary_base\n"));
}

TEST(PrimusFiles, AListOfDefaultsSaysNothingOfTheRun) {
  const PrimusTree tree;
  const Report report = tree.read("rotary_base: 10000\n");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_THAT(ignored_of(report), HasSubstr("language_model.yaml (2): my_sparse_depth, rope_scaling_factor\n"));
  EXPECT_THAT(ignored_of(report), HasSubstr("trainer_base.yaml (1): my_vision_size\n"));
  EXPECT_THAT(ignored_of(report), HasSubstr("pre_trainer.yaml (1): lr\n"));
}

TEST(PrimusFiles, LayersThatNoModelHereHasAreRefusedByName) {
  const PrimusTree tree;
  const std::string sparse = refused_lines(
      tree.read("minimax_sparse_attention: true\nsparse_attention_freq: \"([0]*3+[1]*13)\"\nsparse_topk_blocks: 8\n"
                "sparse_block_size: 128\nmsa_backend: own\nuse_gemma_norm: true\n"));
  for (const char* key : {"minimax_sparse_attention", "sparse_attention_freq", "sparse_topk_blocks"})
    EXPECT_THAT(sparse, HasSubstr(std::string(key) + ": block-sparse attention")) << key;
  EXPECT_THAT(sparse, Not(HasSubstr("sparse_block_size")));
  const std::string compressed = refused_lines(
      tree.read("hybrid_attention_enabled: true\ncompress_ratios: \"[0, 4, 128]\"\nhc_mult: 4\nhc_eps: 1.0e-6\n"
                "o_lora_rank: 512\no_groups: 8\nindex_topk: 256\nattn_sink: true\n"));
  for (const char* key : {"hybrid_attention_enabled", "compress_ratios", "hc_mult", "o_lora_rank", "index_topk"})
    EXPECT_THAT(compressed, HasSubstr(std::string(key) + ": ")) << key;
  EXPECT_THAT(compressed, Not(HasSubstr("attn_sink")));
}

// merge_namespace() of Primus keeps what the trainer's file states.
TEST(PrimusFiles, TheTrainersFileWinsOverTheModels) {
  const PrimusTree tree;
  EXPECT_EQ(tree.read("seq_length: 2048\n").whole("batch.sequence_length"), 1024);
  EXPECT_EQ(tree.read("seq_length: 2048\n", "{seq_length: 512}").whole("batch.sequence_length"), 512);
}

TEST(PrimusFiles, VariablesReachTheExperimentAndTheFilesBelowIt) {
  const PrimusTree tree;
  const std::string layers = "num_layers: ${LAYERS:8}\n", batch = "{micro_batch_size: '${MBS:1}'}";
  const Report plain = tree.read(layers, batch);
  EXPECT_EQ(plain.whole("model.num_layers"), 8);
  EXPECT_EQ(plain.whole("batch.micro"), 1);
  const Report stated = tree.read(layers, batch, {{"LAYERS", "12"}, {"MBS", "4"}});
  EXPECT_EQ(stated.whole("model.num_layers"), 12);
  EXPECT_EQ(stated.whole("batch.micro"), 4);
  EXPECT_EQ(tree.read(layers, batch, {{"SIZE", "language_model"}}).whole("model.num_layers"), 24);
}

TEST(PrimusFiles, AFileThatExtendsItselfIsRefused) {
  const PrimusTree tree;
  std::string self = "extends: [ring.yaml";
  for (int i = 1; i < 10; ++i) self += ", ./ring.yaml";
  tree.write("models", "ring.yaml", self + "]\nnum_layers: 6\n");
  const Report report = tree.read("extends: [ring.yaml]\nhidden_size: 64\n");
  EXPECT_EQ(refused_lines(report),
            "megatron/ring.yaml: the file extends itself: megatron/own_1b.yaml, megatron/ring.yaml, "
            "megatron/ring.yaml\n");
}

TEST(PrimusFiles, ChainsAndTreesHaveAnEnd) {
  const PrimusTree tree;
  for (int i = 0; i < 12; ++i) {
    const std::string next = "own_" + std::to_string(i + 1) + ".yaml";
    tree.write("models", "own_" + std::to_string(i) + ".yaml", "extends: [" + next + "]\n");
    std::string wide = "extends: [";
    for (int j = 0; j < 10; ++j) wide += "wide_" + next + ", ";
    tree.write("models", "wide_own_" + std::to_string(i) + ".yaml", wide + "]\n");
  }
  EXPECT_THAT(refused_lines(tree.read("includes: [own_0.yaml]\n")),
              HasSubstr("megatron/own_8.yaml: a chain of more than 9 files that extend each other: "
                        "megatron/own_1b.yaml, megatron/own_0.yaml"));
  EXPECT_THAT(refused_lines(tree.read("includes: [wide_own_0.yaml]\n")),
              HasSubstr("the experiment names more than 100 files with those that they extend"));
}

TEST(PrimusFiles, ProductsOfFourBitsHaveTheirRecipe) {
  const PrimusTree tree;
  EXPECT_EQ(tree.read("", "{fp4: e2m1}").at("precision"), "nvfp4");
  EXPECT_EQ(refused_lines(tree.read("", "{fp4: e2m1}")), "");
  EXPECT_THAT(refused_lines(tree.read("", "{fp4: e2m1, fp4_recipe: mxfp4}")), HasSubstr("--fp4-recipe: MXFP4"));
  EXPECT_EQ(refused_lines(tree.read("", "{fp4_recipe: mxfp4}")), "") << "nothing runs in 4 bits";
}

TEST(PrimusFiles, TheLibraryMayRunAttentionInFp8) {
  const PrimusTree tree;
  const auto read = [&](const std::string& more) {
    return tree.read("", "{enable_turbo_attention_float8: true, use_turbo_rms_norm: true, " + more + "}");
  };
  const std::string both = "enable_primus_turbo: true, use_turbo_attention: true";
  EXPECT_EQ(read(both + ", fp8: hybrid").at("precision_recipe.attention"), "fp8");
  EXPECT_THAT(refused_lines(read(both)), HasSubstr("enable_turbo_attention_float8: attention in fp8"));
  EXPECT_EQ(refused_lines(read("enable_primus_turbo: false, use_turbo_attention: true")), "") << "the library is off";
  EXPECT_THAT(refused_lines(read(both + ", fp8: hybrid, use_turbo_mega_moe: true")), HasSubstr("use_turbo_mega_moe"));
  EXPECT_TRUE(read(both + ", fp8: hybrid").names("use_turbo_rms_norm"));
}

TEST(PrimusFiles, TheirOwnPipelineNamesASchedule) {
  const PrimusTree tree;
  const auto read = [&](const std::string& more) {
    return tree.read("", "{pipeline_model_parallel_size: 4, patch_primus_pipeline: true, " + more + "}");
  };
  const std::string chunks = "num_virtual_stages_per_pipeline_rank: 2, ";
  for (const auto& [theirs, ours] : {std::pair("zbv-formatted", "zb-v"), std::pair("v-half", "v-half"),
                                     std::pair("v-min", "v-min"), std::pair("1f1b-interleaved", "interleaved-1f1b")}) {
    const Report report = read(chunks + "pp_algorithm: " + theirs);
    EXPECT_EQ(report.at("schedule"), Json(ours)) << theirs;
    EXPECT_EQ(report.whole("parallelism.virtual_pipeline"), 2);
    EXPECT_EQ(refused_lines(report), "");
  }
  EXPECT_EQ(read("pp_algorithm: zero-bubble").at("schedule"), "zb-h1");
  EXPECT_EQ(read("pp_algorithm: 1f1b").at("schedule"), "1f1b");
  EXPECT_FALSE(read("pp_algorithm: 1f1b-interleaved").has("schedule")) << "stages of one chunk";
  EXPECT_THAT(refused_lines(read("pp_algorithm: zero-bubble-heuristic")),
              HasSubstr("pp_algorithm: the schedule \"zero-bubble-heuristic\" is not modelled"));
  EXPECT_THAT(refused_lines(read(chunks + "pp_algorithm: v-min, offload: true")), HasSubstr("offload: activations"));
  EXPECT_THAT(refused_lines(read("num_seq_splits: 2")), HasSubstr("num_seq_splits: micro-batches"));
  const Report off = tree.read("", "{pipeline_model_parallel_size: 4, pp_algorithm: zbv-formatted}");
  EXPECT_FALSE(off.has("schedule"));
  EXPECT_EQ(refused_lines(off), "");
}

TEST(PrimusFiles, ZeroBubblesKeysCountBehindTheirSwitch) {
  const PrimusTree tree;
  const auto read = [&](const std::string& more) {
    return tree.read("",
                     "{pipeline_model_parallel_size: 8, num_layers: 31, allow_padding_num_layers: true, " + more + "}");
  };
  EXPECT_FALSE(read("patch_zero_bubble: false").has("parallelism.layers_per_stage"));
  EXPECT_TRUE(read("patch_zero_bubble: true").has("parallelism.layers_per_stage"));
  EXPECT_EQ(read("patch_zero_bubble: true, decoder_first_pipeline_num_layers: 10").at("parallelism.layers_per_stage"),
            Json({10, 3, 3, 3, 3, 3, 3, 3}));
  EXPECT_THAT(refused_lines(read("patch_zero_bubble: true, enable_zero_bubble: true")), HasSubstr("zero-bubble"));
}

// NVIDIA/Megatron-LM, megatron/training/arguments.py, validate_args.
TEST(PrimusFiles, ChunksAreThoseThatMegatronSets) {
  const PrimusTree tree;
  const auto read = [&](const std::string& more) {
    return tree.read("", "{pipeline_model_parallel_size: 4, virtual_pipeline_model_parallel_size: 3, " + more + "}");
  };
  const Report reset = read("lr: 1.0");
  EXPECT_EQ(reset.whole("parallelism.virtual_pipeline"), 1);
  EXPECT_TRUE(reset.names("virtual_pipeline_model_parallel_size"));
  EXPECT_EQ(read("num_virtual_stages_per_pipeline_rank: 2").whole("parallelism.virtual_pipeline"), 2);
}

TEST(PrimusFiles, LayersOfEveryStageMayBeListed) {
  const PrimusTree tree;
  const auto read = [&](const std::string& list) {
    return tree.read("", "{pipeline_model_parallel_size: 4, decoder_pipeline_manual_split_list: " + list + "}");
  };
  EXPECT_EQ(read("[5, 7, 7, 5]").at("parallelism.layers_per_stage"), (Json{5, 7, 7, 5}));
  EXPECT_EQ(refused_lines(read("[5, 7, 7, 5]")), "");
  EXPECT_THAT(refused_lines(read("[5, 7, 7]")), HasSubstr("expected 4 numbers whose sum is 24 layers"));
}

TEST(PrimusFiles, WindowsAreThoseOfMegatronOrOfTheLibrary) {
  const PrimusTree tree;
  const auto read = [&](const std::string& keys) { return tree.read("", "{" + keys + "}"); };
  const auto expect = [](const Report& report, std::int64_t window, std::optional<std::int64_t> every) {
    EXPECT_EQ(report.whole("model.window_size"), window);
    EXPECT_EQ(report.whole("model.window_attn_skip_freq"), every);
    EXPECT_EQ(refused_lines(report), "");
  };
  expect(read("window_size: [128, 0], window_attn_skip_freq: [1, 0, 1, 0, 1, 0]"), 129, 2);
  expect(read("window_size: [128, 0], window_attn_skip_freq: 4"), 129, 4);
  expect(read("window_size: [128, 0]"), 129, std::nullopt);
  const std::string turbo = "enable_primus_turbo: true, use_turbo_attention: true, use_sink_attention: true, ";
  expect(read(turbo + "sink_sliding_window: 64, sink_window_even_layers_only: true"), 65, 2);
  expect(read(turbo + "sink_sliding_window: 64, sink_window_even_layers_only: false"), 65, std::nullopt);
  for (const char* none :
       {"window_size: null", "window_size: [-1, 0]", "window_size: [128, 0], window_attn_skip_freq: 1",
        "sink_sliding_window: 64", "window_attn_skip_freq: 2"}) {
    EXPECT_FALSE(read(none).has("model.window_size")) << none;
    EXPECT_EQ(refused_lines(read(none)), "") << none;
  }
  EXPECT_THAT(refused_lines(read("window_size: [128, 0], window_attn_skip_freq: [1, 0, 0, 1]")),
              HasSubstr("--window-attn-skip-freq: windows are modelled in all layers"));
  EXPECT_THAT(refused_lines(read("window_size: wide")), HasSubstr("--window-size: expected two numbers"));
}

TEST(PrimusFiles, ReplicasOfFsdp2AreRefused) {
  const PrimusTree tree;
  const auto refused = [&](const std::string& copies, const std::string& fsdp) {
    return refused_lines(
        tree.read("", "{data_parallel_replicate_degree: " + copies + ", use_torch_fsdp2: " + fsdp + "}"));
  };
  EXPECT_THAT(refused("2", "true"), HasSubstr("data_parallel_replicate_degree: 2 replicas of sharded weights (HSDP)"));
  EXPECT_EQ(refused("1", "true"), "");
  EXPECT_EQ(refused("2", "false"), "");
}

TEST(PrimusFiles, SmallEffectsAreNoted) {
  const PrimusTree tree;
  const Report report =
      tree.read("", "{no_fp8_weight_transpose_cache: true, moe_log_expert_load: true, fp8_alltoall: true}");
  EXPECT_EQ(refused_lines(report), "");
  for (const char* key : {"no_fp8_weight_transpose_cache", "fp8_alltoall"})
    EXPECT_TRUE(std::ranges::any_of(report.assumed, [&](const Assumed& one) { return one.key == key; })) << key;
}

}  // namespace
}  // namespace foretoken::io::launch::megatron
