// Tests keys of torchtitan.
#include "sim/io/import/launch/torchtitan/read_torchtitan.h"

#include <gtest/gtest.h>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::torchtitan {
namespace {

TEST(ReadTorchtitan, CastingWeightsAnewIsASmallEffect) {
  const Report report = read_test_launch(
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n"
      "[float8]\nforce_recompute_fp8_weight_in_bwd = true\n",
      "a.toml");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(report.names("float8.force_recompute_fp8_weight_in_bwd"));
}

constexpr const char* kEightBillion =
    "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n";

TEST(ReadTorchtitan, ScalesOfFloat8AreDynamic) {
  const auto refused = [](const std::string& float8) {
    return refused_lines(read_test_launch(std::string(kEightBillion) + "[float8]\n" + float8, "a.toml"));
  };
  const std::string on = "enable_float8_linear = true\n";
  EXPECT_EQ(refused(on + "scaling_type_input = 'dynamic'\nscaling_type_weight = 'dynamic'\n"
                         "scaling_type_grad_output = 'dynamic'\n"),
            "");
  for (const char* key : {"scaling_type_input", "scaling_type_weight", "scaling_type_grad_output"}) {
    const std::string delayed = std::string(key) + " = 'delayed'\n";
    EXPECT_EQ(refused(on + delayed),
              "float8." + std::string(key) + ": float8 with scales that are \"delayed\" is not modelled; dynamic is\n");
    EXPECT_EQ(refused("enable_float8_linear = false\n" + delayed), "") << key;
  }
}

TEST(ReadTorchtitan, SettingsOfDataChangeNothing) {
  const Report report =
      read_test_launch(std::string(kEightBillion) +
                           "dataset = \"blendcorpus\"\ndataloading_args = '{\"streaming\": true}'\n"
                           "[blendcorpus]\nnum_workers = 2\nmicro_batch_size = 4\nseq_length = 2048\n",
                       "a.toml");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("batch.micro"), 1);
  EXPECT_EQ(report.whole("batch.sequence_length"), 8192);
}

}  // namespace
}  // namespace foretoken::io::launch::torchtitan
