// Tests the reading of scripts: values, conditions, commands, and the things that stay unknown.
#include "sim/io/import/launch/shell/script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/io/json/test_text.h"

namespace foretoken::io::shell {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Script read(const std::string& text, const Given& given = {}) {
  Findings findings;
  const auto script = read_script_text(text, "run.sh", testing::TempDir(), given, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  return script.value_or(Script{});
}

std::string value(const Script& script, const std::string& name) {
  const Texts* const found = script.variables.find(name);
  return found == nullptr || found->empty() ? "(unset)" : found->front();
}

TEST(Script, TheLauncherOfAShellStartsItsPython) {
  const auto words = [](const std::string& text) { return read(text).commands.at(0).words; };
  EXPECT_THAT(words("deepspeed --num_nodes 4 --no_python bash -c \"cd /a && python a.py --x 1\""),
              ElementsAre("deepspeed", "--num_nodes", "4", "--no_python", "python", "a.py", "--x", "1"));
  EXPECT_THAT(words("srun torchrun --nnodes 2 --no-python bash -lc 'python3 a.py'"),
              ElementsAre("torchrun", "--nnodes", "2", "--no-python", "python3", "a.py"));
  EXPECT_THAT(words("deepspeed --num_nodes 4 --no_python bash -c 'true'\npython a.py"), ElementsAre("python", "a.py"));
}

struct ValueCase {
  const char *what, *text, *value;
};

constexpr ValueCase kValues[] = {
    {"a plain value", "X=8", "8"},
    {"single quotes keep dollars", "A=1; X='$A b'", "$A b"},
    {"double quotes replace variables", "A=1; X=\"$A b\"", "1 b"},
    {"a default for an unset variable", "X=${A:-7}", "7"},
    {"a default inside quotes", "X=${A:-\"7\"}", "7"},
    {"no default for a set one", "A=3; X=${A:-7}", "3"},
    {"a colon takes an empty value as unset", "A=; X=${A:-7}", "7"},
    {"without a colon an empty value counts", "A=; X=${A-7}", ""},
    {"assignment of a default", ": ${X:=9}", "9"},
    {"another value for a set variable", "A=1; X=${A:+y}", "y"},
    {"a printed format", "X=$(printf '%s-%d%%' a 3)", "a-3%"},
    {"a format for each word", "A=(a b); X=$(printf $\"- %s\\n\" \"${A[@]}\")", "- a\n- b"},
    {"numbers in a row", "X=$(seq 2 3 9); set -- $X; X=$3", "8"},
    {"sums and products", "A=3; X=$((2 * A + 4 % 3))", "7"},
    {"powers, brackets and comparisons", "X=$(((2 + 1) ** 2 > 8 ? 5 : 6))", "5"},
    {"the length of a text", "A=abc; X=${#A}", "3"},
    {"the elements of an array", "A=(a b c); X=${#A[@]}", "3"},
    {"an element of an array", "A=(a b c); X=${A[1]}", "b"},
    {"some elements of an array", "A=(a b c d); X=\"${A[@]:1:2}\"", "b c"},
    {"the first element", "A=(a b c); X=${A[*]:0:1}", "a"},
    {"the last element", "A=(a b c); X=${A[@]: -1}", "c"},
    {"no word for an array without elements", "A=(); B=(x \"${A[@]}\" y); X=${#B[@]}", "2"},
    {"no word for arguments that are not there", "set --; B=(x \"$@\" \"${U[@]}\" y); X=${#B[@]}", "2"},
    {"no word where an array without elements is changed", "A=(); B=(\"${A[@]:1}\" \"${A[@]/a/b}\"); X=${#B[@]}", "0"},
    {"no word for another value of an array without elements", "A=(); B=(\"${A[@]+y}\"); X=${#B[@]}", "0"},
    {"a default for an array without elements", "A=(); B=(\"${A[@]:-}\"); X=${#B[@]}", "1"},
    {"an empty word for a quoted empty variable", "A=; B=(x \"$A\" \"$U\" \"\" ''); X=${#B[@]}", "5"},
    {"an empty word for the elements as one word", "A=(); B=(\"${A[*]}\" \"$*\"); X=${#B[@]}", "2"},
    {"the elements as one word", "A=(a b); B=(\"${A[*]}\"); X=\"${#B[@]} ${B[0]}\"", "1 a b"},
    {"an empty word beside a list", "A=(); B=(\"\"\"${A[@]}\" \"${A[@]}\"''); X=${#B[@]}", "2"},
    {"an empty element is a word", "A=(\"\" b); B=(\"${A[@]}\"); X=${#B[@]}", "2"},
    {"texts around an empty list join", "A=(); B=(pre\"${A[@]}\"post); X=\"${#B[@]} ${B[0]}\"", "1 prepost"},
    {"no element behind the end", "A=(a b); X=x${A[@]:5}", "x"},
    {"appending to an array, with a comment", "A=(a # first\n b)\nA+=(c); X=${A[2]}", "c"},
    {"appending to a text", "X=a; X+=b", "ab"},
    {"an element by name", "declare -A T=([a-1]='x y' [\"b\"]=z); K=a-1; X=${T[$K]}", "x y"},
    {"an element by a quoted name", "declare -A T=([a:b]=1); A=a; X=${T[\"${A}:b\"]:-none}", "1"},
    {"no element of that name", "declare -A T=([a]=1); X=${T[b]:-none}", "none"},
    {"an element that is set alone", "declare -A T; T[a]=1; T[b]=2; T[a]+=3; X=\"${T[a]} ${T[b]} ${#T[@]}\"", "13 2 2"},
    {"the names of the elements", "declare -A T=([b]=1 [a]=2); X=\"${!T[@]}\"", "a b"},
    {"the places of an array", "A=(x y z); X=\"${!A[@]}\"", "0 1 2"},
    {"another name for a table",
     "declare -A T=([a]='1 2'); f() { local -n t=$1; local c=(${t[$2]}); X=${c[1]}; }; f T a", "2"},
    {"another name may be assigned", "A=1; f() { local -n a=$1; a=5; }; f A; X=$A", "5"},
    {"a table of a function ends with it", "f() { local -A T=([a]=1); }; f; X=${T[a]:-gone}", "gone"},
    {"an element that is there", "declare -A T=([a]=1); [[ -v T[a] ]] && X=yes || X=no", "yes"},
    {"an element that is not there", "declare -A T=([a]=1); if [[ -v T[b] ]]; then X=yes; else X=no; fi", "no"},
    {"a text that holds another one", "A='--x --layout 3'; [[ \"$A\" =~ \"--layout\" ]] && X=yes || X=no", "yes"},
    {"a text that does not", "A='--x 3'; if [[ ! $A =~ layout ]]; then X=yes; else X=no; fi", "yes"},
    {"a text at the beginning", "A=abc; [[ $A =~ ^b ]] && X=yes || X=no", "no"},
    {"a text at the end", "A=a.c; [[ $A =~ c$ ]] && X=yes || X=no", "yes"},
    {"replaced characters", "X=$(echo a,b | tr ',' ' ')", "a b"},
    {"squeezed blanks", "X=$(echo 'a   b  c' | sed 's/  \\+/ /g')", "a b c"},
    {"squeezed signs", "X=$(echo a--b-c | sed -E 's/-+/_/g')", "a_b_c"},
    {"counted lines", "X=$(echo 0,1,2,3 | tr ',' '\\n' | wc -l)", "4"},
    {"counted fields", "X=$(echo 0,1,2 | awk -F',' '{print NF}')", "3"},
    {"a field of a text", "X=$(echo gpu:8 | cut -d: -f2)", "8"},
    {"a calculated text", "A=4; X=$(echo \"$A * 2 + 1\" | bc)", "9"},
    {"an expression of expr", "A=4; X=$(expr $A \\* 8)", "32"},
    {"the text of a here document", "A=b; X=$(cat <<END\na $A\n\"c\"\nEND\n)", "a b\n\"c\""},
    {"a here document without variables", "X=$(cat <<'END' | tr a b\na $A\nEND\n)", "b $A"},
    {"a here document that is read", "read -r -d '' X <<'END'\n--a 1\nEND", "--a 1\n"},
    {"options of the script",
     "set -- -n 8 -vt4 rest; while getopts n:t:v o; do case $o in n) X=$X$OPTARG ;; t) X=$X,$OPTARG ;; v) X=$X,v ;; "
     "esac; "
     "done; shift $((OPTIND - 1)); X=$X,$1",
     "8,v,4,rest"},
    {"an option that is unknown", "set -- -q; getopts n: X", "?"},
    {"an option without its value", "set -- -n; getopts n: X", "?"},
    {"no options", "set -- a; X=1; while getopts n: o; do X=2; done", "1"},
    {"the output of a function", "A=4; gpus() { echo $((A * 2)); }; X=$(gpus)", "8"},
    {"a name behind a name", "B=5; A=B; X=${!A}", "5"},
    {"a cut ending", "A=config.sh; X=${A%.sh}", "config"},
    {"the longest cut beginning", "A=a/b/c; X=${A##*/}", "c"},
    {"a replaced part", "A=1-2-3; X=${A//-/x}", "1x2x3"},
    {"a part of a text", "A=abcdef; X=${A:1:3}", "bcd"},
    {"capital letters", "A=ab; X=${A^^}", "AB"},
    {"a denial of nothing", "X=1; eval '!'", "1"},
    {"argument nought is the script", "X=${00##*/}", "run.sh"},
    {"a line that goes on", "X=a\\\nb", "ab"},
    {"the file's name", "X=$(basename $0)", "run.sh"},
    {"a condition with numbers", "N=9; if [ $N -gt 8 ]; then X=big; else X=small; fi", "big"},
    {"an empty variable", "if [[ -z $A && 1 -eq 1 ]]; then X=none; fi", "none"},
    {"a pattern", "A=llama-8b; if [[ $A == llama* ]]; then X=yes; fi", "yes"},
    {"elif", "A=b; if [ $A = a ]; then X=1; elif [ $A = b ]; then X=2; else X=3; fi", "2"},
    {"and, or", "[ 1 = 2 ] && X=a || X=b", "b"},
    {"a case", "A=8b; case $A in 70b) X=1 ;; 8b|7b) X=2 ;; *) X=3 ;; esac", "2"},
    {"a loop over words", "for i in 1 2 3; do X=$X$i; done", "123"},
    {"a function with arguments", "f() { X=$2; }; f a b", "b"},
    {"a variable for one command only", "X=1; X=2 true", "1"},
    {"export and local", "export X=4", "4"},
    {"brackets are a shell of their own", "X=1; (X=5)", "1"},
    {"exit in brackets ends the brackets only", "(exit 0); X=1", "1"},
    {"parts of a pipeline are shells of their own", "X=1; echo a | { X=2; } | X=3", "1"},
    {"a background group is a shell of its own", "X=1; { X=2; } & true", "1"},
    {"a local variable ends with its function", "X=1; f() { local X=8; }; f", "1"},
    {"arguments set by the script", "set -- 4 2; X=$#$2", "22"},
    {"a variable that cannot change", "readonly X=4; X=8", "4"},
    {"arithmetic assigns", "X=4; ((X+=3))", "7"},
    {"arithmetic counts", "X=4; ((X++)); ((++X))", "6"},
    {"arithmetic sets", "((X=4)) && true", "4"},
    {"arithmetic in a value assigns", "A=1; B=$((A = 6)); X=$A$B", "66"},
    {"let", "X=4; let X*=2", "8"},
    {"what is not evaluated assigns nothing", "X=1; ((1 || (X = 2)))", "1"},
    {"octal and hexadecimal", "X=$((010))-$((0x10))", "8-16"},
    {"break", "for x in 4 2 1; do X=$x; break; done", "4"},
    {"break out of two loops", "for x in 4 2; do for y in 1 2; do X=$x$y; break 2; done; done", "41"},
    {"continue", "for x in 4 2 1; do [ $x = 1 ] && continue; X=$x; done", "2"},
    {"return", "f() { if [ \"$1\" = 7b ]; then X=4; return; fi; X=8; }; f 7b", "4"},
    {"the status of return", "f() { return 1; }; X=1; f || X=2", "2"},
    {"a branch that exits is not taken", "X=4; if [ -f a ]; then X=1; exit 1; fi", "4"},
    {"a quoted pattern is literal", "X=no; [[ abc == \"a*\" ]] && X=yes", "no"},
    {"a set of characters", "X=no; [[ b7 == [a-c][!0-6] ]] && X=yes", "yes"},
    {"a quoted pattern of case", "case abc in \"a*\") X=1 ;; a*) X=2 ;; esac", "2"},
    {"braces that count", "for i in {1..3}; do X=$X$i; done", "123"},
    {"braces that choose", "A=(--{a,b}-x c); X=${A[1]}${#A[@]}", "--b-x3"},
    {"nodes of Slurm", "#SBATCH --nodes=4 --ntasks-per-node=2\nX=$((16 * SLURM_NNODES))-$SLURM_NTASKS", "64-8"},
    {"GPUs of Slurm", "#SBATCH --gres=gpu:a100:8\nX=$SLURM_GPUS_ON_NODE", "8"},
    {"what Slurm repeats", "#SBATCH --gpus-per-node=a100:4 -c 72\nX=$SLURM_GPUS_PER_NODE-$SLURM_CPUS_PER_TASK",
     "a100:4-72"},
    {"a later round of a loop", "X=2; i=0; while [ $i -lt 3 ]; do if [ $i = 2 ]; then X=8; fi; i=$((i + 1)); done",
     "8"},
    {"a loop over arguments",
     "set -- --x 4 --y; while [[ $# -gt 0 ]]; do case $1 in --x) X=$2; shift ;; --y) X=${X}y ;; esac; shift; done",
     "4y"},
    {"a round that ends its loop", "i=0; until [ $i -ge 9 ]; do i=$((i + 1)); X=$i; [ $i = 4 ] && break; done", "4"},
    {"a check of the number of arguments", "X=4; if [[ $# -ne 1 ]]; then X=1; exit 1; fi", "4"},
    {"a check in a chain", "f() { exit 1; }; X=4; [ $# -lt 2 ] && f", "4"},
    {"a check in a group", "X=4; [ $# -lt 2 ] && { X=1; exit 1; }", "4"},
    {"a default for no arguments", "if [ $# -eq 0 ]; then X=4; else X=$1; fi", "4"},
    {"an export whose name is a variable", "K=X; V=\"4 a\"; export \"$K\"=\"$V\"", "4 a"},
    {"an export with quotes", "K=X; V=\"it's\"; export \"$K\"=\"$V\"", "it's"},
    {"a local whose name is a variable", "X=1; f() { K=X; local \"$K\"=8; }; f", "1"},
    {"a part from the beginning", "A=abcd; N=1; X=${A::2}${A:$N+1}${A: -1}", "abcdd"},
    {"an export of an assignment", "A=X=4; export $A", "4"},
    {"arguments that are assignments",
     "set -- X=12 Y=3; for A in \"$@\"; do K=$(echo $A | cut -f1 -d=); L=${#K}; export \"$K\"=\"${A:$L+1}\"; done",
     "12"},
    {"a switch that nothing sets", "X=fp16; if [[ $U -eq 1 ]]; then X=bf16; fi", "fp16"},
    {"a switch that must not be set", "X=no; if [[ $U -ne 1 ]]; then X=yes; fi", "yes"},
    {"a number in single brackets", "if [ $U -gt 2 ]; then X=4; else X=2; fi", "2"},
    {"equal to a variable that nothing sets", "if [ \"$U\" = a ]; then X=4; else X=2; fi", "2"},
    {"unequal to one", "if [[ $U != a ]]; then X=4; else X=2; fi", "4"},
    {"a variable that nothing sets has no default", "X=$U; X=${X:-3}", "3"},
    {"the text behind exit is not read", "X=1; exit 0; X=2", "1"},
    {"a check for a variable that nobody sets", "X=1; if [ -z \"$D\" ]; then echo no; exit 1; fi; X=2", "2"},
    {"such a check before &&", "X=1; [ -z \"$D\" ] && exit 1; X=2", "2"},
    {"such a check before ||", "X=1; [[ -n $D ]] || { echo no; exit 1; }; X=2", "2"},
    {"a value in the place of an unset one", "X=1; if [ -z \"$D\" ]; then X=2; fi", "2"},
    {"sizes of a variable that nobody sets agree",
     "if [ $S == 7 ]; then X=4; elif [ $S == 13 ]; then X=4; else echo no; exit 1; fi", "4"},
    {"an unset variable of a shell that goes on", "set -u; set +u; if [ \"$U\" = a ]; then X=4; else X=2; fi", "2"},
    {"a launcher that a script looks up", "X=$(command -v deepspeed); X=\"$X $(which torchrun)\"",
     "deepspeed torchrun"},
    {"text of a here document is no command", "cat <<EOF > f\nX=2\nEOF\nX=3", "3"}};

TEST(ReadScript, KnowsValues) {
  for (const ValueCase& one : kValues) {
    SCOPED_TRACE(one.what);
    EXPECT_EQ(value(read(one.text), "X"), one.value);
  }
}

TEST(ReadScript, NamesTheVariablesThatConditionsTakeAsEmpty) {
  EXPECT_THAT(read("[[ $A -eq 1 ]] && X=1; B=1; [ $B = 1 ] && X=2; [ \"$C\" = a ] || X=3").empties,
              ElementsAre("A", "C"));
  EXPECT_THAT(read("if [ $S = 7 ]; then X=4; else exit 1; fi").empties, ElementsAre()) << "the run states it";
}

struct UnknownCase {
  const char *what, *text, *why;
};

constexpr UnknownCase kUnknowns[] = {
    {"the output of a command", "X=$(nvidia-smi | wc -l)", "the output of `nvidia-smi | wc -l`"},
    {"back quotes", "X=`date`", "the output of `date`"},
    {"a sum with an unknown part", "X=$(( $(nproc) + 1 ))", "the output of `nproc`"},
    {"an argument of the script", "X=$3", "argument 3 of the script"},
    {"a place for a value", "X=<your path here>", "a place for a value"},
    {"a branch that depends on a file", "X=1; if [ -f data ]; then X=2; fi", "an open condition"},
    {"a branch that depends on an argument", "if [ $1 = a ]; then X=1; else X=2; fi", "an open condition"},
    {"a division by zero", "X=$((1 / 0))", "$((1 / 0))"},
    {"a number that is too large", "X=$((9223372036854775807 + 1))", "$(("},
    {"a comparison with what Slurm sets", "if [ $SLURM_NNODES -gt 2 ]; then X=4; else X=2; fi", "an open condition"},
    {"a comparison with what torchrun sets", "if [[ $WORLD_SIZE == 8 ]]; then X=4; else X=2; fi", "an open condition"},
    {"a size whose variable nobody sets", "if [ $S == 7 ]; then X=4; elif [ $S == 13 ]; then X=5; else exit 1; fi",
     "an open condition"},
    {"a comparison at which set -u ends", "set -euo pipefail; if [ $U = a ]; then X=4; else X=2; fi",
     "an open condition"},
    {"a comparison at which set -o nounset ends", "set -o nounset; X=4; [ $U = a ] && X=2", "an open condition"},
    {"a case of one", "X=1; case $U in a) X=2 ;; esac", "an open condition"},
    {"a number of one", "X=$((16 * U))", "U, which the script does not set"},
    {"an assignment of one", "X=1; ((X += U))", "$(("},
    {"nodes that Slurm's options do not state", "#SBATCH --ntasks=4\nX=$SLURM_NNODES", "SLURM_NNODES"},
    {"the outcome of a pipeline", "X=2; if nvidia-smi | grep -q H100; then X=8; fi", "an open condition"},
    {"the outcome of a file command", "X=2; cd data && X=8", "an open condition"},
    {"the status of a command", "X=2; make; if [ $? -eq 0 ]; then X=8; fi", "an open condition"},
    {"a return that may happen", "f() { if [ -f a ]; then return; fi; X=8; }; X=4; f", "an open condition"},
    {"a break that may happen", "for x in 4 2; do X=$x; [ -f a ] && break; done", "an open condition"},
    {"branches inside a branch", "X=2; if [ -f a ]; then if [ -f b ]; then X=1; else X=2; fi; fi", "an open condition"},
    {"rounds until somebody stops them", "X=2; while true; do X=8; done", "an open condition"},
    {"rounds that depend on a file", "X=2; while [ -f a ]; do X=8; done", "an open condition"},
    {"rounds without an end", "X=2; i=0; while [ $i -lt 3 ]; do X=8; done; X=$X$i", "an open condition"},
    {"some elements that nobody can count", "A=(a b); X=${A[@]:$(nproc):1}", "a part of an array"},
    {"the length of an unknown text", "A=$(date); X=${#A}", "the output of `date`"},
    {"input", "read X", "input of the script"}};

TEST(ReadScript, SaysWhatItCannotKnow) {
  for (const UnknownCase& one : kUnknowns) {
    SCOPED_TRACE(one.what);
    const std::string text = value(read(one.text), "X");
    EXPECT_TRUE(is_unknown(text)) << text;
    EXPECT_THAT(why_unknown(text), HasSubstr(one.why));
  }
}

TEST(ReadScript, SaysWhatACommandTakesAsEmpty) {
  const Script open = read("SET=1; python a.py --x $VALUE $SET $EXTRA \"${MORE[@]}\" \"$@\"");
  ASSERT_EQ(open.commands.size(), 1U);
  EXPECT_THAT(open.commands[0].empties,
              ElementsAre("EXTRA, which the script does not set", "MORE, which the script does not set",
                          "the arguments of the script"));
  EXPECT_THAT(read("A=(); B=(); [ $# -gt 0 ] && B+=(1); python a.py ${A[@]}").commands.at(0).empties, ElementsAre())
      << "the script itself empties it";
  EXPECT_THAT(read("f() { python a.py \"$@\"; }; f").commands.at(0).empties, ElementsAre());
}

TEST(ReadScript, KeepsWhatStandsBeforeAnOpenPart) {
  const Script script = read("C='python a.py --x 1'; if [ -f b ]; then C=\"$C; rm b\"; fi; eval $C");
  ASSERT_FALSE(script.commands.empty());
  EXPECT_THAT(script.commands[0].words, ElementsAre("python", "a.py", "--x", "1"));
}

struct BranchCase {
  const char *what, *text;
  std::vector<std::string> words;
};

TEST(ReadScript, KeepsTheWordsWithWhichAllBranchesBegin) {
  const BranchCase cases[] = {
      {"up to an else",
       "if [ \"$1\" = a ]; then C='torchrun --n 8 a.py --x 1'; else C='torchrun --n 8 b.py'; fi; $C",
       {"torchrun", "--n", "8"}},
      {"before the branch and in it", "C='python a.py --x 1'; [ -f b ] && C='python a.py --y'; $C", {"python", "a.py"}},
      {"and a flag of both",
       "A='--mock 1 --vocab 5'; if [ -f b ]; then A='--data x --vocab 5 --y 2'; fi; python a.py $A",
       {"python", "a.py", "--vocab", "5"}},
      {"and one behind a flag of other values",
       "if [ $1 = a ]; then A='--l 4 --v 5'; elif [ $1 = b ]; then A='--l 6 --v 5 --b'; else A='--l 8 --v 5'; fi; a $A",
       {"a", "--l", "--v", "5"}},
      {"of arrays with flags",
       "A=(); if [ -f b ]; then A+=(--mock '--vocab 5'); else A+=(--data '--vocab 5'); fi; a ${A[@]}",
       {"a", "--vocab", "5"}},
      {"but no flag that stands twice", "A='--m 1 --v 5'; [ -f b ] && A='--d x --v 5 --v 6'; a $A", {"a"}},
      {"and no flag of another program", "C='python a.py --v 5'; [ -f b ] && C='python b.py --v 5'; $C", {"python"}},
      {"and no flag whose value nobody knows",
       "A=\"--m 1 --v $(date)\"; [ -f b ] && A=\"--d x --v $(pwd -L)\"; a $A",
       {"a"}},
      {"of arrays", "C=(python a.py --x 1); [ -f b ] && C=(python a.py --y 2); ${C[@]}", {"python", "a.py"}},
      {"without an open quote", "C='python a.py \"x y\"'; [ -f b ] && C='python a.py \"x z\"'; eval $C", {}}};
  for (const BranchCase& one : cases) {
    SCOPED_TRACE(one.what);
    const Script script = read(one.text);
    std::vector<std::string> known;
    for (const Command& command : script.commands)
      for (const std::string& word : command.words)
        if (!is_unknown(word) && word != "test") known.push_back(word);
    EXPECT_EQ(known, one.words);
  }
}

TEST(ReadScript, AScriptAtAPlaceOfAnotherMachineStandsBesideItsCaller) {
  const std::filesystem::path folder = testing::TempDir() + "/foretoken-beside";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "inner.sh") << "python train.py --x $1\n";
  Findings findings;
  const auto script = read_script_text("bash /workspace/nowhere/inner.sh 4", "outer.sh", folder.string(), {}, findings);
  ASSERT_TRUE(script);
  ASSERT_EQ(script->commands.size(), 1U);
  EXPECT_THAT(script->commands[0].words, ElementsAre("python", "train.py", "--x", "4"));
}

TEST(ReadScript, AScriptThatStartsItselfOnEveryHostHasAnEnd) {
  const std::string folder = testing::TempDir() + "/foretoken-itself";
  std::filesystem::create_directories(folder);
  const std::string text =
      "HOSTS=(a b c)\nif [[ \"$(hostname -I)\" =~ \"${HOSTS[0]}\" ]]; then\n"
      "for h in ${HOSTS[@]}; do ssh $h \"docker exec x bash -c \\\"cd /y; bash run.sh\\\"\"; done\nfi\n"
      "python train.py --x 1\n";
  std::ofstream(std::filesystem::path(folder) / "run.sh") << text;
  Findings findings;
  const auto script = read_script_text(text, "run.sh", folder, {}, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  ASSERT_TRUE(script);
  EXPECT_THAT(script->commands.back().words, ElementsAre("python", "train.py", "--x", "1"));
}

TEST(ReadScript, ACheckOfUnstatedArgumentsDoesNotEndIt) {
  const std::string text =
      "D=''\nwhile [[ $# -gt 0 ]]; do case $1 in --d) D=$2; shift 2;; *) exit 1;; esac; done\n"
      "if [[ -z \"$D\" ]]; then echo usage; exit 1; fi\npython a.py --x 1\n";
  ASSERT_EQ(read(text).commands.size(), 1U);
  EXPECT_EQ(read("if true; then exit 1; fi\npython a.py\n").commands.size(), 0U);
}

TEST(ReadScript, AnotherShellReadsLineByLine) {
  const Script script = read(
      "RUN='torchrun --nproc_per_node 4 a.py --x 1'\nFLAGS='\n--y 2\n--z 3\n'\n"
      "srun bash -c \"\nexport RANK=\\${SLURM_NODEID}\necho ${RUN}\n${RUN} $FLAGS 2>&1 | tee log\n\"");
  ASSERT_FALSE(script.commands.empty());
  EXPECT_THAT(script.commands[0].words,
              ElementsAre("torchrun", "--nproc_per_node", "4", "a.py", "--x", "1", "--y", "2", "--z", "3"));
}

TEST(ReadScript, NeverExecutes) {
  const std::string file = testing::TempDir() + "/foretoken-executed";
  (void)read("X=$(touch " + file + "); `touch " + file + "`; touch " + file + "; eval \"touch " + file + "\"");
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(ReadScript, AUserStatesVariablesAndArguments) {
  const Script script = read("PP=1; N=$((PP * 3)); A=$2", {{{"PP", "8"}}, {"x", "y"}});
  EXPECT_EQ(value(script, "N"), "24");
  EXPECT_EQ(value(script, "A"), "y");
}

TEST(ReadScript, ListsTheCommandsThatItWouldStart) {
  const Script script =
      read("ARGS=(--a \"b c\")\nsrun sh -c \"python train.py --x 1\"\ntorchrun train.py \"${ARGS[@]}\" &> log");
  ASSERT_EQ(script.commands.size(), 2U);
  EXPECT_THAT(script.commands[0].words, ElementsAre("python", "train.py", "--x", "1"));
  EXPECT_THAT(script.commands[1].words, ElementsAre("torchrun", "train.py", "--a", "b c"));
  EXPECT_EQ(script.commands[1].line, 3);
}

std::string document_of(const std::string& edit) {
  const Script script = read("cat <<EOF > t.json\n{A: ZERO, B: ZERO ZERO}\nEOF\nN=4; rest() { :; }\n" + edit + "\n");
  const auto found = script.documents.find("c.json");
  return found == script.documents.end() ? "(unwritten)" : found->second;
}

TEST(ReadScript, SedFillsInATemplate) {
  EXPECT_EQ(document_of("sed \"s/ZERO/$N/\" t.json > c.json"), "{A: 4, B: ZERO ZERO}\n");
  EXPECT_EQ(document_of("sed 's#ZERO#1/2#g' t.json > c.json"), "{A: 1/2, B: 1/2 1/2}\n");
  EXPECT_EQ(document_of("sed s/ZERO/$N/ t.json \\\n | sed -e s/A/C/ -e s/B/D/ \\\n > c.json"),
            "{C: 4, D: ZERO ZERO}\n");
  EXPECT_EQ(document_of("sed -i s/A/C/ t.json; sed s/C/D/ t.json > c.json"), "{D: ZERO, B: ZERO ZERO}\n");
  EXPECT_THAT(document_of("sed \"s/ZERO/$(cat a/b)/\" t.json > c.json"), HasSubstr("the output of `cat a/b`"));
  for (const char* other : {"sed 's/Z.*/1/' t.json > c.json", "sed -n 1p t.json > c.json", "sed s/A/&/ t.json > c.json",
                            "sed s/A/B/ absent.json > c.json", "sed s/A/B/ t.json | sort | sed s/B/C/ > c.json"})
    EXPECT_EQ(document_of(other), "(unwritten)") << other;
}

constexpr const char* kYaml =
    "cat <<EOF > a.yaml\nARGS:\n  # a comment\n  --layers: \\${N}\n  --bf16: true\n  --half: false\n  --rest: 1e-6\n"
    "ENV:\n  A-B: x\nEOF\nN=4\n";

TEST(ReadScript, YqMakesWordsOfAFile) {
  const auto made = [](const std::string& text) { return value(read(kYaml + text), "X"); };
  EXPECT_EQ(made("envsubst < a.yaml > b.yaml; X=$(yq '... comments=\"\" | .ARGS | to_entries | .[] |\n"
                 "select(.value != \"false\") | with(select(.value == \"true\"); .value = \"\") |\n"
                 "[.key + \" \" + .value] | join(\"\")' b.yaml | tr '\\n' ' ')"),
            "--layers 4 --bf16  --rest 1e-6 ");
  EXPECT_EQ(made("X=$(yq '.ENV.\"A-B\"' a.yaml)"), "x");
  EXPECT_EQ(made("X=$(yq '.ENV | keys | join(\",\")' a.yaml)"), "A-B");
  EXPECT_EQ(made("X=$(yq .ENV.C a.yaml)"), "null");
  for (const char* other : {"X=$(yq '.ENV | with_entries(1)' a.yaml)", "X=$(yq . a.yaml)", "X=$(yq .ENV none.yaml)",
                            "X=$(yq '.[' a.yaml)", "X=$(yq '' a.yaml)", "X=$(yq .ARGS /etc/os-release)"})
    EXPECT_TRUE(is_unknown(made(other))) << other;
  const auto repeated = [&](int parts) {
    std::string expression = ".ENV.\"A-B\"";
    for (int i = 1; i < parts; ++i) expression += " | .";
    return made("X=$(yq '" + expression + "' a.yaml)");
  };
  EXPECT_EQ(repeated(64), "x");
  EXPECT_TRUE(is_unknown(repeated(65))) << "an endless pipeline would copy its values for ever";
}

TEST(ReadScript, EnvsubstKeepsWhatIsUnknown) {
  const std::string text = value(read(std::string(kYaml) + "N=$(date)\nenvsubst < a.yaml > b.yaml\n"
                                                           "X=$(yq '.ARGS.\"--layers\"' b.yaml)"),
                                 "X");
  EXPECT_EQ(why_unknown(text), "the output of `date`");
}

// gettext, manual of envsubst: only the variables of SHELL-FORMAT are filled in.
TEST(ReadScript, EnvsubstMayListItsNames) {
  const auto made = [](const std::string& envsubst) {
    return value(read("cat <<'EOF' > t.yaml\nA: ${A}\nB: $B\nEOF\nA=1 B=2\nN='$A $B'\n" + envsubst +
                      " > b.yaml\nX=$(yq '.A + \".\" + .B' b.yaml)"),
                 "X");
  };
  EXPECT_EQ(made("envsubst < t.yaml"), "1.2");
  EXPECT_EQ(made("envsubst '$A $B' < t.yaml"), "1.2");
  EXPECT_EQ(made("envsubst '${A},${B}' < t.yaml"), "1.2");
  EXPECT_EQ(made("envsubst \"$N\" < t.yaml"), "1.2");
  EXPECT_EQ(made("envsubst '$A' < t.yaml"), "1.$B");
  EXPECT_EQ(made("cat t.yaml | envsubst '$B'"), "${A}.2");
  EXPECT_TRUE(is_unknown(made("envsubst \"$(date)\" < t.yaml")));
}

TEST(ReadScript, AJobMayBeAHereDocument) {
  const Script script = read(
      "N=4\nexport RUN=\"python train.py --layers 2\"\nsbatch <<EOF\n#!/bin/bash\n#SBATCH --nodes=${N}\nsrun -l \\\n"
      "  bash -c \\\\\\${RUN} 2>&1 | tee log\nEOF\n");
  ASSERT_FALSE(script.commands.empty());
  EXPECT_EQ(script.commands[0].scheduler.at("--nodes"), "4");
  EXPECT_THAT(script.commands[0].words, ElementsAre("python", "train.py", "--layers", "2"));
  for (const char* other :
       {"cat <<EOF | bash\npython a.py\nEOF\n", "cat > job.sh <<EOF\npython a.py\nEOF\nsbatch job.sh"})
    EXPECT_THAT(read(other).commands.at(0).words, ElementsAre("python", "a.py")) << other;
}

TEST(ReadScript, KnowsSlurm) {
  const Script script = read("#SBATCH --nodes=4 --gres=gpu:8\nsbatch --nodes=6 -p part other.txt");
  EXPECT_EQ(script.scheduler.at("--nodes"), "6");
  EXPECT_EQ(script.scheduler.at("--gres"), "gpu:8");
}

struct EndlessCase {
  const char *what, *text;
};

constexpr EndlessCase kEndless[] = {
    {"arrays that multiply", "A=(1 2 3 4); f() { A=(${A[@]} ${A[@]} ${A[@]} ${A[@]}); f; }; f"},
    {"braces that multiply", "X=({1..99}{1..99}{1..99})"},
    {"a function that calls itself", "f() { f; f; }; f"},
    {"values that double", "X=aaaaaaaaaaaaaaaa; f() { X=$X$X$X$X; f; }; f"},
    {"loops in loops",
     "A='1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9'; for a in $A; do for b in $A; do for c in $A; do for d in "
     "$A; do for e in $A; do for f in $A; do X=1; done; done; done; done; done; done"},
    {"text that evaluates itself", "X='eval $X'; eval $X"}};

TEST(ReadScript, EndsEverySoonerOrLater) {
  for (const EndlessCase& one : kEndless) {
    SCOPED_TRACE(one.what);
    Findings findings;
    EXPECT_FALSE(read_script_text(one.text, "run.sh", ".", {}, findings).has_value());
    EXPECT_THAT(lines_of(findings.complaints), HasSubstr("run.sh: the script does too much to be read"));
  }
}

}  // namespace
}  // namespace foretoken::io::shell
