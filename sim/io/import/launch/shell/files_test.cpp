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

}  // namespace
}  // namespace foretoken::io::shell
