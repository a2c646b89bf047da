// Tests complaints about wrong hardware: GPUs that do not fit, missing links, impossible stragglers.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "sim/io/scenario/wrong_scenario_test.h"

namespace foretoken::io {
namespace {

TEST(WrongScenario, Hardware) {
  expect_complaints({
      {"fp8 on A100",
       R"({"precision": "fp8"})",
       {"/precision: GPU \"a100-sxm4-80gb\" has no \"fp8\" rate; expected \"fp16\", \"bf16\", \"tf32\" or \"fp32\""}},
      {"fp8 by a profile without it",
       R"({"precision": "fp8", "cluster": "dgx-h100-ndr"})",
       {"/precision: profile \"a100-sxm4-80gb\" has no \"fp8\" matrix products; expected \"fp16\" or \"bf16\""}},
      {"the default precision on V100",
       R"({"precision": null, "cluster": "dgx-1-v100-32gb-edr", "profile": null})",
       {"/precision: GPU \"v100-sxm2-32gb\" has no \"bf16\" rate; expected \"fp16\" or \"fp32\""}},
      {"mxfp8 on Hopper",
       R"({"precision": "mxfp8", "cluster": "dgx-h100-ndr", "profile": null})",
       {"/precision: GPU \"h100-sxm5-80gb\" has no tensor cores for \"mxfp8\", which came with Blackwell; expected "
        "\"fp16\", \"bf16\", \"fp8\", \"tf32\" or \"fp32\" (with another fp8_recipe)"}},
      {"tf32 before Ampere",
       R"({"precision": "tf32", "cluster": "dgx-1-v100-32gb-edr", "profile": null})",
       {"/precision: GPU \"v100-sxm2-32gb\" has no \"tf32\" rate; expected \"fp16\" or \"fp32\""}},
      {"fused attention in fp32",
       R"({"precision": "fp32", "attention": "flash"})",
       {"/attention: expected \"unfused\" with precision \"fp32\": FlashAttention has no kernels for it"}},
      {"experts in tf32",
       R"({"precision": "tf32", "model": {"base": "mixtral-8x7b", "num_hidden_layers": 24}, "attention": "unfused"})",
       {"/precision: expected \"bf16\" or \"fp16\" with experts, found \"tf32\""}},
      {"attention in fp8 beside products in bf16",
       R"({"cluster": "dgx-h100-ndr", "profile": null, "attention": "flash", "precision_recipe": {"attention": "fp8"}})",
       {"/precision_recipe/attention: expected \"bf16\" with precision \"bf16\": attention in fp8 is part of fp8 and "
        "nvfp4"}},
      {"blocks by a profile without them",
       R"({"precision": "fp8", "cluster": "dgx-h100-ndr", "profile": "l40s-48gb",
           "precision_recipe": {"fp8_recipe": "blockwise"}})",
       {"/precision_recipe/fp8_recipe: profile \"l40s-48gb\" has no \"blockwise\" matrix products; expected "
        "\"delayed\" or \"tensorwise\""}},
      {"attention in fp8 by a profile without a causal law",
       R"({"attention": "flash", "precision": "fp8", "cluster": "dgx-h100-ndr", "precision_recipe": {"attention": "fp8"},
           "profile": {"base": "h100-sxm5-80gb", "attention": {"fp8": [
             {"head_dim": 128, "causal": false, "evidence": {"provenance": "assumed", "source": "none"},
              "forward": {"peak_tflops": 900, "half_length": 500, "tail": 1, "sharpness": 1},
              "backward": {"peak_tflops": 900, "half_length": 500, "tail": 1, "sharpness": 1}}]}}})",
       {"/precision_recipe/attention: profile \"h100-sxm5-80gb\" has no laws of attention in fp8; expected \"bf16\""}},
      {"attention in fp8 by a kernel without it",
       R"({"attention": "flash-2", "precision": "fp8", "cluster": "dgx-h100-ndr", "profile": null,
           "precision_recipe": {"attention": "fp8"}})",
       {"/precision_recipe/attention: expected \"bf16\" with attention \"flash-2\": only \"flash\" runs in fp8"}},
  });
}

TEST(WrongScenario, Links) {
  const std::string cable =
      "expected two devices that a cable joins, for instance \"node 0 gpu 0\" and \"node 0 nvswitch 0\", or \"leaf 0\" "
      "and \"spine 0\"; foretoken clusters show NAME --svg FILE draws them";
  expect_complaints({
      {"sound", R"({"imperfections": {"failed_links": [{"between": ["node 3 nvswitch 0", "node 3 gpu 7"]}]}})", {}},
      {"no cable",
       R"({"imperfections": {"failed_links": [{"between": ["node 0 gpu 0", "node 1 gpu 0"]}]}})",
       {"/imperfections/failed_links/0/between: " + cable}},
      {"one end",
       R"({"imperfections": {"slow_links": [{"between": ["leaf 0"], "rate_factor": 0.5}]}})",
       {"/imperfections/slow_links/0/between: " + cable}},
      {"a number",
       R"({"imperfections": {"failed_links": [{"between": ["leaf 0", 7]}]}})",
       {"/imperfections/failed_links/0/between/1: expected a string, found 7"}},
      {"no such NIC",
       R"({"imperfections": {"failed_nics": [{"node": 128, "nic": 8, "rate_factor": 0}]}})",
       {"/imperfections/failed_nics/0/rate_factor: unknown key; known here: node, nic",
        "/imperfections/failed_nics/0/node: expected a whole number from 0 to 127, found 128",
        "/imperfections/failed_nics/0/nic: expected a whole number from 0 to 7, found 8"}},
      {"twice",
       R"({"imperfections": {"slow_gpus": [{"gpu": 0, "slowdown": 1}, {"gpu": 0, "slowdown": 3}],
           "slow_nics": [{"node": 1, "nic": 0, "rate_factor": 1}], "failed_nics": [{"node": 1, "nic": 0}],
           "failed_links": [{"between": ["node 3 nvswitch 0", "node 3 gpu 7"]},
                            {"between": ["node 3 gpu 7", "node 3 nvswitch 0"]}]}})",
       {"/imperfections/slow_gpus/1: expected every GPU once, found GPU 0 again",
        "/imperfections/failed_nics/0: expected every NIC once, slow or failed; found NIC 0 of node 1 again",
        "/imperfections/failed_links/1/between: expected every link once, slow or failed; found this one again"}},
      {"a wrong number is no second part",
       R"({"imperfections": {"slow_gpus": [{"gpu": 0, "slowdown": 2}, {"gpu": "x", "slowdown": 2}, {"slowdown": 2}],
            "slow_nics": [{"node": 1, "nic": 0, "rate_factor": 0.5}, {"node": 1, "nic": -1, "rate_factor": 0.5}]}})",
       {"/imperfections/slow_gpus/1/gpu: expected a whole number from 0 to 1023, found a string \"x\"",
        "/imperfections/slow_gpus/2/gpu: missing; expected a whole number from 0 to 1023",
        "/imperfections/slow_nics/1/nic: expected a whole number from 0 to 7, found -1"}},
      {"failed is not slow",
       R"({"imperfections": {"slow_nics": [{"node": 1, "nic": 0, "rate_factor": 0}]}})",
       {"/imperfections/slow_nics/0/rate_factor: expected a number from 0.001 to 1, found 0"}},
  });
}

const char* const kGroups = R"({"name": "mixed", "groups": [{"cluster": "dgx-a100-80gb-hdr", "gpus": 16},
                                                            {"cluster": "dgx-h100-ndr", "gpus": 8}]})";

std::string complaint_with(const std::string& cluster, int gpus, const std::string& more) {
  return thrown_by([&] {
    (void)read_scenario_text(fmt::format(R"({{"model": "gpt2-medium", "cluster": {}, "gpus": {},
        "batch": {{"micro": 1, "global": 120, "sequence_length": 1024}}, {}}})",
                                         cluster, gpus, more),
                             "t.json");
  });
}

struct WrongGroups {
  const char* name;
  std::string cluster, more, complaint;
  int gpus = 24;
};

std::vector<WrongGroups> wrong_groups() {
  const auto groups = [](const char* first, int gpus, const char* second, int others) {
    return fmt::format(R"({{"groups": [{{"cluster": {}, "gpus": {}}}, {{"cluster": {}, "gpus": {}}}]}})", first, gpus,
                       second, others);
  };
  const char *const a100 = R"("dgx-a100-80gb-hdr")", *const h100 = R"("dgx-h100-ndr")";
  const std::string stages = R"("parallelism": {"pipeline": 3})";
  return {
      {"no such node", kGroups, stages + R"(, "imperfections": {"failed_nics": [{"node": 3, "nic": 0}]})",
       "/imperfections/failed_nics/0/node: expected a node from 0 to 2 (nodes 0 to 1: dgx-a100-80gb-hdr, node 2: "
       "dgx-h100-ndr), found 3"},
      {"parts of nodes", groups(a100, 8, h100, 12), R"("parallelism": {"pipeline": 2})",
       "/cluster/groups/1/gpus: expected at most one node or whole nodes of 8 GPUs (\"dgx-h100-ndr\"), found 12", 20},
      {"no NICs", groups(a100, 8, R"({"base": "dgx-h100-ndr", "node": {"nics": null}, "fabric": null})", 8),
       R"("parallelism": {"pipeline": 2})",
       "/cluster/groups/1/cluster: expected nodes with NICs beside other groups: those of \"dgx-h100-ndr "
       "(modified)\" have none",
       16},
      {"no profile", groups(a100, 8, R"({"base": "dgx-h100-ndr", "gpu": {"base": "h100-sxm5-80gb", "name": "x"}})", 8),
       R"("parallelism": {"pipeline": 2})",
       "/cluster/groups/1/cluster: there is no profile of its GPU \"x\"; expected a cluster with one of "
       "a10-24gb, a100-pcie-40gb, a100-pcie-80gb, a100-sxm4-40gb, a100-sxm4-80gb, a10g-24gb, a30-24gb, "
       "a40-48gb, b200-sxm-180gb, b300-sxm-288gb, gb200-186gb, gb300-288gb, gh200-96gb, h100-nvl-94gb, "
       "h100-pcie-80gb, h100-sxm5-80gb, h100-sxm5-96gb, h20-96gb, h200-sxm5-141gb, h800-sxm5-80gb, l4-24gb, "
       "l40-48gb, l40s-48gb, rtx2080ti-11gb, rtx3090-24gb, rtx4090-24gb, rtx5090-32gb, rtxa6000-48gb, "
       "rtxpro6000-96gb, t4-16gb, titan-rtx-24gb, titan-v-12gb, v100-pcie-16gb, v100-sxm2-16gb, "
       "v100-sxm2-32gb, v100-sxm3-32gb",
       16},
      {"no list", R"({"groups": {"a": 1}})", stages, "/cluster/groups: expected an array, found an object"},
      {"degrees", kGroups, R"("parallelism": {"tensor": 16})",
       "/gpus: expected a multiple of tensor 16 x context 1 x pipeline 1 = 16, found 24"},
      {"replicas", kGroups, R"("parallelism": {"pipeline": 3, "data": 4})",
       "/parallelism/data: expected 8 (24 GPUs / (tensor 1 x context 1 x pipeline 3 = 3)), found 4"},
      {"other GPUs", kGroups, stages, "/gpus: expected 24, the GPUs of all groups of cluster \"mixed\", found 20", 20},
  };
}

TEST(WrongScenario, NodesOfSeveralKinds) {
  for (const WrongGroups& c : wrong_groups()) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(complaint_with(c.cluster, c.gpus, c.more), "t.json: " + c.complaint + "\n");
  }
}

TEST(WrongScenario, ANicThatTheJobCannotUseIsWarnedOf) {
  const auto warnings = [](int nic, double rate_factor) {
    return read_scenario_text(fmt::format(R"({{"model": "gpt2-medium", "gpus": 4, "parallelism": {{"pipeline": 2}},
        "cluster": {{"groups": [{{"cluster": "dgx-a100-80gb-hdr", "gpus": 2}}, {{"cluster": "dgx-h100-ndr", "gpus": 2}}]}},
        "batch": {{"micro": 1, "global": 24, "sequence_length": 1024}},
        "imperfections": {{"slow_nics": [{{"node": 1, "nic": {}, "rate_factor": {}}}]}}}})",
                                          nic, rate_factor),
                              "t.json")
        .notes.warnings;
  };
  EXPECT_THAT(warnings(1, 0.5), testing::IsEmpty());
  EXPECT_THAT(warnings(7, 1), testing::IsEmpty());
  EXPECT_THAT(
      warnings(7, 0.5),
      testing::ElementsAre("imperfections.slow_nics: no GPU of the job is near NIC 7 of node 1: traffic takes it "
                           "only where nearer ones have failed"));
}

TEST(WrongScenario, Stragglers) {
  expect_complaints({
      {"neither a switch nor numbers",
       R"({"stragglers": "yes"})",
       {"/stragglers: expected true, false or an object, found a string \"yes\""}},
      {"a typo",
       R"({"stragglers": {"spread": 0.01}})",
       {"/stragglers/spread: unknown key; known here: gpu_spread, slow_nodes, slow_node_factor, jitter, seed"}},
      {"percent",
       R"({"stragglers": {"gpu_spread": 1, "jitter": -1, "slow_nodes": 5}})",
       {"/stragglers/gpu_spread: expected a number from 0 to 0.2, found 1",
        "/stragglers/slow_nodes: expected a number from 0 to 1, found 5",
        "/stragglers/jitter: expected a number from 0 to 0.2, found -1"}},
  });
}

}  // namespace
}  // namespace foretoken::io
