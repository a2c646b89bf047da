// Tests that models of other kinds are refused by name, and that no other model is advised in their place.
#include "sim/io/model/unmodelled_families.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/io/json/test_text.h"
#include "sim/io/model/model_families.h"
#include "sim/io/model/read_model.h"

namespace foretoken::io {
namespace {

std::string complaint_of_type(const std::string& type) {
  Findings findings;
  (void)read_model(document_from_text(R"({"model_type": ")" + type + "\"}", "t.json", findings)->root(findings), "t");
  return lines_of(findings.complaints);
}

TEST(UnmodelledFamilies, ModelsOfOtherKindsAreRefusedByName) {
  struct Kind {
    const char* part;
    std::vector<const char*> types;
  };
  for (const auto& [part, types] :
       {Kind{"an encoder of images", {"qwen2_vl",      "qwen3_vl",        "qwen3_vl_moe",   "llava",
                                      "llava_next",    "vipllava",        "paligemma",      "idefics3",
                                      "pixtral",       "mllama",          "deepseek_vl_v2", "deepseek_vl_hybrid",
                                      "glm4v",         "glm4v_moe",       "glm46v",         "minicpmv",
                                      "internvl_chat", "ernie4_5_moe_vl", "smolvlm",        "cohere2_vision",
                                      "video_llama_3", "gemma3",          "llama4",         "mistral3",
                                      "qwen2_5_omni",  "kosmos-2",        "lfm2_vl",        "vision-encoder-decoder",
                                      "blip-2"}},
        Kind{"layers that read from an encoder of images", {"qwen3_vl_text", "glm4v_moe_text"}},
        Kind{"an encoder or a decoder of sound", {"qwen2_audio", "whisper", "granite_speech", "voxtral", "moshi"}},
        Kind{"gates of attention heads, whose number differs from layer to layer", {"laguna", "step3p5", "step3p7"}},
        Kind{"layers of linear attention", {"minimax_m1", "qwen3_next"}}, Kind{"recurrent layers", {"rwkv"}},
        Kind{"layers of state spaces, of linear attention or of convolution", {"rwkv7", "retnet", "Mamba3", "kda_3b"}},
        Kind{"attention in two streams, with relative positions", {"xlnet"}},
        Kind{"block-sparse attention", {"big_bird", "bigbird_pegasus", "phi3small"}},
        Kind{"local attention in an encoder", {"led", "longformer", "longt5"}},
        Kind{"experts in an encoder-decoder", {"switch_transformers", "nllb-moe"}}})
    for (const char* type : types)
      EXPECT_EQ(complaint_of_type(type),
                fmt::format("t.json: /model_type: \"{}\" is not supported: it has {}\n", type, part));
}

TEST(UnmodelledFamilies, NoModelledFamilyIsOfAnotherKind) {
  for (const ModelFamily& family : model_families())
    EXPECT_EQ(complaint_of_type(std::string(family.type)).find("it has"), std::string::npos) << family.type;
}

TEST(UnmodelledFamilies, AnotherVersionIsNotAdvised) {
  for (const char* type : {"gemma4", "glm5", "deepseek_v5", "minimax_m4", "ministral4"})
    EXPECT_NE(complaint_of_type(type).find("is not supported: its layers are not known"), std::string::npos)
        << complaint_of_type(type);
  EXPECT_NE(complaint_of_type("qwen_2").find("did you mean \"qwen2\"?"), std::string::npos)
      << complaint_of_type("qwen_2");
  EXPECT_NE(complaint_of_type("mixtrl").find("did you mean \"mixtral\"?"), std::string::npos);
}

}  // namespace
}  // namespace foretoken::io
