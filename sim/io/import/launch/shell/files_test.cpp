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

}  // namespace
}  // namespace foretoken::io::shell
