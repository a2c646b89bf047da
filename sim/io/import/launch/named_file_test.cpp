// Tests scripts that start a training by its configuration.
#include "sim/io/import/launch/named_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "sim/io/import/launch/read_launch.h"
#include "sim/io/json/test_text.h"

namespace foretoken::io::launch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class NamedFiles : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  Report read(const std::string& script) {
    write("run.sh", script);
    Launch launch;
    launch.files = {folder_ / "run.sh"};
    launch.sets = {"cluster=dgx-h100-ndr"};
    Findings findings;
    Report report = read_launch(launch, findings);
    complaints_ = lines_of(findings.complaints);
    return report;
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("named-file-" + std::to_string(::getpid()));
  std::string complaints_;
};

constexpr const char* kFactory =
    "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: full\nper_device_train_batch_size: 2\n"
    "gradient_accumulation_steps: 4\ncutoff_len: 2048\nbf16: true\n";

TEST_F(NamedFiles, AreReadWithTheGpusOfTheLauncher) {
  write("sft.yaml", kFactory);
  write("acc.yaml",
        "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_machines: 1\nmixed_precision: bf16\n");
  const Report report = read(
      "accelerate launch --config_file acc.yaml --help\n"
      "torchrun --nproc_per_node 8 --nnodes 2 src/train.py configs/sft.yaml\n");
  EXPECT_EQ(complaints_, "");
  EXPECT_EQ(report.framework, "Hugging Face Trainer");
  EXPECT_EQ(report.whole("gpus"), 16);
  EXPECT_EQ(report.whole("batch.global"), 2 * 4 * 16);
  EXPECT_TRUE(std::ranges::any_of(
      report.assumed, [](const Assumed& one) { return one.because.find("run.sh:2 names it") != std::string::npos; }));
}

// Firefly starts `train.py --train_args_file sft.json`; transformers' HfArgumentParser takes a JSON file alone.
TEST_F(NamedFiles, ArgumentsOfTheTrainerMayStandInJson) {
  write("sft.json",
        R"({"model_name_or_path": "Qwen/Qwen3-8B", "per_device_train_batch_size": 2, "gradient_accumulation_steps": 4,
            "max_seq_length": 2048, "bf16": true, "output_dir": "out"})");
  write("data.json", R"({"rows": []})");
  for (const char* words :
       {"train.py --train_args_file args/sft.json", "train.py --train_args_file=sft.json", "train.py sft.json"}) {
    const Report report = read(std::string("torchrun --nproc_per_node 8 ") + words + "\n");
    EXPECT_EQ(complaints_, "") << words;
    EXPECT_EQ(report.whole("gpus"), 8) << words;
    EXPECT_EQ(report.whole("batch.global"), 2 * 4 * 8) << words;
  }
  (void)read("torchrun --nproc_per_node 8 train.py data.json\n");
  EXPECT_THAT(complaints_, HasSubstr("train.py"));
  (void)read("torchrun --nproc_per_node 8 train.py --train_args_file other.json\n");
  EXPECT_THAT(complaints_, HasSubstr("names other.json, which is not there"));
}

TEST_F(NamedFiles, AFileOfNeoxThatIsNotThereIsNamed) {
  (void)read("M=configs/2-8B.json\nsrun python deepy.py train.py $M\n");
  EXPECT_THAT(complaints_, HasSubstr("names configs/2-8B.json, which is not there"));
}

TEST_F(NamedFiles, MayBeWrittenByTheScriptItself) {
  const std::string script = std::string("cat > configs/sft.yaml <<'END'\n") + kFactory +
                             "END\nFORCE_TORCHRUN=1 NPROC_PER_NODE=8 llamafactory-cli train configs/sft.yaml\n";
  const Report report = read(script);
  EXPECT_EQ(complaints_, "");
  EXPECT_EQ(report.whole("batch.sequence_length"), 2048);
  EXPECT_EQ(report.whole("gpus"), 8);
  (void)read("llamafactory-cli train configs/sft.yaml\n");
  EXPECT_THAT(complaints_, HasSubstr("is not there"));
}

TEST_F(NamedFiles, MayBeAllThatAScriptWrites) {
  const Report report = read(std::string("cat > sft.yaml <<END\n") + kFactory + "END\n");
  EXPECT_EQ(complaints_, "");
  EXPECT_EQ(report.whole("batch.sequence_length"), 2048);
}

TEST_F(NamedFiles, AScriptThatIsNotThereIsNamed) {
  (void)read("export MODEL=Qwen/Qwen1.5-14B\nbash scripts/train_sft.sh\n");
  EXPECT_THAT(complaints_, HasSubstr("run.sh:2 starts scripts/train_sft.sh, which is not there"));
}

TEST_F(NamedFiles, AValueThatNobodySetsIsAskedFor) {
  const Report report = read(
      "cat > a.toml <<END\n[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nbatch_size = $SIZE\n"
      "seq_len = 8192\nEND\n");
  EXPECT_EQ(complaints_, "");
  EXPECT_EQ(report.whole("batch.sequence_length"), 8192);
  EXPECT_TRUE(std::ranges::any_of(report.asked, [](const Asked& one) { return one.key == "batch.micro"; }));
}

TEST_F(NamedFiles, ModulesAndOtherLaunchersHaveTheirGpus) {
  write("sft.yaml", kFactory);
  for (const char* launch :
       {"accelerate launch --num_processes 4 -m axolotl.cli.train sft.yaml",
        "composer -n 2 --world_size 4 t.py sft.yaml", "torchrun --nproc_per_node 4 -m llamafactory.cli sft.yaml",
        "tune run --nproc_per_node 4 full --config sft.yaml",
        "python -m torch.distributed.run --nproc_per_node 4 train.py sft.yaml",
        "FORCE_TORCHRUN=1 NNODES=2 NPROC_PER_NODE=2 llamafactory-cli train sft.yaml",
        "axolotl train sft.yaml --launcher torchrun -- --nproc_per_node=2 --nnodes=2",
        "ssh worker-1 'cd /work; torchrun --nproc_per_node 4 train.py sft.yaml'"}) {
    const Report report = read(launch);
    EXPECT_EQ(complaints_, "") << launch;
    EXPECT_EQ(report.whole("gpus"), 4) << launch;
    EXPECT_TRUE(report.refused.empty()) << launch;
  }
}

TEST_F(NamedFiles, CommandsThatPrepareDataAreNoneAndOneOfSeveralIsRead) {
  write("sft.yaml", kFactory);
  const std::string script =
      "axolotl preprocess sft.yaml\ntorchrun --nproc_per_node 8 train.py sft.yaml\n"
      "axolotl train sft.yaml --cutoff-len 512 --num-processes 2\n";
  const Report first = read(script);
  EXPECT_EQ(first.whole("gpus"), 8);
  EXPECT_TRUE(std::ranges::any_of(first.assumed, [](const Assumed& one) {
    return one.because.find("the first of 2 commands") != std::string::npos;
  }));
  Launch launch;
  launch.files = {folder_ / "run.sh"};
  launch.row = "2";
  Findings findings;
  EXPECT_EQ(read_launch(launch, findings).whole("batch.sequence_length"), 512);
  launch.row = "3";
  EXPECT_EQ(read_launch(launch, findings).asked.front().key, "row");
}

// A file behind `llamafactory-cli train` is always the base. Flags behind it are keys of the file.
TEST_F(NamedFiles, FlagsBehindAFileOfLlamaFactoryAreLaidOverIt) {
  write("sft.yaml", kFactory);
  for (const char* words : {"--per_device_train_batch_size 8 --gradient_accumulation_steps 2 --cutoff_len 512",
                            "--per_device_train_batch_size=8 --gradient_accumulation_steps=2 --cutoff_len=512"}) {
    const Report report = read(std::string("NPROC_PER_NODE=4 llamafactory-cli train sft.yaml ") + words + "\n");
    EXPECT_EQ(complaints_, "");
    EXPECT_EQ(report.at("precision"), "bf16");
    EXPECT_EQ(report.whole("batch.micro"), 8);
    EXPECT_EQ(report.whole("batch.global"), 8 * 2 * 4);
    EXPECT_EQ(report.whole("batch.sequence_length"), 512);
    EXPECT_TRUE(std::ranges::any_of(
        report.assumed, [](const Assumed& one) { return one.because.find("key=value alone") != std::string::npos; }));
  }
}

TEST_F(NamedFiles, AFlagWhoseValueMayBeEmptyIsRefused) {
  write("sft.yaml", kFactory);
  const auto refused = [&](const std::string& words) {
    return refused_lines(read("NPROC_PER_NODE=4 llamafactory-cli train sft.yaml " + words + "\n"));
  };
  EXPECT_THAT(refused("--quantization_bit \"$(cat bits)\""), HasSubstr("--quantization_bit: it has no value"));
  EXPECT_THAT(refused("--lora_rank \"$R\""), HasSubstr("--lora_rank: it has no value"));
  EXPECT_EQ(refused("--per-device-train-batch-size 8"), "") << "dashes, as everywhere";
}

TEST_F(NamedFiles, FlagsAloneNeverReplaceAFileOfLlamaFactoryThatIsNotThere) {
  const std::string flags = " --model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 8 --cutoff_len 512\n";
  for (const char* name : {"other.yaml", "configs/other.json"}) {
    (void)read(std::string("llamafactory-cli train ") + name + flags);
    EXPECT_THAT(complaints_, HasSubstr(std::string("names ") + name + ", which is not there"));
  }
  (void)read("llamafactory-cli train \"$1\"" + flags);
  EXPECT_THAT(complaints_, HasSubstr("a configuration that depends on argument 1 of the script"));
}

TEST_F(NamedFiles, TrainingsByAFileAndByFlagsStandInOneScript) {
  write("sft.yaml", kFactory);
  write("run.sh",
        "llamafactory-cli train sft.yaml --cutoff_len 512\nllamafactory-cli train gone.yaml\n"
        "llamafactory-cli train --model_name_or_path Qwen/Qwen3-8B --stage sft --per_device_train_batch_size 16 "
        "--bf16\n");
  Launch launch;
  launch.files = {folder_ / "run.sh"};
  for (const auto& [row, micro] : {std::pair{"", 2}, {"1", 2}, {"2", 16}}) {
    launch.row = row;
    Findings findings;
    EXPECT_EQ(read_launch(launch, findings).whole("batch.micro"), micro) << row;
    EXPECT_TRUE(findings.complaints.empty());
  }
  launch.row = "3";
  Findings findings;
  EXPECT_EQ(read_launch(launch, findings).asked.front().key, "row");
}

// srun(1), mpirun(1), kubectl: a script directly behind the options is read as bash would.
TEST_F(NamedFiles, AScriptBehindALauncherOfProcessesIsFollowed) {
  const std::string words =
      "train.py --model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 2 --bf16 --max_seq_length 512";
  write("train.sh", "python " + words + "\n");
  write("wrap.sh", "export A=1\nexec \"$@\"\n");
  write("ranks.sh", "torchrun --nproc_per_node 4 " + words + "\n");
  for (const char* launch : {"mpirun -np 8 bash train.sh", "mpirun --mca btl tcp -H a:8 -np 8 ./train.sh",
                             "srun --unlisted -N 2 --exclusive --ntasks-per-node 4 train.sh", "mpirun -np 2 ranks.sh",
                             "srun --nodes 2 --ntasks-per-node=1 --task-prolog other.sh ranks.sh",
                             "mpirun -np 8 wrap.sh python", "mpirun -np 8 gone.sh python"}) {
    const bool wraps = std::string_view(launch).ends_with("python");
    const Report report = read(launch + (wraps ? " " + words : "") + "\n");
    EXPECT_EQ(complaints_, "") << launch;
    EXPECT_EQ(report.whole("gpus"), 8) << launch;
    EXPECT_EQ(report.whole("batch.sequence_length"), 512) << launch;
  }
  for (const char* other : {"srun python other.py --hook train.sh\n", "srun --task-prolog train.sh hostname\n",
                            "mpirun --use-hwthread-cpus -np 8 --display-map hostname train.sh\n",
                            "srun --external-launcher hostname train.sh\n"}) {
    const Report report = read(other);
    EXPECT_FALSE(report.has("batch.sequence_length")) << other;
  }
  (void)read("source ~/.bashrc\nsource env/bin/activate\nsrun -N 4 gone.sh\n");
  EXPECT_THAT(complaints_, HasSubstr("run.sh:3 starts gone.sh, which is not there"));
}

TEST_F(NamedFiles, FilesOfTheUsersShellAreNoCauseForAScriptWithoutATraining) {
  for (const char* file : {"~/.bashrc", "~/.bash_profile", "~/.profile", "/opt/conda.sh", "venv/bin/activate"}) {
    const Report report = read(std::string("source ") + file + "\necho none\n");
    EXPECT_TRUE(report.refused.empty()) << file;
    EXPECT_THAT(complaints_, HasSubstr("the script starts no training that can be read")) << file;
  }
  EXPECT_EQ(read("source ~/.bashrc\nsource settings.sh\n").refused.front().setting, "settings.sh");
}

TEST_F(NamedFiles, CommandsWhoseFilesAreNotThereAreCounted) {
  write("sft.yaml", kFactory);
  const auto note = [&](const std::string& script) {
    for (const Assumed& one : read(script).assumed)
      if (one.key == "other commands") return one.because;
    return std::string();
  };
  const std::string first = "llamafactory-cli train sft.yaml\n";
  EXPECT_EQ(note(first + first), "");
  EXPECT_EQ(note(first + "axolotl preprocess gone.yaml\nllamafactory-cli chat gone.yaml\ncp a.yaml b.yaml\n"), "");
  EXPECT_EQ(note(first + "llamafactory-cli train gone.yaml\n"),
            "one names a configuration that is not there, and is not counted");
  const std::string two = "torchrun train.py gone.yaml\nllamafactory-cli train a/gone.json --cutoff_len 8\n";
  EXPECT_EQ(note(two + first), "2 name configurations that are not there, and are not counted");
  const std::string flags =
      "llamafactory-cli train --model_name_or_path gpt2 --stage sft --per_device_train_batch_size 1\n";
  EXPECT_EQ(note(two + first + flags), "2 name configurations that are not there, and are not counted");
}

TEST_F(NamedFiles, OtherFilesOfACommandAreNoParts) {
  write("sft.yaml", kFactory);
  write("data.yaml", "path: /data\n");
  EXPECT_EQ(read("torchrun --nproc_per_node 8 train.py sft.yaml --data data.yaml").whole("gpus"), 8);
  EXPECT_EQ(complaints_, "");
}

TEST_F(NamedFiles, HydraAndDeepyNameFilesWithoutTheirEnding) {
  fs::create_directories(folder_ / "conf");
  write("conf/sft.yaml", kFactory);
  EXPECT_EQ(read("torchrun --nproc_per_node 8 t.py --config-path=conf --config-name=sft bf16=true").whole("gpus"), 8);
  EXPECT_EQ(complaints_, "");
  write("conf/small.yml",
        "pipe_parallel_size: 1\nmodel_parallel_size: 1\nnum_layers: 4\nhidden_size: 512\nnum_attention_heads: "
        "8\nseq_length: 512\n"
        "max_position_embeddings: 512\ntrain_micro_batch_size_per_gpu: 4\n");
  write("conf/setup.yml", "train_micro_batch_size_per_gpu: 2\n");
  const Report merged = read("python ./deepy.py train.py -d conf small.yml setup.yml");
  EXPECT_EQ(complaints_, "");
  EXPECT_EQ(merged.framework, "GPT-NeoX");
  EXPECT_EQ(merged.whole("batch.micro"), 2) << "the last file wins";
  EXPECT_FALSE(merged.has("gpus")) << "DeepSpeed's launcher takes all of its hosts";
}

TEST_F(NamedFiles, WordsBehindThemOverrideTheirKeys) {
  write("mpt.yaml",
        "max_seq_len: 2048\nglobal_train_batch_size: 8\ndevice_train_microbatch_size: 1\nprecision: amp_bf16\n"
        "model: {name: mpt_causal_lm, d_model: 1024, n_heads: 8, n_layers: 4, vocab_size: 1000}\n");
  const Report report =
      read("composer train.py mpt.yaml max_seq_len=4096 model.n_layers=24 data_local=$NOBODY --x y\n");
  EXPECT_EQ(report.whole("batch.sequence_length"), 4096);
  EXPECT_EQ(report.whole("model.num_layers"), 24);
  write("llama.toml", "[model]\nname='llama3'\nflavor='8B'\n[training]\nseq_len=8192\nlocal_batch_size=1\n");
  const Report titan = read(
      "torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file=llama.toml --training.seq_len 4096 "
      "--metrics.log_freq 1\n");
  EXPECT_EQ(complaints_, "");
  EXPECT_EQ(titan.framework, "torchtitan");
  EXPECT_EQ(titan.whole("batch.sequence_length"), 4096);
}

TEST_F(NamedFiles, MayBeginAtAFolderAboveTheScript) {
  fs::create_directories(folder_ / "configs");
  fs::create_directories(folder_ / "slurm" / "a100");
  write("configs/sft.yaml", kFactory);
  write("slurm/a100/run.sh", "torchrun --nproc_per_node 4 src/train.py configs/sft.yaml\n");
  Launch launch;
  launch.files = {folder_ / "slurm" / "a100" / "run.sh"};
  Findings findings;
  const Report report = read_launch(launch, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  EXPECT_EQ(report.whole("gpus"), 4);
  fs::create_directories(folder_ / "slurm" / ".git");
  (void)read_launch(launch, findings);
  EXPECT_THAT(lines_of(findings.complaints), HasSubstr("is not there")) << "outside the repository";
}

TEST_F(NamedFiles, FilesOfNoFrameworkAndMissingOnesAreRefusedInOneLine) {
  write("other.yaml", "a: 1\n");
  (void)read("tool run other.yaml\n");
  EXPECT_THAT(complaints_, HasSubstr("other.yaml"));
  EXPECT_THAT(complaints_, HasSubstr("belongs to no framework"));
  (void)read("tool run missing.yaml\n");
  EXPECT_THAT(complaints_, HasSubstr("run.sh:1 names missing.yaml, which is not there"));
  (void)read("python train.py --config-path=conf --config-name=gpt trainer.devices=8\n");
  EXPECT_THAT(complaints_, HasSubstr("run.sh:1 names gpt, which is not there"));
  (void)read("torchrun --nproc_per_node 2 src/own_main.py --lr 0.001\n");
  EXPECT_THAT(complaints_, HasSubstr("the script starts own_main.py, which no reader here knows; expected a launch"));
  (void)read("srun -n 8 python own/train.py --config own/config.py\n");
  EXPECT_THAT(complaints_, HasSubstr("the script starts train.py, which no reader here knows"));
  (void)read("torchrun --nproc_per_node 4 pretrain.py --plugin hybrid --config \"7b\" --max_length 512\n");
  EXPECT_THAT(complaints_, HasSubstr("the script starts pretrain.py, which no reader here knows"));
  (void)read("torchrun --nproc_per_node 4 pretrain.py --config qwen2.5 --max_length 512\n");
  EXPECT_THAT(complaints_, HasSubstr("the script starts pretrain.py, which no reader here knows"));
  (void)read("python pretrain.py --config own/7b\n");
  EXPECT_THAT(complaints_, HasSubstr("run.sh:1 names own/7b, which is not there"));
  (void)read("accelerate launch -m own.sft --steps 4\n");
  EXPECT_THAT(complaints_, HasSubstr("the script starts own.sft, which no reader here knows"));
  (void)read("set -e\naccelerate launch --num_processes 4 -m own.sft \"$1\"\n");
  EXPECT_THAT(complaints_,
              HasSubstr("run.sh:2 starts own.sft, which no reader here knows, with argument 1 of the script"));
  (void)read("python prepare.py \"$1\"\ntorchrun --nproc_per_node 8 own_main.py --steps 4\n");
  EXPECT_THAT(complaints_, HasSubstr("the script starts prepare.py, own_main.py, which no reader here knows"));
  (void)read("python -m pipeline.train --steps 4\n");
  EXPECT_THAT(complaints_, HasSubstr("the script starts pipeline.train, which no reader here knows"));
  (void)read("colossalai run --nproc_per_node 8 train.py --tp 2 --plugin hybrid\n");
  EXPECT_THAT(complaints_, HasSubstr("the script starts ColossalAI; expected a launch"));
}

TEST_F(NamedFiles, AreScriptsByTheirEndings) {
  write("start.bash", "llamafactory-cli train sft.yaml\n");
  write("sft.yaml", kFactory);
  EXPECT_EQ(read("NPROC_PER_NODE=4 bash start.bash\n").whole("gpus"), 4);
  Launch launch;
  launch.files = {folder_ / "start.bash"};
  for (const char* ending : {".sh", ".bash", ".zsh", ".slurm", ".slrm", ".sbatch", ".job"})
    EXPECT_TRUE(is_launch_file(std::string("train") + ending)) << ending;
  EXPECT_TRUE(is_launch_file("a.toml"));
  EXPECT_FALSE(is_launch_file("scenario.json"));
  Findings findings;
  EXPECT_EQ(read_launch(launch, findings).framework, "Hugging Face Trainer");
}

TEST_F(NamedFiles, OfUnknownNamesAndValuesAreReadAsFarAsKnown) {
  const Report report = read(std::string("OUT=configs/sft_$(date +%s).yaml\ncat <<END > $OUT\n") + kFactory +
                             "dataset: $1\nseed: $2\nEND\ntorchrun --nproc_per_node 8 src/train.py $OUT\n");
  EXPECT_EQ(complaints_, "");
  EXPECT_EQ(report.whole("batch.global"), 2 * 4 * 8);
  for (const Assumed& one : report.assumed) EXPECT_EQ(one.key.find('\x1f'), std::string::npos);
}

TEST_F(NamedFiles, OfTomlHoldOpenValuesInQuotes) {
  const Report report = read(
      "cat <<END > llama.toml\n[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nbatch_size = $1\nseq_len = "
      "2048\nEND\ntorchrun --nproc_per_node 8 train.py --job.config_file llama.toml\n");
  EXPECT_EQ(complaints_, "");
  EXPECT_EQ(report.framework, "torchtitan");
  EXPECT_EQ(report.whole("batch.sequence_length"), 2048);
  EXPECT_TRUE(report.refused.empty());
  const auto asked = std::ranges::find(report.asked, "batch.micro", &Asked::key);
  ASSERT_NE(asked, report.asked.end());
  EXPECT_EQ(asked->because, "training.batch_size: argument 1 of the script");
  EXPECT_EQ(asked->because.find('\x1f'), std::string::npos);
}

TEST_F(NamedFiles, OfTomlNameTheVariableThatNobodySets) {
  const Report report = read(
      "cat > llama.toml <<END\n[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size =\n"
      "seq_len = $SEQ\n[parallelism]\ntensor_parallel_degree = ${TP}\nEND\n"
      "torchrun --nproc_per_node 8 train.py --job.config_file llama.toml\n");
  EXPECT_EQ(complaints_, "");
  EXPECT_TRUE(report.refused.empty());
  EXPECT_FALSE(report.has("batch.sequence_length")) << "torchtitan's default is not the user's length";
  const auto why = [&](const char* key) {
    const auto asked = std::ranges::find(report.asked, key, &Asked::key);
    return asked == report.asked.end() ? "" : asked->because;
  };
  EXPECT_EQ(why("batch.sequence_length"), "training.seq_len: SEQ is not set; state it with --env SEQ=VALUE");
  EXPECT_EQ(why("parallelism.tensor"),
            "parallelism.tensor_parallel_degree: TP is not set; state it with --env TP=VALUE");
  EXPECT_EQ(why("batch.micro"), "training.local_batch_size: it has no value");
}

TEST_F(NamedFiles, AnUnrelatedDocumentHidesNone) {
  const std::string other = "cat > aa.yaml <<END\nreplicas: 3\nEND\n";
  const Report report = read(other + "cat > sft.yaml <<END\n" + kFactory + "END\n");
  EXPECT_EQ(complaints_, "");
  EXPECT_EQ(report.whole("batch.sequence_length"), 2048);
  EXPECT_TRUE(std::ranges::none_of(report.assumed, [](const Assumed& one) { return one.key == "the training"; }));
  (void)read(other);
  EXPECT_THAT(complaints_, HasSubstr("run.sh: the script starts no training that can be read, and writes aa.yaml"));
  (void)read(other + "torchrun --nproc_per_node 8 train.py aa.yaml\n");
  EXPECT_THAT(complaints_, HasSubstr("run.sh: it writes aa.yaml: it belongs to no framework"));
}

TEST_F(NamedFiles, OfAScriptStandInItsOrder) {
  const auto document = [](const std::string& name, const char* length) {
    return "cat > " + name + " <<END\n" + kFactory + "END\nsed -i s/2048/" + length + "/ " + name + "\n";
  };
  EXPECT_EQ(read(document("z.yaml", "512") + document("a.yaml", "1024")).whole("batch.sequence_length"), 512);
}

TEST_F(NamedFiles, AScriptWhoseNameHoldsAnUnsetVariableNamesIt) {
  for (const char* start : {"sbatch $JOB.sh\n", "sbatch -N 2 \"${JOB}.slurm\"\n", "bash jobs/$JOB.sh\n"}) {
    (void)read(start);
    EXPECT_THAT(complaints_, HasSubstr("run.sh:1 starts a script whose name depends on JOB, which the script does not "
                                       "set; state it with --env JOB=VALUE"))
        << start;
    EXPECT_EQ(complaints_.find("put the file there"), std::string::npos);
  }
  (void)read("JOB=train\nsbatch $JOB.sh\n");
  EXPECT_THAT(complaints_, HasSubstr("run.sh:2 starts train.sh, which is not there; put the file there"));
}

TEST_F(NamedFiles, ALineThatNobodyKnowsIsNoKey) {
  const Report report = read(std::string("L=$(ls data)\ncat > z.yaml <<END\n") + kFactory + "$L\nEND\n");
  EXPECT_EQ(complaints_, "");
  EXPECT_EQ(report.whole("batch.sequence_length"), 2048);
}

TEST_F(NamedFiles, AnUnsetVariableMayNameTheConfiguration) {
  (void)read("accelerate launch -m axolotl.cli.train $FILE\n");
  EXPECT_THAT(complaints_, HasSubstr("FILE, which it does not set, may name the configuration"));
}

}  // namespace
}  // namespace foretoken::io::launch
