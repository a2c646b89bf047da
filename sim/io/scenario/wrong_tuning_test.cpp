// Tests complaints about fine-tuning in scenarios: methods, ranks, targets, virtual tokens, packing. Each is one line.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/json/test_text.h"
#include "sim/io/scenario/read_scenario.h"

namespace foretoken::io {
namespace {

constexpr const char* kLora = R"({
  "model": "llama-3-8b", "cluster": "dgx-h100-ndr", "gpus": 1, "runtime": "huggingface-trainer",
  "batch": {"micro": 1, "global": 8, "sequence_length": 2048}, "recompute": "full",
  "training": {"method": "lora", "rank": 16, "targets": ["q_proj", "v_proj"]}})";

struct WrongTuning {
  const char *name, *patch;  ///< merged over the scenario; null removes a key
  const char* complaint;
};

const WrongTuning kWrongTuning[] = {
    {"an unknown method", R"({"training": {"method": "dora"}})", "/training/method: expected"},
    {"no method", R"({"training": {"method": null}})", "/training/method: "},
    {"a method that is no text", R"({"training": {"method": 4}})", "/training/method: expected \"full\", \"lora\""},
    {"training that is no object", R"({"training": "lora"})", "/training: expected an object"},
    {"an unknown key", R"({"training": {"alpha": 32}})", "/training/alpha: unknown key"},
    {"no rank", R"({"training": {"rank": null}})", "/training/rank: expected with method \"lora\", found none; try 16"},
    {"rank 0", R"({"training": {"rank": 0}})", "/training/rank: expected a whole number from 1 to 65536, found 0"},
    {"half a rank", R"({"training": {"rank": 7.5}})", "/training/rank: expected a whole number"},
    {"a rank beyond the hidden size", R"({"training": {"rank": 8192}})",
     "/training/rank: expected at most 4096, the hidden size of model \"llama-3-8b\", found 8192"},
    {"an unknown target", R"({"training": {"targets": ["q_prj"]}})", "/training/targets/0: "},
    {"a target that is no text", R"({"training": {"targets": [1]}})", "/training/targets/0: expected \"q_proj\""},
    {"no target", R"({"training": {"targets": []}})",
     "/training/targets: expected at least one product, found an empty array"},
    {"targets that are a number", R"({"training": {"targets": 2}})", "/training/targets: expected an array"},
    {"a part that does not train whole", R"({"training": {"whole": ["mlp"]}})",
     "/training/whole/0: expected \"embedding\" or \"head\", found \"mlp\""},
    {"a part that is no text", R"({"training": {"whole": ["head", 1]}})", "/training/whole/1: expected \"embedding\""},
    {"one wrong part", R"({"training": {"whole": "norm"}})",
     "/training/whole: expected \"embedding\" or \"head\", found \"norm\""},
    {"no part", R"({"training": {"whole": []}})",
     "/training/whole: expected \"embedding\" or \"head\" in the list, found an empty array"},
    {"parts that are a number", R"({"training": {"whole": 2}})", "/training/whole: expected an array"},
    {"parts of full fine-tuning",
     R"({"training": {"method": "full", "rank": null, "targets": null, "whole": ["head"]}})",
     "/training/whole: expected none with method \"full\"; remove it"},
    {"parts beside virtual tokens", R"({"training": {"method": "p-tuning", "rank": null, "targets": null,
         "virtual_tokens": 20, "whole": ["embedding"]}})",
     "/training/whole: expected none with method \"p-tuning\"; remove it"},
    {"the head of an encoder", R"({"model": "bert-base", "batch": {"sequence_length": 512},
         "training": {"whole": ["head"]}})",
     "/training/whole: expected none for \"bert-base\", an encoder"},
    {"the table of two halves", R"({"model": "t5-small", "batch": {"sequence_length": 512},
         "training": {"whole": ["embedding"]}})",
     "/training/whole: expected none for \"t5-small\", whose two halves share a table of tokens"},
    {"the head of several predictions", R"({"model": "deepseek-v3", "gpus": 8,
         "training": {"targets": "attention", "whole": ["head"]}})",
     "/training/whole: expected none for \"deepseek-v3\", whose layers of multi-token prediction share the head"},
    {"a rank of full fine-tuning", R"({"training": {"method": "full", "targets": null}})",
     "/training/rank: expected none with method \"full\"; remove it"},
    {"targets of an adapter", R"({"training": {"method": "adapter"}})",
     "/training/targets: expected none with method \"adapter\"; remove it"},
    {"virtual tokens of LoRA", R"({"training": {"virtual_tokens": 20}})",
     "/training/virtual_tokens: expected none with method \"lora\"; remove it"},
    {"P-tuning without virtual tokens", R"({"training": {"method": "p-tuning", "rank": null, "targets": null}})",
     "/training/virtual_tokens: expected with method \"p-tuning\", found none; try 100"},
    {"virtual tokens alone",
     R"({"training": {"method": "prompt-tuning", "rank": null, "targets": null, "virtual_tokens": 2048}})",
     "/training/virtual_tokens: expected fewer than the 2048 tokens of batch.sequence_length"},
    {"an encoder of prompt-tuning",
     R"({"training": {"method": "prompt-tuning", "rank": null, "targets": null, "virtual_tokens": 20,
         "encoder_hidden": 64}})",
     "/training/encoder_hidden: expected none with method \"prompt-tuning\"; remove it"},
    {"an MLP that has routed experts alone", R"({"model": "mixtral-8x7b", "gpus": 8, "training": {"targets": "mlp"}})",
     "/training/targets: expected \"attention\", or \"experts\" in the list: every MLP of \"mixtral-8x7b\" is a routed "
     "expert"},
    {"experts of a dense model", R"({"training": {"targets": "experts"}})",
     "/training/targets: expected no \"experts\": \"llama-3-8b\" has none; try \"mlp\""},
    {"one adapter of gate and up beside experts",
     R"({"model": "mixtral-8x7b", "gpus": 8, "training": {"targets": ["linear_fc1", "experts"]}})",
     "/training/targets: expected one product or its parts, found fc1 and its parts"},
    {"keys of latent attention", R"({"model": "deepseek-v3", "gpus": 8, "training": {"targets": ["k_proj"]}})",
     "/training/targets: expected a product of latent attention, as \"deepseek-v3\" has"},
    {"latent attention that there is not", R"({"training": {"targets": ["kv_b_proj"]}})",
     "/training/targets: expected a product that \"llama-3-8b\" has: it has no latent attention"},
    {"routed experts on expert ranks",
     R"({"model": "mixtral-8x7b", "gpus": 8, "parallelism": {"expert": 8}, "training": {"targets": "experts"}})",
     "/parallelism/expert: expected 1 with LoRA beside routed experts, found 8"},
    {"routed experts on tensor ranks",
     R"({"model": "mixtral-8x7b", "gpus": 8, "parallelism": {"tensor": 2, "sequence_parallel": true}, "training": {"targets": "experts"}})",
     "/parallelism/tensor: expected 1 with LoRA beside latent attention or routed experts, found 2"},
    {"the gate of an MLP without one", R"({"model": "gpt2", "batch": {"sequence_length": 1024},
         "training": {"targets": "gate_proj"}})",
     "/training/targets: expected no \"gate_proj\": the MLP of \"gpt2\" has no gate; try \"up_proj\""},
    {"4 bit under fp8", R"({"training": {"method": "qlora"}, "precision": "fp8"})",
     "/training/method: expected \"lora\" with precision \"fp8\""},
    {"8 bit under fp8", R"({"training": {"method": "lora-int8"}, "precision": "fp8"})",
     "/training/method: expected \"lora\" with precision \"fp8\": products of int8 weights run in int8 and 16 bit"},
    {"experts in 8 bit", R"({"model": "mixtral-8x7b", "gpus": 8, "training": {"method": "lora-int8"}})",
     "/training/method: expected \"lora\" for \"mixtral-8x7b\": no experts or latent attention in 8 bit"},
    {"shards of integers", R"({"training": {"method": "lora-int8"}, "optimizer": {"zero_stage": 3}})",
     "/optimizer/zero_stage: expected at most 2 with training.method \"lora-int8\""},
    {"packing to more than the sequence", R"({"batch": {"packed": 4096}})",
     "/batch/packed: expected at most 2048, the tokens that sequences are packed to (batch.sequence_length), found "
     "4096"},
    {"packed into nothing", R"({"batch": {"packed": 0}})", "/batch/packed: expected a number"},
    {"unfused attention over packed sequences", R"({"batch": {"packed": 512}, "attention": "unfused"})",
     "/batch/packed: expected fused attention"},
    {"tokens and epochs", R"({"run": {"tokens": 1e9, "epochs": 3, "examples": 1000}})",
     "/run/tokens: expected tokens, or epochs and examples, not both; remove one"},
    {"epochs over nothing", R"({"run": {"epochs": 3}})", "/run/examples: "}};

TEST(WrongTuning, EachIsOneLine) {
  for (const WrongTuning& wrong : kWrongTuning) {
    SCOPED_TRACE(wrong.name);
    nlohmann::json value = nlohmann::json::parse(kLora);
    value.merge_patch(nlohmann::json::parse(wrong.patch));
    const std::string expected = std::string("t.json: ") + wrong.complaint;
    const std::string found = thrown_by([&] { (void)read_scenario_text(value.dump(), "t.json"); });
    EXPECT_EQ(found.substr(0, expected.size()), expected);
    EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 1) << found;
  }
}

TEST(WrongTuning, TheScenarioThatTheyChangeIsSound) {
  EXPECT_EQ(thrown_by([] { (void)read_scenario_text(kLora, "t.json"); }), "");
}

TEST(Tuning, EpochsOverExamplesAreTokens) {
  nlohmann::json value = nlohmann::json::parse(kLora);
  value.merge_patch(nlohmann::json::parse(R"({"batch": {"packed": 500}, "run": {"epochs": 3, "examples": 10000}})"));
  EXPECT_EQ(read_scenario_text(value.dump(), "t.json").job.run->tokens, 3.0 * 10000 * 500);
}

TEST(Tuning, PartsThatTrainWholeAreAListOrAName) {
  const auto whole = [](const char* parts) {
    nlohmann::json value = nlohmann::json::parse(kLora);
    value["training"]["whole"] = nlohmann::json::parse(parts);
    return read_scenario_text(value.dump(), "t.json").job.model.tuning.whole;
  };
  EXPECT_EQ(whole(R"("head")"), (model::WholeParts{.head = true}));
  EXPECT_EQ(whole(R"(["head", "embedding", "head"])"), (model::WholeParts{.embedding = true, .head = true}));
  EXPECT_EQ(whole("null"), model::WholeParts{});
}

TEST(Tuning, LoraStandsBesideQueriesAndValuesUnlessStated) {
  nlohmann::json value = nlohmann::json::parse(kLora);
  value["training"].erase("targets");
  const auto made = read_scenario_text(value.dump(), "t.json");
  EXPECT_EQ(made.job.model.tuning.targets, (model::LoraTargets{.queries = true, .values = true}));
}

}  // namespace
}  // namespace foretoken::io
