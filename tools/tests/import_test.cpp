// Tests `foretoken import` from outside: answers, exit statuses, hostile files, and real files where a folder is given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/base/test_sanitized.h"
#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kTrain = FORETOKEN_SOURCE_DIR "/sim/io/testdata/launch/train.sh";

TEST(Import, AScriptBecomesAScenarioThatSimulateTakes) {
  const TemporaryFolder folder;
  const std::string file = folder.file("mine.json");
  const Ran ran = run_foretoken({"import", kTrain, "--cluster", "dgx-h100-ndr", "--out", file});
  ASSERT_EQ(ran.status, 0) << ran.err << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("Megatron-LM: a whole scenario"));
  EXPECT_THAT(ran.out, HasSubstr("parallelism.tensor = 4, from"));
  const Ran simulated = run_foretoken({"simulate", file, "--json"});
  ASSERT_EQ(simulated.status, 0) << simulated.err;
  // The script itself stands for the same scenario.
  const Ran direct = run_foretoken({"simulate", kTrain, "--cluster", "dgx-h100-ndr", "--json"});
  ASSERT_EQ(direct.status, 0) << direct.err;
  EXPECT_EQ(json::parse(direct.out).at("step_time_s"), json::parse(simulated.out).at("step_time_s"));
}

TEST(Import, EveryCommandTakesVariablesOfAScript) {
  const std::vector<std::string> stated = {"--cluster", "dgx-h100-ndr", "--env", "NNODES=4"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), stated.begin(), stated.end());
    return run_foretoken(words);
  };
  const Ran simulated = with({"simulate", kTrain});
  ASSERT_EQ(simulated.status, 0) << simulated.err;
  EXPECT_THAT(simulated.out, HasSubstr("TP 4, PP 1, DP 8,"));
  const Ran searched = with({"search", kTrain, "--free", "batch.micro", "--json"});
  ASSERT_EQ(searched.status, 0) << searched.err;
  EXPECT_EQ(json::parse(searched.out).at("winner").at("scenario").at("gpus"), 32);
  const Ran explained =
      run_foretoken({"explain", kTrain, "--set", "cluster=dgx-h100-ndr", "--env", "NNODES=4", "--json"});
  EXPECT_EQ(explained.status, 0) << explained.err;
  for (const Wrong& wrong : std::vector<Wrong>{
           {"a scenario",
            {"simulate", "llama-2-7b-8-a100", "--env", "A=1"},
            "--env states variables of a launch script"},
           {"no script", {"simulate", "--env", "A=1"}, "--env states variables of a launch script"},
           {"no value", {"simulate", kTrain, "--env", "NNODES"}, "foretoken simulate: --env: expected NAME=VALUE"}})
    expect_refused(wrong);
}

TEST(Import, ARelativePathFindsSourcedFiles) {
  const Ran ran = run_foretoken({"import", "sim/io/testdata/launch/train.sh", "--cluster", "dgx-h100-ndr", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err << ran.out;
  EXPECT_EQ(json::parse(ran.out).at("scenario").at("model").at("num_layers"), 24);
}

TEST(Import, ADeepSpeedConfigurationStandsForAScenario) {
  const TemporaryFolder folder;
  const std::string file = folder.file("ds.json");
  std::ofstream(file) << R"({"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 8,
                             "bf16": {"enabled": true}, "zero_optimization": {"stage": 2}})";
  const Ran missing = run_foretoken({"simulate", file});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("missing model"));
  const Ran ran = run_foretoken({"simulate", file, "--model", "llama-3-8b", "--cluster", "dgx-h100-ndr", "--gpus", "8",
                                 "--seq", "2048", "--set", "batch.global=64", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_NEAR(json::parse(ran.out)["tokens_per_s"].get<double>() * json::parse(ran.out)["step_time_s"].get<double>(),
              64 * 2048, 1);
}

TEST(Import, MissingFactsAreNamedAndNothingIsWritten) {
  const TemporaryFolder folder;
  const std::string file = folder.file("mine.json");
  const Ran ran = run_foretoken({"import", kTrain, "--out", file, "--json"});
  EXPECT_EQ(ran.status, 1);
  const json answer = json::parse(ran.out);
  EXPECT_FALSE(answer.at("complete"));
  EXPECT_EQ(answer.at("asked")[0].at("key"), "cluster");
  EXPECT_FALSE(std::filesystem::exists(file));
  const Ran simulated = run_foretoken({"simulate", kTrain});
  EXPECT_EQ(simulated.status, 2);
  EXPECT_THAT(simulated.err, HasSubstr("missing cluster: launch files do not name the machine"));
}

TEST(Import, VariablesArgumentsAndFlagsComeFromTheCommandLine) {
  const Ran ran = run_foretoken(
      {"import", kTrain, "--cluster", "dgx-h100-ndr", "--env", "NNODES=4", "--json", "--", "/data/checkpoints"});
  ASSERT_EQ(ran.status, 0) << ran.err << ran.out;
  EXPECT_EQ(json::parse(ran.out).at("scenario").at("gpus"), 32);
  const Ran flags = run_foretoken({"import",
                                   "--cluster",
                                   "dgx-h100-ndr",
                                   "--gpus",
                                   "8",
                                   "--json",
                                   "--",
                                   "--num-layers",
                                   "4",
                                   "--hidden-size",
                                   "512",
                                   "--num-attention-heads",
                                   "8",
                                   "--seq-length",
                                   "512",
                                   "--max-position-embeddings",
                                   "512",
                                   "--micro-batch-size",
                                   "1",
                                   "--vocab-size",
                                   "1024",
                                   "--bf16"});
  ASSERT_EQ(flags.status, 0) << flags.err << flags.out;
  EXPECT_EQ(json::parse(flags.out).at("scenario").at("batch").at("global"), 8);
}

// pytorch/torchtitan, torchtitan/models/attention.py: cuDNN's kernel comes first on Blackwell.
TEST(Import, AttentionIsThatOfTheGpuWhereTheFileStatesNone) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.toml");
  std::ofstream(file) << "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n"
                         "seq_len = 4096\n[activation_checkpoint]\nmode = \"full\"\n";
  const auto attention = [&](const char* cluster) {
    const Ran ran = run_foretoken({"import", file, "--gpus", "8", "--cluster", cluster, "--json"});
    EXPECT_EQ(ran.status, 0) << ran.err << ran.out;
    return json::parse(ran.out).at("scenario").value("attention", "the runtime's");
  };
  EXPECT_EQ(attention("dgx-b200-ndr"), "flash");
  EXPECT_EQ(attention("dgx-h100-ndr"), "the runtime's");
}

TEST(Import, FlagsBehindAScriptWinOrAreItsOwn) {
  const TemporaryFolder folder;
  const std::string
      plain = folder.file("plain.sh"),
      parsing = folder.file("parsing.sh"),
      flags =
          "torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --seq-length 512 --num-layers 4 --hidden-size 512 "
          "--num-attention-heads 8 --max-position-embeddings 8192 --micro-batch-size 1 --global-batch-size 64 "
          "--vocab-size 1024 --bf16 ";
  std::ofstream(plain) << flags;
  std::ofstream(parsing) << "while [[ $# -gt 0 ]]; do case $1 in --tp) TP=$2; shift 2 ;; *) exit 1 ;; esac; done\n"
                         << flags << "--tensor-model-parallel-size $TP\n";
  const Ran added =
      run_foretoken({"import", plain, "--cluster", "dgx-h100-ndr", "--json", "--", "--seq-length", "8192"});
  ASSERT_EQ(added.status, 0) << added.err << added.out;
  EXPECT_EQ(json::parse(added.out).at("scenario").at("batch").at("sequence_length"), 8192);
  const Ran mistyped = run_foretoken({"import", plain, "--env", "SEQQ=4096"});
  EXPECT_THAT(mistyped.out, HasSubstr("--env SEQQ: no line of the script reads it"));
  const std::string counting = folder.file("counting.sh");
  std::ofstream(counting) << "echo $# arguments\nif [[ $# -gt 9 ]]; then exit 1; fi\n" << flags;
  const Ran unread =
      run_foretoken({"import", counting, "--cluster", "dgx-h100-ndr", "--json", "--", "--seq-length", "8192"});
  ASSERT_EQ(unread.status, 0) << unread.err << unread.out;
  EXPECT_EQ(json::parse(unread.out).at("scenario").at("batch").at("sequence_length"), 8192);
  const Ran own = run_foretoken({"import", parsing, "--cluster", "dgx-h100-ndr", "--json", "--", "--tp", "4"});
  ASSERT_EQ(own.status, 0) << own.err << own.out;
  EXPECT_EQ(json::parse(own.out).at("scenario").at("parallelism").at("tensor"), 4);
}

TEST(Import, ARuleOfScenariosIsRefusedLikeASetting) {
  const Ran ran = run_foretoken({"import", kTrain, "--cluster", "dgx-h100-ndr", "--set", "batch.micro=2048", "--json"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_FALSE(json::parse(ran.out).at("refused").empty());
}

/// A file that is no launch, or a hostile one.
struct Hostile {
  std::string what, name, text;
};

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::vector<Hostile> hostile_scripts() {
  return {{"an empty script", "a.sh", ""},
          {"only a comment", "a.sh", "# nothing\n"},
          {"no training", "a.sh", "echo hello\nls -la\n"},
          {"a binary", "a.sh",
           std::string("\x7f"
                       "ELF\0\1\2\3",
                       8)},
          {"bytes that are no text", "a.sh", "\xff\xfe\xfd\xfc"},
          {"an open quote", "a.sh", "X=\"never closed\n"},
          {"an open single quote", "a.sh", "X='never closed\n"},
          {"an open command substitution", "a.sh", "X=$(echo $(echo $(\n"},
          {"an open brace", "a.sh", "X=${A:-${B:-${C\n"},
          {"an open array", "a.sh", "A=(a b c\n"},
          {"an open here document", "a.sh", "cat <<EOF\nnever closed\n"},
          {"a file that sources itself", "a.sh", "source a.sh\n"},
          {"two files that source each other", "a.sh", "source ./a.sh; source a.sh; source a.sh\n"},
          {"a file that starts itself", "a.sh", "bash a.sh\nbash a.sh\n"},
          {"a missing file is sourced", "a.sh", "source missing.sh\n"},
          {"a folder is sourced", "a.sh", "source /\n"},
          {"a device is sourced", "a.sh", "source /dev/zero\n"},
          {"a function that calls itself", "a.sh", "f() { f; f; }; f\n"},
          {"two functions that call each other", "a.sh", "f() { g; }; g() { f; }; f\n"},
          {"a value that doubles", "a.sh", "f() { X=$X$X; f; }; X=aaaa; f\n"},
          {"an array that doubles", "a.sh", "f() { X=(${X[@]} ${X[@]}); f; }; X=(a b); f\n"},
          {"text that evaluates itself", "a.sh", "X='eval $X'; eval $X\n"},
          {"an endless loop", "a.sh", "while true; do X=1; done\n"},
          {"names that stand for each other", "a.sh", "f() { local -n a=b; local -n b=a; a=$b; X=${b[c]}; }; f\n"},
          {"a table that doubles", "a.sh", "declare -A T; f() { T[a]=${T[a]}${T[a]}x; f; }; f\n"},
          {"a table of many elements", "a.sh", "declare -A T; f() { T[$1]=1; f ${1}x$1; }; f a\n"},
          {"a job that submits itself", "a.sh", "J='sbatch <<< x'; f() { cat <<E | sbatch\nf\nE\n}; f\n"},
          {"a job of jobs", "a.sh", "cat > j.sh <<'E'\nbash j.sh; bash j.sh\nE\nsbatch j.sh\n"},
          {"a file that grows by itself", "a.sh",
           "echo x; cat > t <<E\n$X$X\nE\nf() { envsubst < t > u; cp u t; X=$(cat t)$(cat t)xxxxxxxx; f; }; f\n"},
          {"words of a growing YAML file", "a.sh",
           "cat > y <<E\na0: &a0 [x, x, x, x, x, x, x, x, x]\na1: &a1 [*a0, *a0, *a0, *a0, *a0, *a0, *a0]\n"
           "a2: &a2 [*a1, *a1, *a1, *a1, *a1, *a1, *a1]\na3: [*a2, *a2, *a2, *a2, *a2, *a2, *a2]\nE\n"
           "f() { X=$(yq '.a3 | .[] | .[] | .[] | .[] | .[] | .[]' y); f; }; f\n"},
          {"an endless text of filters", "a.sh", "X=$(echo a" + repeated(" | tr a b", 20000) + ")\n"},
          {"loops in loops", "a.sh", repeated("for i in 1 2 3 4 5 6 7 8 9; do ", 9) + "X=1" + repeated("; done", 9)}};
}

std::vector<Hostile> hostile_sizes() {
  const std::string flags = " --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 8 --bf16";
  return {{"deep brackets", "a.sh", "X=" + repeated("$(", 20000)},
          {"deep braces", "a.sh", "X=" + repeated("${A:-", 20000)},
          {"deep blocks", "a.sh", repeated("{ ", 20000)},
          {"deep conditions", "a.sh", repeated("if true; then ", 20000)},
          {"deep arithmetic", "a.sh", "X=$((" + repeated("(", 20000) + "))\n"},
          {"many minus signs", "a.sh", "X=$((" + repeated("-", 4000) + "1))\n"},
          {"a long line", "a.sh", "X=" + repeated("a", 3'000'000)},
          {"more than 4 MiB", "a.sh", repeated("# a comment\n", 400'000)},
          {"command substitution in a size", "a.sh", "python pretrain_gpt.py" + flags + " --kv-channels $(rm -rf /)\n"},
          {"a huge size", "a.sh", "python pretrain_gpt.py" + flags + " --kv-channels 99999999999999999999\n"},
          {"a negative degree", "a.sh", "python pretrain_gpt.py" + flags + " --tensor-model-parallel-size -8\n"},
          {"a degree of nothing", "a.sh", "python pretrain_gpt.py" + flags + " --tensor-model-parallel-size 0\n"},
          {"a huge layout", "a.sh",
           "python pretrain_gpt.py" + flags + " --pipeline-model-parallel-layout '(t*99999999)*99999999'\n"},
          {"escapes of a terminal", "a.sh", "python pretrain_gpt.py" + flags + " --\x1b[2J\x1b[31m x\n"}};
}

std::vector<Hostile> hostile_others() {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last + ", " + last + ", " + last + "]\n";
  }
  return {{"an empty document", "a.yaml", ""},
          {"a list", "a.yaml", "- 1\n- 2\n"},
          {"another framework", "a.yaml", "a: 1\n"},
          {"no arguments", "model_config.yaml", "MODEL_ARGS:\n"},
          {"arguments that are a list", "model_config.yaml", "MODEL_ARGS: [1, 2]\n"},
          {"settings of NeMo", "model_config.yaml", "MODEL_ARGS:\n  trainer.devices: 8\n"},
          {"sizes that are objects", "model_config.yaml", "MODEL_ARGS:\n  --num-layers: {a: [1]}\n"},
          {"aliases that grow", "a.yaml", bomb},
          {"deep lists", "a.yaml", repeated("[", 100'000)},
          {"deep blocks", "a.yaml", repeated("- ", 100'000)},
          {"a tab", "a.yaml", "\ta: 1\n"},
          {"an open bracket", "a.yaml", "a: [1, 2\n"},
          {"an open quote", "a.yaml", "a: \"never closed\n"},
          {"no text", "a.yaml", std::string("a: \0b\n", 6)},
          {"wrong UTF-8", "a.yaml", "a: \xff\n"},
          {"no TOML", "a.toml", "[model\n"},
          {"a key stated twice", "a.toml", "[model]\na = 1\na = 2\n"},
          {"deep arrays", "a.toml", "a = " + repeated("[", 100'000)},
          {"an open text", "a.toml", "a = \"never closed\n"},
          {"an array of tables", "a.toml", "[[model]]\na = 1\n"},
          {"another TOML", "a.toml", "[tool.poetry]\nname = \"x\"\n"},
          {"a scenario", "a.json", "{}"},
          {"a picture", "a.png", "\x89PNG"},
          {"no extension", "a", "hello"}};
}

// Every hostile file is refused with short lines, quickly, and without running anything.
void expect_refused(const Hostile& hostile) {
  SCOPED_TRACE(hostile.what);
  const TemporaryFolder folder;
  const std::string file = folder.put(hostile.name, hostile.text);
  const auto begin = std::chrono::steady_clock::now();
  const Ran ran = run_foretoken({"import", file, "--cluster", "dgx-h100-ndr"});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_THAT(ran.status, testing::AnyOf(1, 2)) << ran.out << ran.err;
  if (ran.status == 2) {
    EXPECT_EQ(lines_of(ran.err).size(), 1U) << ran.err;
  }
  EXPECT_EQ((ran.out + ran.err).find('\x1b'), std::string::npos);
  EXPECT_LT(seconds.count(), kSanitized ? 60 : 5);  // far above what is usual, for busy machines
  EXPECT_EQ(folder.names().size(), 1U);
}

TEST(Import, HostileScriptsAreRefused) {
  for (const Hostile& hostile : hostile_scripts()) expect_refused(hostile);
  for (const Hostile& hostile : hostile_sizes()) expect_refused(hostile);
}

TEST(Import, OtherHostileFilesAreRefused) {
  for (const Hostile& hostile : hostile_others()) expect_refused(hostile);
}

TEST(Import, CommandLinesThatAreWrong) {
  for (const Wrong& wrong : std::vector<Wrong>{
           {"no file", {"import"}, "FILE is required, or arguments behind --"},
           {"a missing file", {"import", "/nowhere/train.sh"}, "/nowhere/train.sh"},
           {"a folder", {"import", "/tmp"}, "/tmp"},
           {"a setting that the file does not have",
            {"import", kTrain, "--cluster", "dgx-h100-ndr", "--allow", "nosuchkey"},
            "--allow: expected a setting of the file that is refused; found \"nosuchkey\""},
           {"no value of a variable", {"import", kTrain, "--env", "NNODES"}, "--env: expected NAME=VALUE"},
           {"the file as its own output", {"import", kTrain, "--out", kTrain}, "--out"},
           {"an unknown option", {"import", kTrain, "--jsn"}, "--json"}}) {
    SCOPED_TRACE(wrong.what);
    const Ran ran = run_foretoken(wrong.arguments);
    EXPECT_EQ(ran.status, 2) << ran.out;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr(wrong.complaint));
  }
}

// FORETOKEN_LAUNCH_FILES names a folder of real launch files, of which none stands in this repository.
TEST(Import, RealFilesAreImportedOrRefusedByName) {
  const char* const folder = std::getenv("FORETOKEN_LAUNCH_FILES");
  if (folder == nullptr) GTEST_SKIP() << "FORETOKEN_LAUNCH_FILES names no folder";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (!entry.is_regular_file() || (extension != ".sh" && extension != ".yaml" && extension != ".toml")) continue;
    SCOPED_TRACE(entry.path().string());
    ++files;
    const Ran ran = run_foretoken({"import", entry.path().string(), "--cluster", "dgx-h100-ndr", "--json"});
    EXPECT_THAT(ran.status, testing::AnyOf(0, 1, 2)) << ran.err;
    if (ran.status == 2) {
      EXPECT_EQ(lines_of(ran.err).size(), 1U) << ran.err;
      continue;
    }
    const json answer = json::parse(ran.out);
    const bool reason = !answer.at("refused").empty() || !answer.at("asked").empty();
    EXPECT_TRUE(ran.status == 0 || reason) << "an answer of no names the reason";
  }
  EXPECT_GT(files, 0U);
}

}  // namespace
}  // namespace foretoken::tools
