// Tests `foretoken doctor` and the manual page: they name what there is, and nothing else.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Runs `foretoken doctor` with a folder of one's own data.
Ran examined(const std::string& data, const std::vector<std::string>& options = {}) {
  ::setenv("FORETOKEN_DATA", data.c_str(), 1);
  std::vector<std::string> words = {"doctor"};
  words.insert(words.end(), options.begin(), options.end());
  Ran ran = run_foretoken(words);
  ::unsetenv("FORETOKEN_DATA");
  return ran;
}

TEST(Doctor, NamesFoldersCountsAndWhatIsScaled) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("models"));
  (void)folder.put("models/mine.json", "{}");
  const Ran ran = examined(folder.file(""));
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr(folder.file("")), HasSubstr("1 in models"), HasSubstr("from a100-pcie-80gb:"),
                             HasSubstr("l40s-48gb"), HasSubstr("none of them is needed for predictions")));
  const std::string fitted =
      ran.out.substr(ran.out.find("  fitted"), ran.out.find("  scaled") - ran.out.find("  fitted"));
  EXPECT_THAT(fitted, AllOf(HasSubstr("h100-sxm5-80gb"), HasSubstr("b300-sxm-288gb"), Not(HasSubstr("l40s"))));
}

TEST(Doctor, SaysTheSameAsJson) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("models"));
  (void)folder.put("models/mine.json", "{}");
  const Ran ran = examined(folder.file(""), {"--json"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  const auto page = nlohmann::json::parse(ran.out);
  EXPECT_EQ(page.at("foretoken_data"), folder.file(""));
  EXPECT_EQ(page.at("data").at(0).at("files").at("models"), 1);
  std::map<std::string, std::string> scaled_from;  // by profile
  for (const auto& group : page.at("profiles"))
    for (const std::string name : group.at("names"))
      scaled_from[name] = group.at("scaled_from").is_null() ? "" : group.at("scaled_from").get<std::string>();
  EXPECT_EQ(scaled_from.at("l40s-48gb"), "a100-pcie-80gb");
  EXPECT_EQ(scaled_from.at("h100-sxm5-80gb"), "");
  EXPECT_TRUE(page.at("other_programs").contains("nvcc"));
}

TEST(Doctor, ADataFolderThatIsNoneIsAnError) {
  const Ran ran = examined("/nowhere");
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("FORETOKEN_DATA: "));
}

// Returns the words that begin with "--" in the help of a command.
std::set<std::string> options_in_help(std::vector<std::string> command) {
  command.push_back("--help");
  std::set<std::string> options;
  for (const std::string& line : lines_of(run_foretoken(command).out)) {
    const std::size_t at = line.find("--");
    if (line.starts_with("  ") && at < 8) options.insert(line.substr(at, line.find_first_of(" ,=[", at) - at));
  }
  options.erase("--help");
  return options;
}

TEST(Manual, HasEveryCommandAndOption) {
  const Ran ran = run_foretoken({"man"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_TRUE(ran.out.starts_with(".TH FORETOKEN 1"));
  std::string plain;
  for (std::size_t at = 0; at < ran.out.size(); ++at)
    if (ran.out[at] != '\\' || ran.out[at + 1] != '-') plain += ran.out[at];
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"simulate"}, {"search"}, {"plan"}, {"schedule", "show"}, {"doctor"}}) {
    EXPECT_THAT(plain, HasSubstr(fmt::format(".SS \"{}\"", fmt::join(command, " "))));
    for (const std::string& option : options_in_help(command)) EXPECT_THAT(plain, HasSubstr(option)) << command[0];
  }
  for (const std::string& line : lines_of(ran.out))
    EXPECT_TRUE(!line.starts_with('.') || line.starts_with(".TH") || line.starts_with(".S") ||
                line.starts_with(".TP") || line.starts_with(".PP") || line.starts_with(".nf") ||
                line.starts_with(".fi") || line.starts_with(".B ") || line.starts_with(".I "))
        << line;
}

}  // namespace
}  // namespace foretoken::tools
