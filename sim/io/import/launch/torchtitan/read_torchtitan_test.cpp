// Tests keys of torchtitan.
#include "sim/io/import/launch/torchtitan/read_torchtitan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

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

TEST(ReadTorchtitan, ModelsOfOtherKindsAreRefusedAndUnknownOnesSaySo) {
  const auto read = [](const std::string& name) {
    return read_test_launch(
        "[model]\nname = \"" + name + "\"\nflavor = \"debugmodel\"\n[training]\nbatch_size = 1\nseq_len = 128\n",
        "a.toml");
  };
  for (const char* hybrid : {"bamba", "mamba2", "gdn_1B", "kda", "nemotron_h", "Mamba2", "Bamba"}) {
    const std::string expected = fmt::format("model.name: \"{}\" is a hybrid of state-space", hybrid);
    EXPECT_NE(refused_lines(read(hybrid)).find(expected), std::string::npos) << refused_lines(read(hybrid));
  }
  for (const char* other : {"flux", "Flux", "llama3-siglip2", "vlm", "qwen3_vl", "vision"})
    EXPECT_NE(refused_lines(read(other)).find("is not a language model"), std::string::npos) << other;
  const auto why = [&](const std::string& name) {
    const Report report = read(name);
    const auto asked = std::ranges::find(report.asked, "model", &Asked::key);
    return asked == report.asked.end() ? std::string() : asked->because;
  };
  EXPECT_NE(why("blt").find("blt debugmodel is no model that is known here"), std::string::npos) << why("blt");
  EXPECT_NE(why("deepseek_v3").find("stand in torchtitan's code"), std::string::npos) << why("deepseek_v3");
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
