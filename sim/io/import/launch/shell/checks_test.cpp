// Tests checks that end a script for want of a variable, and options of the shell.
#include <gtest/gtest.h>

#include <string>

#include "sim/io/import/launch/shell/script.h"
#include "sim/io/json/test_text.h"

namespace foretoken::io::shell {
namespace {

std::size_t commands_of(const std::string& text) {
  Findings findings;
  const auto script = read_script_text(text + "\n", "run.sh", ".", {}, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  return script ? script->commands.size() : 0;
}

std::string value_behind(const std::string& text) {
  Findings findings;
  const auto script = read_script_text(text + "\n", "run.sh", ".", {}, findings);
  const Texts* const value = script ? script->variables.find("X") : nullptr;
  return value == nullptr || value->empty() ? "" : is_unknown(value->front()) ? "?" : value->front();
}

TEST(Checks, ADefaultThatIsEmptyEndsNoScript) {
  for (const char* begin : {"", "set -euo pipefail\n"})
    for (const char* check :
         {"[ -z \"${DATA:-}\" ] && exit 1", "if [ -z \"${DATA:-}\" ]; then exit 1; fi",
          "if [ \"${DATA:-}\" = \"\" ]; then exit 1; fi", "if [ \"x${DATA-}\" = x ]; then exit 1; fi",
          "if [ \"${DATA:-}${MORE:-}\" = \"\" ]; then exit 1; fi", "if [[ ! -v DATA ]]; then exit 1; fi",
          "if [[ -v DATA ]]; then :; else exit 1; fi", "[ -z \"${1:-}\" ] && exit 1",
          "[[ -z ${1:-} ]] && { echo usage; exit 1; }", "if [ -n \"${DATA:-}\" ]; then :; else exit 1; fi",
          "[ \"${DATA:-}\" ] || exit 1"})
      EXPECT_EQ(commands_of(std::string(begin) + check + "\npython a.py --x 1"), 1U) << begin << check;
}

TEST(Checks, AVariableThatADefaultEmptiesEndsNoScript) {
  for (const char* begin :
       {"D=${DATA:-}\n", "D=\"${DATA:-}\"\nE=$D\n", "set -u\nexport D=${1:-}\n", "D=${DATA-}; F=$D; D=$F\n"})
    for (const char* check :
         {"[ -z \"$D\" ] && exit 1", "if [ -z \"${D}\" ]; then exit 1; fi", "[[ -n $D ]] || exit 1"})
      EXPECT_EQ(commands_of(std::string(begin) + check + "\npython a.py --x 1"), 1U) << begin << check;
  EXPECT_EQ(value_behind("D=${DATA:-}; X=2; [ \"$D\" = a ] && X=4"), "2");
  EXPECT_EQ(value_behind("D=${DATA:-}; X=2; [ \"${D:-24}\" = 24 ] && X=4"), "4");
}

TEST(Checks, APlaceToFillInEndsNoScript) {
  for (const char* place : {"D=\"\"\n", "D=''\n", "D=\n", "export D=\"\"\n"}) {
    for (const char* check : {"if [ -z \"$D\" ]; then echo state D; exit 1; fi", "[[ -z ${D} ]] && exit 1",
                              "if [ \"$D\" = \"\" ]; then exit 1; fi", "[ -n \"$D\" ] || { echo no; exit 2; }",
                              "if [ -n \"$D\" ]; then :; else exit 1; fi", "case \"$D\" in a|b) ;; *) exit 2;; esac"})
      EXPECT_EQ(commands_of(std::string(place) + check + "\npython a.py --x 1"), 1U) << place << check;
    EXPECT_EQ(value_behind(std::string(place) + "X=2; if [ -z \"$D\" ]; then X=4; fi"), "4") << "no check";
  }
  EXPECT_EQ(commands_of("D=$(date); D=$(echo -n); [ -z \"$D\" ] && exit 1\npython a.py"), 0U) << "a known output";
  EXPECT_EQ(commands_of("D=''; if [ -z \"$D\" ]; then python b.py; exit; fi\npython a.py"), 1U) << "a run of its own";
  Findings findings;
  const auto script =
      read_script_text("D=''; E=''; if [[ -z $D || -z $E ]]; then exit 1; fi\n", "a.sh", ".", {}, findings);
  ASSERT_TRUE(script);
  EXPECT_EQ(script->passed_checks, (std::set<std::string>{"D", "E"}));
}

TEST(Checks, ACaseOfAnArgumentThatNobodyStatesEndsNoScript) {
  for (const char* subject : {"$1", "${1:-}", "$MODE"}) {
    const std::string begin = "MODE=${1:-}\nX=2\ncase \"" + std::string(subject) + "\" in\n";
    EXPECT_EQ(commands_of(begin + "a|b) ;;\n*) echo usage; exit 2;;\nesac\npython a.py"), 1U) << subject;
    EXPECT_EQ(commands_of(begin + "a) ;;\n\"\") exit 1;;\nesac\npython a.py"), 1U) << subject;
    EXPECT_EQ(value_behind(begin + "a) X=8;;\n*) exit 2;;\nesac"), "?") << subject << ": the run decides";
  }
  EXPECT_EQ(commands_of("set -- c\ncase $1 in a) ;; *) exit 2;; esac\npython a.py"), 0U) << "it is stated";
}

TEST(Checks, NestedCasesAreReadInTime) {
  for (const char* subject : {"${1:-}", "$EMPTY"})
    for (const char* pattern : {"a) ;;\n*", "\"\""}) {
      std::string cases = "exit 2\n";
      for (int level = 0; level < 40; ++level)
        cases = "case \"" + std::string(subject) + "\" in\n" + pattern + ")\n" + cases + "exit 2;;\nesac\n";
      EXPECT_EQ(commands_of("EMPTY=${2:-}\n" + cases + "python a.py"), 1U) << subject << pattern;
    }
}

TEST(Checks, InputOfACommandIsUnknown) {
  for (const char* read : {"mapfile -t V < <(python a.py)", "readarray -t V <<< \"$(date)\"", "read -ra V < <(date)"})
    for (const char* place : {"0", "1", "7"})
      EXPECT_EQ(value_behind(std::string(read) + "\nX=\"${V[" + place + "]}\""), "?") << read << place;
  EXPECT_EQ(value_behind("mapfile -t < file\nX=${MAPFILE[2]}"), "?");
  EXPECT_EQ(value_behind("V=(a b)\nX=x${V[2]}"), "x") << "behind the end of a known array";
}

TEST(Checks, ProgramsAroundACommandArePassedOver) {
  for (const char* wrapper :
       {"uv run", "uv run --no-sync", "uv run --with a --extra b", "uv run --frozen --", "poetry run", "nohup uv run",
        "conda run -n e", "conda run --no-capture-output -n e", "pixi run", "pixi run -e gpu", "micromamba run -n e"}) {
    Findings findings;
    const auto script = read_script_text(std::string(wrapper) + " python a.py --x 1\n", "a.sh", ".", {}, findings);
    ASSERT_TRUE(script);
    ASSERT_EQ(script->commands.size(), 1U) << wrapper;
    EXPECT_EQ(script->commands[0].words, (Texts{"python", "a.py", "--x", "1"})) << wrapper;
  }
  Findings findings;
  const auto module = read_script_text("uv run --active -m a.b --x 1\nconda activate e\n", "a.sh", ".", {}, findings);
  ASSERT_TRUE(module);
  ASSERT_EQ(module->commands.size(), 1U);
  EXPECT_EQ(module->commands[0].words, (Texts{"python", "-m", "a.b", "--x", "1"}));
}

TEST(Checks, CountsOfHostsAndGpusAreSlurms) {
  const std::string job = "#SBATCH -N 2\n#SBATCH --gres=gpu:4\n";
  const std::string hosts = "X=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | wc -l)",
                    gpus = "X=$(nvidia-smi -L | wc -l)";
  EXPECT_EQ(value_behind(job + hosts), "2");
  EXPECT_EQ(value_behind(job + gpus), "4");
  EXPECT_EQ(value_behind(job + "X=`nvidia-smi --list-gpus | wc -l`"), "4");
  EXPECT_EQ(value_behind(hosts), "?") << "no option states the nodes";
  for (const char* list : {"", "$SLURM_JOB_NODELIST", "${SLURM_JOB_NODELIST}", "\"${SLURM_NODELIST}\""})
    EXPECT_EQ(value_behind(job + "X=$(scontrol show hostnames " + list + " | wc -l)"), "2") << list;
  for (const char* list : {"\"node[01-04]\"", "$SLURM_JOB_NODELIST_HET_GROUP_1", "$NODES"})
    EXPECT_EQ(value_behind(job + "X=$(scontrol show hostnames " + list + " | wc -l)"), "?") << list;
  EXPECT_EQ(value_behind(gpus), "?");
  EXPECT_EQ(value_behind(job + "X=$(nvidia-smi -L | grep A100 | wc -l)"), "?");
}

TEST(Checks, AnArgumentThatNobodyStatesIsEmpty) {
  for (const char* check : {"[ -z \"$X\" ]", "[ \"$X\" == \"\" ]", "[[ $X == \"\" ]]", "[ \"x$X\" = x ]", "[[ ! $X ]]",
                            "test -z \"$2\"", "[ -z $X ]"})
    EXPECT_EQ(value_behind(std::string("X=$2\nif ") + check + "; then X=3; fi"), "3") << check;
  EXPECT_EQ(value_behind("X=3\nif [ -n \"$1\" ]; then X=$1; fi"), "3");
  EXPECT_EQ(value_behind("X=3; [ \"$1\" != \"\" ] && X=$1"), "3");
  EXPECT_EQ(value_behind("set -- 8\nX=3\nif [ -n \"$1\" ]; then X=$1; fi"), "8");
  EXPECT_EQ(value_behind("X=2; if [ \"$1\" = big ]; then X=4; fi"), "?") << "another text is open";
  EXPECT_EQ(value_behind("X=2; if [ \"$1$(date)\" = \"\" ]; then X=4; fi"), "?");
  EXPECT_EQ(commands_of("if [ \"$1\" = \"\" ]; then echo usage; exit 1; fi\npython a.py --x $1"), 1U);
}

TEST(Checks, AnOptionThatNobodyStatesEndsNoScript) {
  const std::string options =
      "D=''\nX=2\nwhile getopts d:x: o; do case $o in d) D=$OPTARG ;; x) X=$OPTARG ;; esac; done\n";
  EXPECT_EQ(commands_of(options + "if [ -z \"$D\" ]; then echo usage; exit 1; fi\npython a.py --x $X"), 1U);
  EXPECT_EQ(value_behind(options), "2");
}

TEST(Checks, GetoptSortsTheArguments) {
  const std::string loop =
      "\neval set -- \"$O\"\nX=2; D=\nwhile true; do case $1 in --xs|-x) X=$2; shift 2;; -d) D=$2; shift 2;; -v) "
      "shift;; --) "
      "shift; break;; esac; done\nX=$X,$D,$*";
  const std::string sorts = "O=$(getopt -o x:d:v --long xs:,rest:: -n run -- \"$@\") || exit 1" + loop;
  EXPECT_EQ(value_behind(sorts), "2,,");
  EXPECT_EQ(value_behind("set -- --xs=8 -vd 'a b' c\n" + sorts), "8,a b,c");
  EXPECT_EQ(value_behind("set -- --xs 8 -- -v\n" + sorts), "8,,-v");
  EXPECT_EQ(commands_of("O=$( getopt -o d: -- \"$@\" )" + loop + "\nif [ -z \"$D\" ]; then exit 1; fi\npython a.py"),
            1U);
  EXPECT_EQ(commands_of(sorts + "\nif [ -z \"$D\" ]; then exit 1; fi\npython a.py --x $X"), 1U) << "nobody states -d";
  EXPECT_EQ(value_behind("set -- --other\n" + sorts), "?") << "getopt ends with an error";
  const auto printed = [](const std::string& call) { return value_behind("set --\nX=$( getopt " + call + ")"); };
  EXPECT_EQ(printed("-o n: -- a -n 24"), " -n '24' -- 'a'");
  EXPECT_EQ(printed("-o +n: -- a -n 24"), " -- 'a' '-n' '24'");
  EXPECT_EQ(printed("-o -n: -- a -n 24"), " 'a' -n '24' --");
  EXPECT_EQ(printed("-o n:: --long m::,all -- -n -n8 --m --m=8 --all"), " -n '' -n '8' --m '' --m '8' --all --");
  EXPECT_EQ(printed("-o n: -- -n"), "?") << "no value";
  EXPECT_EQ(printed("--long all -- --all=8"), "?") << "a value too many";
  EXPECT_EQ(printed("-Q -o n: -- -n 8"), "");
  EXPECT_EQ(printed("-o n: -- \"-n it's\""), " -n ' it'\\''s' --");
}

TEST(Checks, GetoptSortsManyOptions) {
  std::string words;
  for (int i = 0; i < 50'000; ++i) words += "," + std::to_string(i);
  const std::string letters(80'000, 'w'), stated(40'000, 'v');
  EXPECT_EQ(
      value_behind("set --\nO=$(getopt -o " + letters + "v --long " + words + " -- -" + stated + " --49999)\nX=${#O}"),
      std::to_string(3 * stated.size() + 8 + 3));
}

TEST(Checks, AnEmptyDefaultDecidesUnderSetU) {
  EXPECT_EQ(value_behind("set -u; if [ -z \"${U:-}\" ]; then X=8; else X=4; fi"), "8");
  EXPECT_EQ(value_behind("set -u; X=2; [ \"${U:-}\" = a ] && X=4"), "2");
  EXPECT_EQ(value_behind("X=2; case \"${U:-}\" in a) X=4 ;; esac"), "2");
  EXPECT_EQ(value_behind("X=$(( ${U:-} + 1 ))"), "1");
  EXPECT_EQ(value_behind("X=2; [ \", which the script takes as empty$(date)\" = a ] && X=4"), "?") << "a text alone";
}

TEST(Checks, OptionsOfTheShellEndBeforeItsArguments) {
  const std::string asks = "\nif [ \"$U\" = a ]; then X=4; else X=2; fi";
  EXPECT_EQ(value_behind("set foo -u" + asks), "2");
  EXPECT_EQ(value_behind("set -- -u" + asks), "2");
  EXPECT_EQ(value_behind("set -e foo -u" + asks + "\nX=$X$1$2"), "2foo-u");
  EXPECT_EQ(value_behind("set -o pipefail -u" + asks), "?");
  EXPECT_EQ(value_behind("#!/bin/bash -eu" + asks), "?");
  EXPECT_EQ(value_behind("#!/bin/bash -e" + asks), "2");
  EXPECT_EQ(value_behind("#!/usr/bin/env bash" + asks), "2");
}

// bash: [$A is a command that is not there, and [ complains of a missing ].
TEST(Checks, ABracketWithoutABlankTakesNoBranch) {
  for (const char* check : {"[$A = 1 ]", "[$A = 1]", "[ $A = 1]", "[$B = 1 ]", "[[$A = 1 ]]", "[1 = 1 ]"}) {
    EXPECT_EQ(value_behind(std::string("A=1\nX=0\nif ") + check + "; then X=1; fi"), "0") << check;
    EXPECT_EQ(value_behind(std::string("A=1\nX=0\nif ! ") + check + "; then X=1; fi"), "1") << check;
  }
  EXPECT_EQ(value_behind("A=1\nX=0\nif [ $A = 1 ]; then X=1; fi"), "1");
  EXPECT_EQ(value_behind("A=1\nX=0\nif [[ $A = 1 ]]; then X=1; fi"), "1");
}

}  // namespace
}  // namespace foretoken::io::shell
