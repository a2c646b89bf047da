// Tests completion scripts: they hold every command and option, and bash offers the right words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

// One command and its options, read from its help.
struct HelpPage {
  std::vector<std::string> command;  // "schedule", "show"
  std::vector<std::string> options;  // "--stages"
};

// Returns the first words of the lines below a heading.
std::vector<std::string> entries_below(const std::string& heading, const std::string& help) {
  std::vector<std::string> entries;
  bool inside = false;
  for (const std::string& line : lines_of(help)) {
    if (line == heading) {
      inside = true;
    } else if (line.empty()) {
      inside = false;
    } else if (inside && line.starts_with("  ") && line[2] != ' ') {
      entries.push_back(line.substr(2, line.find_first_of(" ", 2) - 2));
    }
  }
  return entries;
}

// The help of a command and of all below it.
void add_pages(const std::vector<std::string>& command, std::vector<HelpPage>& pages) {
  std::vector<std::string> words = command;
  words.emplace_back("--help");
  const std::string help = run_foretoken(words).out;
  HelpPage page{.command = command, .options = {}};
  for (const std::string& entry : entries_below("Options:", help))
    for (std::size_t at = entry.find("--"); at != entry.npos; at = entry.find("--", at + 1))
      page.options.push_back(entry.substr(at, entry.find_first_of(",{", at) - at));  // "-h,--help", "--fit,--no-fit{x}"
  pages.push_back(page);
  for (const std::string& name : entries_below("Subcommands:", help)) {
    std::vector<std::string> below = command;
    below.push_back(name);
    add_pages(below, pages);
  }
}

const std::vector<HelpPage>& all_pages() {
  static const std::vector<HelpPage> pages = [] {
    std::vector<HelpPage> all;
    add_pages({}, all);
    return all;
  }();
  return pages;
}

std::string script(const char* shell) {
  const Ran ran = run_foretoken({"completion", shell});
  EXPECT_EQ(ran.status, 0) << ran.err;
  return ran.out;
}

// The words that the bash script offers behind a command.
std::vector<std::string> words_behind(const std::string& path, const std::string& bash) {
  const std::string head = "    '" + path + "') words='";
  const std::size_t begin = bash.find(head) + head.size();
  std::istringstream words(bash.substr(begin, bash.find('\'', begin) - begin));
  return {std::istream_iterator<std::string>(words), {}};
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// The candidates that bash offers for the last of the words typed behind "foretoken".
std::vector<std::string> offered(const std::vector<std::string>& typed) {
  const TemporaryFolder folder;
  std::string line = "foretoken() { '" FORETOKEN_BINARY "' \"$@\"; }\n" + script("bash") + "COMP_WORDS=(foretoken";
  for (const std::string& word : typed) line += " '" + word + "'";
  line += ")\nCOMP_CWORD=" + std::to_string(typed.size()) + "\n_foretoken\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  const std::string file = folder.put("complete.sh", line), out = folder.file("out");
  folder.put("a.json", "{}");
  const std::string command = "cd '" + folder.file("") + "' && bash '" + file + "' > '" + out + "' 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::vector<std::string> candidates = lines_of(contents(out));
  std::erase(candidates, "");
  return candidates;
}

TEST(Completion, BashOffersCommandsBelowTheOneTyped) {
  EXPECT_THAT(offered({"sim"}), ElementsAre("simulate"));
  EXPECT_THAT(offered({"schedule", ""}), IsSupersetOf({"list", "show", "check"}));
  EXPECT_THAT(offered({"schedule", ""}), Not(Contains("simulate")));
  EXPECT_THAT(offered({"nonsense"}), IsEmpty());
}

TEST(Completion, BashOffersOptionsOfTheCommandTyped) {
  EXPECT_THAT(offered({"schedule", "show", "1f1b", "--micro"}), ElementsAre("--microbatches"));
  EXPECT_THAT(offered({"compare", "--micro"}), IsEmpty());
}

TEST(Completion, BashOffersNamesAndFiles) {
  EXPECT_THAT(offered({"schedule", "show", "inter"}), ElementsAre("interleaved-1f1b", "interleaved-zb"));
  EXPECT_THAT(offered({"clusters", "show", "dgx-a100"}), Contains("dgx-a100-80gb-hdr"));
  EXPECT_THAT(offered({"simulate", "gpt3-175b-1024"}), Contains("gpt3-175b-1024-a100"));
  EXPECT_THAT(offered({"simulate", "a.j"}), ElementsAre("a.json")) << "a scenario may be a file";
  EXPECT_THAT(offered({"models", "show", "a.j"}), IsEmpty());
  EXPECT_THAT(offered({"simulate", "x", "--svg", "a."}), ElementsAre("a.json"));
}

TEST(Completion, BashOffersValuesOfOptions) {
  EXPECT_THAT(offered({"simulate", "x", "--interval", ""}), ElementsAre("50", "80", "90", "95"));
  EXPECT_THAT(offered({"simulate", "x", "--fidelity", "k"}), ElementsAre("kernel"));
  EXPECT_THAT(offered({"simulate", "--fidelity", "=", "st"}), ElementsAre("stage")) << "--fidelity=st, as bash cuts it";
  EXPECT_THAT(offered({"simulate", "--color", "n"}), ElementsAre("never"));
  EXPECT_THAT(offered({"search", "--objective", "st"}), ElementsAre("step-time"));
  EXPECT_THAT(offered({"simulate", "--model", "llama-2-7"}), Contains("llama-2-7b"));
  EXPECT_THAT(offered({"plan", "--cluster", "dgx-h100"}), Contains("dgx-h100-ndr"));
  EXPECT_THAT(offered({"plan", "--clusters", "selene,dgx-h100"}), Contains("selene,dgx-h100-ndr"));
  EXPECT_THAT(offered({"compare", "x", "--schedules", "gp"}), IsSupersetOf({"gpipe", "gpipe-fifo"}));
  EXPECT_THAT(offered({"runtimes", "show", "megatron-c"}), Contains("megatron-core"));
  EXPECT_THAT(offered({"report", "-o", "a."}), Contains("a.json"));
  EXPECT_THAT(offered({"completion", "z"}), ElementsAre("zsh"));
}

TEST(Completion, OtherShellsOfferValuesOfOptions) {
  EXPECT_THAT(script("zsh"), HasSubstr("    --interval) compset -P '*,'; candidates=(50 80 90 95); compadd -a"));
  EXPECT_THAT(script("fish"), HasSubstr(" -l interval -x -a '50 80 90 95' "));
  EXPECT_THAT(script("fish"), HasSubstr(" -l model -x -a \"(foretoken models list --names 2>/dev/null)\" "));
}

TEST(Completion, EveryCommandAndOptionOfTheHelpIsInEveryScript) {
  const std::string bash = script("bash"), zsh = script("zsh"), fish = script("fish");
  ASSERT_GT(all_pages().size(), 30U);
  for (const HelpPage& page : all_pages()) {
    const std::string path = joined(page.command);
    SCOPED_TRACE(path);
    EXPECT_THAT(bash, HasSubstr("    '" + path + "') words='"));
    EXPECT_THAT(zsh, HasSubstr("    '" + path + "')\n"));
    ASSERT_THAT(page.options, Contains("--help"));
    for (const std::string& option : page.options) {
      EXPECT_THAT(words_behind(path, bash), Contains(option));
      EXPECT_NE(fish.find("__foretoken_at " + path + "' -l " + option.substr(2) + " "), fish.npos) << option;
    }
  }
}

TEST(Completion, QuotesCloseOnTheLineThatOpensThem) {
  for (const char* shell : {"zsh", "fish"})
    for (const std::string& line : lines_of(script(shell)))
      EXPECT_EQ(std::count(line.begin(), line.end(), '\'') % 2, 0) << line;
}

}  // namespace
}  // namespace foretoken::tools
