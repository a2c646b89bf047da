// Tests DeepSpeed files that accelerate's file names, and templates that a script fills in.
#include "sim/io/import/launch/tuning/beside_accelerate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/io/import/launch/read_launch.h"
#include "sim/io/json/test_text.h"

namespace foretoken::io::launch::tuning {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

/// A repository with folders of its own, below one of the test's.
class Repository {
 public:
  Repository() : path_(fs::path(testing::TempDir()) / ("beside-accelerate-" + std::to_string(::getpid()))) {
    fs::create_directories(path_ / ".git");
  }
  Repository(const Repository&) = delete;
  Repository& operator=(const Repository&) = delete;
  ~Repository() { fs::remove_all(path_); }

  [[nodiscard]] fs::path write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }

  [[nodiscard]] Report read(const std::string& name, const std::string& text) const {
    Launch launch;
    launch.files = {write(name, text)};
    launch.sets = {"cluster=dgx-h100-ndr"};
    Findings findings;
    Report report = read_launch(launch, findings);
    EXPECT_EQ(lines_of(findings.complaints), "");
    return report;
  }

  [[nodiscard]] std::string path(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string questions_of(const Report& report) {
  std::string text;
  for (const Asked& one : report.asked) text += one.key + ": " + one.because + "\n";
  return text;
}

std::string accelerate_with(const std::string& file) {
  return "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_machines: 1\nnum_processes: 2\n"
         "deepspeed_config:\n  deepspeed_config_file: " +
         file + "\n  zero3_init_flag: true\n";
}

constexpr const char* kZero2 =
    R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}, "gradient_accumulation_steps": 16,
        "train_micro_batch_size_per_gpu": "auto", "train_batch_size": "auto"})";
const std::string kAcceleratedRun =
    "accelerate launch --config_file conf/launch.yaml src/train.py --model_name_or_path meta-llama/Llama-3.2-1B "
    "--max_seq_length 2048 --learning_rate 1e-5 --output_dir out --num_train_epochs 1 ";

TEST(DeepSpeedFileOfAccelerate, IsOpenedFromTheFolderOfTheLaunch) {
  const Repository repository;
  (void)repository.write("conf/ds/two.json", kZero2);
  const auto stage = [&](const std::string& file, const std::string& flags) {
    (void)repository.write("conf/launch.yaml", accelerate_with(file));
    const Report report = repository.read("jobs/run.sh", kAcceleratedRun + flags + "\n");
    EXPECT_EQ(report.whole("gpus"), 2);
    EXPECT_EQ(report.at("precision"), Json("bf16")) << "the file's";
    EXPECT_EQ(report.whole("batch.global"), 2 * 4 * 16) << file;
    return report.whole("optimizer.zero_stage");
  };
  const std::string batch = "--per_device_train_batch_size 4";
  EXPECT_EQ(stage("./conf/ds/two.json", batch), 2);
  EXPECT_EQ(stage("conf/ds/two.json", batch), 2);
  EXPECT_EQ(stage("ds/two.json", batch), 2) << "beside accelerate's file";
  EXPECT_EQ(stage(repository.path("conf/ds/two.json"), batch), 2);
  EXPECT_EQ(stage("conf/ds/two.json", batch + " --gradient_accumulation_steps 16"), 2);
  EXPECT_EQ(stage("conf/ds/two.json", "--micro_batch_size 4"), 2) << "a program of the user's own";
}

TEST(DeepSpeedFileOfAccelerate, ThatIsNotThereIsNamed) {
  const Repository repository;
  const auto asked = [&](const std::string& file) {
    (void)repository.write("conf/launch.yaml", accelerate_with(file));
    const Report report = repository.read("run.sh", kAcceleratedRun + "--bf16 --per_device_train_batch_size 4\n");
    EXPECT_NE(report.whole("optimizer.zero_stage"), 0) << file;
    return questions_of(report);
  };
  EXPECT_THAT(asked("conf/gone.json"), HasSubstr("optimizer.zero_stage: the file \"conf/gone.json\" decides"));
  EXPECT_THAT(asked("/home/me/gone.json"), HasSubstr("/home/me/gone.json"));
  EXPECT_EQ(asked("conf/zero3.json"), "") << "its name says the stage";
}

TEST(DeepSpeedFileOfAccelerate, DiffersFromAFlag) {
  const Repository repository;
  (void)repository.write("ds.json", kZero2);
  (void)repository.write("conf/launch.yaml", accelerate_with("ds.json"));
  const Report report = repository.read(
      "run.sh", kAcceleratedRun + "--bf16 --per_device_train_batch_size 4 --gradient_accumulation_steps 8\n");
  EXPECT_THAT(questions_of(report),
              HasSubstr("batch.global: --gradient_accumulation_steps 8 and "
                        "gradient_accumulation_steps of the DeepSpeed configuration, 16, differ"));
}

TEST(DeepSpeedFileOfAccelerate, DecidesBesideAFileOfArguments) {
  const Repository repository;
  (void)repository.write("ds.json", kZero2);
  (void)repository.write("conf/launch.yaml", accelerate_with("ds.json"));
  (void)repository.write("sft.yaml",
                         "model_name_or_path: meta-llama/Llama-3.2-1B\nper_device_train_batch_size: 4\nbf16: true\n"
                         "max_seq_length: 2048\n");
  const std::string run = "accelerate launch --config_file conf/launch.yaml sft.py sft.yaml\n";
  EXPECT_EQ(repository.read("run.sh", run).whole("optimizer.zero_stage"), 2);
  (void)repository.write("conf/launch.yaml", accelerate_with("gone.json"));
  EXPECT_THAT(questions_of(repository.read("run.sh", run)), HasSubstr("gone.json"));
}

TEST(TemplateOfARecipe, StandsInAFolderAbove) {
  const Repository repository;
  (void)repository.write("conf/template.yaml",
                         "model_name_or_path: meta-llama/Llama-3.2-1B\nstage: sft\nfinetuning_type: full\n"
                         "dataset: a\ncutoff_len: 2048\nbf16: true\nper_device_train_batch_size: $EACH\n");
  const std::string start = "export EACH=4\n", end = "\nllamafactory-cli train out.yaml\n";
  for (const char* fill : {"envsubst < conf/template.yaml > out.yaml", "cat conf/template.yaml | envsubst > out.yaml",
                           "cat ./conf/template.yaml | envsubst > out.yaml"})
    for (const char* folder : {"run.sh", "jobs/run.sh"}) {
      const Report report = repository.read(folder, start + fill + end);
      EXPECT_EQ(report.whole("batch.micro"), 4) << fill;
    }
  (void)repository.write("conf/marked.yaml",
                         "model_name_or_path: meta-llama/Llama-3.2-1B\nstage: sft\nfinetuning_type: full\n"
                         "dataset: a\ncutoff_len: 2048\nbf16: true\nper_device_train_batch_size: MARK\n");
  for (const char* folder : {"run.sh", "jobs/run.sh"}) {
    const Report report = repository.read(folder, start + "sed \"s/MARK/$EACH/g\" conf/marked.yaml > out.yaml" + end);
    EXPECT_EQ(report.whole("batch.micro"), 4) << "sed writes the file, and trains nothing";
  }
}

TEST(BesideConfiguration, DevicesOfAcceleratesOptionsAreTaken) {
  const Repository repository;
  const auto offload = [&](const std::string& options) {
    return repository
        .read("run.sh", "accelerate launch --num_processes 8 --use_deepspeed --zero_stage 3 " + options +
                            " train.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --bf16 "
                            "--max_seq_length 512 --learning_rate 1e-5\n")
        .at("offload");
  };
  EXPECT_EQ(offload("--offload_optimizer_device nvme"), (Json{{"optimizer", "nvme"}}));
  EXPECT_EQ(offload("--offload_optimizer_device cpu --offload_param_device nvme"),
            (Json{{"optimizer", "cpu"}, {"parameters", "nvme"}}));
}

TEST(BesideConfiguration, TheNameOfAVariableMaySayTheStage) {
  const Repository repository;
  const auto read = [&](const std::string& file) {
    return repository.read("run.sh",
                           "deepspeed --num_gpus 4 train.py --model_name_or_path gpt2 --per_device_train_batch_size 1 "
                           "--bf16 --max_seq_length 512 --learning_rate 1e-5 --deepspeed " +
                               file + "\n");
  };
  for (const char* file : {"$OWN_DEEPSPEED_CONFIG_S2", "\"${OWN_DEEPSPEED_CONFIG_S2}\""}) {
    const Report report = read(file);
    EXPECT_EQ(report.whole("optimizer.zero_stage"), 2) << file;
    const auto stage = std::ranges::find(report.assumed, "optimizer.zero_stage", &Assumed::key);
    ASSERT_NE(stage, report.assumed.end());
    EXPECT_THAT(stage->because, HasSubstr("$OWN_DEEPSPEED_CONFIG_S2"));
  }
  EXPECT_THAT(questions_of(read("$OWN_FILE")), HasSubstr("$OWN_FILE"));
}

constexpr const char* kOffloaded =
    R"({"zero_optimization": {"stage": 3, "overlap_comm": true, "offload_optimizer": {"device": "cpu"}}})";

// The name of the file says neither the stage nor that states leave the GPU.
TEST(BesideConfiguration, TheDeepSpeedFileThatAYamlFileNamesIsRead) {
  const std::string keys = "bf16: true\ngradient_accumulation_steps: 2\ndeepspeed: ";
  const std::string factory =
      "model_name_or_path: gpt2\nstage: sft\nfinetuning_type: full\ncutoff_len: 512\nper_device_train_batch_size: 1\n" +
      keys;
  const std::string axolotl = "base_model: gpt2\nsequence_len: 512\nmicro_batch_size: 1\n" + keys;
  for (const std::string& recipe : {factory, axolotl})
    for (const char* name : {"shared.json", "../ds/shared.json", "ds/shared.json"}) {
      SCOPED_TRACE(recipe + name);
      const Repository repository;
      (void)repository.write("ds/shared.json", kOffloaded);
      if (std::string(name) == "shared.json") (void)repository.write("conf/shared.json", kOffloaded);
      const Report report = repository.read("conf/run.yaml", recipe + name + "\n");
      EXPECT_EQ(report.at("optimizer.zero_stage"), 3);
      EXPECT_EQ(report.at("overlap.grad_reduce"), true);
      EXPECT_EQ(report.at("offload.optimizer"), "cpu");
    }
}

// Nobody knows what the file decides. One process has nothing to shard.
TEST(BesideAccelerate, AFileThatIsNotThereShardsNothingOfOneProcess) {
  const Repository repository;
  const auto read = [&](const std::string& options) {
    return repository.read("run.sh", "accelerate launch --config_file gone.yaml " + options +
                                         " train.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --bf16 "
                                         "--max_seq_length 512\n");
  };
  const Report one = read("--num_processes 1");
  EXPECT_EQ(questions_of(one), "");
  EXPECT_EQ(one.whole("optimizer.zero_stage"), 0);
  const auto assumed = std::ranges::find(one.assumed, "optimizer.zero_stage", &Assumed::key);
  ASSERT_NE(assumed, one.assumed.end());
  EXPECT_THAT(assumed->because, HasSubstr("gone.yaml, which decides about sharding and recomputing, is not there; one "
                                          "process has nothing to shard"));
  for (const char* several : {"--num_processes 2", ""})
    EXPECT_THAT(questions_of(read(several)), HasSubstr("optimizer.zero_stage: accelerate's file gone.yaml"));
}

}  // namespace
}  // namespace foretoken::io::launch::tuning
