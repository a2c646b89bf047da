// Tests files and texts that commands of scripts read.
#include <gtest/gtest.h>

#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::shell {
namespace {

TEST(ScriptFiles, AFileThatALoopCopiesCountsOnce) {
  Findings findings;
  const auto script =
      read_script_text("for i in {1..100}; do cp \"$0\" out_$i; done; ./train --steps 1", "run.sh", ".", {}, findings);
  ASSERT_TRUE(script.has_value());
  EXPECT_EQ(script->commands.size(), 1U);
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
  const std::map<std::string, std::string> expected = {
      {"a.json", "{\"stage\": 3,\n\"x\": 8}\n"}, {"c.json", "{\"stage\": 3}\n"}, {"d.json", "{\"stage\": 2}\n"}};
  EXPECT_EQ(script->documents, expected) << "no log, no further lines of a file that is not there";
}

}  // namespace
}  // namespace foretoken::io::shell
