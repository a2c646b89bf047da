// Tests that profiles of data files are kept, but never answer for other bytes.
#include "sim/io/hardware/find_profile.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/io/json/data_path.h"

namespace foretoken::io {
namespace {

namespace fs = std::filesystem;

// A folder of data with one profile, "mine", while it lives.
class OwnProfile {
 public:
  OwnProfile() : root_(fs::path(testing::TempDir()) / ("find_profile." + std::to_string(::getpid()))) {
    fs::create_directories(root_ / kProfiles.folder);
    ::setenv("FORETOKEN_DATA", root_.c_str(), 1);
  }
  ~OwnProfile() {
    ::unsetenv("FORETOKEN_DATA");
    fs::remove_all(root_);
  }
  OwnProfile(const OwnProfile&) = delete;
  OwnProfile& operator=(const OwnProfile&) = delete;

  void write(const std::string& text) const {
    std::ofstream(root_ / kProfiles.folder / "mine.json", std::ios::binary) << text;
  }

 private:
  fs::path root_;
};

std::string shipped_text() {
  std::ifstream in(FORETOKEN_SOURCE_DIR "/calibration/profiles/a100-sxm4-80gb.json", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string renamed(std::string text, const std::string& name) {
  const std::string old = "\"name\": \"a100-sxm4-80gb\"";
  return text.replace(text.find(old), old.size(), "\"name\": \"" + name + '"');
}

TEST(FindProfile, AChangedFileIsReadAgain) {
  const OwnProfile own;
  for (const char* name : {"first", "other", "first"}) {
    own.write(renamed(shipped_text(), name));
    Findings findings;
    EXPECT_EQ(find_profile("mine", findings).value().name, name);
    EXPECT_EQ(find_profile("mine", findings).value().name, name) << "kept";
    EXPECT_EQ(findings.files.size(), 2U) << "every reading is noted, also of a kept profile";
    EXPECT_TRUE(findings.complaints.empty());
  }
}

TEST(FindProfile, AWrongFileComplainsEveryTime) {
  const OwnProfile own;
  own.write(R"({"name": "mine"})");
  for (int time = 0; time < 2; ++time) {
    Findings findings;
    (void)find_profile("mine", findings);
    EXPECT_FALSE(findings.complaints.empty());
  }
}

TEST(FindProfile, AProfileWithABaseFollowsIt) {
  const OwnProfile own;
  own.write(R"({"base": "a100-sxm4-80gb", "name": "mine"})");
  for (int time = 0; time < 2; ++time) {
    Findings findings;
    EXPECT_EQ(find_profile("mine", findings).value().name, "mine");
    EXPECT_EQ(findings.files.size(), 2U) << "its base is read each time";
  }
}

TEST(FindProfile, NoneIsNoComplaint) {
  Findings findings;
  EXPECT_FALSE(find_profile("no-such-gpu", findings).has_value());
  EXPECT_TRUE(findings.complaints.empty());
}

}  // namespace
}  // namespace foretoken::io
