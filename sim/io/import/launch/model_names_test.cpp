// Tests models that launch files name: their published parameters, and names that mean the same.
#include "sim/io/import/launch/model_names.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "sim/io/model/test_model.h"
#include "sim/model/counts/parameters.h"

namespace foretoken::io::launch {
namespace {

struct Named {
  const char* name;
  double millions;  ///< of the published checkpoint
};

TEST(ModelNames, ParametersOfPublishedCheckpoints) {
  constexpr Named kNamed[] = {{"facebook/opt-125m", 125.2},
                              {"Qwen/Qwen2-Math-7B", 7615.6},
                              {"Qwen/Qwen2-Math-1.5B-Instruct", 1543.7},
                              {"TinyLlama/TinyLlama_v1.1", 1100.0},
                              {"allenai/OLMo-1B-hf", 1176.8},
                              {"allenai/OLMo-7B-hf", 6888.1},
                              {"allenai/OLMo-2-0425-1B", 1484.9},
                              {"allenai/OLMo-2-1124-7B-Instruct", 7298.6},
                              {"allenai/OLMo-2-1124-13B", 13716.2},
                              {"allenai/OLMo-2-0325-32B", 32234.3},
                              {"google/gemma-3-270m", 268.1},
                              {"google/gemma-3-1b-it", 999.9},
                              {"bigcode/starcoder2-3b", 3030.4},
                              {"bigcode/starcoder2-7b", 7173.9},
                              {"bigcode/starcoder2-15b", 15957.9},
                              {"CohereForAI/c4ai-command-r-v01", 34980.8},
                              {"CohereForAI/aya-23-8B", 8028.0},
                              {"internlm/internlm2-1_8b", 1889.1},
                              {"mistralai/Magistral-Small-2506", 23572.4},
                              {"LLM360/Amber", 6738.4},
                              {"facebook/opt-1.3b", 1315.8},
                              {"facebook/opt-6.7b", 6658.5},
                              {"facebook/opt-13b", 12853.5},
                              {"facebook/opt-30b", 29974.5},
                              {"facebook/opt-66b", 65718.4},
                              {"bigscience/bloom-560m", 559.2},
                              {"bigscience/bloomz-7b1", 7069.0},
                              {"models/bigscience_bloom-560m", 559.2},
                              {"tiiuae/falcon-7b", 6921.7},
                              {"tiiuae/falcon-40b-instruct", 41303.3},
                              {"THUDM/chatglm2-6b", 6243.6},
                              {"ZhipuAI/chatglm3-6b-base", 6243.6},
                              {"THUDM/glm-4-9b-chat", 9399.9},
                              {"zai-org/GLM-4.5-Air", 106852.2},
                              {"Qwen/Qwen1.5-MoE-A2.7B-Chat", 14315.8},
                              {"allenai/OLMoE-1B-7B-0924", 6919.2},
                              {"Qwen/Qwen2-57B-A14B-Instruct", 57408.8},
                              {"Qwen/Qwen-7B-Chat", 7721.3},
                              {"EleutherAI/gpt-j-6b", 6050.9},
                              {"EleutherAI/pythia-1.4b-deduped", 1414.6},
                              {"EleutherAI/pythia-12b", 11846.1},
                              {"internlm/internlm2-chat-20b", 19861.1},
                              {"baichuan-inc/Baichuan2-7B-Base", 7505.9},
                              {"mistralai/Mistral-Nemo-Instruct-2407", 12247.8},
                              {"microsoft/phi-4", 14659.5},
                              {"qlora_phi4_14b", 14659.5},
                              {"microsoft/phi-2", 2779.7},
                              {"mistralai/Devstral-Small-2505", 23572.4},
                              {"mistralai/Devstral-Small-2507", 23572.4},
                              {"THUDM/GLM-4-9B-0414", 9400.3},
                              {"zai-org/GLM-4-32B-Base-0414", 32566.4},
                              {"THUDM/chatglm-6b", 6173.3},
                              {"ByteDance-Seed/Seed-OSS-36B-Instruct", 36151.1},
                              {"ibm-granite/granite-3.1-8b-instruct", 8170.8},
                              {"deepcogito/cogito-v1-preview-qwen-14B", 14770.0},
                              {"HuggingFaceTB/SmolLM3-3B", 3075.1},
                              {"deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", 1777.1}};
  for (const Named& named : kNamed) {
    SCOPED_TRACE(named.name);
    const auto known = model_of_name(named.name);
    ASSERT_TRUE(known);
    std::string complaints;
    const model::Transformer model = read_model_text(known->model.dump(), complaints);
    EXPECT_EQ(complaints, "");
    EXPECT_NEAR(static_cast<double>(model::total_parameters(model)) / 1e6, named.millions, 0.001 * named.millions);
  }
}

// Returns the layers of the model that a name means; 0: nobody knows it.
std::int64_t layers(const char* name) {
  const auto known = model_of_name(name);
  return known ? known->layers : 0;
}

TEST(ModelNames, FoldersOfTheHubAndKindsInsideOfANameMeanTheModel) {
  EXPECT_EQ(layers("/data/llama/models--meta-llama--Llama-3.2-1B/snapshots/4e20de362430"), 16);
  EXPECT_EQ(layers("llama_hf_7b"), 32);
  EXPECT_EQ(layers("mistralai/Mistral-7B-Instruct-v0.3"), 32);
  EXPECT_EQ(layers("/data/Llama-2-13B-fp16"), 40);
  EXPECT_EQ(layers("qwen3_moe_235b_a22b"), 94);
}

TEST(ModelNames, ASizeWithAPointIsNotThatOfALargerModel) {
  EXPECT_FALSE(model_of_name("princeton/llama-1.3b")) << "not Llama of 13 billion parameters";
  EXPECT_FALSE(model_of_name("llama-2-1.3b"));
  EXPECT_EQ(model_of_name("facebook/opt-1.3b")->layers, 24);
  EXPECT_EQ(model_of_name("facebook/opt-13b")->layers, 40);
}

TEST(ModelNames, ALineInASizeIsAPointOrStandsBehindAVersion) {
  EXPECT_EQ(layers("opt-1-3b"), 24);
  EXPECT_EQ(layers("opt_1_3b"), 24);
  EXPECT_EQ(layers("pythia-1-2b"), 0) << "not Pythia of 12 billion parameters";
  EXPECT_EQ(layers("llama-2-1-3b"), 0);
  EXPECT_EQ(layers("Qwen/Qwen-1_8B-Chat"), 24);
  EXPECT_EQ(layers("llama-3-1-8b"), 32);
  EXPECT_EQ(layers("google/gemma-2-2b-it"), 26);
  EXPECT_EQ(layers("meta-llama/Llama-3.2-1B"), 16);
  EXPECT_EQ(layers("qwen3-8b"), 36);
  EXPECT_EQ(layers("internlm/internlm2_5-7b-chat"), 32);
}

TEST(ModelNames, FormatsOfStoredWeightsMayFollowEachOther) {
  EXPECT_EQ(layers("some-org/Meta-Llama-3.1-405B-BNB-NF4-BF16"), 126);
  EXPECT_EQ(layers("some-org/Meta-Llama-3.1-8B-Instruct-AWQ-INT4"), 32);
  EXPECT_EQ(layers("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4"), 28);
  EXPECT_EQ(layers("some-org/Llama-3.3-70B-Instruct-FP8-dynamic"), 80);
  EXPECT_EQ(layers("Llama-3.1-8B-NVFP4"), 0) << "no runtime here trains beside it";
}

TEST(ModelNames, WeightsOfOtherLibrariesAreRefused) {
  for (const char* name : {"Qwen/Qwen2.5-7B-Instruct-AWQ", "org/llama-3.1-8b-gptq-int4", "org/Qwen-7B-Chat-Int4",
                           "org/Meta-Llama-3-8B-Instruct-4bit", "Llama-3-8B-8bit"}) {
    Report report;
    map_named_model(name, "base_model", report);
    ASSERT_EQ(report.refused.size(), 1U) << name;
    EXPECT_NE(report.refused.front().because.find("already quantised"), std::string::npos);
    EXPECT_TRUE(report.has("model")) << "its sizes are known";
  }
}

// THUDM/glm-4-9b-chat-1m has 4 groups of keys and values, glm-4-9b-chat 2.
TEST(ModelNames, ALongerContextIsTheSameModelOnlyInSomeFamilies) {
  EXPECT_FALSE(model_of_name("THUDM/glm-4-9b-chat-1m"));
  EXPECT_TRUE(model_of_name("THUDM/glm-4-9b-chat"));
  EXPECT_TRUE(model_of_name("Qwen/Qwen2.5-7B-Instruct-1M"));
  EXPECT_TRUE(model_of_name("internlm/internlm2_5-7b-chat-1m"));
}

// Each size of the table fits the names that models have.
TEST(ModelNames, NamesWithAVersionAndASizeAreKnown) {
  for (const char* name : {"Qwen/Qwen2-0.5B",
                           "Qwen/Qwen2-7B",
                           "Qwen/Qwen2-72B",
                           "Qwen/Qwen2.5-3B",
                           "Qwen/Qwen2.5-14B",
                           "Qwen/Qwen3-0.6B",
                           "Qwen/Qwen3-4B",
                           "Qwen/Qwen3-14B",
                           "Qwen/Qwen3-32B",
                           "Qwen/Qwen3-30B-A3B",
                           "Qwen/Qwen3-235B-A22B",
                           "Qwen/Qwen1.5-4B",
                           "Qwen/Qwen1.5-32B",
                           "Qwen/Qwen1.5-110B",
                           "google/gemma-2-9b",
                           "google/gemma-2-27b",
                           "01-ai/Yi-1.5-6B",
                           "01-ai/Yi-1.5-34B",
                           "meta-llama/Llama-2-7b-hf",
                           "meta-llama/Llama-2-70b-hf",
                           "meta-llama/Llama-3.2-3B",
                           "meta-llama/Meta-Llama-3-70B",
                           "meta-llama/Llama-3.1-405B",
                           "gpt3-175b",
                           "nemotron-4-340b",
                           "THUDM/chatglm2-6b",
                           "baichuan-inc/Baichuan2-7B-Base",
                           "HuggingFaceTB/SmolLM3-3B",
                           "bert-base-uncased",
                           "google-bert/bert-large-uncased",
                           "PY007/TinyLlama-1.1B-intermediate-step-240k-503b",
                           "internlm/internlm2-20b"})
    EXPECT_TRUE(model_of_name(name)) << name;
}

TEST(ModelNames, VersionsOfOneSizeShareTheirShape) {
  const auto known = model_of_name("TinyLlama/TinyLlama-1.1B-Chat-v1.0");
  ASSERT_TRUE(known);
  EXPECT_EQ(known->layers, 22);
  EXPECT_TRUE(model_of_name("lmsys/vicuna-7b-v1.1"));
  EXPECT_FALSE(model_of_name("own/thing-7b-v1.1"));
}

TEST(ModelNames, AFineTuneHasTheSizesThatItsNameStates) {
  const auto base = [](const char* name) {
    const auto known = model_of_name(name);
    return known ? known->base : "unknown";
  };
  EXPECT_EQ(base("shenzhi-wang/Llama3-8B-Chinese-Chat"), "Llama3-8B");
  EXPECT_EQ(base("own/Meta-Llama-3.1-8B-Instruct-abliterated"), "Meta-Llama-3.1-8B");
  EXPECT_EQ(base("mesolitica/tinyllama-1.1b-4096-fpf"), "tinyllama-1.1b");
  EXPECT_EQ(base("Qwen2.5-7B-Instruct-my-sft"), "Qwen2.5-7B");
  EXPECT_EQ(base("meta-llama/Llama-3.1-8B-Instruct"), "") << "the whole name is known";
  for (const char* other : {"Llama-3-8B-Instruct-EXL2", "Llama-3-4x8B-merge", "Llama-3-8B-4x", "Qwen2.5-7B-VL-own",
                            "Llama-3-8B-pruned", "Llama-3-Swallow-8B-v0.1", "own-7B-chat-v3", "Llama-3.2-11B-Vision",
                            "Llama-2-7b-ko-own", "Qwen3-30B-A3B-own", "Llama-3-8B-to-4B"})
    EXPECT_EQ(base(other), "unknown") << other;
}

TEST(ModelNames, WordsOfOtherShapesAndFormatsAreNoFineTunes) {
  for (const char* other : {"Llama-3-8B-llava-next",
                            "Llama-3-8B-Japanese-new-vocab",
                            "Meta-Llama-3-8B-Instruct-8layers",
                            "Llama-3-8B-half-layers",
                            "Llama-3-8B-Layerskip-16layers",
                            "Llama-3-8B-BitNet1.58",
                            "Qwen2.5-7B-hybrid-rwkv",
                            "Qwen3-8B-speculator",
                            "Llama-3.2-3B-ColBERT",
                            "Llama-3.1-8B-Instruct-NVFP4",
                            "Llama-3.1-8B-Instruct-FP8-KV",
                            "Llama-3-8B-1.58bit",
                            "Qwen3-8B-eagle3",
                            "Llama-3-8B-llm2vec",
                            "Llama-3-8B-upcycled-moe",
                            "Llama-3-8B-pruned50",
                            "Qwen2.5-7B-reward-model",
                            "Llama-3-8B-W4A16",
                            "Qwen2.5-7B-Q4_K_M",
                            "Llama-3-8B-extended-tokenizer",
                            "Llama-3-8B-mxfp4-own",
                            "Llama-3-8B-Omni",
                            "Llama-3-8B-classification"})
    EXPECT_FALSE(model_of_name(other)) << other;
  for (const char* own :
       {"Llama-3-8B-roleplayer", "Llama-3-8B-multilingual", "Llama-3-8B-SlimOrca", "Qwen2.5-7B-sft-v2",
        "Llama-3-8B-Chinese-Chat", "Llama-3-8B-Instruct-abliterated", "Qwen3-8B-supervised", "Llama-3-8B-math-dpo"})
    EXPECT_TRUE(model_of_name(own)) << own;
}

}  // namespace
}  // namespace foretoken::io::launch
