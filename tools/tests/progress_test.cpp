// Tests what a terminal gets while a command works.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "tools/output/progress_line.h"

namespace foretoken::tools {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Makes standard error a terminal of its own while it lives.
class Terminal {
 public:
  Terminal() : keyboard_(::posix_openpt(O_RDWR | O_NOCTTY)), before_(::dup(STDERR_FILENO)) {
    if (keyboard_ < 0 || ::grantpt(keyboard_) != 0 || ::unlockpt(keyboard_) != 0) return;
    screen_ = ::open(::ptsname(keyboard_), O_RDWR | O_NOCTTY);
    if (screen_ >= 0) ::dup2(screen_, STDERR_FILENO);
  }
  ~Terminal() {
    ::dup2(before_, STDERR_FILENO);
    for (const int descriptor : {before_, screen_, keyboard_})
      if (descriptor >= 0) ::close(descriptor);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  [[nodiscard]] bool works() const { return screen_ >= 0; }
  // Returns what is written next, or nothing when nothing comes for so long.
  [[nodiscard]] std::string next(int milliseconds) const {
    pollfd waits{.fd = keyboard_, .events = POLLIN, .revents = 0};
    if (::poll(&waits, 1, milliseconds) != 1) return "";
    std::array<char, 4096> text{};
    const ssize_t size = ::read(keyboard_, text.data(), text.size());
    return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "";
  }

 private:
  int keyboard_, before_, screen_ = -1;
};

TEST(Progress, TheTextSaysHowMuchIsDoneAndLeft) {
  EXPECT_EQ(progress_text(0, 0, "", 12.9, 12.9), "working, 12 s so far");
  EXPECT_EQ(progress_text(0, 9, "rows", 3.2, 3.2), "  0 %  0 of 9 rows, 3 s so far");
  EXPECT_EQ(progress_text(1200, 4800, "tasks", 9, 2), " 25 %  1,200 of 4,800 tasks, 600/s, 6 s left");
  EXPECT_EQ(progress_text(4, 4800, "tasks", 9, 2), "  0 %  4 of 4,800 tasks, 2/s");
  EXPECT_EQ(progress_text(9, 9, "rows", 3, 3), "100 %  9 of 9 rows, 3/s, 0 s left");
  EXPECT_EQ(progress_text(1, 3, "scenarios", 2, 2), " 33 %  1 of 3 scenarios, 4 s left") << "less than one a second";
}

TEST(Progress, TheFirstSecondIsQuietAndLinesAreATenthOfASecondApart) {
  EXPECT_FALSE(redraws(0.99, 0.99));
  EXPECT_TRUE(redraws(1, 1));
  EXPECT_FALSE(redraws(5, 0.09));
  EXPECT_TRUE(redraws(5, 0.1));
}

TEST(Progress, ATerminalGetsALineAfterASecondThoughNothingIsCounted) {
  const Terminal terminal;
  if (!terminal.works()) GTEST_SKIP() << "no pseudo terminals here";
  constexpr int kEnough = 30'000;  // of a busy machine
  ProgressLine line("tasks");
  line.show(1, 2);
  EXPECT_THAT(terminal.next(500), IsEmpty());
  EXPECT_THAT(terminal.next(kEnough), HasSubstr(" 50 %  1 of 2 tasks"));
  line.clear();
  EXPECT_EQ(terminal.next(kEnough), "\r\033[K");
  EXPECT_THAT(terminal.next(1500), IsEmpty()) << "an answer stands there now";
}

}  // namespace
}  // namespace foretoken::tools
