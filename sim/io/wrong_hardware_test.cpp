// Wrong scenarios: hardware that does not fit, links that are not there, stragglers that cannot be.
#include "sim/io/wrong_scenario_test.h"

namespace foretoken::io {
namespace {

TEST(WrongScenario, Hardware) {
  expect_complaints({
      {"fp8 on A100",
       R"({"precision": "fp8"})",
       {"/precision: GPU \"a100-sxm4-80gb\" has no \"fp8\" rate; expected \"fp16\" or \"bf16\""}},
      {"fp8 by a profile without it",
       R"({"precision": "fp8", "cluster": "dgx-h100-ndr"})",
       {"/precision: profile \"a100-sxm4-80gb\" has no \"fp8\" matrix products; expected \"fp16\" or \"bf16\""}},
      {"the default precision on V100",
       R"({"precision": null, "cluster": "dgx-1-v100-32gb-edr", "profile": null})",
       {"/precision: GPU \"v100-sxm2-32gb\" has no \"bf16\" rate; expected \"fp16\""}},
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
