// Tests files beside a launch: hosts of DeepSpeed, and folders of models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sim/io/import/launch/read_launch.h"
#include "sim/io/json/test_text.h"

namespace foretoken::io::launch {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class LocalFolder {
 public:
  LocalFolder() : path_(fs::path(testing::TempDir()) / ("local-files-" + std::to_string(::getpid()))) {
    fs::create_directories(path_ / ".git");
  }
  LocalFolder(const LocalFolder&) = delete;
  LocalFolder& operator=(const LocalFolder&) = delete;
  ~LocalFolder() { fs::remove_all(path_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }

  [[nodiscard]] Report read(const std::string& script, const std::vector<std::string>& sets = {}) const {
    Findings findings;
    Report report = read(script, findings, sets);
    EXPECT_EQ(lines_of(findings.complaints), "");
    return report;
  }

  [[nodiscard]] std::string complaints(const std::string& script) const {
    Findings findings;
    (void)read(script, findings);
    return lines_of(findings.complaints);
  }

  [[nodiscard]] std::string path_of(const std::string& name) const { return (path_ / name).string(); }

 private:
  [[nodiscard]] Report read(const std::string& script, Findings& findings,
                            const std::vector<std::string>& sets = {}) const {
    write("run.sh", script);
    Launch launch;
    launch.files = {path_ / "run.sh"};
    launch.sets = {"cluster=dgx-h100-ndr"};
    launch.sets.insert(launch.sets.end(), sets.begin(), sets.end());
    return read_launch(launch, findings);
  }

  fs::path path_;
};

const std::string kTrain =
    " train.py --per_device_train_batch_size 1 --bf16 --max_seq_length 2048 --learning_rate 1e-5 "
    "--model_name_or_path ";

TEST(HostsOfDeepSpeed, TheirSlotsAreTheGpus) {
  const LocalFolder folder;
  folder.write("conf/hosts", "node-1 slots=8  # the first\n\nnode-2 slots=8\nnode-3 slots=4\n");
  const auto gpus = [&](const std::string& launcher) {
    return folder.read("export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7\n" + launcher + kTrain + "Qwen/Qwen2.5-7B\n")
        .whole("gpus");
  };
  EXPECT_EQ(gpus("deepspeed --hostfile conf/hosts --master_port 29500"), 20);
  EXPECT_EQ(gpus("deepspeed --hostfile=conf/hosts"), 20);
  EXPECT_EQ(gpus("deepspeed --hostfile conf/hosts --num_nodes 2"), 16);
  EXPECT_EQ(gpus("deepspeed --hostfile conf/hosts --num_nodes 2 --num_gpus 2"), 4);
  EXPECT_EQ(gpus("deepspeed --hostfile conf/hosts --num_gpus 8"), 24) << "whatever the slots";
  EXPECT_EQ(gpus("accelerate launch --num_processes 4 --hostfile conf/hosts --use_deepspeed /usr/bin/deepspeed"), 4);
  EXPECT_EQ(gpus("srun deepspeed --hostfile conf/hosts"), 20);
  folder.write("sft.yaml",
               "model_name_or_path: Qwen/Qwen2.5-7B\nper_device_train_batch_size: 1\nbf16: true\n"
               "cutoff_len: 2048\n");
  EXPECT_EQ(folder.read("deepspeed --hostfile conf/hosts src/train.py sft.yaml\n").whole("gpus"), 20);
  folder.write("conf/hosts", "# slots=1\nnode-1 slots=8 max_slots=8\nnode-2\tslots=4,\n");
  EXPECT_EQ(gpus("deepspeed --hostfile conf/hosts"), 12) << "a text may stand behind the number";
  folder.write("conf/hosts", "node-1\n");
  EXPECT_NE(gpus("deepspeed --hostfile conf/hosts"), 1) << "no slots are stated";
}

TEST(HostsOfDeepSpeed, AHostThatIsListedTwiceIsRefused) {
  const LocalFolder folder;
  folder.write("hosts", "node-1 slots=8\nnode-1 slots=8\n");
  folder.write("sft.yaml",
               "model_name_or_path: Qwen/Qwen2.5-7B\nper_device_train_batch_size: 1\nbf16: true\n"
               "cutoff_len: 2048\n");
  for (const std::string& program : {kTrain + "Qwen/Qwen2.5-7B\n", std::string(" src/train.py sft.yaml\n")}) {
    const Report report = folder.read("deepspeed --hostfile hosts" + program);
    ASSERT_EQ(report.refused.size(), 1U) << program;
    EXPECT_THAT(report.refused[0].because, HasSubstr("hosts lists node-1 twice"));
  }
}

// The stage of ZeRO and the question for it.
std::string stage_of(const Report& report) {
  for (const Asked& one : report.asked)
    if (one.key == "optimizer.zero_stage") return "asked";
  return report.at("optimizer.zero_stage").dump();
}

TEST(WrittenFiles, AnUnrelatedFileIsNoDeepSpeedFile) {
  const LocalFolder folder;
  const auto stage = [&](const std::string& before, const std::string& file) {
    return stage_of(folder.read(before + "\ndeepspeed --num_gpus 8" + kTrain + "Qwen/Qwen2.5-7B --deepspeed " + file));
  };
  const std::string meta = "echo '{\"run\": \"x\"}' > meta.json",
                    zero = "echo '{\"zero_optimization\": {\"stage\": 1}}' > ";
  EXPECT_EQ(stage(meta, "ds_z3_config.json"), "3") << "by its name";
  EXPECT_EQ(stage(meta, "\"$NOBODY\""), "asked");
  EXPECT_EQ(stage(zero + "z.json", "\"$NOBODY\""), "1");
  EXPECT_EQ(stage(meta + "\n" + zero + "z.json", "\"$NOBODY\""), "1") << "the only one of DeepSpeed";
  EXPECT_EQ(stage(zero + "z.json\n" + zero + "y.json", "\"$NOBODY\""), "asked");
  EXPECT_EQ(stage(zero + "ds.json", "ds.json"), "1");
}

TEST(WrittenFiles, ADeepSpeedFileOfACommandThatIsNotFollowedIsAskedFor) {
  const LocalFolder folder;
  folder.write("ds.json", "{\"zero_optimization\": {\"stage\": 3}}");
  const Report report =
      folder.read("python gen.py > ds.json\ndeepspeed --num_gpus 8" + kTrain + "Qwen/Qwen2.5-7B --deepspeed ds.json\n");
  EXPECT_EQ(stage_of(report), "asked");
  EXPECT_TRUE(std::ranges::any_of(report.assumed, [](const Assumed& one) {
    return one.because.find("run.sh:1 writes it in a way that cannot be read") != std::string::npos;
  }));
}

TEST(WrittenFiles, ALineBehindAFileOnTheDiskCounts) {
  const LocalFolder folder;
  folder.write("cfg.yaml",
               "base_model: Qwen/Qwen2.5-7B\ndatasets: [{path: x}]\nsequence_len: 2048\n"
               "gradient_accumulation_steps: 1\nbf16: true\n");
  const std::string train = "accelerate launch --num_processes 8 -m axolotl.cli.train cfg.yaml\n";
  EXPECT_EQ(folder.read("echo \"micro_batch_size: 8\" >> cfg.yaml\n" + train).whole("batch.micro"), 8);
  EXPECT_THAT(folder.complaints("yq -i '.sequence_len = 8' cfg.yaml\n" + train),
              HasSubstr("run.sh:2 names cfg.yaml, which run.sh:1 writes in a way that cannot be read"));
}

TEST(FolderOfAModel, StandsForItsConfig) {
  const LocalFolder folder;
  folder.write("models/own/config.json",
               R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8,
                   "intermediate_size": 2048, "vocab_size": 32000})");
  folder.write("models/old/config.json", R"({"n_layer": 12, "n_embd": 768, "n_head": 12, "n_positions": 1024})");
  folder.write("models/strange/config.json", R"({"model_type": "mamba", "num_hidden_layers": 4})");
  const auto read = [&](const std::string& name) {
    return folder.read("torchrun --nproc_per_node 8" + kTrain + name + "\n");
  };
  EXPECT_THAT(read("models/own").at("model").dump(), HasSubstr("models/own/config.json"));
  EXPECT_TRUE(read("models/own").complete());
  const auto question = [&](const std::string& name) {
    for (const Asked& one : read(name).asked)
      if (one.key == "model") return one.because;
    return std::string();
  };
  EXPECT_THAT(question("models/strange"), HasSubstr("models/strange/config.json is there"));
  EXPECT_THAT(question("models/old"), HasSubstr("cannot be read: /model_type: missing"));
  EXPECT_THAT(question("models/strange"), HasSubstr("\"mamba\" is not supported"));
  EXPECT_THAT(question("models/none"), HasSubstr("are not known here"));
}

TEST(FolderOfAModel, StoredWeightsOfFewBitsCount) {
  const LocalFolder folder;
  const auto read = [&](const std::string& quantization, const std::string& flags) {
    folder.write("models/own/config.json",
                 R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8,
                     "intermediate_size": 2048, "vocab_size": 32000, "quantization_config": )" +
                     quantization + "}");
    return folder.read("torchrun --nproc_per_node 8" + kTrain + "models/own " + flags + "\n");
  };
  const std::string four = R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "load_in_8bit": false})";
  const std::string eight = R"({"quant_method": "bitsandbytes", "load_in_8bit": true})";
  const std::string other = R"({"quant_method": "gptq", "bits": 4})";
  const std::string lora = "--use_lora True --lora_r 16 --lora_target_modules q_proj";
  const Report report = read(four, lora);
  EXPECT_EQ(report.at("training.method"), "qlora");
  EXPECT_TRUE(report.complete());
  EXPECT_TRUE(std::ranges::any_of(
      report.mapped, [](const Mapped& one) { return one.from.find("quantization_config of") != std::string::npos; }));
  EXPECT_TRUE(read(four, lora + " --load_in_4bit True").complete());
  EXPECT_EQ(read(eight, lora).at("training.method"), "lora-int8");
  EXPECT_FALSE(read(other, lora).complete());
  EXPECT_TRUE(read("null", "").complete());
  for (const std::string& stored : {four, eight, other}) {
    const Report full = read(stored, "");
    ASSERT_EQ(full.refused.size(), 1U) << stored;
    EXPECT_EQ(full.refused.front().setting, "quantization_config");
    EXPECT_THAT(full.refused.front().because, HasSubstr("no adapter trains beside them"));
  }
}

// The check belongs to the model, wherever it comes from: --model FILE, and a model of --set.
TEST(FolderOfAModel, StoredWeightsOfTheUsersModelCount) {
  const LocalFolder folder;
  const std::string sizes = R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512,
      "num_attention_heads": 8, "intermediate_size": 2048, "vocab_size": 32000)";
  const std::string four = R"(, "quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true}})";
  const std::string gptq = R"(, "quantization_config": {"quant_method": "gptq", "bits": 4}})";
  folder.write("four.json", sizes + four);
  folder.write("gptq.json", sizes + gptq);
  folder.write("plain.json", sizes + "}");
  folder.write("models/own/config.json", sizes + four);
  const std::string lora = "--use_lora True --lora_r 16 --lora_target_modules q_proj";
  const auto read = [&](const std::string& model, const std::string& flags, std::vector<std::string> sets = {}) {
    if (!model.empty()) sets.push_back("model=" + folder.path_of(model));
    return folder.read("torchrun --nproc_per_node 8" + kTrain + "models/own " + flags + "\n", sets);
  };
  EXPECT_EQ(read("", lora).at("training.method"), "qlora");
  EXPECT_EQ(read("four.json", lora).at("training.method"), "qlora");
  EXPECT_EQ(read("plain.json", lora).at("training.method"), "lora") << "the folder's weights do not count";
  EXPECT_TRUE(read("plain.json", "").refused.empty());
  EXPECT_EQ(read("", lora, {"model=" + sizes + four}).at("training.method"), "qlora") << "no file";
  EXPECT_EQ(read("four.json", lora, {"training.method=lora"}).at("training.method"), "lora") << "the user's word";
  for (const auto& [model, flags] : {std::pair{"four.json", std::string()}, {"gptq.json", lora}, {"gptq.json", ""}}) {
    const Report report = read(model, flags);
    ASSERT_EQ(report.refused.size(), 1U) << model << flags;
    EXPECT_EQ(report.refused.front().setting, "quantization_config");
  }
}

// mpirun(1) of Open MPI 4.1: without -np a process runs on every slot.
TEST(HostsOfMpi, TheirSlotsAreTheGpus) {
  const LocalFolder folder;
  folder.write("hosts", "node-1 slots=8\nnode-2 slots=4\n");
  const auto gpus = [&](const std::string& launcher) {
    return folder.read(launcher + kTrain + "Qwen/Qwen2.5-7B\n").whole("gpus");
  };
  EXPECT_EQ(gpus("mpirun --hostfile hosts -x PATH python"), 12);
  EXPECT_EQ(gpus("mpirun -hostfile hosts -bind-to none python"), 12);
  EXPECT_EQ(gpus("mpirun --machinefile=hosts python"), 12);
  EXPECT_EQ(gpus("mpirun -np 6 --hostfile hosts python"), 6);
  EXPECT_NE(gpus("mpirun --hostfile hosts --npernode 2 python"), 12);
  const std::string megatron =
      "pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
      "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 48 --vocab-size 50304 --bf16\n";
  EXPECT_EQ(folder.read("mpirun --hostfile hosts python " + megatron).whole("gpus"), 12);
  EXPECT_EQ(folder.read("deepspeed --hostfile hosts " + megatron).whole("gpus"), 12);
}

}  // namespace
}  // namespace foretoken::io::launch
