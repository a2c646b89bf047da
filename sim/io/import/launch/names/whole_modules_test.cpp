// Tests that names of modules mean the embedding and the head, and that others are refused.
#include "sim/io/import/launch/names/whole_modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch {
namespace {

using testing::HasSubstr;

Report read_names(const char* text) {
  Report report;
  map_whole_modules(text, "modules_to_save", report);
  return report;
}

struct Names {
  const char* text;
  Json parts;
};

const Names kNames[] = {{"embed_tokens lm_head", {"embedding", "head"}},
                        {"['wte', 'lm_head']", {"embedding", "head"}},
                        {"embed_out,embed_in", {"head", "embedding"}},
                        {"tok_embeddings,output", {"embedding", "head"}},
                        {"word_embeddings", Json::array({"embedding"})},
                        {"EMBEDDING", Json::array({"embedding"})},
                        {"model.embed_tokens, embed_tokens", Json::array({"embedding"})}};

TEST(WholeModules, NamesOfFamiliesMeanTheEmbeddingAndTheHead) {
  for (const auto& [text, parts] : kNames) {
    const Report report = read_names(text);
    EXPECT_EQ(report.at("training.whole"), parts) << text;
    EXPECT_TRUE(report.refused.empty()) << text;
  }
}

TEST(WholeModules, OtherModulesAreRefusedByName) {
  for (const char* name : {"norm", "input_layernorm", "mlp", "router", "gate", "visual", "wpe", "LN"}) {
    const Report report = read_names(name);
    ASSERT_EQ(report.refused.size(), 1) << name;
    EXPECT_EQ(report.refused.front().setting, std::string("modules_to_save ") + name);
    EXPECT_THAT(report.refused.front().because, HasSubstr("train whole"));
    EXPECT_FALSE(report.has("training.whole")) << name;
  }
  EXPECT_THAT(read_names("score").refused.front().because, HasSubstr("a classification head"));
}

TEST(WholeModules, AnEmptyListIsNone) {
  for (const char* text : {"", "[]", " , "}) {
    const Report report = read_names(text);
    EXPECT_FALSE(report.has("training.whole"));
    EXPECT_TRUE(report.refused.empty() && report.assumed.empty());
  }
}

}  // namespace
}  // namespace foretoken::io::launch
