// Tests files and texts that commands of scripts read.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/io/import/launch/shell/script.h"
#include "sim/io/json/test_text.h"

namespace foretoken::io::shell {
namespace {

TEST(ScriptFiles, AFileThatALoopCopiesCountsOnce) {
  Findings findings;
  const auto script =
      read_script_text("for i in {1..100}; do cp \"$0\" out_$i; done; ./train --steps 1", "run.sh", ".", {}, findings);
  ASSERT_TRUE(script.has_value());
  EXPECT_EQ(script->commands.size(), 1U);
}

// bash(1), source: words behind the file become its positional parameters.
TEST(ScriptFiles, ASourcedFileHasItsOwnArguments) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "sourced";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "model.sh") << "MODEL=$1; STEPS=$2; shift\n";
  const auto values = [&](const std::string& text) {
    Findings findings;
    const auto script = read_script_text(text, "run.sh", folder.string(), {.arguments = {"outer", "7"}}, findings);
    EXPECT_TRUE(script.has_value());
    Texts found;
    for (const char* name : {"MODEL", "STEPS", "X"}) {
      const Texts* const value = script ? script->variables.find(name) : nullptr;
      found.push_back(value == nullptr || value->empty() ? "(unset)" : value->front());
    }
    return found;
  };
  EXPECT_EQ(values("source ./model.sh inner 3; X=$1"), Texts({"inner", "3", "outer"}));
  EXPECT_EQ(values(". ./model.sh inner; X=$2"), Texts({"inner", "", "7"}));
  EXPECT_EQ(values("source ./model.sh; X=$1"), Texts({"outer", "7", "7"})) << "it shifts those of the script";
}

TEST(ScriptFiles, AHereStringIsTheInputOfACommand) {
  Findings findings;
  const auto script = read_script_text("G=0,1,5; N=$(awk -F',' '{print NF}' <<< \"$G\"); C=$(tr ',' ' ' <<< $G)",
                                       "run.sh", ".", {}, findings);
  ASSERT_TRUE(script.has_value());
  EXPECT_EQ(*script->variables.find("N"), Texts({"3"}));
  EXPECT_EQ(*script->variables.find("C"), Texts({"0 1 5"}));
}

TEST(ScriptFiles, ReadTakesTheWordsOfAHereString) {
  Findings findings;
  const auto script = read_script_text(
      "read N <<< \"8\"\nread -ra A <<< \"1 2 3 4\"\nIFS=, read -r T P <<< \"4,8\"\nread -r X Y <<< ' 1  2 3 '\n"
      "IFS=: read -r U V W <<< a::b\nread -r E F <<< 5\nread -p '> ' G <<< 9\nread H <<< \"$NOBODY\"\nLAST=${A[3]}\n"
      "IFS=/ read -r I J <<< x/y/z\nread K\nIFS= read -r -d '' D <<END\n7\nEND\n",
      "run.sh", ".", {}, findings);
  ASSERT_TRUE(script.has_value());
  const auto is = [&](const char* name, const Texts& texts) {
    const Texts* const found = script->variables.find(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(*found, texts) << name;
  };
  is("N", {"8"});
  is("A", {"1", "2", "3", "4"});
  is("LAST", {"4"});
  is("T", {"4"});
  is("P", {"8"});
  is("X", {"1"});
  is("Y", {"2 3"});
  is("U", {"a"});
  is("V", {""});
  is("W", {"b"});
  is("E", {"5"});
  is("F", {""});
  is("I", {"x"});
  is("J", {"y/z"});
  is("D", {"7\n"});
  EXPECT_EQ(script->variables.find("IFS"), nullptr);
  for (const char* name : {"G", "H", "K"}) EXPECT_TRUE(is_unknown(script->variables.find(name)->front())) << name;
}

TEST(ScriptFiles, EchoAndTeeWriteConfigurations) {
  Findings findings;
  const auto script = read_script_text(
      "S=3\necho \"{\\\"stage\\\": $S,\" > a.json\necho '\"x\": 8}' >> a.json\necho done > log.txt\necho x >> b.json\n"
      "tee c.json <<END\n{\"stage\": $S}\nEND\ncat <<END | sed 's/S/2/' | tee d.json > /dev/null\n{\"stage\": S}\nEND\n"
      "echo -n 1 > e.json\n",
      "run.sh", ".", {}, findings);
  ASSERT_TRUE(script.has_value());
  const std::map<std::string, std::string> expected = {{"a.json", "{\"stage\": 3,\n\"x\": 8}\n"},
                                                       {"c.json", "{\"stage\": 3}\n"},
                                                       {"d.json", "{\"stage\": 2}\n"},
                                                       {"e.json", "1"}};
  EXPECT_EQ(script->documents, expected) << "no log, no further lines of a file that is not there";
}

Script read_text(const std::string& text) {
  Findings findings;
  auto script = read_script_text(text + "\n", "run.sh", ".", {}, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  return script.value_or(Script());
}

// The text of a.json behind `write`; "?" where another command wrote it, and "-" where none did.
std::string text_behind(const std::string& write) {
  const Script script = read_text("cat > a.json <<END\nold\nEND\n" + write);
  if (script.unread_by("./a.json") != nullptr) return script.documents.contains("a.json") ? "both" : "?";
  const auto found = script.documents.find("a.json");
  return found == script.documents.end() ? "-" : found->second;
}

TEST(ScriptFiles, EchoAndPrintfReplaceATextOrFollowIt) {
  EXPECT_EQ(text_behind("echo new > a.json"), "new\n");
  EXPECT_EQ(text_behind("echo -n new > a.json"), "new");
  EXPECT_EQ(text_behind("echo -e 'a\\tb' > a.json"), "a\tb\n");
  EXPECT_EQ(text_behind("echo -ne 'a\\x41' > a.json"), "?") << "other escapes";
  EXPECT_EQ(text_behind("S=3; printf '{\"s\": %d}\\n' $S > a.json"), "{\"s\": 3}\n");
  EXPECT_EQ(text_behind("printf \"{\\\"s\\\": 1}\" > a.json"), "{\"s\": 1}");
  EXPECT_EQ(text_behind("printf '%5.2f' 1 > a.json"), "?");
  EXPECT_EQ(text_behind("echo new >> a.json"), "old\nnew\n");
  EXPECT_EQ(text_behind("cat >> a.json <<END\nnew\nEND"), "old\nnew\n");
  EXPECT_EQ(text_behind("rm -f a.json; echo new >> a.json"), "new\n");
  EXPECT_EQ(text_behind("echo new > a.json 2> errors.log"), "new\n");
  EXPECT_EQ(text_behind("echo new > log.txt; ls > list.txt"), "old\n");
}

TEST(ScriptFiles, TeeWritesWhatItReads) {
  EXPECT_EQ(text_behind("echo new | tee a.json"), "new\n");
  EXPECT_EQ(text_behind("echo new | tee -a a.json > /dev/null"), "old\nnew\n");
  EXPECT_EQ(text_behind("printf new | sudo tee a.json"), "new");
  EXPECT_EQ(text_behind("echo new | tee b.json | tee a.json"), "new\n");
  EXPECT_EQ(text_behind("echo new | sort | tee a.json"), "?");
  EXPECT_EQ(text_behind("echo new\ntee a.json"), "?") << "no pipe leads there";
  EXPECT_EQ(read_text("echo '{}' | tee own.json").documents.at("own.json"), "{}\n");
}

TEST(ScriptFiles, ACommandThatIsNotFollowedLeavesATextUnknown) {
  for (const char* write :
       {"python gen.py > a.json", "jq .x b.json > a.json", "jq .x a.json > t && mv t a.json", "cp /far/a.json a.json",
        "sed -i 's/o.*/n/' a.json", "sed -i.bak s/old/new/ a.json", "yq -i '.x = 1' a.json", "{ echo x; } > a.json",
        "for i in 1 2; do echo $i; done >> a.json", "python - > a.json <<END\ntext\nEND", "cat b c > a.json",
        "python gen.py > ./a.json", "python gen.py > a.json; echo more >> a.json", "jq . a.json | sponge a.json"})
    EXPECT_EQ(text_behind(write), "?") << write;
  EXPECT_EQ(text_behind("python gen.py > a.json; echo new > a.json"), "new\n");
  EXPECT_EQ(text_behind("echo new > b.json; mv b.json a.json"), "new\n");
  EXPECT_EQ(*read_text("x=1\npython gen.py > b.yaml").unread_by("b.yaml"), "run.sh:2");
  EXPECT_EQ(read_text("cat > a.sh <<END\npython a.py\nEND\npython gen.py > a.sh\nbash a.sh").commands.back().words,
            Texts{"a.sh"});
}

TEST(ScriptFiles, EchoIsInputOfTheNextCommandOfItsPipelineOnly) {
  const auto last = [](const std::string& text) {
    const Script script = read_text(text);
    return script.commands.empty() ? Texts() : script.commands.back().words;
  };
  EXPECT_EQ(last("echo 'python a.py --x 1' | bash"), (Texts{"python", "a.py", "--x", "1"}));
  for (const char* before : {"echo start\n", "yes | ", "echo yes | "})
    EXPECT_EQ(last(std::string(before) + "bash -c 'python a.py --x 1'"), (Texts{"python", "a.py", "--x", "1"}))
        << before;
}

}  // namespace
}  // namespace foretoken::io::shell
