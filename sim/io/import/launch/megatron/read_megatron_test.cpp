// Tests Megatron-LM's flags: what each rule makes of them, and what is refused or asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "sim/io/import/launch/megatron/flag_table.h"
#include "sim/io/import/launch/megatron/rules.h"
#include "sim/io/import/launch/read_launch.h"
#include "sim/io/import/launch/test_launch.h"
#include "sim/io/json/test_text.h"

namespace foretoken::io::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kFiles = FORETOKEN_SOURCE_DIR "/sim/io/testdata/launch/";
/// A run that needs no more than a cluster.
constexpr const char* kRun =
    "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 "
    "--micro-batch-size 1 --global-batch-size 64 --vocab-size 50304 --bf16 --nproc-per-node 8 --nnodes 2 ";

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

Report read(const Launch& launch) {
  Findings findings;
  Report report = read_launch(launch, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  return report;
}

Report with(const std::string& flags) {
  Launch launch;
  launch.words = words_of(kRun + flags);
  launch.sets = {"cluster=dgx-h100-ndr"};
  return read(launch);
}

Report read_file(const std::string& name) {
  Launch launch;
  launch.files = {kFiles + name};
  launch.sets = {"cluster=dgx-h100-ndr"};
  return read(launch);
}

std::string refusals(const Report& report) {
  std::string text;
  for (const Refused& one : report.refused) text += one.setting + ": " + one.because + "\n";
  return text;
}

struct KeyCase {
  const char *what, *flags, *key, *value;
};

constexpr KeyCase kKeys[] = {
    {"the MLP is four times as wide", "", "model.ffn_hidden_size", "8192"},
    {"two thirds of that with SwiGLU, in steps of 64", "--swiglu", "model.ffn_hidden_size", "5440"},
    {"without groups every head has its own keys", "--num-query-groups 4", "model.num_query_groups", "16"},
    {"groups of queries", "--group-query-attention --num-query-groups 4", "model.num_query_groups", "4"},
    {"a flag may have an equals sign and underscores", "--kv_channels=64", "model.kv_channels", "64"},
    {"the last of two flags wins", "--kv-channels 64 --kv-channels 256", "model.kv_channels", "256"},
    {"RoPE by its old flag", "--use-rotary-position-embeddings", "model.position_embedding_type", "\"rope\""},
    {"sequence parallelism", "--tensor-model-parallel-size 2 --sequence-parallel", "parallelism.sequence_parallel",
     "true"},
    {"one tensor rank has no sequence parallelism", "--sequence-parallel", "parallelism.sequence_parallel", "false"},
    {"chunks by their layers", "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2",
     "parallelism.virtual_pipeline", "3"},
    {"chunks by their number", "--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 6",
     "parallelism.virtual_pipeline", "6"},
    {"a layout", "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout E(t*6|)*3t*6,L",
     "parallelism.layers_per_stage", "[6,6,6,6]"},
    {"a stage of the loss alone", "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*24|L",
     "parallelism.layers_per_stage", "[24,0]"},
    {"a stage of prediction and loss",
     "--pipeline-model-parallel-size 4 --mtp-num-layers 1 --pipeline-model-parallel-layout E|(t*12|)*2mL",
     "parallelism.layers_per_stage", "[0,12,12,0]"},
    {"a first stage of its own", "--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 3",
     "parallelism.layers_per_stage", "[3,7,7,7]"},
    {"messages overlap in chunks only", "--pipeline-model-parallel-size 2", "overlap.p2p", "false"},
    {"and then by default", "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2", "overlap.p2p",
     "true"},
    {"bf16 reduces in fp32", "", "precision_recipe.gradients", "\"fp32\""},
    {"unless it is told not to", "--grad-reduce-in-bf16", "precision_recipe.gradients", "\"bf16\""},
    {"blocks of more layers than a chunk has",
     "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2 --recompute-granularity full "
     "--recompute-method block --recompute-num-layers 8",
     "recompute.layers", "8"},
    {"fp8", "--fp8-format hybrid", "precision", "\"fp8\""},
    {"its recipe is delayed scaling", "--fp8-format hybrid", "precision_recipe.fp8_recipe", "\"delayed\""},
    {"full recomputation of 2021", "--checkpoint-activations", "recompute.granularity", "\"full\""},
    {"full recomputation of 2022", "--activations-checkpoint-method uniform", "recompute.method", "\"uniform\""},
    {"selective recomputation by its short flag", "--recompute-activations", "recompute.granularity", "\"selective\""},
    {"selective recomputation that overrules another", "--recompute-granularity full --recompute-activations",
     "recompute.granularity", "\"selective\""},
    {"modules in brackets", "--recompute-granularity selective --recompute-modules [core_attn,mlp]",
     "recompute.modules", R"(["core_attn","mlp"])"},
    {"another gated activation", "--quick-geglu", "model.activation", "\"geglu\""},
    {"moments of both kinds",
     "--use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16 --main-params-dtype fp16",
     "precision_recipe.moments", "\"bf16\""},
    {"LAMB", "--optimizer lamb", "optimizer.name", "\"lamb\""},
    {"an optimizer on the host", "--use-distributed-optimizer --optimizer-cpu-offload", "offload.optimizer", "\"cpu\""},
    {"a part of it", "--use-distributed-optimizer --optimizer-cpu-offload --optimizer-offload-fraction 0.5",
     "offload.optimizer", "0.5"},
    {"that part alone says nothing", "--optimizer-offload-fraction 0.5", "offload", "null"},
    {"moments of 8 bits", "--use-bnb-optimizer", "precision_recipe.moments", "1"},
    {"layers of activations on the host", "--cpu-offloading --cpu-offloading-num-layers 4", "offload.activations",
     R"({"layers":4,"to":"cpu"})"},
    {"the distributed optimizer", "--use-distributed-optimizer", "optimizer.zero_stage", "1"},
    {"Megatron-FSDP", "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params",
     "optimizer.zero_stage", "3"},
    {"PyTorch's DDP of 2021 overlaps", "--DDP-impl torch", "overlap.grad_reduce", "true"},
    {"but not where DeepSpeed takes the model", "--DDP-impl torch --deepspeed --zero-stage 0", "overlap.grad_reduce",
     "false"},
    {"its generation of the code", "--DDP-impl local", "runtime", "\"megatron-2021\""},
    {"old code has no fused attention", "--DDP-impl local", "attention", "\"unfused\""},
    {"a fused one where asked", "--DDP-impl local --use-flash-attn", "attention", "\"flash\""},
    {"GPUs of the launcher", "", "gpus", "16"},
    {"dense layers first", "--num-experts 8 --moe-layer-freq ([0]*4+[1]*20)", "model.first_k_dense_replace", "4"},
    {"experts as wide as the MLP", "--num-experts 8", "model.moe_ffn_hidden_size", "8192"},
    {"the tensor size cuts experts", "--num-experts 8 --tensor-model-parallel-size 2", "parallelism.expert_tensor",
     "2"},
    {"DeepEP", "--num-experts 8 --moe-token-dispatcher-type flex --moe-enable-deepep", "moe.dispatcher", "\"deepep\""},
    {"balanced by force", "--num-experts 8 --moe-router-force-load-balancing", "moe.imbalance", "1"}};

TEST(ReadMegatron, MapsFlags) {
  for (const KeyCase& one : kKeys) {
    SCOPED_TRACE(one.what);
    const Report report = with(one.flags);
    EXPECT_EQ(report.at(one.key).dump(), one.value);
    EXPECT_EQ(refusals(report), "");
  }
}

constexpr KeyCase kRefusals[] = {
    {"an unknown flag", "--brand-new-thing 3", "--brand-new-thing", "an unknown flag"},
    {"a hybrid", "--hybrid-layer-pattern M-M*", "--hybrid-layer-pattern", "state-space"},
    {"inference", "--inference-max-requests 8", "--inference-max-requests", "inference"},
    {"layers that do not divide", "--pipeline-model-parallel-size 5 --nnodes 5", "layers", "24 layers"},
    {"a batch that does not divide", "--micro-batch-size 3", "batch.global",
     "global 64 not divisible by micro 3 x data 16"},
    {"another optimizer", "--optimizer muon", "--optimizer", "other costs"},
    {"an optimizer on the host without shards", "--optimizer-cpu-offload", "--optimizer-cpu-offload",
     "--use-distributed-optimizer is missing"},
    {"an optimizer on the host in old code", "--DDP-impl local --optimizer-cpu-offload", "--optimizer-cpu-offload",
     "for Megatron-Core only"},
    {"layers on the host without their number", "--cpu-offloading", "--cpu-offloading", "states no layers"},
    {"modules on the host", "--fine-grained-activation-offloading", "--fine-grained-activation-offloading",
     "host's memory"},
    {"a file of DeepSpeed", "--deepspeed --deepspeed_config ds.json", "--deepspeed-config", "is not read"},
    {"moments of one kind", "--use-precision-aware-optimizer --exp-avg-dtype bf16", "--exp-avg-dtype",
     "moments of two formats: bf16 and fp32"},
    {"activations on the host", "--checkpoint-in-cpu", "--checkpoint-in-cpu", "host"},
    {"weights of 4 bits", "--fp4-param", "--fp4-param", "4 bits"},
    {"another recipe of 4 bits", "--fp4-format e2m1 --fp4-recipe mxfp4", "--fp4-recipe", "only nvfp4 is"},
    {"no number", "--kv-channels wide", "--kv-channels", "expected a whole number, found \"wide\""},
    {"overlap without sequence parallelism", "--tp-comm-overlap", "--tp-comm-overlap", "sequence parallelism is off"},
    {"experts of several numbers", "--num-experts 8 16", "--num-experts", "several numbers"},
    {"a stage in the middle without a decoder layer",
     "--pipeline-model-parallel-size 3 --mtp-num-layers 1 --pipeline-model-parallel-layout Et*24|m|L",
     "--pipeline-model-parallel-layout", "without decoder layers"},
    {"predictions before the loss",
     "--pipeline-model-parallel-size 3 --mtp-num-layers 1 --pipeline-model-parallel-layout Et*12|t*12m|L",
     "--pipeline-model-parallel-layout", "on the stage of the loss"}};

TEST(ReadMegatron, RefusesByName) {
  for (const KeyCase& one : kRefusals) {
    SCOPED_TRACE(one.what);
    const Report report = with(one.flags);
    EXPECT_THAT(refusals(report), HasSubstr(std::string(one.key) + ": "));
    EXPECT_THAT(refusals(report), HasSubstr(one.value));
    EXPECT_FALSE(report.complete());
  }
}

TEST(ReadMegatron, AsksForWhatNoFlagStates) {
  Launch launch;
  launch.words = words_of("--num-layers 2 --hidden-size 64 --num-attention-heads 4 --bf16");
  const Report report = read(launch);
  std::vector<std::string> keys;
  for (const Asked& one : report.asked) keys.push_back(one.key);
  EXPECT_THAT(
      keys, ElementsAre("model.vocab_size", "batch.micro", "batch.sequence_length", "gpus", "cluster", "batch.global"));
}

TEST(ReadMegatron, AllowGoesOnWithoutASetting) {
  Launch launch;
  launch.words = words_of(std::string(kRun) + "--brand-new-thing 3");
  launch.sets = {"cluster=dgx-h100-ndr"};
  launch.allow = {"brand-new-thing"};
  const Report report = read(launch);
  ASSERT_EQ(report.refused.size(), 1U);
  EXPECT_TRUE(report.refused[0].allowed);
  EXPECT_TRUE(report.complete());
}

TEST(ReadMegatron, BothSpellingsOfASettingAllowIt) {
  for (const char* name : {"precision_recipe.attention", "/precision_recipe/attention", "all"}) {
    Report report;
    report.refuse("/precision_recipe/attention", "no laws");
    report.refuse("--brand-new-thing", "an unknown flag");
    report.allow({name, "--brand-new-thing"});
    EXPECT_TRUE(report.complete()) << name;
  }
  Report report;
  report.refuse("model.qk_clip", "not modelled");
  report.allow({"/model/qk_clip"});
  EXPECT_TRUE(report.complete());
  report.refuse("model.other", "not modelled");
  report.allow({"other"});
  EXPECT_FALSE(report.complete());
}

TEST(ReadMegatron, ABlockOfNoLayersRecomputesNothing) {
  for (const char* block : {"--recompute-granularity full --recompute-method block --recompute-num-layers 0",
                            "--activations-checkpoint-method block --activations-checkpoint-num-layers 0"}) {
    const Report none = with(block);
    EXPECT_TRUE(none.refused.empty()) << none.json().dump();
    EXPECT_EQ(none.at("recompute"), Json({{"granularity", "none"}})) << block;
    EXPECT_THAT(none.json().at("mapped").dump(), HasSubstr("recomputes the first 0 layers")) << block;
  }
  const Report uniform = with("--recompute-granularity full --recompute-method uniform --recompute-num-layers 0");
  EXPECT_EQ(uniform.whole("recompute.layers"), 0) << "no scenario takes it";
}

TEST(ReadMegatron, AScriptBecomesAScenario) {
  const Report report = read_file("train.sh");
  EXPECT_EQ(refusals(report), "");
  EXPECT_TRUE(report.complete());
  EXPECT_EQ(report.whole("gpus"), 16);
  EXPECT_EQ(report.whole("batch.global"), 64);
  EXPECT_EQ(report.whole("parallelism.tensor"), 4);
  EXPECT_EQ(report.at("parallelism.sequence_parallel"), Json(true));
  EXPECT_EQ(report.at("model.activation"), Json("swiglu"));
  EXPECT_EQ(report.at("runtime"), Json("megatron-core"));
  EXPECT_THAT(report.json().dump(), HasSubstr(R"("from":"--num-layers (train.sh:)"));
}

/// Returns a path that no other test has: tests run side by side, each in a process of its own.
std::filesystem::path own_path(const std::string& end) {
  return std::filesystem::path(testing::TempDir()) / ("launch-of-a-test-" + std::to_string(::getpid()) + end);
}

Report read_script(const std::string& text) {
  const std::filesystem::path path = own_path(".sh");
  std::ofstream(path) << text;
  Launch launch;
  launch.files = {path};
  launch.sets = {"cluster=dgx-h100-ndr"};
  Report report = read(launch);
  std::filesystem::remove(path);
  return report;
}

struct LauncherCase {
  const char *what, *launcher;
  Json gpus;
};

TEST(ReadMegatron, LaunchersStateTheGpus) {
  const std::string model =
      " pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
      "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --bf16";
  const LauncherCase cases[] = {{"torchrun", "torchrun --nproc_per_node 8 --nnodes 2", 16},
                                {"a range of nodes is no number", "torchrun --nproc_per_node 8 --nnodes=1:4", nullptr},
                                {"env before the launcher", "env A=1 torchrun --nproc_per_node 8 --nnodes 2", 16},
                                {"srun in words", "srun --nodes 2 --gpus-per-node 8 python", 16},
                                {"srun in letters", "srun -N2 -lu --gpus-per-node=8 python", 16},
                                {"processes of srun", "srun -n 16 python", 16},
                                {"GPUs of a job", "srun --gpus=16 python", 16},
                                {"hosts of DeepSpeed", "deepspeed --include localhost:0,1,2,3@b:4,5,6,7", 8},
                                {"hosts without their GPUs", "deepspeed --include a@b", nullptr},
                                {"processes of MPI", "mpirun -np 16 -x A --bind-to none python", 16},
                                {"an unknown number of processes", "mpirun -np $(cat hosts | wc -l) python", nullptr}};
  for (const LauncherCase& one : cases) {
    SCOPED_TRACE(one.what);
    const Report report = read_script(one.launcher + model);
    EXPECT_EQ(report.at("gpus"), one.gpus);
    EXPECT_EQ(refusals(report), "");
  }
}

TEST(ReadMegatron, OptionsOfLaunchersAreNotFlagsOfTheTraining) {
  const std::string model =
      " pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
      "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --bf16 --new-thing 3";
  for (const char* launcher :
       {"srun --label -lu --mem-bind=none --nodelist=a,b --chdir /x --container-name=x torchrun --nproc_per_node 8 "
        "--rdzv_conf timeout=3 --monitor-interval 5",
        "deepspeed --num_gpus 8 --no_local_rank --launcher pdsh --launcher_args -x --bind_cores_to_rank"}) {
    const Report report = read_script(launcher + model);
    EXPECT_EQ(refusals(report).find("--new-thing: an unknown flag"), 0U) << refusals(report);
    EXPECT_EQ(report.refused.size(), 1U) << refusals(report);
    EXPECT_EQ(report.at("gpus"), Json(8));
  }
  const Report report = read_script("srun -lu torchrun --nproc_per_node 8" + model);
  EXPECT_TRUE(std::ranges::any_of(report.ignored, [](const Ignored& one) { return one.setting == "-lu"; }));
}

TEST(ReadMegatron, SlurmStatesWhatItsVariablesHold) {
  const Report report = read_script(
      std::string("#SBATCH --nodes=4\n#SBATCH --gpus-per-node=4\ntorchrun --nnodes $SLURM_NNODES --nproc-per-node "
                  "$SLURM_GPUS_PER_NODE pretrain_gpt.py ") +
      kRun + "--nnodes 4 --nproc-per-node 4 --sequence-parallel --tensor-model-parallel-size $SLURM_GPUS_PER_NODE\n");
  EXPECT_EQ(report.at("gpus"), Json(16));
  EXPECT_EQ(report.at("parallelism.tensor"), Json(4));
  EXPECT_EQ(report.at("parallelism.sequence_parallel"), Json(true));
}

TEST(ReadMegatron, SequenceParallelismStaysWhereTheTensorDegreeIsOpen) {
  const Report report = with("--sequence-parallel --tensor-model-parallel-size");
  EXPECT_EQ(report.at("parallelism.sequence_parallel"), Json(true));
}

TEST(ReadMegatron, KnowsTheFlagsOfMegatronLm) {
  for (const char* flag :
       {"no-one-logger", "no-save-rng", "no-initialization", "init-method-xavier-uniform", "openai-gelu", "topk",
        "check-for-spiky-loss", "inprocess-restart", "non-persistent-local-ckpt-dir", "mask-prob", "use-sharp",
        "fp32-residual-connection", "moe-extended-tp", "disable-tp-comm-bulk-dgrad", "fp16-lm-cross-entropy"})
    EXPECT_TRUE(megatron::rule_of(flag)) << flag;
  EXPECT_THAT(refusals(with("--fp32-residual-connection")), HasSubstr("a residual stream in fp32"));
  EXPECT_EQ(refusals(with("--no-one-logger --no-save-rng --openai-gelu --use-sharp")), "");
}

TEST(ReadMegatron, Fp32IsTakenOnlyWhereNoUnknownWordMayHoldAnother) {
  const std::string run =
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 "
      "--seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 ";
  const Report known = read_script(run + "\n");
  EXPECT_EQ(refusals(known), "");
  EXPECT_EQ(known.at("precision"), Json("fp32"));
  EXPECT_THAT(refusals(read_script(run + "$1\n")), HasSubstr("neither --bf16 nor --fp16 stands in the command"));
  const Report branch = read_script("if [ $1 = bf16 ]; then P=--bf16; fi\n" + run + "$P\n");
  EXPECT_TRUE(std::ranges::any_of(branch.asked, [](const Asked& one) { return one.key == "precision"; }));
  EXPECT_EQ(refusals(read_script(run + "--bf16 --data-path $1\n")), "");
}

TEST(ReadMegatron, FlagsOfAContainerAreNotOfTheTraining) {
  const std::string run = std::string("torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py ") + kRun + "\n";
  const Report bare = read_script("srun " + run);
  EXPECT_EQ(read_script("srun singularity run --nv --pwd /work -B /data:/data train.sif " + run).scenario,
            bare.scenario);
  EXPECT_EQ(refusals(read_script("srun singularity run --nv --pwd /work -B /data:/data train.sif " + run)),
            refusals(bare));
  EXPECT_EQ(bare.at("gpus"), Json(16));
}

TEST(ReadMegatron, SaysThatOtherTrainingsAreLeftOut) {
  const Report report =
      read_script(std::string("for i in 1 2 3; do torchrun pretrain_gpt.py --seed $i ") + kRun + "; done");
  std::string assumed;
  for (const Assumed& one : report.assumed) assumed += one.because + "\n";
  EXPECT_THAT(assumed, HasSubstr("the first of 3 commands that start a training"));
}

TEST(ReadMegatron, RefusesAPipe) {
  const std::filesystem::path path = own_path(".pipe");
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), S_IRUSR | S_IWUSR), 0);
  Findings findings;
  Launch launch;
  launch.files = {path};
  (void)read_launch(launch, findings);
  std::filesystem::remove(path);
  EXPECT_THAT(lines_of(findings.complaints), HasSubstr("not a regular file"));
}

TEST(ReadMegatron, AFunctionalTestBecomesAScenario) {
  const Report report = read_file("model_config.yaml");
  EXPECT_EQ(refusals(report), "");
  EXPECT_EQ(report.at("recompute.modules"), Json({"moe_act"}));
  EXPECT_EQ(report.whole("parallelism.virtual_pipeline"), 2);
  EXPECT_EQ(report.whole("parallelism.expert_tensor"), 1);
  EXPECT_EQ(report.at("overlap.grad_reduce"), Json(false));
  EXPECT_EQ(report.whole("model.first_k_dense_replace"), 2);
  ASSERT_EQ(report.asked.size(), 2U);  // GPUs and the vocabulary
}

// transformer_config.py, __post_init__, looks at it only where shared experts have a width.
TEST(ReadMegatron, AnOverlapOfSharedExpertsNeedsThem) {
  const std::string experts = "--num-experts 8 --moe-router-topk 2 --moe-shared-expert-overlap ";
  const Report without = with(experts);
  EXPECT_FALSE(without.has("moe.shared_expert_overlap"));
  EXPECT_TRUE(without.names("moe-shared-expert-overlap"));
  EXPECT_EQ(with(experts + "--moe-shared-expert-intermediate-size 512").at("moe.shared_expert_overlap"), Json(true));
}

// validate_args: params_dtype is torch.float without --bf16 and --fp16.
TEST(ReadMegatron, Fp8AloneStandsOnWeightsInFp32) {
  const auto read_flags = [](const std::string& flags) {
    Launch launch;
    launch.words = words_of("--num-layers 2 --hidden-size 64 --num-attention-heads 4 " + flags);
    return read(launch);
  };
  const Report alone = read_flags("--fp8-format hybrid");
  EXPECT_EQ(alone.at("precision"), "fp8");
  EXPECT_EQ(alone.at("precision_recipe.weights"), "fp32");
  EXPECT_EQ(alone.at("precision_recipe.master"), "none");
  EXPECT_FALSE(read_flags("--fp8-format hybrid --bf16").has("precision_recipe.weights"));
  EXPECT_EQ(read_flags("--fp8-format hybrid --fp8-param-gather").at("precision_recipe.weights"), "fp8");
}

TEST(ReadMegatron, LayoutsHaveAGrammar) {
  EXPECT_THAT(megatron::layers_of_layout("Et|(tt|)*6mL").value(), ElementsAre(1, 2, 2, 2, 2, 2, 2, 0));
  EXPECT_THAT(megatron::layers_of_layout("Et*3|(tt|)*2,m|L").value(), ElementsAre(3, 2, 2, 0, 0));
  for (const char* wrong : {"", "Ex", "E(t|", "(t*99999999)*99999999"})
    EXPECT_FALSE(megatron::layers_of_layout(wrong).has_value()) << wrong;
}

TEST(ReadMegatron, EveryFlagHasOneRule) {
  EXPECT_EQ(megatron::rule_of("num-layers")->effect, megatron::Effect::kRead);
  EXPECT_EQ(megatron::rule_of("log-interval")->effect, megatron::Effect::kIgnored);
  EXPECT_EQ(megatron::rule_of("manual-gc")->effect, megatron::Effect::kNoted);
  EXPECT_EQ(megatron::rule_of("mamba-head-dim")->effect, megatron::Effect::kRefused);
  EXPECT_FALSE(megatron::rule_of("num-layer").has_value());
  EXPECT_FALSE(megatron::rule_of("").has_value());
}

TEST(ReadMegatron, AGraphOfTheWholeIterationIsAScopeOrAnImplementation) {
  EXPECT_EQ(with("--cuda-graph-impl full_iteration").at("cuda_graphs"), Json("full"));
  EXPECT_EQ(with("--cuda-graph-impl local --cuda-graph-scope full_iteration").at("cuda_graphs"), Json("full"));
  EXPECT_EQ(with("--cuda-graph-impl local").at("cuda_graphs"), Json("layer"));
  EXPECT_FALSE(with("--cuda-graph-impl none").has("cuda_graphs"));
}

TEST(ReadMlperf, AConfigBecomesAScenario) {
  const Report report = read_file("mlperf/gpt3/config_DGXH100_16x8x32x4x8_mbs1.sh");
  EXPECT_EQ(refusals(report), "");
  EXPECT_EQ(report.at("model"), Json("gpt3-175b"));
  EXPECT_EQ(report.at("cluster"), Json("dgx-h100-ndr"));
  EXPECT_EQ(report.whole("gpus"), 128);
  EXPECT_EQ(report.whole("batch.global"), 32 * (128 / 32));
  EXPECT_EQ(report.whole("batch.micro"), 1) << "the config wins over the file that it sources";
  EXPECT_EQ(report.whole("parallelism.virtual_pipeline"), 12) << "the default of conf/custom.yaml";
  EXPECT_EQ(report.at("parallelism.sequence_parallel"), Json(true)) << "the default of run_and_time.sh";
  EXPECT_EQ(report.at("overlap.tensor_parallel"), Json(true)) << "a condition that holds";
  EXPECT_EQ(report.at("precision"), Json("fp8"));
}

TEST(ReadMegatron, ALauncherCompletesARunByTableAndYaml) {
  const auto run = [](const std::string& row) {
    Launch launch;
    launch.files = {std::string(kFiles) + "submit/runs/mine.sh"};
    launch.sets = {"cluster=dgx-h100-ndr"};
    launch.row = row;
    return read(launch);
  };
  const Report first = run("1");
  EXPECT_EQ(refusals(first), "");
  EXPECT_EQ(first.at("gpus"), 32);
  EXPECT_EQ(first.at("batch.global"), 256);
  EXPECT_EQ(first.at("parallelism.virtual_pipeline"), 3);
  EXPECT_EQ(first.at("parallelism.expert"), 8);
  EXPECT_EQ(first.at("overlap.grad_reduce"), false);
  EXPECT_EQ(first.at("recompute.modules").dump(), "[\"moe_act\",\"layernorm\"]");
  const Report second = run("2");
  EXPECT_EQ(second.at("gpus"), 16);
  EXPECT_EQ(second.at("parallelism.tensor"), 2);
  EXPECT_EQ(second.at("batch.global"), 512);
  EXPECT_EQ(second.at("precision"), "fp8");
  EXPECT_EQ(run("").at("gpus"), 32) << "the training with the most flags";
  for (const char* row : {"0", "3", "x"}) {
    ASSERT_FALSE(run(row).asked.empty());
    EXPECT_EQ(run(row).asked.front().because, "the script starts 2 trainings; choose one with --row 1 to 2");
  }
}

TEST(ReadMegatron, SizesOfTheFileThatDifferFromTheNamedModelAreRefused) {
  Findings findings;
  Launch launch;
  launch.sets = {"model=llama-3-8b"};
  launch.words = {"--num-layers", "8",    "--hidden-size",      "4096", "--num-attention-heads", "32", "--swiglu",
                  "--seq-length", "4096", "--micro-batch-size", "1",    "--global-batch-size",   "8",  "--bf16"};
  const Report report = read_launch(launch, findings);
  EXPECT_TRUE(findings.complaints.empty());
  EXPECT_NE(refused_lines(report).find("--num-layers: the file states 8, and the model of --model has 32"),
            std::string::npos);
  EXPECT_EQ(refused_lines(report).find("--hidden-size"), std::string::npos);
  EXPECT_EQ(refused_lines(report).find("num_query_groups"), std::string::npos) << "the file states none";
  launch.words.insert(launch.words.end(), {"--ffn-hidden-size", "8192", "--num-experts", "8"});
  const std::string more = refused_lines(read_launch(launch, findings));
  EXPECT_NE(more.find("--ffn-hidden-size: the file states 8192"), std::string::npos);
  EXPECT_NE(more.find("--num-experts: the file states 8, and the model of --model has 0"), std::string::npos);
  for (const Mapped& one : report.mapped) EXPECT_FALSE(one.key.starts_with("model.")) << one.key;
  EXPECT_EQ(report.at("model"), Json("llama-3-8b"));
}

TEST(ReadMegatron, DeepSpeedsLauncherTakesItsGpusFromAFileOrFromAName) {
  const auto gpus = [&](const std::string& begin, const std::string& hosts) {
    Findings findings;
    const std::string program = " pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --fp16\n";
    return read_launch_text(begin + "\ndeepspeed" + hosts + program, "a.sh", {}, findings).at("gpus").dump();
  };
  EXPECT_EQ(gpus("NUM_GPUS=64", ""), "64");
  EXPECT_EQ(gpus("NUM_GPUS=64", " --num_gpus 8"), "8") << "a flag wins";
  EXPECT_EQ(gpus("NUM_GPUS=64", " --num_nodes 8 --num_gpus 8"), "64") << "and is multiplied by the nodes";
  EXPECT_EQ(gpus("NUM_GPUS=64", " --num_nodes 8"), "null") << "of one node or of all";
  EXPECT_EQ(gpus("NUM_GPUS=$(nvidia-smi | wc -l)", ""), "null");
  EXPECT_EQ(gpus("", ""), "null");
}

}  // namespace
}  // namespace foretoken::io::launch
