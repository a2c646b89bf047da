// Tests complaints about experts: degrees, routing, and choices that experts do not allow. Each is one clear line.
#include <gtest/gtest.h>

#include <string>

#include "sim/io/json/test_text.h"
#include "sim/io/scenario/read_scenario.h"

namespace foretoken::io {
namespace {

constexpr const char* kMixtral = R"({
  "model": "mixtral-8x7b", "cluster": "dgx-h100-ndr", "gpus": 16, "runtime": "megatron-core", "schedule": "1f1b",
  "parallelism": {"tensor": 1, "pipeline": 4, "data": 4, "expert": 4},
  "batch": {"micro": 1, "global": 64, "sequence_length": 4096}})";

struct WrongExperts {
  const char *name, *patch;  ///< merged over Mixtral; null removes a key
  const char* complaint;
};

// Reads a changed scenario. It has this complaint and no other.
void expect_complaint(const WrongExperts& wrong) {
  SCOPED_TRACE(wrong.name);
  nlohmann::json value = nlohmann::json::parse(kMixtral);
  value.merge_patch(nlohmann::json::parse(wrong.patch));
  EXPECT_EQ(thrown_by([&] { (void)read_scenario_text(value.dump(), "t.json"); }),
            "t.json: " + std::string(wrong.complaint) + "\n");
}

constexpr WrongExperts kDegrees[] = {
    {"experts that ranks do not share evenly", R"({"parallelism": {"expert": 3}})",
     "/parallelism/expert: expected a divisor of the model's 8 experts, found 3"},
    {"more ranks than experts", R"({"parallelism": {"expert": 16}})",
     "/parallelism/expert: expected a divisor of the model's 8 experts, found 16"},
    {"more expert ranks than a stage has", R"({"parallelism": {"expert": 8}})",
     "/parallelism/expert: expected expert 8 x expert_tensor 1 = 8 to divide the 4 ranks of a pipeline stage (tensor 1 "
     "x context 1 x data 4)"},
    {"both degrees together", R"({"parallelism": {"expert": 4, "expert_tensor": 2}})",
     "/parallelism/expert: expected expert 4 x expert_tensor 2 = 8 to divide the 4 ranks of a pipeline stage (tensor 1 "
     "x context 1 x data 4)"},
    {"ranks that do not share an expert evenly", R"({"parallelism": {"expert": 1, "expert_tensor": 3}})",
     "/parallelism/expert_tensor: expected a divisor of the experts' width 14336, found 3"},
    {"no expert rank", R"({"parallelism": {"expert": 0}})",
     "/parallelism/expert: expected a whole number from 1 to 1048576, found 0"},
    {"a negative degree", R"({"parallelism": {"expert": -1}})",
     "/parallelism/expert: expected a whole number from 1 to 1048576, found -1"},
    {"half a rank", R"({"parallelism": {"expert": 1.5}})",
     "/parallelism/expert: expected a whole number from 1 to 1048576, found 1.5"},
    {"a degree in words", R"({"parallelism": {"expert": "all"}})",
     "/parallelism/expert: expected a whole number from 1 to 1048576, found a string \"all\""},
    {"no expert-tensor rank", R"({"parallelism": {"expert_tensor": 0}})",
     "/parallelism/expert_tensor: expected a whole number from 1 to 1048576, found 0"},
    {"tensor ranks that copy tokens",
     R"({"parallelism": {"tensor": 2, "data": 2, "expert": 2, "sequence_parallel": false}})",
     "/parallelism/sequence_parallel: expected true: with tensor 2, experts need it"}};

TEST(WrongExperts, Degrees) {
  for (const WrongExperts& wrong : kDegrees) expect_complaint(wrong);
}

constexpr WrongExperts kRouting[] = {
    {"an unknown dispatcher", R"({"moe": {"dispatcher": "flex"}})",
     "/moe/dispatcher: expected \"all-to-all\", \"all-gather\", \"deepep\" or \"hybridep\", found \"flex\""},
    {"a number for a dispatcher", R"({"moe": {"dispatcher": 3}})",
     "/moe/dispatcher: expected \"all-to-all\", \"all-gather\", \"deepep\" or \"hybridep\", found 3"},
    {"DeepEP without a law of it", R"({"cluster": "dgx-2-v100-32gb-edr", "precision": "fp16", "attention": "unfused",
      "moe": {"dispatcher": "deepep"}})",
     "/moe/dispatcher: expected \"all-to-all\": profile \"v100-sxm3-32gb\" has no law of DeepEP"},
    {"no capacity", R"({"moe": {"capacity_factor": 0}})",
     "/moe/capacity_factor: expected a number above 0 and at most 1024, found 0"},
    {"a negative capacity", R"({"moe": {"capacity_factor": -1}})",
     "/moe/capacity_factor: expected a number above 0 and at most 1024, found -1"},
    {"a capacity in words", R"({"moe": {"capacity_factor": "full"}})",
     "/moe/capacity_factor: expected a number above 0 and at most 1024, found a string \"full\""},
    {"the hottest rank below the mean", R"({"moe": {"imbalance": 0.5}})",
     "/moe/imbalance: expected a number from 1 to 1048576, found 0.5"},
    {"a hottest rank beyond all", R"({"moe": {"imbalance": 1e300}})",
     "/moe/imbalance: expected a number from 1 to 1048576, found 1e+300"},
    {"a hottest rank with more tokens than there are", R"({"moe": {"imbalance": 100}})",
     "/moe/imbalance: expected at most 4: 4 expert ranks of 8 experts meet 2 of them a token, found 100"},
    {"a capacity for more tokens than there are", R"({"moe": {"capacity_factor": 1000}})",
     "/moe/capacity_factor: expected at most 4, where an expert holds every token (8 experts / 2 a token), found 1000"},
    {"a hottest rank where all are equal", R"({"moe": {"imbalance": 2, "capacity_factor": 1.25}})",
     "/moe/imbalance: expected none with capacity_factor: every expert gets equally many rows"},
    {"shared experts that there are not", R"({"moe": {"shared_expert_overlap": true}})",
     "/moe/shared_expert_overlap: expected false: model \"mixtral-8x7b\" has no shared experts"},
    {"an overlap in words", R"({"moe": {"overlap": "yes"}})",
     "/moe/overlap: expected true or false, found a string \"yes\""},
    {"nothing to hide", R"({"parallelism": {"expert": 1}, "moe": {"overlap": true}})",
     "/moe/overlap: expected false: expert 1 has no exchanges"},
    {"a dispatcher that hides nothing", R"({"moe": {"overlap": true, "dispatcher": "all-gather"}})",
     "/moe/overlap: expected false: dispatcher \"all-gather\" cannot hide them"},
    {"hidden exchanges that are repeated", R"({"recompute": "full", "moe": {"overlap": true}})",
     "/moe/overlap: expected false: recomputation repeats the exchanges"},
    {"experts that are repeated",
     R"({"recompute": {"granularity": "selective", "modules": ["moe"]}, "moe": {"overlap": true}})",
     "/moe/overlap: expected false: recomputation repeats the exchanges"},
    {"dense layers that there are not", R"({"recompute": {"granularity": "selective", "modules": ["mlp"]}})",
     "/recompute/modules: expected no \"mlp\": all layers of model \"mixtral-8x7b\" have experts; try \"moe\""},
    {"latents that there are not", R"({"recompute": {"granularity": "selective", "modules": ["mla_up_proj"]}})",
     "/recompute/modules: expected no \"mla_up_proj\": model \"mixtral-8x7b\" has no latent attention"},
    {"shared experts to repeat", R"({"recompute": {"granularity": "selective", "modules": ["shared_experts"]}})",
     "/recompute/modules: expected no \"shared_experts\": model \"mixtral-8x7b\" has no shared experts"},
    {"a list", R"({"moe": [1]})", "/moe: expected an object, found an array"}};

TEST(WrongExperts, Routing) {
  for (const WrongExperts& wrong : kRouting) expect_complaint(wrong);
}

TEST(WrongExperts, DeepEpNeedsNvlink) {
  nlohmann::json value = nlohmann::json::parse(kMixtral);
  value["moe"]["dispatcher"] = "deepep";
  value["cluster"] = nlohmann::json::parse(R"({"base": "dgx-h100-ndr", "node": {"nvlink": null}})");
  EXPECT_EQ(
      thrown_by([&] { (void)read_scenario_text(value.dump(), "t.json"); }),
      "t.json: /moe/dispatcher: expected \"all-to-all\": expert ranks of \"dgx-h100-ndr (modified)\" have no NVLink "
      "between them, which DeepEP needs\n");
}

// The four ranks of a stage are one expert group. All tokens may choose the two experts of one rank.
constexpr WrongExperts kImbalanced[] = {
    {"a stage that there is not",
     R"({"imperfections": {"imbalanced_experts": [{"stage": 4, "group": 0, "imbalance": 2}]}})",
     "/imperfections/imbalanced_experts/0/stage: expected a whole number from 0 to 3, found 4"},
    {"a group that there is not",
     R"({"imperfections": {"imbalanced_experts": [{"stage": 0, "group": 1, "imbalance": 2}]}})",
     "/imperfections/imbalanced_experts/0/group: expected a whole number from 0 to 0, found 1"},
    {"a rank with less than the mean",
     R"({"imperfections": {"imbalanced_experts": [{"stage": 0, "group": 0, "imbalance": 0.9}]}})",
     "/imperfections/imbalanced_experts/0/imbalance: expected a number from 1 to 4, found 0.9"},
    {"more tokens than there are",
     R"({"imperfections": {"imbalanced_experts": [{"stage": 0, "group": 0, "imbalance": 4.1}]}})",
     "/imperfections/imbalanced_experts/0/imbalance: expected a number from 1 to 4, found 4.1"},
    {"no imbalance", R"({"imperfections": {"imbalanced_experts": [{"stage": 0, "group": 0}]}})",
     "/imperfections/imbalanced_experts/0/imbalance: missing; expected a number from 1 to 4"},
    {"a key of other lists",
     R"({"imperfections": {"imbalanced_experts": [{"stage": 0, "group": 0, "imbalance": 2, "gpu": 1}]}})",
     "/imperfections/imbalanced_experts/0/gpu: unknown key; known here: stage, group, imbalance"},
    {"a number instead of a group", R"({"imperfections": {"imbalanced_experts": [1.3]}})",
     "/imperfections/imbalanced_experts/0: expected an object, found 1.3"},
    {"no list", R"({"imperfections": {"imbalanced_experts": 1.3}})",
     "/imperfections/imbalanced_experts: expected an array, found 1.3"},
    {"one group twice",
     R"({"imperfections": {"imbalanced_experts": [{"stage": 1, "group": 0, "imbalance": 2},
                                                  {"stage": 1, "group": 0, "imbalance": 3}]}})",
     "/imperfections/imbalanced_experts/1: expected every expert group once, found group 0 of stage 1 again"},
    {"every expert gets equally many rows",
     R"({"moe": {"capacity_factor": 1.25},
         "imperfections": {"imbalanced_experts": [{"stage": 0, "group": 0, "imbalance": 2}]}})",
     "/imperfections/imbalanced_experts: expected none: with moe.capacity_factor every expert gets equally many rows"},
    {"every rank has all experts",
     R"({"parallelism": {"expert": 1},
         "imperfections": {"imbalanced_experts": [{"stage": 0, "group": 0, "imbalance": 2}]}})",
     "/imperfections/imbalanced_experts: expected none: with expert 1 every rank has all experts"},
    {"a dense model",
     R"({"model": "llama-3-8b", "parallelism": {"expert": 1},
         "imperfections": {"imbalanced_experts": [{"stage": 0, "group": 0, "imbalance": 2}]}})",
     "/imperfections/imbalanced_experts: expected none: model \"llama-3-8b\" is dense"},
    {"a stage of dense layers",
     R"({"model": {"base": "deepseek-v3", "num_hidden_layers": 12},
         "imperfections": {"imbalanced_experts": [{"stage": 0, "group": 0, "imbalance": 2}]}})",
     "/imperfections/imbalanced_experts/0/stage: expected a stage with experts, found 0: its layers are dense"}};

TEST(WrongExperts, ImbalancedGroups) {
  for (const WrongExperts& wrong : kImbalanced) expect_complaint(wrong);
}

constexpr WrongExperts kOthers[] = {
    {"routing of a dense model", R"({"model": "llama-3-8b", "parallelism": {"expert": 1}, "moe": {"imbalance": 2}})",
     "/moe: expected none: model \"llama-3-8b\" is dense"},
    {"experts of a dense model", R"({"model": "llama-3-8b", "parallelism": {"expert": 4}})",
     "/parallelism/expert: expected 1: model \"llama-3-8b\" is dense, found 4"},
    {"shared experts of a dense model", R"({"model": "llama-3-8b", "parallelism": {"expert": 1, "expert_tensor": 2}})",
     "/parallelism/expert_tensor: expected none: model \"llama-3-8b\" is dense"},
    {"sharded gradients beside a pipeline", R"({"optimizer": {"zero_stage": 2}})",
     "/optimizer/zero_stage: expected 0 or 1 with pipeline 4, found 2: gradients and parameters are sharded without a "
     "pipeline only; try parallelism.pipeline 1 with parallelism.data 16"},
    {"hidden exchanges beside sharded gradients",
     R"({"optimizer": {"zero_stage": 3}, "parallelism": {"pipeline": 1, "data": 16}, "moe": {"overlap": true}})",
     "/moe/overlap: expected false: beside sharded gradients (ZeRO-2 and 3) passes wait for gathers, and exchanges "
     "hidden there are not modelled"}};

TEST(WrongExperts, OtherChoices) {
  for (const WrongExperts& wrong : kOthers) expect_complaint(wrong);
}

}  // namespace
}  // namespace foretoken::io
