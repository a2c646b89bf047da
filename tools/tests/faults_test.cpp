// Tests faults of the system: a full disk, one results file for many processes, too few file descriptors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <algorithm>

#include "sim/base/test_sanitized.h"
#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kSmallSearch =
    R"({"name": "small", "model": {"base": "llama-3-8b", "num_hidden_layers": 12}, "cluster": "dgx-h100-ndr",
        "gpus": 16, "batch": {"global": 32, "sequence_length": 4096}, "parallelism": {"context": 1}})";

TEST(Faults, EveryOutputOnAFullDiskIsOneClearLine) {
  const TemporaryFolder folder;
  const std::string scenario = folder.put("s.json", kSmallScenario), full = "/dev/full";
  const std::string products = folder.put("p.csv", "m,n,k,time_us\n4096,4096,4096,600\n");
  const std::string matrix = folder.put("topo.txt", "        GPU0\nGPU0     X\n");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"simulate", scenario, "--trace", full},
        {"simulate", scenario, "--svg", full},
        {"report", scenario, "-o", full},
        {"compare", scenario, "--svg", full},
        {"search", scenario, "--free", "batch.micro", "--write", full},
        {"search", scenario, "--free", "batch.micro", "--out", full},
        {"schedule", "show", "gpipe", "--stages", "2", "--microbatches", "4", "--plain", "--svg", full},
        {"clusters", "show", "dgx-h100-ndr", "--dot", full},
        {"clusters", "import", matrix, "--gpu", "a100-sxm4-80gb", "-o", full},
        {"calibrate", "import", "gemm", products, "-o", full}}) {
    SCOPED_TRACE(testing::PrintToString(command));
    const Ran ran = run_foretoken(command);
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(lines_of(ran.err), ElementsAre(HasSubstr("/dev/full: cannot be written: No space left on device")));
  }
}

// Mounts a file system of two pages for this process and its children. Returns false where that is not allowed.
bool mount_tiny(const std::string& folder) {
  return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tiny", folder.c_str(), "tmpfs", 0, "size=8k") == 0;
}

TEST(Faults, AFileThatADiskHasNoRoomForLeavesTheOldOne) {
  constexpr int kNotAllowed = 77, kDiffers = 78;
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    if (!mount_tiny(folder.file(""))) ::_exit(kNotAllowed);
    const TemporaryFolder elsewhere;
    const std::string drawing = folder.put("r.svg", "old"), said = elsewhere.file("said");
    const int status =
        std::system((FORETOKEN_BINARY " schedule show 1f1b --stages 8 --microbatches 200 --plain --svg " + drawing +
                     " > /dev/null 2> " + said)
                        .c_str());
    const std::vector<std::string> lines = lines_of(contents(said));
    const bool right = WIFEXITED(status) && WEXITSTATUS(status) == 2 && lines.size() == 1 &&
                       lines.front() == drawing + ": cannot be written: No space left on device" &&
                       contents(drawing) == "old" && folder.names() == std::vector<std::string>{"r.svg"};
    if (!right)
      std::fprintf(stderr, "status %d, %zu files: %s\n", status, folder.names().size(), contents(said).c_str());
    ::_exit(right ? 0 : kDiffers);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == kNotAllowed) GTEST_SKIP() << "this user may mount nothing";
  EXPECT_EQ(status, 0);
}

// Starts `foretoken words...` with its complaints in the file `err`.
pid_t start_foretoken(std::vector<std::string> words, const std::string& err, int input = -1) {
  words.insert(words.begin(), FORETOKEN_BINARY);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child != 0) return child;
  if (input >= 0) ::dup2(input, STDIN_FILENO);
  ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
  ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
  if (::chdir(FORETOKEN_SOURCE_DIR) != 0) ::_exit(126);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

int exit_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Faults, ManySearchesWithOneResultsFileLeaveItWhole) {
  constexpr int kProcesses = 6;
  const TemporaryFolder folder;
  const std::string question = folder.put("question.json", kSmallSearch);
  const std::string alone = folder.file("alone.jsonl"), shared = folder.file("shared.jsonl");
  const auto words = [&](const std::string& out) {  // a long list takes many rounds
    return std::vector<std::string>{"search", question,   "--top", kSanitized ? "150" : "300",
                                    "--json", "--resume", "--out", out};
  };
  ASSERT_EQ(run_foretoken(words(alone)).status, 0);
  std::vector<pid_t> children;
  const auto said = [&](int which) { return folder.file("said" + std::to_string(which)); };
  for (int i = 0; i < kProcesses; ++i) children.push_back(start_foretoken(words(shared), said(i)));
  int done = 0;
  for (int i = 0; i < kProcesses; ++i) {
    const int status = exit_of(children[static_cast<std::size_t>(i)]);
    if (status == 0)
      ++done;
    else
      EXPECT_THAT(lines_of(contents(said(i))), ElementsAre(shared + ": another search is writing this file"));
    EXPECT_THAT(status, AnyOf(0, 2));
  }
  EXPECT_GE(done, 1);
  EXPECT_EQ(contents(shared), contents(alone));

  const int held = ::open(shared.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  const Ran refused = run_foretoken(words(shared));
  ::close(held);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(lines_of(refused.err), ElementsAre(shared + ": another search is writing this file"));
}

TEST(Faults, TooFewFileDescriptorsAreAClearLineForEachFile) {
  const TemporaryFolder folder;
  const std::string said = folder.file("said");
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = start_foretoken({"simulate", "-"}, said, ends[0]);
  ::close(ends[0]);
  // A pipe holds 64 KiB. The program runs, with its libraries, once it has read some of more.
  const std::string blanks(1 << 20, ' ');
  std::string question = kSmallScenario;  // in one line
  std::ranges::replace(question, '\n', ' ');
  question += '\n';
  ASSERT_EQ(::write(ends[1], blanks.data(), blanks.size()), static_cast<ssize_t>(blanks.size()));
  const rlimit none{3, 3};
  ASSERT_EQ(::prlimit(child, RLIMIT_NOFILE, &none, nullptr), 0);
  ASSERT_EQ(::write(ends[1], question.data(), question.size()), static_cast<ssize_t>(question.size()));
  ::close(ends[1]);
  EXPECT_EQ(exit_of(child), 2);
  EXPECT_THAT(lines_of(contents(said)), AllOf(Not(IsEmpty()), Each(HasSubstr("cannot be read: Too many open files"))));
}

}  // namespace
}  // namespace foretoken::tools
