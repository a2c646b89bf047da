// Tests complaints about offloading: values, runtimes, shards and machines that do not allow it. Each is one clear
// line.
#include <gtest/gtest.h>

#include <string>

#include "sim/io/json/test_text.h"
#include "sim/io/scenario/read_scenario.h"

namespace foretoken::io {
namespace {

constexpr const char* kOffloads = R"({
  "model": "llama-2-7b", "cluster": "dgx-a100-80gb-hdr", "gpus": 8, "runtime": "deepspeed",
  "optimizer": {"zero_stage": 3}, "offload": {"optimizer": "cpu", "parameters": "cpu", "activations": "cpu"},
  "batch": {"micro": 1, "global": 8, "sequence_length": 2048}, "recompute": "full"})";

struct WrongOffload {
  const char *name, *patch;  ///< merged over kOffloads; null removes a key
  const char* complaint;
};

constexpr WrongOffload kWrongOffloads[] = {
    {"an unknown place", R"({"offload": {"optimizer": "gpu"}})",
     R"(/offload/optimizer: expected "cpu" or "nvme", found "gpu"; did you mean "cpu"?)"},
    {"more than all of it", R"({"offload": {"optimizer": 1.5}})",
     "/offload/optimizer: expected a number from 0 to 1, found 1.5"},
    {"less than nothing", R"({"offload": {"activations": -0.1}})",
     "/offload/activations: expected a number from 0 to 1, found -0.1"},
    {"a switch", R"({"offload": {"parameters": true}})",
     R"(/offload/parameters: expected "cpu", "nvme", a fraction from 0 to 1, or {"layers": N}, found true)"},
    {"an unknown part", R"({"offload": {"gradients": "cpu"}})",
     "/offload/gradients: unknown key; known here: optimizer, parameters, activations, delayed_update"},
    {"an unknown key of a part", R"({"offload": {"activations": {"modules": 3}}})",
     "/offload/activations/modules: unknown key; known here: to, fraction, layers"},
    {"layers and a fraction", R"({"offload": {"activations": {"layers": 2, "fraction": 0.5}}})",
     "/offload/activations/layers: expected either layers or fraction"},
    {"no layers at all", R"({"offload": {"activations": {"layers": -1}}})",
     "/offload/activations/layers: expected a whole number from 0 to 100000, found -1"},
    {"more layers than a stage has", R"({"offload": {"activations": {"layers": 33}}})",
     "/offload/activations/layers: expected at most the 32 layers of a chunk, found 33"},
    {"no object", R"({"offload": "cpu"})", R"(/offload: expected an object, found a string "cpu")"},
    {"disks that the host does not have", R"({"cluster": "hgx-h200-ndr", "precision": "bf16",
      "offload": {"optimizer": "nvme"}})",
     R"(/offload/optimizer: expected "cpu": the hosts of cluster "hgx-h200-ndr" state no nvme, found "nvme")"},
    {"a cluster without a host", R"({"cluster": "lambda-h100", "offload": {"parameters": null, "activations": null}})",
     R"(/offload/optimizer: cluster "lambda-h100" states no node.host; expected memory_bytes and memory_gb_per_s of the )"
     "host that takes the bytes"},
    {"parameters that are not sharded", R"({"optimizer": {"zero_stage": 2}})",
     "/offload/parameters: expected optimizer.zero_stage 3: only sharded parameters stand elsewhere, found 2"},
    {"states that are not sharded", R"({"optimizer": {"zero_stage": 0}, "offload": {"parameters": null}})",
     "/offload/optimizer: expected optimizer.zero_stage 1 to 3 with an optimizer on the host, found 0"},
    {"an optimizer that no host has", R"({"optimizer": {"name": "lamb"}})",
     "/offload/optimizer: expected optimizer adam: no runtime has lamb on the host"},
    {"a runtime that moves nothing", R"({"runtime": "megatron-2021", "optimizer": {"zero_stage": 1},
      "offload": {"parameters": null, "activations": null}})",
     R"(/offload/optimizer: expected none: runtime "megatron-2021" can move nothing; try runtime deepspeed)"},
    {"a runtime that keeps parameters", R"({"runtime": "megatron-core", "recompute": "none",
      "offload": {"optimizer": null}})",
     R"(/offload/parameters: expected none: runtime "megatron-core" can move optimizer, activations; try runtime )"
     "deepspeed"},
    {"a runtime without disks", R"({"runtime": "megatron-core", "optimizer": {"zero_stage": 1}, "recompute": "none",
      "offload": {"optimizer": "nvme", "parameters": null, "activations": null}})",
     R"(/offload/optimizer: expected "cpu": runtime "megatron-core" does not move bytes to disks, found "nvme"; try )"
     "runtime deepspeed"},
    {"FSDP's optimizer alone", R"({"runtime": "pytorch-fsdp", "offload": {"parameters": null, "activations": null}})",
     "/offload/optimizer: expected the value of offload.parameters: FSDP's optimizer states stand where its parameters "
     "do"},
    {"layers that are recomputed", R"({"runtime": "megatron-core", "optimizer": {"zero_stage": 1},
      "offload": {"parameters": null, "activations": {"layers": 4}}})",
     R"(/offload/activations: expected recompute "none": runtime "megatron-core" does not offload what it recomputes)"},
    {"layers of a pipeline", R"({"runtime": "megatron-core", "optimizer": {"zero_stage": 1}, "recompute": "none",
      "parallelism": {"pipeline": 2}, "offload": {"parameters": null, "activations": {"layers": 4}}})",
     R"(/offload/activations: expected pipeline 1 with layers: runtime "megatron-core" offloads layers without a )"
     "pipeline only, found 2; try a fraction"},
    {"a delay of nothing", R"({"offload": {"optimizer": null, "delayed_update": true}})",
     "/offload/delayed_update: expected false: only an optimizer on the host is delayed"},
    {"a delay that the runtime has not", R"({"runtime": "megatron-core", "optimizer": {"zero_stage": 1},
      "offload": {"parameters": null, "activations": null, "delayed_update": true}})",
     R"(/offload/delayed_update: expected false: runtime "megatron-core" waits for its update)"}};

TEST(WrongOffload, EachIsOneClearLine) {
  EXPECT_NO_THROW((void)read_scenario_text(kOffloads, "t.json"));
  for (const WrongOffload& wrong : kWrongOffloads) {
    SCOPED_TRACE(wrong.name);
    nlohmann::json value = nlohmann::json::parse(kOffloads);
    value.merge_patch(nlohmann::json::parse(wrong.patch));
    EXPECT_EQ(thrown_by([&] { (void)read_scenario_text(value.dump(), "t.json"); }),
              "t.json: " + std::string(wrong.complaint) + "\n");
  }
}

}  // namespace
}  // namespace foretoken::io
