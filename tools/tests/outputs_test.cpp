// Tests written files: they never replace an input, never follow a planted link, are whole, and keep their mode.
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr const char* kScenarioOfFiles =
    R"({"name": "small", "model": "model.json", "cluster": "dgx-h100-ndr", "gpus": 8,
    "batch": {"micro": 1, "global": 16, "sequence_length": 4096}, "parallelism": {"tensor": 8}})";

/// Words for the shell: `$F` is the program.
int shell(const std::string& command) {
  const int status =
      std::system(("F=" + std::string(FORETOKEN_BINARY) + "; cd " FORETOKEN_SOURCE_DIR "; " + command).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string gantt_to(const std::string& file) {
  return "schedule show gpipe --stages 2 --microbatches 4 --plain --svg " + file;
}

class Inputs {
 public:
  TemporaryFolder folder;
  std::string model = folder.put("model.json", R"({"base": "llama-3-8b", "num_hidden_layers": 8})");
  std::string scenario = folder.put("s.json", kScenarioOfFiles);
  std::string products = folder.put("p.csv", "m,n,k,time_us\n4096,4096,4096,600\n");
  std::string matrix = folder.put("topo.txt", "        GPU0\nGPU0     X\n");
  std::string link = folder.file("link.json"), twin = folder.file("twin.json"), fresh = folder.file("new");
  Inputs() {
    fs::create_symlink(scenario, link);
    fs::create_hard_link(scenario, twin);
  }
};

/// Lists commands whose output is one of their inputs, or two outputs in one file.
std::vector<Wrong> overwriting(const Inputs& in) {
  const std::string& s = in.scenario;
  return {
      {"a report over its scenario", {"report", s, "-o", s}, "-o would overwrite an input"},
      {"by a symbolic link", {"report", s, "-o", in.link}, "-o would overwrite an input"},
      {"by another name of the same file", {"report", s, "-o", in.twin}, "-o would overwrite an input"},
      {"by a path with dots", {"report", s, "-o", in.folder.file("./s.json")}, "-o would overwrite an input"},
      {"over a file that the scenario names", {"report", s, "-o", in.model}, "-o would overwrite an input"},
      {"a trace over its scenario", {"simulate", s, "--trace", s}, "--trace would overwrite an input"},
      {"a drawing over its scenario", {"simulate", s, "--svg", s}, "--svg would overwrite an input"},
      {"a comparison over its scenario", {"compare", s, "--svg", s}, "--svg would overwrite an input"},
      {"two outputs in one", {"simulate", s, "--trace", in.fresh, "--svg", in.fresh}, "the file of --trace"},
      {"spelt in two ways",
       {"simulate", s, "--trace", in.fresh, "--svg", in.folder.file("./new")},
       "--svg would overwrite the file of --trace"},
      {"the winner over the results",
       {"search", s, "--free", "all", "--out", in.fresh, "--write", in.fresh},
       "--write would overwrite the file of --out"},
      {"the winner over the question",
       {"search", s, "--free", "all", "--write", s},
       "--write would overwrite an input"},
      {"samples over the table", {"calibrate", "import", "gemm", in.products, "-o", in.products}, "overwrite an input"},
      {"a profile over the table",
       {"calibrate", "fit", "--gpu", "a100-sxm4-80gb", in.products, "-o", in.products},
       "-o would overwrite an input"},
      {"two drawings in one",
       {"clusters", "show", "dgx-h100-ndr", "--svg", in.fresh, "--dot", in.fresh},
       "--dot would overwrite the file of --svg"},
      {"a cluster over the matrix",
       {"clusters", "import", in.matrix, "--gpu", "a100-sxm4-80gb", "-o", in.matrix},
       "-o would overwrite an input"},
  };
}

TEST(Outputs, NeverOverwriteWhatIsReadOrEachOther) {
  const Inputs in;
  for (const Wrong& each : overwriting(in)) {
    expect_refused(each);
    EXPECT_EQ(contents(in.scenario), kScenarioOfFiles);
    EXPECT_EQ(contents(in.products), "m,n,k,time_us\n4096,4096,4096,600\n");
    EXPECT_FALSE(fs::exists(in.fresh));
  }
}

TEST(Outputs, AreNotWhatStandardInputComesFrom) {
  const Inputs in;
  EXPECT_EQ(shell("$F report - -o " + in.scenario + " < " + in.scenario + " 2> " + in.fresh), 2);
  EXPECT_THAT(contents(in.fresh), HasSubstr("-o would overwrite standard input"));
  EXPECT_EQ(contents(in.scenario), kScenarioOfFiles);
}

TEST(Outputs, AreNotWrittenThroughALinkInTheirTemporaryPlace) {
  const TemporaryFolder folder;
  const std::string victim = folder.put("victim", "dear"), file = folder.file("r.svg");
  // The process of exec keeps the number that the shell has.
  const std::string planted =
      "sh -c 'ln -s " + victim + " " + file + ".$$.part; exec " FORETOKEN_BINARY " " + gantt_to(file) + " > /dev/null'";
  EXPECT_EQ(shell(planted), 0);
  EXPECT_EQ(contents(victim), "dear");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file)));
  EXPECT_THAT(contents(file), HasSubstr("</svg>"));
}

TEST(Outputs, KeepTheModeAndTheLinkOfTheFileBefore) {
  const TemporaryFolder folder;
  const std::string file = folder.put("r.svg", "old"), link = folder.file("link.svg");
  ::chmod(file.c_str(), 0600);
  fs::create_symlink(file, link);
  ASSERT_EQ(shell("$F " + gantt_to(link) + " > /dev/null"), 0);
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_THAT(contents(file), HasSubstr("</svg>"));
  EXPECT_THAT(folder.names(), UnorderedElementsAre("r.svg", "link.svg"));
}

TEST(Outputs, OfKilledRunsAreCleanedUpButNotThoseOfLivingOnes) {
  const TemporaryFolder folder;
  const std::string file = folder.file("r.svg");
  folder.put("r.svg.4000001.part", "left behind");
  folder.put("r.svg.mine.part", "of somebody else");
  folder.put("other.svg.4000001.part", "of another file");
  const std::string living = folder.put("r.svg.4000002.part", "being written");
  const int held = ::open(living.c_str(), O_RDONLY);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  ASSERT_EQ(shell("$F " + gantt_to(file) + " > /dev/null"), 0);
  ::close(held);
  EXPECT_THAT(folder.names(),
              UnorderedElementsAre("r.svg", "r.svg.mine.part", "other.svg.4000001.part", "r.svg.4000002.part"));
}

TEST(Outputs, HoldNothingThatWasMeantForAClosedStream) {
  const Inputs in;
  const std::string results = in.folder.file("r.jsonl");
  for (const char* closed : {">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"}) {
    SCOPED_TRACE(closed);
    fs::remove(results);
    (void)shell("$F search " + in.scenario + " --free batch.micro --gpus 8,7 --out " + results + " " + closed +
                (std::string(closed).find(">&-") == 0 ? "" : " >/dev/null"));
    for (const std::string& line : lines_of(contents(results))) EXPECT_EQ(line.front(), '{') << line;
    EXPECT_GE(lines_of(contents(results)).size(), 2U);
  }
  EXPECT_EQ(shell("$F schedule list >&- 2> " + in.fresh), 2);
  EXPECT_EQ(contents(in.fresh), "standard output: cannot be written: Bad file descriptor\n");
}

TEST(Outputs, ThatReachTheLimitOfAFileSayIt) {
  const TemporaryFolder folder;
  const std::string said = folder.file("said"), drawing = folder.file("r.svg");
  const std::string large = "schedule show 1f1b --stages 8 --microbatches 200 --plain --svg " + drawing;
  EXPECT_EQ(shell("(ulimit -f 8; $F " + large + " > /dev/null 2> " + said + ")"), 2);
  EXPECT_THAT(lines_of(contents(said)), ElementsAre(AllOf(HasSubstr("r.svg: cannot be written: File too large"))));
  EXPECT_THAT(folder.names(), ElementsAre("said"));
}

// Whoever runs the tests: nobody may write here.
TEST(Outputs, ThatMayNotBeWrittenSayWhy) {
  const Inputs in;
  const std::string said = in.folder.file("said");
  const std::string folder = fs::path(in.scenario).parent_path();
  std::ofstream(said) << "";
  fs::permissions(said, fs::perms::all);
  bool skipped = false;
  fs::permissions(folder, fs::perms(0555));
  for (const std::string& command : {"report " + in.scenario + " -o " + in.fresh,
                                     "search " + in.scenario + " --free batch.micro --out " + in.fresh}) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0))
        ::_exit(77);
      if (::access(folder.c_str(), W_OK) == 0 || ::access(FORETOKEN_BINARY, X_OK) != 0) ::_exit(77);
      ::_exit(shell("$F " + command + " > /dev/null 2> " + said));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    const int ended = WEXITSTATUS(status);
    const std::string refusal = ended == 77 ? "" : in.fresh + ": cannot be written: Permission denied\n";
    EXPECT_EQ(contents(said), refusal);
    if (ended == 77) skipped = true;
    EXPECT_EQ(ended, skipped ? 77 : 2);
  }
  fs::permissions(folder, fs::perms::owner_all);
  if (skipped) GTEST_SKIP() << "this user may write everywhere, or not run the program";
}

}  // namespace
}  // namespace foretoken::tools
