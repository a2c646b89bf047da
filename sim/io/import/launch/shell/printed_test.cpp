// Tests command substitutions: all commands of their bodies print, and one that is not known hides the whole output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/io/import/launch/shell/script.h"
#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::shell {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The value of X after the script.
std::string value_after(const std::string& text) {
  Findings findings;
  const auto script = read_script_text(text, "run.sh", testing::TempDir(), {}, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  const Texts* const found = script ? script->variables.find("X") : nullptr;
  return found == nullptr || found->empty() ? "(unset)" : found->front();
}

struct PrintedCase {
  const char *what, *text, *value;
};

constexpr PrintedCase kPrinted[] = {
    {"every command of a list", "X=$(echo a; echo b)", "a\nb"},
    {"lines", "X=$(\necho a\necho b\n)", "a\nb"},
    {"both sides of &&", "X=$(echo a && echo b)", "a\nb"},
    {"the other side of ||", "X=$(false || echo b)", "b"},
    {"no line end after -n", "X=$(echo -n a; printf b; echo c)", "abc"},
    {"true and :", "X=$(echo a; true; :)", "a"},
    {"a branch", "N=1; X=`if [ $N == 1 ]; then echo a; fi`", "a"},
    {"no branch", "N=2; X=x$(if [ $N == 1 ]; then echo a; fi)", "x"},
    {"another branch", "N=2; X=$(if [ $N == 1 ]; then echo a; else echo b; fi)", "b"},
    {"a case", "N=b; X=$(case $N in (a) echo 1 ;; (b) echo 2 ;; esac)", "2"},
    {"patterns without a bracket before them", "M=7b; X=\"$(case $M in 7b) echo 2 ;; 13b|70b) echo 4 ;; esac)\"", "2"},
    {"a case in a case", "X=$(case a in a) case b in c) ;; b) echo 1 ;; esac ;; esac; echo 2)", "1\n2"},
    {"a case in brackets", "X=$( (case a in a) echo 1; esac); echo 2)", "1\n2"},
    {"case and esac as other words", "X=$(echo case a in; echo esac; case a in case) ;; a) echo b ;; esac)",
     "case a in\nesac\nb"},
    {"a bracket in a comment", "X=$(echo a # b )\n  # it's c )\necho d#e)", "a\nd#e"},
    {"a comment in a substitution inside", "X=\"$(echo \"$(echo a # b )\n)\")\"", "a"},
    {"a loop", "X=$(for i in 1 2; do echo -n $i; done)", "12"},
    {"a loop that counts", "X=$(i=0; while [ $i -lt 3 ]; do echo -n $i; i=$((i + 1)); done)", "012"},
    {"variables of the shell inside", "N=1; X=$(N=2; echo $N)$N", "21"},
    {"a function of lines", "f() {\n  echo a\n  echo b\n\n  true\n}\nX=$(f)", "a\nb"},
    {"a function with arguments", "f() { local n=$1; echo $n; shift; echo $1; }; X=$(f a b)", "a\nb"},
    {"a function that returns", "f() { echo a; return 0; echo b; }; X=$(f)", "a"},
    {"a function that calls another one", "g() { echo b; }; f() { echo a; g; }; X=$(f)", "a\nb"},
    {"a substitution inside", "f() { echo $(echo a; echo b) c; }; X=$(f)", "a b c"},
    {"back quotes inside back quotes", "X=`echo a\\`echo b\\``", "ab"},
    {"a pipeline of several commands", "X=$({ echo a; echo b; } | wc -l)", "2"},
    {"a function that reads", "f() { tr a b; }; X=$(echo a | f)", "b"},
    {"what goes to the errors does not count", "X=x$(echo a >&2; { echo b; } >&2; echo c 1>&2)", "x"},
    {"what goes to a file does not count", "X=$(echo a > b.txt; echo c)", "c"},
    {"errors that join an output without any", "f() { echo a; }; X=$(f 2>&1; { echo b; } 2>&1)", "a\nb"},
    {"errors that go away", "f() { echo a; echo b >&2; }; X=$(f 2>/dev/null; { f 2>&1; } >&2; echo c)", "a\nc"},
    {"an output that goes to the errors, which go away", "X=$(echo a 1>&2 2>/dev/null; echo b)", "b"},
    {"an output to itself", "X=$(echo a > /dev/stdout; echo b >&1)", "a\nb"},
    {"an output to the errors by name", "X=$(echo a > /dev/stderr; echo b &> c)", ""},
    {"a group that is redirected before a pipe", "X=$({ echo a; echo b; } 2>/dev/null | wc -l)", "2"},
    {"a function that is redirected as a whole", "f() { echo a; } >&2; X=$(f; echo b)", "b"},
    {"errors of the whole shell", "X=$(exec 2>/dev/null; echo a)", "a"},
    {"options, and a trap of a signal from outside",
     "X=$(set -u; shopt -s nullglob; trap 'echo b' INT TERM; trap - EXIT; echo a)", "a"},
    {"set -e without a failure", "X=$(set -e; if false; then :; fi; false || true; false && true; ! true; echo a)",
     "a"},
    {"texts of $* between the first characters of IFS", "X=$(set -- a b; IFS=,:; echo \"$*\"; Y=$*; echo \"$Y\")",
     "a,b\na,b"},
    {"texts of $* without any between", "X=$(set -- a b; IFS=; echo \"$*\")", "ab"},
    {"an input that a substitution reads", "X=$(echo 1 | { r=$(cat); echo a$r; })", "a1"},
    {"exit", "X=$(echo a; exit 0; echo b)", "a"},
    {"the line end of a folder", "X=$(pwd | wc -l)", "1"},
    {"the line end of dirname", "X=$(dirname a/b; dirname c/d/; dirname e)", "a\nc\n."},
    {"the line end of basename", "X=$(basename a/b; basename -- c/d/)", "b\nd"},
    {"the line end of readlink", "X=$(readlink -f a; echo b)", "a\nb"},
    {"the line end of realpath", "X=$(realpath a; echo b)", "a\nb"},
    {"the line end of which", "X=$(which python; command -v torchrun; echo b)", "python\ntorchrun\nb"},
    {"the line end of expr", "X=$(expr 1 + 1; expr 2 + 2)", "2\n4"},
    {"the line end of getopt", "X=$(getopt -o a: -- -a 1; echo c)", " -a '1' --\nc"},
    {"the line ends of seq", "X=$(seq 2; echo c)", "1\n2\nc"},
    {"a text that is evaluated", "X=$(eval 'echo a; echo b')", "a\nb"}};

TEST(Substitution, PrintsWhatItsCommandsPrint) {
  for (const PrintedCase& one : kPrinted) {
    SCOPED_TRACE(one.what);
    EXPECT_EQ(value_after(one.text), one.value);
  }
}

TEST(Substitution, IsUnknownWithOnePartThatIs) {
  for (const char* text :
       {"X=$(echo a; date)", "X=$(date; echo a)", "X=$(if [ -f b ]; then echo a; fi; echo c)",
        "f() { echo a; g; }; X=$(f)", "X=$(while read l; do echo $l; done)", "X=$(cd data; pwd; ls)",
        "X=$(readlink -n a; echo b)", "X=$(dirname a b)", "X=$(source nowhere.sh; echo a)",
        // Redirections that are not followed.
        "f() { echo a; echo b >&2; }; X=$(f 2>&1)", "X=$( { echo 5 >&2; } 2>&1 )", "X=$(echo a > >(cat))",
        "X=$(exec >/dev/null; echo 3)", "X=$(exec 2>&1; echo 3)", "X=$(exec 3>&1; echo 3 >&3)", "X=$(echo a > $LOG)",
        "X=$(cat < <(echo a))", "X=$(echo a | { cat; } < b)", "X=$(echo a | { cat <&3; })",
        // Lists of what the shell has, and what it does at its end.
        "X=$(declare -p A)", "A=1; X=$(export -p; echo a)", "X=$(export)", "X=$(declare -f f)", "X=$(set)",
        "X=$(set -o)", "X=$(trap)", "X=$(trap -p)", "X=$(shopt)", "X=$(shopt nullglob)",
        "X=$(trap 'echo bye' EXIT; echo a)", "X=$(mkdir -pv a)", "X=$(set -e; false; echo 3)",
        "X=$(set -eo pipefail; [ a == b ]; echo 3)", "X=$(set -o errexit; true && false; echo 3)",
        // An input that was read already.
        "X=$(echo 1 | { r=$(cat); cat; })", "X=$(echo 1 | { read r; cat; })", "X=$(echo 1 | { cat; cat; })",
        "X=$(python a.py)", "f() { [ -f a ] && return; echo a; }; X=$(f)"}) {
    const std::string value = value_after(text);
    EXPECT_TRUE(is_unknown(value)) << text << ": " << value;
    EXPECT_THAT(why_unknown(value), HasSubstr("the output of `")) << text;
  }
  EXPECT_THAT(why_unknown(value_after("A=b; X=${$A}")), HasSubstr("a bad substitution"));
}

TEST(Substitution, IsTheTextOfAFileThatIsReadAlone) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "shown";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "sizes.txt") << "--a 1\n\n";
  const auto value = [&](const std::string& text) {
    Findings findings;
    const auto script = read_script_text(text, "run.sh", folder.string(), {}, findings);
    const Texts* const found = script ? script->variables.find("X") : nullptr;
    return found == nullptr || found->empty() ? "(unset)" : found->front();
  };
  EXPECT_EQ(value("X=$(< sizes.txt)"), "--a 1");
  EXPECT_EQ(value("F=sizes.txt; X=\"$(<\"$F\"\n)\""), "--a 1");
  EXPECT_EQ(value("X=`< sizes.txt`"), "--a 1");
  EXPECT_EQ(value("X=$(< sizes.txt; echo a)"), "a") << "a redirection beside other commands prints nothing";
  EXPECT_TRUE(is_unknown(value("X=$(< other.txt)")));
  EXPECT_TRUE(is_unknown(value("X=$(< $FILE)")));
}

TEST(Substitution, StartsNothingAndListsWhatItTakesAsEmpty) {
  Findings findings;
  const auto script =
      read_script_text("X=$(python a.py)\npython b.py $(echo --x 1 $MORE)", "run.sh", ".", {}, findings);
  ASSERT_TRUE(script);
  ASSERT_EQ(script->commands.size(), 1U);
  EXPECT_THAT(script->commands[0].words, ElementsAre("python", "b.py", "--x", "1"));
  EXPECT_THAT(script->commands[0].empties, ElementsAre("MORE, which the script does not set"));
}

TEST(Substitution, EndsSoonerOrLater) {
  for (const char* text : {"f() { echo $(f)$(f); }; X=$(f)", "f() { echo a; X=$(f; f); f; }; X=$(f)",
                           "X=a; for i in $(seq 999); do X=$(echo $X$X; echo $X$X); done"}) {
    Findings findings;
    EXPECT_FALSE(read_script_text(text, "run.sh", ".", {}, findings).has_value()) << text;
  }
}

constexpr const char* kCommand =
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
    "--seq-length 4096 --micro-batch-size 1 --global-batch-size 64 --bf16 --vocab-size 32000 ";

TEST(Substitution, FlagsThatItMayHoldAreAskedFor) {
  const auto asks = [](const std::string& words) {
    const launch::Report report = launch::read_test_launch(kCommand + words, "run.sh");
    return report.asks("parallelism.tensor") && report.asks("recompute.granularity");
  };
  EXPECT_TRUE(asks("$(f)"));
  for (const char* one :
       {"swiglu", "attention-softmax-in-fp32", "reset-position-ids", "fp8-param-gather", "log-throughput", "manual-gc",
        "apply-layernorm-1p", "calculate-per-token-loss", "auto-detect-ckpt-format", "async-save"})
    EXPECT_TRUE(asks(std::string("--") + one + " $(f)")) << one << " is a switch, which has no value";
  for (const char* one : {"save", "lr", "train-iters", "wandb-exp-name", "master-addr", "log-interval", "num-workers",
                          "optimizer", "kv-channels"})
    EXPECT_FALSE(asks(std::string("--") + one + " $(f)")) << one;
  EXPECT_FALSE(asks("--data-path 1 $(cat blend.txt)"));
  EXPECT_FALSE(asks("$(echo --swiglu)"));
}

TEST(WrittenConfig, ThatIsNoJsonIsRefusedUntilTheStageIsStated) {
  const std::string text = std::string("cat <<END > ds.json\n{\"zero_optimization\": {\"stage\": 1}}\n}\nEND\n") +
                           kCommand + "--deepspeed --zero-stage 1 --deepspeed_config ds.json\n";
  EXPECT_THAT(launch::refused_lines(launch::read_test_launch(text, "run.sh")),
              HasSubstr("--deepspeed-config: the DeepSpeed configuration that the script writes is no JSON: "
                        "unexpected \"}\""));
  Findings findings;
  launch::Launch stated;
  stated.sets = {"optimizer.zero_stage=1"};
  EXPECT_EQ(launch::refused_lines(launch::read_launch_text(text, "run.sh", stated, findings)), "");
}

}  // namespace
}  // namespace foretoken::io::shell
