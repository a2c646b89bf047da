// Tests keys of torchtitan that have another name, another norm or another mask.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::torchtitan {
namespace {

using testing::HasSubstr;

std::string refused(const std::string& of_model, const std::string& training, const std::string& rest = "") {
  return refused_lines(read_test_launch(
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n" + of_model + "[training]\nseq_len = 8192\n" + training + rest,
      "a.toml"));
}

TEST(OldKeys, ABatchByItsOldNameCountsAlone) {
  EXPECT_EQ(refused("", "batch_size = 2\n"), "");
  EXPECT_EQ(refused("", "batch_size = 2\nlocal_batch_size = 8\n"),
            "training.batch_size: an older name of training.local_batch_size, which is stated, too, and counts here; "
            "state one of them\n");
}

TEST(OldKeys, ANormThatTheModelHasNotIsRefused) {
  for (const char* norm : {"rmsnorm", "fused_rmsnorm"})
    EXPECT_EQ(refused(std::string("norm_type = \"") + norm + "\"\n", "batch_size = 2\n"), "") << norm;
  EXPECT_THAT(refused("norm_type = \"layernorm\"\n", "batch_size = 2\n"),
              HasSubstr("model.norm_type: \"layernorm\" in the place of the model's RMSNorm"));
  EXPECT_THAT(refused("norm_type = \"batch\"\n", "batch_size = 2\n"), HasSubstr("expected layernorm, np_layernorm"));
}

TEST(OldKeys, AMaskedModelIsNoCausalDecoder) {
  const std::string lines = refused("mask_token = \"<m>\"\n", "batch_size = 2\nmlm_probability = 0.3\n");
  EXPECT_THAT(lines, HasSubstr("model.mask_token: masked language model, attention is not causal"));
  EXPECT_THAT(lines, HasSubstr("training.mlm_probability: masked language model, attention is not causal"));
}

TEST(OldKeys, AnOptionOfRecomputingThatIsNoneNamesThoseThatAre) {
  EXPECT_THAT(
      refused("", "batch_size = 2\n", "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"-16\"\n"),
      HasSubstr("expected \"op\", or N from 1 to recompute every N-th layer; found \"-16\""));
}

}  // namespace
}  // namespace foretoken::io::launch::torchtitan
