// Tests `foretoken export` from outside: facts that a file cannot say, and the options that go on without them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using testing::HasSubstr;

TEST(Export, NamesWhatItCannotSayAndTheWayOn) {
  const Ran bert = run_foretoken({"export", "megatron", "bert-large-1-a100"});
  EXPECT_EQ(bert.status, 1);
  EXPECT_EQ(bert.out,
            "Megatron-LM cannot say batch.masked_fraction = 0.15625; read back it is 1\n"
            "Nothing is written; go on without these facts with --allow batch.masked_fraction\n");
  const Ran allowed = run_foretoken({"export", "megatron", "bert-large-1-a100", "--allow", "batch.masked_fraction"});
  EXPECT_EQ(allowed.status, 0);
  EXPECT_THAT(allowed.out, HasSubstr("pretrain_bert.py"));
}

TEST(Export, RefusesToAllowWhatIsNoFact) {
  expect_refused({"a misspelt fact",
                  {"export", "megatron", "bert-large-1-a100", "--allow", "batch.maskd_fraction"},
                  "foretoken export: --allow: expected a fact that foretoken export names, such as attention, or all; "
                  "found \"batch.maskd_fraction\"; did you mean \"batch.masked_fraction\"?"});
}

}  // namespace
}  // namespace foretoken::tools
