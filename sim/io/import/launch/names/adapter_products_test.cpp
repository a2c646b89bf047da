// Tests names of products beside which LoRA stands, and the expressions that select them.
#include "sim/io/import/launch/names/adapter_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/io/import/launch/names/small_expression.h"
#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch {
namespace {

using testing::HasSubstr;

struct ProductsCase {
  const char* name;
  const char* text;
  Json expected;
  const char* model = "";
};

Json products_in(const ProductsCase& one, Report& report) {
  report.unknown_model = one.model;
  return adapter_products(one.text, "target_modules", report);
}

TEST(AdapterProducts, NamesOfFamiliesAreThoseOfAScenario) {
  const ProductsCase cases[] = {
      {"MPT", "Wqkv,out_proj,up_proj,down_proj", {"qkv_proj", "o_proj", "up_proj", "down_proj"}},
      {"replit", "Wqkv mlp_up mlp_down", {"qkv_proj", "up_proj", "down_proj"}},
      {"letters of any size", "wqkv W_PACK Q_proj", {"qkv_proj", "q_proj"}},
      {"DBRX, whose w2 is behind v1", "w1 v1 w2", {"gate_proj", "up_proj", "down_proj"}},
      {"Qwen of 2023, whose w2 is beside w1",
       "[\"w1\", \"w2\", \"mlp.c_proj\"]",
       {"gate_proj", "up_proj", "down_proj"}},
      {"one of two products by its parent", "attn.c_attn attn.c_proj", {"c_attn", "o_proj"}},
      {"GPT-J", "q_proj fc_in fc_out", {"q_proj", "linear_fc1", "down_proj"}},
      {"BERT, whose other products all end in dense",
       "query value dense",
       {"q_proj", "v_proj", "o_proj", "linear_fc1", "down_proj"}},
      {"GPT-NeoX", "query_key_value dense dense_h_to_4h", {"query_key_value", "o_proj", "linear_fc1"}},
      {"T5, whose wo is behind the MLP", "q v wi_0 wi_1 wo", {"q_proj", "v_proj", "gate_proj", "up_proj", "down_proj"}},
      {"T5 by its plain o", "q,k,v,o,wo", {"q_proj", "k_proj", "v_proj", "o_proj", "down_proj"}},
      {"InternLM2, whose w2 is down without w3 in the list",
       "wqkv,wo,w1,w2",
       {"qkv_proj", "o_proj", "gate_proj", "down_proj"},
       "internlm/internlm2-chat-7b"},
      {"Qwen of 2023, whose w2 is up", "w2", {"up_proj"}, "Qwen/Qwen-7B-Chat"},
      {"Llama's own code, whose wo is behind attention", "wq wo", {"q_proj", "o_proj"}}};
  for (const ProductsCase& one : cases) {
    SCOPED_TRACE(one.name);
    Report report;
    EXPECT_EQ(products_in(one, report), one.expected);
    EXPECT_EQ(refused_lines(report), "");
  }
}

TEST(AdapterProducts, OthersAreRefusedByName) {
  Report report;
  EXPECT_EQ(adapter_products("q_proj,LM_head vision.q_proj", "target_modules", report), Json::array({"q_proj"}));
  EXPECT_THAT(refused_lines(report), HasSubstr("targets LM_head"));
  EXPECT_THAT(refused_lines(report), HasSubstr("targets vision.q_proj"));
}

// peft/tuners/tuners_utils.py, inject_adapter: a name that fits no module is no error beside one that does.
TEST(AdapterProducts, NamesThatTheFamilyLacksAreLeftOut) {
  const auto products = [](const char* text, Report& report, Modules modules) {
    report.unknown_model = "EleutherAI/gpt-j-6b";
    return adapter_products(text, "lora_target_modules", report, modules);
  };
  constexpr const char* kOfLlama = "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj";
  Report report;
  EXPECT_EQ(products(kOfLlama, report, Modules::kOfTransformers), (Json{"q_proj", "k_proj", "v_proj"}));
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(report.names("targets o_proj"));
  EXPECT_EQ(products("all-linear", report, Modules::kOfTransformers), Json::array({"all-linear"}));
  EXPECT_EQ(products("q_proj,out_proj,fc_in,fc_out", report, Modules::kOfTransformers),
            (Json{"q_proj", "o_proj", "linear_fc1", "down_proj"}));
  EXPECT_EQ(products("o_proj", report, Modules::kOwn), Json::array({"o_proj"})) << "a program's own names";
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(products("gate_proj", report, Modules::kOfTransformers), Json::array());
  EXPECT_THAT(refused_lines(report), HasSubstr("none of these products"));
}

TEST(AdapterProducts, AttentionsInputsByFamily) {
  EXPECT_EQ(attention_inputs_of("meta-llama/Llama-2-7b-hf"), "q_proj,k_proj,v_proj");
  EXPECT_EQ(attention_inputs_of("Qwen/Qwen-7B-Chat"), "c_attn");
  EXPECT_EQ(attention_inputs_of("baichuan-inc/Baichuan2-7B-Chat"), "W_pack");
}

TEST(AdapterProducts, ARegularExpressionSelectsModulesOfLayers) {
  const ProductsCase cases[] = {
      {"classes and groups",
       R"(model.layers.[\d]+.(mlp|self_attn).(up|down|gate|q|k|v|o)_proj)",
       {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}},
      {"a part of attention", R"(.*\.self_attn\.(q|v)_proj$)", {"q_proj", "v_proj"}},
      {"the language half of a model of images",
       R"(^model\.language_model\.layers\.\d+\.self_attn\..*_proj)",
       {"q_proj", "k_proj", "v_proj", "o_proj"}},
      {"a fused product by its end", ".*v_proj", {"qkv_proj"}, "microsoft/Phi-3-mini-4k-instruct"},
      {"of a family with other names", R"(transformer\.h\.[0-9]{0}.*)", Json::array(), "gpt2"},
      {"of MPT", R"(transformer\.blocks\.[0-9]+\.attn\.(Wqkv|out_proj))", {"qkv_proj", "o_proj"}, "mosaicml/mpt-7b"},
      {"a list of all layers of the model",
       R"(model\.layers\.([0-9]|[12][0-9]|3[01])\.self_attn\.q_proj)",
       {"q_proj"},
       "meta-llama/Meta-Llama-3-8B"},
      {"w2 of InternLM2", R"(.*\.feed_forward\.w2)", {"down_proj"}, "internlm2-7b"},
      {"a folder with the name of another family",
       R"(.*\.(q_proj|gate_proj))",
       {"q_proj", "gate_proj"},
       "/opt/models/Qwen2.5-7B"},
      {"of Falcon3, which is Llama's", R"(.*\.mlp\.up_proj)", {"up_proj"}, "tiiuae/Falcon3-7B-Base"},
      {"of Falcon", R"(.*\.query_key_value)", {"query_key_value"}, "tiiuae/falcon-7b-instruct"},
      {"of Qwen of 2023",
       R"(transformer.h.\d+.(attn|mlp).c_(attn|proj))",
       {"c_attn", "o_proj", "down_proj"},
       "Qwen/Qwen-7B"}};
  for (const ProductsCase& one : cases) {
    SCOPED_TRACE(one.name);
    Report report;
    EXPECT_EQ(products_in(one, report), one.expected);
    EXPECT_EQ(report.refused.empty(), !one.expected.empty());
  }
}

TEST(AdapterProducts, ExpressionsThatSelectAPartAreRefusedWhole) {
  constexpr const char* kTexts[] = {R"(model\.layers\.[0-9]\.self_attn\.q_proj)",
                                    R"(.*\.experts\.\d+\.(gate|up)_proj)",
                                    R"(vision_tower.*q_proj)",
                                    R"((?!.*vision).*q_proj)",
                                    R"(.*{2}q_proj)",
                                    "((q_proj)",
                                    R"(.*\bq_proj)",
                                    "*q_proj"};
  for (const char* text : kTexts) {
    Report report;
    EXPECT_EQ(adapter_products(text, "target_modules", report), Json::array()) << text;
    EXPECT_THAT(refused_lines(report), HasSubstr(std::string("targets ") + text)) << text;
  }
}

TEST(AdapterProducts, AFewLayersOfALargerModelAreRefused) {
  Report report;
  report.unknown_model = "meta-llama/Meta-Llama-3-70B";
  EXPECT_EQ(adapter_products(R"(.*layers\.([0-9]|[12][0-9]|3[01])\.self_attn\.q_proj)", "target_modules", report),
            Json::array());
  EXPECT_THAT(refused_lines(report), HasSubstr("some layers or experts alone"));
}

TEST(AdapterProducts, LongListsAreReadOnce) {
  std::string text;
  for (int name = 0; name < 20000; ++name) text += "w2,";
  Report report;
  EXPECT_EQ(adapter_products(text + "w3", "target_modules", report), Json::array({"down_proj", "up_proj"}));
}

TEST(SmallExpression, MatchesTheWholeOfAName) {
  const auto matches = [](const char* text, const char* name) {
    const auto expression = SmallExpression::read(text);
    return expression && expression->matches(name);
  };
  EXPECT_TRUE(matches("a|bc", "bc"));
  EXPECT_FALSE(matches("a|bc", "abc"));
  EXPECT_TRUE(matches("(?:ab)+?c?", "ababc"));
  EXPECT_TRUE(matches("[^a-c][]x-]", "d]"));
  EXPECT_FALSE(matches("[^a-c]", "b"));
  EXPECT_FALSE(SmallExpression::read(R"([\.-z])")) << "a range behind an escape";
  EXPECT_TRUE(matches(R"([\.-]a)", "-a"));
  EXPECT_TRUE(matches("^$", ""));
  EXPECT_TRUE(matches("()*", ""));
  EXPECT_TRUE(matches(R"(\w+\.\d)", "k_1.7"));
}

TEST(SmallExpression, NoTextIsSlowOrDeep) {
  const std::string name(60, 'a');
  const auto nested = SmallExpression::read("((((((a*)*)*)*)*)*)*b");
  ASSERT_TRUE(nested);
  EXPECT_FALSE(nested->matches(name));
  EXPECT_FALSE(SmallExpression::read(std::string(100, '(') + "a" + std::string(100, ')')));
  EXPECT_FALSE(SmallExpression::read(std::string(1000, 'a')));
}

}  // namespace
}  // namespace foretoken::io::launch
