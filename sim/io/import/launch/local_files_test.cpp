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

  [[nodiscard]] Report read(const std::string& script) const {
    write("run.sh", script);
    Launch launch;
    launch.files = {path_ / "run.sh"};
    launch.sets = {"cluster=dgx-h100-ndr"};
    Findings findings;
    Report report = read_launch(launch, findings);
    EXPECT_EQ(lines_of(findings.complaints), "");
    return report;
  }

 private:
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
  folder.write("sft.yaml",
               "model_name_or_path: Qwen/Qwen2.5-7B\nper_device_train_batch_size: 1\nbf16: true\n"
               "cutoff_len: 2048\n");
  EXPECT_EQ(folder.read("deepspeed --hostfile conf/hosts src/train.py sft.yaml\n").whole("gpus"), 20);
  folder.write("conf/hosts", "node-1\n");
  EXPECT_NE(gpus("deepspeed --hostfile conf/hosts"), 1) << "no slots are stated";
}

TEST(FolderOfAModel, StandsForItsConfig) {
  const LocalFolder folder;
  folder.write("models/own/config.json",
               R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8,
                   "intermediate_size": 2048, "vocab_size": 32000})");
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
  EXPECT_THAT(question("models/strange"), HasSubstr("\"mamba\" is not supported"));
  EXPECT_THAT(question("models/none"), HasSubstr("are not known here"));
}

}  // namespace
}  // namespace foretoken::io::launch
