// Tests launches that state their GPUs, keys and models outside the flags of the training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sim/io/import/launch/read_launch.h"
#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kPlainModel =
    "pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
    "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --vocab-size 50304 --bf16 ";

Report read_plain(const std::string& before, const std::string& behind = "") {
  return read_test_launch(before + " " + kPlainModel + behind, "train.sh");
}

std::string why_asked(const Report& report, const char* key) {
  const auto found = std::ranges::find(report.asked, key, &Asked::key);
  return found == report.asked.end() ? "" : found->because;
}

struct GpuCase {
  const char *what, *before, *behind, *gpus;
};

constexpr GpuCase kGpuCases[] = {
    {"options before -c", "#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\nsrun bash -x -c \"cd /a && python", "\"",
     "16"},
    {"an option with a value", "mpirun -np 4 bash -eo pipefail -c \"python", "\"", "4"},
    {"a job in a here document",
     "sbatch <<EOF\n#!/bin/bash\n\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4\nsrun --mpi=pmix bash -l -c \"python",
     "\"\nEOF", "8"},
    {"srun's counts between words", "srun -l --container-image a.sqsh --ntasks 16 sh -c \"python", "\"", "16"},
    {"srun without counts", "srun -l --container-image a.sqsh sh -c \"cd /a && python", "\"", "null"},
    {"Flux counts tasks", "flux run -N 4 -n 16 -g1 bash -c \"python", "\"", "16"},
    {"also without a shell", "flux run -N 4 -n 16 -g1 python", "", "16"},
    {"a count in one word", "flux run -N 4 -n16 python", "", "16"},
    {"also by its long name", "flux run --ntasks=16 bash -c \"python", "\"", "16"},
    {"a file of settings before -c", "srun --ntasks 16 bash --rcfile /a/rc -c \"python", "\"", "16"},
    {"a setting of the shell before -c", "srun --ntasks 16 bash -O extglob +O dotglob -c \"python", "\"", "16"},
    {"a setting turned off before -c", "srun --ntasks 16 bash +c -c \"python", "\"", "16"},
    {"a shell on another host", "ssh worker-1 bash -c 'python", "'", "null"},
    {"a shell in a pod", "kubectl exec pod -- bash -c 'python", "'", "null"},
    {"a shell on several hosts", "parallel-ssh -H a -H b bash -c 'python", "'", "null"},
    {"torchrun on another host", "ssh worker-1 'torchrun --nproc_per_node 4", "'", "4"},
    {"the world of one process", "export WORLD_SIZE=128\nexport RANK=0\npython", "", "128"},
    {"also in a container", "export WORLD_SIZE=128 RANK=0\napptainer exec --nv a.sif python", "", "128"},
    {"a world that a launcher makes", "export WORLD_SIZE=128 RANK=0\ntorchrun --nproc_per_node 8", "", "8"},
    {"a flag named after a launcher", "export WORLD_SIZE=16 RANK=0\npython", "--deepspeed --zero-stage 1", "16"},
    {"a path named after a launcher", "export WORLD_SIZE=16 RANK=0\npython", "--load /ckpt/megatron-deepspeed", "16"},
    {"a launcher in a folder", "export WORLD_SIZE=128 RANK=0\n/opt/bin/torchrun --nproc_per_node 8", "", "8"},
    {"a module of a launcher", "export WORLD_SIZE=128 RANK=0\npython -m torch.distributed.run --nproc_per_node 8", "",
     "8"},
    {"a number of nodes by that name", "WORLD_SIZE=4\npython", "", "1"}};

TEST(Launchers, StateTheGpus) {
  for (const GpuCase& one : kGpuCases) {
    SCOPED_TRACE(one.what);
    EXPECT_EQ(read_plain(one.before, one.behind).at("gpus").dump(), one.gpus);
  }
}

TEST(Launchers, JsrunCountsTheGpusOfItsResourceSets) {
  EXPECT_EQ(read_test_launch("jsrun --nrs 48 --tasks_per_rs 1 --cpu_per_rs 7 --gpu_per_rs 1 --rs_per_host 6 python "
                             "pretrain_gpt.py --num-layers 2 --micro-batch-size 1",
                             "train.sh")
                .whole("gpus"),
            48);
  EXPECT_TRUE(read_test_launch("jsrun --nrs 48 python pretrain_gpt.py --num-layers 2", "train.sh").asks("gpus"));
}

TEST(Launchers, DevicesOfAContainerAreNotKnown) {
  const Report report = read_test_launch(
      "N=$(echo $NVIDIA_VISIBLE_DEVICES | awk -F, '{print NF}')\n"
      "torchrun --nproc_per_node $N pretrain_gpt.py --num-layers 2 --micro-batch-size 1",
      "train.sh");
  EXPECT_TRUE(report.asks("gpus"));
}

TEST(Launchers, OfProcessesAreNamed) {
  const auto from = [](const Report& report) {
    const auto found = std::ranges::find(report.mapped, "gpus", &Mapped::key);
    return found == report.mapped.end() ? "" : found->from;
  };
  EXPECT_EQ(from(read_plain("flux run -n 16 python")), "--nproc-per-node (train.sh:1, flux run -n)");
  EXPECT_EQ(from(read_plain("flux run -n 16 bash -c \"python", "\"")), "--nproc-per-node (flux run -n)");
  EXPECT_EQ(from(read_plain("mpirun -np 16 python")), "--nproc-per-node (train.sh:1, mpirun -n)");
}

TEST(Launchers, FewerGpusThanTheExpertsNeedAreAPlaceToFillIn) {
  const char* const kExperts = "--num-experts 8 --expert-model-parallel-size 8 --pipeline-model-parallel-size 2 ";
  EXPECT_THAT(why_asked(read_plain("torchrun --nproc_per_node 8", kExperts), "gpus"),
              HasSubstr("8 GPUs are not enough: expert tensor x expert x pipeline is 16"));
  EXPECT_EQ(read_plain("torchrun --nproc_per_node 8 --nnodes 2", kExperts).at("gpus"), 16);
}

TEST(Launchers, TheSameCommandInSeveralBranchesCountsOnce) {
  const std::string command = std::string("torchrun --nproc_per_node 8 ") + kPlainModel;
  const Report report =
      read_test_launch("case ${LOCAL_RANK} in\n[0]) " + command + ";;\n[1]) " + command + ";;\nesac", "train.sh");
  EXPECT_TRUE(std::ranges::none_of(report.assumed, [](const Assumed& one) { return one.key == "the training"; }));
}

TEST(Launchers, ChunksOfAnOpenPipelineAreAskedFor) {
  const char* const kChunks = " --num-layers-per-virtual-pipeline-stage 3";
  const Report open =
      read_plain("torchrun --nproc_per_node 8", std::string("--pipeline-model-parallel-size $1") + kChunks);
  EXPECT_TRUE(open.at("parallelism.virtual_pipeline").is_null());
  EXPECT_NE(why_asked(open, "parallelism.virtual_pipeline"), "");
  const Report known =
      read_plain("torchrun --nproc_per_node 8", std::string("--pipeline-model-parallel-size 4") + kChunks);
  EXPECT_EQ(known.at("parallelism.virtual_pipeline"), 2);
}

TEST(Launchers, FlagsOfCoreNameItsGeneration) {
  const char* const kRun = "torchrun --nproc_per_node 8";
  EXPECT_EQ(read_plain(kRun, "--data-impl mmap").at("runtime"), "megatron-2022");
  EXPECT_EQ(read_plain(kRun, "--data-impl mmap --num-experts 8 --expert-model-parallel-size 8").at("runtime"),
            "megatron-core");
}

TEST(Launchers, NamedSizesAreTakenInPlaceOfDefaults) {
  const auto named = [](const std::string& name) {
    return read_test_launch("torchrun --nproc_per_node 8 --nnodes 8 train.py --model-name " + name +
                                " --training-phase pretrain --tensor-model-parallel-size 2 --seq-length 1024 "
                                "--micro-batch-size 1 --global-batch-size 64 --bf16",
                            "train.sh");
  };
  const Report known = named("mixtral-8x22b");
  EXPECT_EQ(known.at("model").at("num_hidden_layers"), 56);
  EXPECT_EQ(refused_lines(known), "");
  EXPECT_TRUE(known.asked.empty());
  EXPECT_THAT(why_asked(named("house-9b"), "model"), HasSubstr("the sizes of house-9b are not known here"));
}

TEST(Launchers, ADeepSpeedFileStatesWhatNoFlagDoes) {
  const Report report = read_test_launch(
      "cat <<END > ds.json\n{\"train_micro_batch_size_per_gpu\": 2, \"train_batch_size\": 32, "
      "\"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 1}}\nEND\n"
      "deepspeed --num_nodes 1 --num_gpus 4 train.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 "
      "--seq-length 512 --vocab-size 50304 --pipe-parallel-size 2 --deepspeed --deepspeed_config ds.json",
      "train.sh");
  EXPECT_EQ(report.at("batch.micro"), 2);
  EXPECT_EQ(report.at("batch.global"), 32);
  EXPECT_EQ(report.at("precision"), "bf16");
}

TEST(Launchers, TheLauncherOfAShellCountsItsProcesses) {
  const std::string program =
      "python pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 512 "
      "--max-position-embeddings 512 --vocab-size 50304 --micro-batch-size 1 --global-batch-size 64 --bf16";
  const auto gpus = [&](const std::string& launcher) {
    return read_test_launch(launcher + " bash -c \"cd /a && " + program + "\"\n", "train.sh").whole("gpus");
  };
  EXPECT_EQ(gpus("deepspeed --num_nodes 4 --num_gpus 8 --no_python --no_local_rank"), 32);
  EXPECT_EQ(gpus("torchrun --nnodes 2 --nproc-per-node 4 --no-python"), 8);
  EXPECT_EQ(gpus("mpirun -np 16"), 16);
  EXPECT_EQ(gpus(""), 1);
}

TEST(Launchers, KeysBehindAProgramOfNemoAreReadWithoutItsConfiguration) {
  const Report report = read_test_launch(
      "N=$1\ntorchrun --nproc-per-node 8 /opt/nemo/megatron_gpt_pretraining.py trainer.precision=bf16 "
      "trainer.devices=8 trainer.num_nodes=2 model.pipeline_model_parallel_size=4 model.micro_batch_size=1 "
      "model.global_batch_size=$N +model.optim.name=distributed_fused_adam",
      "train.sh");
  EXPECT_EQ(report.framework, "NeMo");
  EXPECT_EQ(report.at("gpus"), 16);
  EXPECT_EQ(report.at("parallelism.pipeline"), 4);
  EXPECT_EQ(report.at("precision"), "bf16");
  EXPECT_EQ(report.at("optimizer.zero_stage"), 1);
  EXPECT_TRUE(report.at("model.activation").is_null()) << "the configuration that is not there states it";
  EXPECT_NE(why_asked(report, "model.num_layers"), "");
  EXPECT_THAT(why_asked(report, "batch.global"), HasSubstr("argument 1"));
}

TEST(Launchers, TheMissingConfigurationDecidesWhatNoKeyStates) {
  const Report report = read_test_launch(
      "python -m torch.distributed.run --nproc_per_node 8 tune.py trainer.devices=8 trainer.num_nodes=1 "
      "trainer.precision=bf16 model.micro_batch_size=1 model.tensor_model_parallel_size=2 "
      "model.sequence_parallel=False",
      "train.sh");
  EXPECT_NE(why_asked(report, "batch.global"), "");
  EXPECT_TRUE(report.at("batch.global").is_null());
  EXPECT_EQ(report.at("parallelism.sequence_parallel"), false);
}

Report read_keys(const std::string& launcher, const std::string& keys) {
  return read_test_launch(launcher + " x.py model.micro_batch_size=1 trainer.devices=8 " + keys, "train.sh");
}

TEST(Launchers, CountTheGpusOfKeysWithoutTheirNodes) {
  EXPECT_EQ(read_keys("torchrun --nnodes 4 --nproc_per_node 8", "").at("gpus"), 32);
  EXPECT_EQ(read_keys("torchrun --nnodes 4 --nproc_per_node 8", "trainer.num_nodes=$N").at("gpus"), 32);
  EXPECT_EQ(read_keys("torchrun --nproc_per_node 8", "").at("gpus"), 8) << "torchrun starts one node";
  struct Case {
    const char *launcher, *keys, *why;
  };
  for (const Case& one :
       {Case{"torchrun --nproc_per_node 8", "trainer.num_nodes=$SLURM_JOB_NUM_NODES", "trainer.num_nodes is empty"},
        Case{"torchrun --nproc_per_node 8", "trainer.num_nodes=$N", "trainer.num_nodes is empty"},
        Case{"torchrun --nproc_per_node 8", "trainer.num_nodes=", "trainer.num_nodes is empty"},
        Case{"torchrun --nproc_per_node 8", "trainer.num_nodes=$(count)", "trainer.num_nodes is the output of `count`"},
        Case{"python", "trainer.num_nodes=2 trainer.devices=-1", "trainer.devices is -1"},
        Case{"python", "", "no word behind the program states trainer.num_nodes"},
        Case{"torchrun --nnodes 4 --nproc_per_node 8", "trainer.num_nodes=2",
             "the launcher starts 32 processes, and trainer.devices x trainer.num_nodes is 16"}}) {
    SCOPED_TRACE(std::string(one.launcher) + " " + one.keys);
    const Report report = read_keys(one.launcher, one.keys);
    EXPECT_FALSE(report.has("gpus"));
    EXPECT_THAT(why_asked(report, "gpus"), HasSubstr(one.why));
  }
}

TEST(Launchers, AMissingConfigurationIsAskedForAtOnce) {
  const std::string sizes =
      "trainer.num_nodes=1 trainer.precision=bf16 model.num_layers=24 model.hidden_size=2048 "
      "model.num_attention_heads=16 model.encoder_seq_length=2048 model.global_batch_size=64 ";
  const Report report = read_keys("torchrun --nproc_per_node 8", sizes);
  for (const char* key :
       {"model.vocab_size", "model.ffn_hidden_size", "model.max_position_embeddings", "model.activation",
        "recompute.granularity", "optimizer.zero_stage", "parallelism.tensor", "parallelism.pipeline"})
    EXPECT_NE(why_asked(report, key), "") << key;
  EXPECT_EQ(why_asked(report, "precision"), "");
  const auto rest = std::ranges::find(report.assumed, "the scenario's own defaults", &Assumed::key);
  ASSERT_NE(rest, report.assumed.end());
  for (const char* key : {"model.normalization", "model.hidden_dropout", "overlap.grad_reduce"})
    EXPECT_THAT(rest->because, HasSubstr(key));
  const Report stated = read_keys("torchrun --nproc_per_node 8",
                                  sizes +
                                      "model.activation=gelu model.activations_checkpoint_granularity=null "
                                      "model.optim.name=fused_adam model.position_embedding_type=rope");
  EXPECT_EQ(stated.at("model.activation"), "gelu");
  EXPECT_EQ(stated.at("recompute.granularity"), "none");
  EXPECT_EQ(stated.at("optimizer.zero_stage"), 0);
  EXPECT_EQ(why_asked(stated, "model.max_position_embeddings"), "");
}

TEST(Launchers, TheNameOfAModelStandsForItsSizes) {
  Launch launch;
  launch.sets = {"cluster=dgx-h100-ndr", "model=llama-3-8b"};
  Findings findings;
  const Report report = read_launch_text(
      "torchrun --nproc_per_node 8 x.py model.micro_batch_size=1 trainer.devices=8\n", "train.sh", launch, findings);
  EXPECT_TRUE(std::ranges::none_of(report.asked, [](const Asked& one) { return one.key.starts_with("model."); }));
}

TEST(Launchers, KeysOfNemosLauncherHaveASectionOfTheirOwn) {
  const Report report = read_test_launch(
      "for M in 8 9; do\nfor OVERLAP in true false; do\npython3 launcher/main.py training=gpt/house base_dir=/a "
      "training.trainer.num_nodes=16 training.trainer.devices=8 training.model.global_batch_size=$((M*2)) "
      "training.model.micro_batch_size=1 training.model.tensor_model_parallel_size=8 "
      "++training.model.overlap_p2p_comm_warmup_flush=${OVERLAP}\ndone\ndone",
      "train.sh");
  EXPECT_EQ(report.at("gpus"), 128);
  EXPECT_EQ(report.at("batch.global"), 16);
  EXPECT_EQ(report.at("parallelism.tensor"), 8);
  EXPECT_TRUE(std::ranges::any_of(report.assumed, [](const Assumed& one) { return one.key == "the training"; }));
}

TEST(Launchers, KeysBehindARecipeOfBridgeAreReadWithoutIt) {
  const Report report = read_test_launch(
      "srun bash -c \"torchrun --nnodes=2 --nproc-per-node=4 recipes/pretrain_house.py --data=/a "
      "train.global_batch_size=8 train.micro_batch_size=1 model.tensor_model_parallel_size=1 "
      "model.expert_model_parallel_size=8 model.sequence_parallel=False model.seq_length=2048\"",
      "train.sh");
  EXPECT_EQ(report.framework, "Megatron-Bridge");
  EXPECT_EQ(report.at("gpus"), 8);
  EXPECT_EQ(report.at("batch.global"), 8);
  EXPECT_EQ(report.at("batch.sequence_length"), 2048);
  EXPECT_EQ(report.at("parallelism.expert"), 8);
  EXPECT_EQ(report.at("parallelism.sequence_parallel"), false);
  EXPECT_NE(why_asked(report, "precision"), "");
  EXPECT_TRUE(report.at("recompute.granularity").is_null()) << "the recipe decides";
}

TEST(Launchers, ARecipeOfBridgeMayNameItsModel) {
  const auto with = [](const std::string& words) {
    return read_test_launch(
        "uv run python -m torch.distributed.run --nproc_per_node=8 run_recipe.py --recipe llama3_8b_pretrain_config "
        "train.global_batch_size=8 train.micro_batch_size=1 model.tensor_model_parallel_size=2 "
        "model.pipeline_model_parallel_size=1 model.seq_length=2048" +
            words,
        "train.sh");
  };
  const Report report = with("");
  EXPECT_EQ(report.at("model"), "llama-3-8b");
  EXPECT_EQ(why_asked(report, "model.num_layers"), "");
  EXPECT_NE(why_asked(report, "recompute.granularity"), "");
  EXPECT_NE(why_asked(with(" model.num_layers=2"), "model.hidden_size"), "") << "the words change the model";
}

TEST(Launchers, AProgramOfBridgeMayNameItsModelAndTask) {
  const auto with = [](const std::string& program) {
    return read_test_launch("torchrun --nproc_per_node=8 examples/" + program +
                                " train.global_batch_size=8 train.micro_batch_size=1 "
                                "model.tensor_model_parallel_size=2 model.pipeline_model_parallel_size=1",
                            "train.sh");
  };
  const Report report = with("pretrain_llama3_8b.py");
  EXPECT_EQ(report.at("model"), "llama-3-8b");
  EXPECT_EQ(why_asked(report, "training.method"), "");
  EXPECT_NE(why_asked(with("finetune_llama3_8b.py"), "training.method"), "");
  EXPECT_EQ(why_asked(with("finetune_llama3_8b.py --peft none"), "training.method"), "");
  EXPECT_THAT(why_asked(with("run_recipe.py --recipe llama3_8b --peft lora"), "training.method"), HasSubstr("lora"));
}

TEST(Launchers, RecipesOfNemo2HaveDegreesBelowTheStrategy) {
  const std::string words =
      " --factory \"llama3_70b(num_nodes=4)\" --yes trainer.num_nodes=4 trainer.devices=8 "
      "trainer.strategy.tensor_model_parallel_size=4 trainer.strategy.pipeline_model_parallel_size=2 "
      "trainer.strategy.sequence_parallel=true data.global_batch_size=128 data.micro_batch_size=1 data.seq_length=8192 "
      "log.ckpt.save_last=false";
  const Report report = read_test_launch("srun nemo llm pretrain" + words, "train.sh");
  EXPECT_EQ(report.framework, "NeMo");
  EXPECT_EQ(report.at("model"), "llama-3-70b");
  EXPECT_EQ(report.at("gpus"), 32);
  EXPECT_EQ(report.at("parallelism.tensor"), 4);
  EXPECT_EQ(report.at("parallelism.pipeline"), 2);
  EXPECT_EQ(report.at("parallelism.sequence_parallel"), true);
  EXPECT_EQ(report.at("batch.global"), 128);
  EXPECT_EQ(report.at("batch.sequence_length"), 8192);
  EXPECT_EQ(why_asked(report, "training.method"), "");
  const Report tuned = read_test_launch("srun nemo llm finetune" + words, "train.sh");
  EXPECT_NE(why_asked(tuned, "training.method"), "");
}

TEST(Launchers, AFragmentWhoseTensorRanksShareTheSequenceAsksForThem) {
  const std::string model = std::string("MODEL_ARGS=\"") + (std::strchr(kPlainModel, ' ') + 1);
  EXPECT_NE(why_asked(read_test_launch(model + " --sequence-parallel\"", "conf.sh"), "parallelism.tensor"), "");
  EXPECT_EQ(why_asked(read_test_launch(model + "\"", "conf.sh"), "parallelism.tensor"), "");
  const Report known = read_test_launch(model + " --sequence-parallel --tensor-model-parallel-size 2\"", "conf.sh");
  EXPECT_EQ(known.at("parallelism.tensor"), 2);
}

TEST(Launchers, AConfigurationOfTheModelStandsInPlaceOfDefaults) {
  const Report report = read_test_launch(
      "torchrun --nproc_per_node 8 forge/train.py --config-file /a/configs/models/house/house_9b.yaml --training-phase "
      "pretrain --tensor-model-parallel-size 2 --seq-length 1024 --micro-batch-size 1 --global-batch-size 64 --bf16",
      "train.sh");
  EXPECT_THAT(why_asked(report, "model"), HasSubstr("the sizes of house_9b are not known here"));
  EXPECT_TRUE(report.at("model").is_null());
}

TEST(Launchers, NemoWithoutTransformerEngineHasPlainAttention) {
  const auto attention = [](const std::string& keys) {
    return read_test_launch(
               "trainer: {devices: 8, num_nodes: 1, precision: bf16}\nmodel: {mcore_gpt: true, micro_batch_size: 1, "
               "num_layers: 2, hidden_size: 64, num_attention_heads: 4, encoder_seq_length: 64" +
                   keys + "}",
               "gpt.yaml")
        .at("attention");
  };
  EXPECT_EQ(attention(""), "flash");
  EXPECT_EQ(attention(", transformer_engine: true"), "flash");
  EXPECT_EQ(attention(", transformer_engine: false"), "unfused");
  EXPECT_EQ(attention(", transformer_engine: false, use_flash_attention: true"), "unfused")
      << "layers of Megatron-Core do not read it";
}

TEST(Launchers, OverridesOfBridgeTurnOff) {
  const Report report = read_test_launch(
      "model: {tensor_model_parallel_size: 1, sequence_parallel: false, seq_length: 4096}\n"
      "train: {global_batch_size: 64, micro_batch_size: 1, train_iters: 10}\n"
      "ddp: {overlap_grad_reduce: true, overlap_param_gather: false}",
      "sft.yaml");
  EXPECT_EQ(report.at("overlap.grad_reduce"), true);
  EXPECT_EQ(report.at("overlap.param_gather"), false);
  EXPECT_EQ(report.at("parallelism.sequence_parallel"), false);
  EXPECT_TRUE(report.at("overlap.tensor_parallel").is_null()) << "the recipe decides";
}

class LaunchFolders : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  Report read(const std::string& name) {
    Launch launch;
    launch.files = {folder_ / name};
    Findings findings;
    Report report = read_launch(launch, findings);
    complaints_ = lines_of(findings.complaints);
    return report;
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("launch-folders-" + std::to_string(::getpid()));
  std::string complaints_;
};

TEST_F(LaunchFolders, AnExperimentOfPrimusIsNamedByAVariable) {
  const std::string config =
      "export GPUS_PER_NODE=8 NNODES=2\nexport EXP=/workspace/conf/small.yaml\nexport PRIMUS_BATCH=4\n";
  write("config.sh", config);
  (void)read("config.sh");
  EXPECT_THAT(complaints_, HasSubstr("the variable EXP names /workspace/conf/small.yaml, which is not there"));
  write("conf/small.yaml",
        "modules:\n  pre_trainer:\n    framework: megatron\n    overrides:\n      num_layers: 4\n"
        "      hidden_size: 512\n      num_attention_heads: 8\n      seq_length: 512\n      bf16: true\n"
        "      micro_batch_size: ${PRIMUS_BATCH:1}\n      global_batch_size: ${PRIMUS_GLOBAL:64}\n");
  const Report report = read("config.sh");
  EXPECT_EQ(complaints_, "");
  EXPECT_EQ(report.at("gpus"), 16);
  EXPECT_EQ(report.at("batch.micro"), 4) << "the script sets it";
  EXPECT_EQ(report.at("batch.global"), 64) << "the default of the file";
}

TEST_F(LaunchFolders, AJobStartsInTheFolderOfItsScript) {
  write("sizes.sh", "SIZES='--num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 512'\n");
  for (const char* folder : {"#PBS -l select=2\nsource $PBS_O_WORKDIR", "#SBATCH -N 2\nsource ${SLURM_SUBMIT_DIR}"}) {
    write("job.sh", std::string("#!/bin/bash\n") + folder +
                        "/sizes.sh\ntorchrun --nnodes 2 --nproc_per_node 4 pretrain_gpt.py $SIZES --bf16 "
                        "--micro-batch-size 1 --max-position-embeddings 512\n");
    EXPECT_EQ(read("job.sh").whole("model.num_layers"), 4) << folder;
  }
  write("job.sh",
        "if [ -n \"$PBS_O_WORKDIR\" ]; then N=4; else N=1; fi\ntorchrun --nnodes $N --nproc_per_node 8 "
        "pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 512 "
        "--micro-batch-size 1\n");
  EXPECT_EQ(read("job.sh").whole("gpus"), 8) << "no job of PBS";
}

// The GPUs that the user states are those of all nodes. A script counts the ones of its own node.
TEST(ReadLaunch, StatedGpusAreThoseThatAScriptCounts) {
  const auto global = [](const std::string& nodes, const char* gpus) {
    Launch launch;
    launch.sets = {"cluster=dgx-h100-ndr", gpus};
    Findings findings;
    return read_launch_text(
               "GPUS=$(python -c 'import torch; print(torch.cuda.device_count())')\nNODES=" + nodes +
                   "\nSTEPS=$((96 / (GPUS * NODES) / 2))\ntorchrun --nproc_per_node $GPUS --nnodes $NODES train.py "
                   "--model_name_or_path Qwen/Qwen2.5-7B --model_max_length 1024 --per_device_train_batch_size 2 "
                   "--learning_rate 1e-5 --bf16 True --gradient_accumulation_steps $STEPS\n",
               "train.sh", launch, findings)
        .whole("batch.global");
  };
  EXPECT_EQ(global("${WORLD_SIZE:-1}", "gpus=8"), 96);
  EXPECT_EQ(global("2", "gpus=16"), 96);
  EXPECT_EQ(global("2", "gpus=6"), 96) << "three on each";
  EXPECT_EQ(global("$(wc -l < hosts)", "gpus=16"), std::nullopt) << "nobody knows the nodes";
}

TEST_F(LaunchFolders, AFrontOfSlurmCountsTheGpusOfANode) {
  write("job.sh",
        "run=\"python -u pretrain_gpt.py $OPTIONS --sequence-parallel --micro-batch-size 1 --global-batch-size 2\"\n"
        "submit_job --gpu 8 --nodes 4 --image $IMAGE -c \"$LAUNCH ${run}\" -n name --duration 4\n");
  const Report report = read("job.sh");
  EXPECT_EQ(report.whole("gpus"), 8 * 4);
  EXPECT_EQ(refused_lines(report), "") << "2 sequences may do with the tensor ranks that are asked for";
  EXPECT_FALSE(report.has("parallelism.tensor"));
  EXPECT_EQ(report.at("parallelism.sequence_parallel"), true);
  const auto gpus = [&](const std::string& options, const std::string& command) {
    write("job.sh", "submit_job " + options + " " + command +
                        "'python -u pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 "
                        "--seq-length 512 --micro-batch-size 1'\n");
    return read("job.sh").whole("gpus");
  };
  EXPECT_EQ(gpus("--gpu=8 --nodes=4", "--command="), 32);
  EXPECT_EQ(gpus("--gpus 8 -N 4", "-c "), 32);
  EXPECT_EQ(gpus("--gpu 8", "-c "), 8);
  EXPECT_FALSE(gpus("--nodes 4", "-c "));
  EXPECT_FALSE(gpus("--image a", "-c ")) << "the front decides about GPUs";
}

TEST_F(LaunchFolders, AJobOfBaseCommandHoldsItsCommandInAnOption) {
  const auto gpus = [&](const std::string& options, const std::string& text) {
    write("job.sh",
          "CMD='python pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length "
          "512 --micro-batch-size 1 --bf16'\nngc batch run --name a " +
              options + " --commandline \"" + text + "\" --result /result\n");
    return read("job.sh").whole("gpus");
  };
  EXPECT_EQ(gpus("--instance dgx1v.32g.8.norm", "cd /work && torchrun --nproc_per_node 8 --no-python ${CMD}"), 8);
  EXPECT_EQ(gpus("--instance=dgxa100.40g.8.norm --replicas 4", "${CMD}"), 32);
}

TEST_F(LaunchFolders, TheAdapterOfPrimusIsThatOfAllItsFiles) {
  const auto read_with = [&](const std::string& base, const std::string& own) {
    write("primus/configs/modules/megatron/sft.yaml", "bf16: true\nmicro_batch_size: 1\n" + base);
    write("conf/a.yaml",
          "modules:\n  post_trainer:\n    framework: megatron\n    config: sft.yaml\n    overrides:\n"
          "      num_layers: 4\n      hidden_size: 512\n      num_attention_heads: 8\n      seq_length: 512\n" +
              own);
    return read("conf/a.yaml");
  };
  const std::string off = "lora: {enabled: false, dim: 32, target_modules: [linear_qkv]}\n";
  const std::string on = "lora: {enabled: true, dim: 16}\n";
  EXPECT_EQ(read_with(off, "      lora: {enabled: true}\n").whole("training.rank"), 32);
  EXPECT_EQ(read_with(off, "      lora: {enabled: true, dim: 8}\n").whole("training.rank"), 8);
  EXPECT_EQ(read_with(on, "").whole("training.rank"), 16);
  EXPECT_FALSE(read_with(on, "      lora: {enabled: false}\n").has("training"));
  EXPECT_FALSE(read_with(off, "").has("training"));
  EXPECT_THAT(refused_lines(read_with(on, "      lora: {use_dora: true}\n")), HasSubstr("DoRA"));
  EXPECT_THAT(refused_lines(read_with(on, "      lora: {quantise_base: true}\n")), HasSubstr("lora.quantise_base"));
  EXPECT_THAT(refused_lines(read_with("", "      lora: {enabled: true}\n")), HasSubstr("LoRA without a rank"));
}

constexpr const char* kOfExperts =
    "export DGXNNODES=2\nexport DGXNGPU=8\nexport MINIBS=2\nexport MICRO_BATCH_SIZE=1\n"
    "export TENSOR_MODEL_PARALLEL=2\nexport EXPERT_PARALLEL=4\nexport EXPERT_TENSOR_PARALLEL=1\n"
    "export MOE_TOKEN_DISPATCHER_TYPE=flex\nexport MOE_FLEX_DISPATCHER_BACKEND=deepep\n"
    "export MOE_EXPERT_CAPACITY_FACTOR=1.25\n";

TEST_F(LaunchFolders, ABenchmarkWithExpertsHasTheirDegrees) {
  write("benchmarks/gpt_oss_20b/config_DGXH100_2x8x2.sh", kOfExperts);
  const Report report = read("benchmarks/gpt_oss_20b/config_DGXH100_2x8x2.sh");
  EXPECT_EQ(report.at("model.model_type"), "gpt_oss");
  EXPECT_EQ(report.at("parallelism.expert"), 4);
  EXPECT_EQ(report.at("parallelism.expert_tensor"), 1);
  EXPECT_EQ(report.at("moe.dispatcher"), "deepep");
  EXPECT_EQ(report.at("moe.capacity_factor"), 1.25);
  EXPECT_EQ(report.at("batch.global"), 2 * (16 / 2));
  EXPECT_THAT(why_asked(report, "batch.sequence_length"), HasSubstr("MAX_SEQLEN"));
  write("benchmarks/llama31_8b/config_DGXH100_2x8x2.sh", kOfExperts);
  EXPECT_EQ(read("benchmarks/llama31_8b/config_DGXH100_2x8x2.sh").at("parallelism.expert"), 1);
}

TEST_F(LaunchFolders, OtherBenchmarksAreRefusedByName) {
  write("benchmarks/bert/implementations/a/config_DGXA100_1x8x56x1.sh", "export DGXNNODES=1\nexport BATCHSIZE=56\n");
  const Report report = read("benchmarks/bert/implementations/a/config_DGXA100_1x8x56x1.sh");
  EXPECT_THAT(refused_lines(report), HasSubstr("bert: this benchmark of MLPerf has a program of its own"));
  EXPECT_TRUE(report.asked.empty() && report.unread) << "no fact would help";
}

}  // namespace
}  // namespace foretoken::io::launch
