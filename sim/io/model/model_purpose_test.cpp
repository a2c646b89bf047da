// Tests what names of models say.
#include "sim/io/model/model_purpose.h"

#include <gtest/gtest.h>

namespace foretoken::io {
namespace {

TEST(ModelPurpose, FamiliesOfLanguageStandInNames) {
  for (const char* name : {"google/flan-t5-large", "org/phobert-base", "roberta-large", "mt5-small", "/data/opt-350m/",
                           "microsoft/phi-2", "my-tinyllama-run", "facebook/bart-large", "/data/llama/"})
    EXPECT_TRUE(names_language_model(name)) << name;
  for (const char* name : {"resnet50", "org/optical-flow", "philosophy", "openai/whisper-small", "Qwen/Qwen2-VL-7B",
                           "llava-v1.5-7b", "google/vit-base-patch16-224", ""})
    EXPECT_FALSE(names_language_model(name)) << name;
}

TEST(ModelPurpose, OthersAreForSpeechOrImages) {
  EXPECT_EQ(other_purpose_of("openai/whisper-tiny"), "speech");
  EXPECT_EQ(other_purpose_of("facebook/hubert-base"), "speech");
  EXPECT_EQ(other_purpose_of("Qwen/Qwen2.5-VL-3B-Instruct"), "multimodal");
  EXPECT_EQ(other_purpose_of("OpenGVLab/InternVL2-8B"), "multimodal");
  EXPECT_EQ(other_purpose_of("HuggingFaceTB/SmolVLM-256M-Instruct"), "multimodal");
  EXPECT_EQ(other_purpose_of("meta-llama/Llama-3.2-11B-Vision"), "multimodal");
  EXPECT_EQ(other_purpose_of("Qwen/Qwen2-Audio-7B"), "speech");
  EXPECT_EQ(other_purpose_of("/vision/Qwen2.5-7B"), "");
  EXPECT_EQ(other_purpose_of("meta-llama/mllama-11b"), "multimodal");
  EXPECT_EQ(other_purpose_of("mistralai/Voxtral-Mini-3B"), "speech");
}

TEST(ModelPurpose, WordsOfEnglishStandAlone) {
  for (const char* name :
       {"acme/supervision-llama-7b", "./revision-2", "acme/television-gpt", "acme/audiobook-llama-7b"})
    EXPECT_EQ(other_purpose_of(name), "") << name;
  EXPECT_TRUE(names_language_model("acme/supervision-llama-7b"));
}

}  // namespace
}  // namespace foretoken::io
