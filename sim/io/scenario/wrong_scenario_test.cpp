// Tests wrong scenarios: every row changes one key of a valid scenario and expects exactly these complaints.
#include "sim/io/scenario/wrong_scenario_test.h"

namespace foretoken::io {
namespace {

const std::vector<Wrong> kWrongKeysAndTypes = {
    {"sound", "{}", {}},
    {"no model", R"({"model": null})", {"/model: missing; expected the name of a model, a path or an object"}},
    {"no cluster", R"({"cluster": null})", {"/cluster: missing; expected the name of a cluster, a path or an object"}},
    {"no GPUs", R"({"gpus": null})", {"/gpus: missing; expected a whole number from 1 to 1048576"}},
    {"no batch", R"({"batch": null})", {"/batch: missing; expected an object"}},
    {"no global batch",
     R"({"batch": {"global": null}})",
     {"/batch/global: missing; expected a whole number from 1 to 1073741824"}},
    {"no sequence length",
     R"({"batch": {"sequence_length": null}})",
     {"/batch/sequence_length: missing; expected a whole number from 1 to 268435456"}},
    {"misspelt and so missing",
     R"({"gpus": null, "gpu": 1024})",
     {"/gpu: unknown key; did you mean \"gpus\"?", "/gpus: missing; expected a whole number from 1 to 1048576"}},
    {"misspelt inside",
     R"({"parallelism": {"tesnor": 4}})",
     {"/parallelism/tesnor: unknown key; did you mean \"tensor\"?"}},
    {"swapped letters", R"({"bacth": {}})", {"/bacth: unknown key; did you mean \"batch\"?"}},
    {"unknown key",
     R"({"optimizer": {"momentum": 0.9}})",
     {"/optimizer/momentum: unknown key; known here: name, zero_stage, post_validation"}},
    {"key of another tool",
     R"({"parallelism": {"zero": 1}})",
     {"/parallelism/zero: unknown key; known here: data, expert, tensor, context, pipeline, expert_tensor and 6 more"}},
    {"string for a number",
     R"({"gpus": "1024"})",
     {"/gpus: expected a whole number from 1 to 1048576, found a string \"1024\""}},
    {"number for a name",
     R"({"model": 175})",
     {"/model: expected the name of a model, a path or an object, found 175"}},
    {"array for an object", R"({"parallelism": [8, 8]})", {"/parallelism: expected an object, found an array"}},
    {"string for a switch",
     R"({"parallelism": {"sequence_parallel": "yes"}})",
     {"/parallelism/sequence_parallel: expected true or false, found a string \"yes\""}},
    {"a slow GPU that the job does not have",
     R"({"imperfections": {"slow_gpus": [{"gpu": 99999, "slowdown": 1.1}]}})",
     {"/imperfections/slow_gpus/0/gpu: expected a whole number from 0 to 1023, found 99999"}},
    {"a NIC faster than it is",
     R"({"imperfections": {"slow_nics": [{"node": 0, "nic": 0, "rate_factor": 2}]}})",
     {"/imperfections/slow_nics/0/rate_factor: expected a number from 0.001 to 1, found 2"}},
    {"a placement of some ranks",
     R"({"imperfections": {"placement": [0, 1]}})",
     {"/imperfections/placement: expected one GPU for every rank (1024), found 2"}},
    {"number for a switch",
     R"({"overlap": {"grad_reduce": 1}})",
     {"/overlap/grad_reduce: expected true or false, found 1"}},
    {"object for a choice",
     R"({"precision": {}})",
     {"/precision: expected \"fp16\", \"bf16\", \"fp8\", \"mxfp8\", \"nvfp4\", \"tf32\" or \"fp32\", found an empty "
      "object"}},
    {"unknown precision",
     R"({"precision": "bf15"})",
     {"/precision: expected \"fp16\", \"bf16\", \"fp8\", \"mxfp8\", \"nvfp4\", \"tf32\" or \"fp32\", found \"bf15\"; "
      "did you mean "
      "\"bf16\"?"}},
    {"unknown attention",
     R"({"attention": "flsh"})",
     {"/attention: expected \"unfused\", \"flash\", \"flash-2\", \"flash-1\" or \"flash-triton\", found \"flsh\"; "
      "did you mean \"flash\"?"}},
    {"unknown recompute",
     R"({"recompute": "ful"})",
     {"/recompute: expected \"none\", \"selective\" or \"full\", found \"ful\"; did you mean \"full\"?"}},
    {"name is a number", R"({"name": 7})", {"/name: expected a string, found 7"}},
    {"text that would break the line",
     R"({"name": 1, "precision": "a\nb\u0000"})",
     {"/name: expected a string, found 1",
      "/precision: expected \"fp16\", \"bf16\", \"fp8\", \"mxfp8\", \"nvfp4\", \"tf32\" or \"fp32\", found "
      "\"a\\u000ab\\u0000\""}},
};

TEST(WrongScenario, KeysAndTypes) { expect_complaints(kWrongKeysAndTypes); }

const std::vector<Wrong> kWrongRanges = {
    {"zero degree",
     R"({"parallelism": {"tensor": 0}})",
     {"/parallelism/tensor: expected a whole number from 1 to 1048576, found 0"}},
    {"negative degree",
     R"({"parallelism": {"pipeline": -8}})",
     {"/parallelism/pipeline: expected a whole number from 1 to 10000, found -8"}},
    {"fractional degree",
     R"({"parallelism": {"data": 1.5}})",
     {"/parallelism/data: expected a whole number from 1 to 1048576, found 1.5"}},
    {"zero GPUs", R"({"gpus": 0})", {"/gpus: expected a whole number from 1 to 1048576, found 0"}},
    {"more GPUs than there are",
     R"({"gpus": 1e300})",
     {"/gpus: expected a whole number from 1 to 1048576, found 1e+300"}},
    {"zero batch",
     R"({"batch": {"global": 0}})",
     {"/batch/global: expected a whole number from 1 to 1073741824, found 0"}},
    {"negative micro-batch",
     R"({"batch": {"micro": -1}})",
     {"/batch/micro: expected a whole number from 1 to 1048576, found -1"}},
    {"negative sequence",
     R"({"batch": {"sequence_length": -2048}})",
     {"/batch/sequence_length: expected a whole number from 1 to 268435456, found -2048"}},
    {"zero stage of ZeRO beyond 3",
     R"({"optimizer": {"zero_stage": 4}})",
     {"/optimizer/zero_stage: expected a whole number from 0 to 3, found 4"}},
    {"dropout above 1", R"({"dropout": 1.1})", {"/dropout: expected a number from 0 to 1, found 1.1"}},
    {"no tokens", R"({"run": {"tokens": 0}})", {"/run/tokens: expected a number from 1 to 1e+18, found 0"}},
    {"negative price",
     R"({"run": {"tokens": 3e11, "price_per_gpu_hour": -2.5}})",
     {"/run/price_per_gpu_hour: expected a number from 0 to 1000000, found -2.5"}},
    {"bytes of a weight",
     R"({"precision_recipe": {"weights": 0}})",
     {"/precision_recipe/weights: expected a number from 1 to 8, found 0"}},
    {"format of a gradient",
     R"({"precision_recipe": {"gradients": "fp23"}})",
     {"/precision_recipe/gradients: expected \"fp32\", \"fp16\", \"bf16\", \"fp8\" or \"none\", found \"fp23\"; did "
      "you mean \"fp32\"?"}},
};

TEST(WrongScenario, Ranges) { expect_complaints(kWrongRanges); }

TEST(WrongScenario, Names) {
  expect_complaints({
      {"model", R"({"model": "gpt3-175"})", {"/model: unknown model \"gpt3-175\"; did you mean \"gpt3-175b\"?"}},
      {"cluster",
       R"({"cluster": "dgx-a100-80gb-hdrr"})",
       {"/cluster: unknown cluster \"dgx-a100-80gb-hdrr\"; did you mean \"dgx-a100-80gb-hdr\"?"}},
      {"profile",
       R"({"profile": "a100-sxm4-80bg"})",
       {"/profile: unknown profile \"a100-sxm4-80bg\"; did you mean \"a100-sxm4-80gb\"?"}},
      {"runtime",
       R"({"runtime": "megatron-2023"})",
       {"/runtime: unknown runtime \"megatron-2023\"; did you mean \"megatron-core-2023\"?"}},
      {"schedule",
       R"({"schedule": "interleaved"})",
       {"/schedule: unknown schedule \"interleaved\"; did you mean \"interleaved-1f1b\"?"}},
      {"schedule without a likeness",
       R"({"schedule": "xyz"})",
       {"/schedule: unknown schedule \"xyz\"; there are gpipe, gpipe-fifo, 1f1b, interleaved-1f1b, eager-1f1b and 16 "
        "more "
        "(foretoken schedule list)"}},
      {"measured collectives",
       R"({"cluster": {"base": "dgx-a100-80gb-hdr", "measured_collectives": "dgx-a100-hdrr"}})",
       {"/cluster/measured_collectives: unknown set of measured collectives \"dgx-a100-hdrr\"; did you mean "
        "\"dgx-a100-hdr\"?"}},
      {"GPU of an inline cluster",
       R"({"cluster": {"base": "dgx-a100-80gb-hdr", "gpu": "a100-sxm4-80gbb"}})",
       {"/cluster/gpu: unknown GPU \"a100-sxm4-80gbb\"; did you mean \"a100-sxm4-80gb\"?"}},
      {"base of an inline model",
       R"({"model": {"base": "gpt3-157b"}})",
       {"/model/base: unknown model \"gpt3-157b\"; did you mean \"gpt3-175b\"?"}},
      {"base that is a number",
       R"({"model": {"base": 3}})",
       {"/model/base: expected the name of a model or a path, found 3"}},
      {"path", R"({"model": "./no-such.json"})", {"/model: no such file: \"./no-such.json\""}},
      {"directory for a file", R"({"cluster": "/"})", {"/cluster: \"/\" is a directory; expected a JSON file"}},
      {"device for a file", R"({"runtime": "/dev/zero"})", {"/runtime: \"/dev/zero\" is not a regular file"}},
      {"path with a zero byte", R"({"profile": "a/b\u0000"})", {"/profile: \"a/b\\u0000\" is no file name"}},
      {"path below a file", R"({"profile": "/etc/passwd/x.json"})", {"/profile: no such file: \"/etc/passwd/x.json\""}},
  });
}

TEST(WrongScenario, DegreesAndGpus) {
  expect_complaints({
      {"product unlike the GPU count",
       R"({"parallelism": {"data": 15}})",
       {"/parallelism/data: expected 16 (1024 GPUs / (tensor 8 x context 1 x pipeline 8 = 64)), found 15"}},
      {"GPUs that the degrees do not divide",
       R"({"gpus": 1000})",
       {"/gpus: expected a multiple of tensor 8 x context 1 x pipeline 8 = 64, found 1000; try 768 with "
        "parallelism.data 12 or 1024"}},
      {"fewer GPUs than one replica",
       R"({"gpus": 32})",
       {"/gpus: expected a multiple of tensor 8 x context 1 x pipeline 8 = 64, found 32; try 64 with parallelism.data "
        "1"}},
      {"part of a node above one node",
       R"({"gpus": 12, "parallelism": {"tensor": 4, "pipeline": 1, "virtual_pipeline": 1, "data": 3},
           "schedule": "1f1b"})",
       {"/gpus: expected at most one node or whole nodes of 8 GPUs (\"dgx-a100-80gb-hdr\"), found 12; try 8 with "
        "parallelism.data 2 or 16 with parallelism.data 4"}},
      {"network without NICs",
       R"({"cluster": {"base": "dgx-a100-80gb-hdr", "node": {"nics": {"count": 0}}}})",
       {"/gpus: expected at most 8: the nodes of \"dgx-a100-80gb-hdr (modified)\" have no NICs, found 1024"}},
      {"expert parallel dense model",
       R"({"parallelism": {"expert": 2}})",
       {"/parallelism/expert: expected 1: model \"gpt3-175b\" is dense, found 2"}},
      {"heads",
       R"({"gpus": 960, "parallelism": {"tensor": 5, "pipeline": 8, "data": 24}, "batch": {"sequence_length": 2000}})",
       {"/parallelism/tensor: expected a divisor of the model's 96 attention heads, found 5",
        "/parallelism/tensor: expected a divisor of the model's MLP width 49152, found 5"}},
      {"key-value heads",
       R"({"model": "llama-3-8b", "gpus": 12, "cluster": {"base": "dgx-a100-80gb-hdr", "node": {"gpus": 12, "nvlink":
           {"domain_gpus": 12}}}, "parallelism": {"tensor": 12, "pipeline": 1, "virtual_pipeline": 1, "data": 1,
           "sequence_parallel": false}, "schedule": "1f1b"})",
       {"/parallelism/tensor: expected a divisor of the model's 32 attention heads, found 12; try 1 with "
        "parallelism.data 12, 2 with parallelism.data 6, 4 with parallelism.data 3",
        "/parallelism/tensor: expected a divisor or a multiple of the model's 8 key-value heads, found 12; try 1 with "
        "parallelism.data 12, 2 with parallelism.data 6, 4 with parallelism.data 3",
        "/parallelism/tensor: expected a divisor of the model's MLP width 14336, found 12; try 1 with parallelism.data "
        "12, 2 with parallelism.data 6, 4 with parallelism.data 3"}},
  });
}

const std::vector<Wrong> kWrongLayers = {
    {"do not split",
     R"({"parallelism": {"virtual_pipeline": 5}})",
     {"/parallelism/pipeline: the 96 layers do not split evenly over pipeline 8 x virtual_pipeline 5 = 40 chunks; "
      "try parallelism.virtual_pipeline 3, 4, 6"}},
    {"more chunks than layers",
     R"({"parallelism": {"virtual_pipeline": 100}})",
     {"/parallelism/pipeline: the 96 layers do not split evenly over pipeline 8 x virtual_pipeline 100 = 800 chunks; "
      "try parallelism.virtual_pipeline 4, 6, 12"}},
    {"BLOOM without its place holders",
     R"({"model": "bloom-176b", "gpus": 384, "parallelism": {"tensor": 4, "pipeline": 12, "virtual_pipeline": 1,
         "data": 8}, "schedule": "1f1b"})",
     {"/parallelism/pipeline: the 70 layers do not split evenly over pipeline 12 x virtual_pipeline 1 = 12 chunks; "
      "try parallelism.embedding_and_head_as_layers true, parallelism.pipeline 1 with parallelism.data 96, 2 with "
      "parallelism.data 48 or parallelism.layers_per_stage [6,6,6,6,6,6,6,6,6,6,5,5]"}},
    {"place holders that do not help",
     R"({"parallelism": {"embedding_and_head_as_layers": true}})",
     {"/parallelism/pipeline: the 96 layers + 2 (embedding, head) do not split evenly over pipeline 8 x "
      "virtual_pipeline 3 = 24 chunks; try parallelism.embedding_and_head_as_layers false"}},
    {"wrong number of stages",
     R"({"parallelism": {"layers_per_stage": [48, 48]}})",
     {"/parallelism/layers_per_stage: expected 8 numbers (the pipeline degree) or 24 (x virtual_pipeline), found 2"}},
    {"wrong sum",
     R"({"parallelism": {"layers_per_stage": [12, 12, 12, 12, 12, 12, 12, 15]}})",
     {"/parallelism/layers_per_stage: expected a sum of 96 (the model's layers), found 99"}},
    {"stages that do not split into chunks",
     R"({"parallelism": {"layers_per_stage": [11, 13, 12, 12, 12, 12, 12, 12]}})",
     {"/parallelism/layers_per_stage: expected multiples of virtual_pipeline 3, found 11"}},
    {"a stage without layers",
     R"({"schedule": "1f1b", "parallelism": {"virtual_pipeline": 1, "layers_per_stage": [24, 0, 12, 12, 12, 12, 12, 12]}})",
     {"/parallelism/layers_per_stage: expected at least one layer on every chunk between the first and the last, found "
      "0"}},
    {"chunks without layers",
     R"({"parallelism": {"layers_per_stage": [0, 24, 12, 12, 12, 12, 12, 12]}})",
     {"/parallelism/layers_per_stage: expected at least virtual_pipeline 3, found 0"}},
    {"both ways at once",
     R"({"parallelism": {"embedding_and_head_as_layers": true, "layers_per_stage": [12, 12, 12, 12, 12, 12, 12, 12]}})",
     {"/parallelism/layers_per_stage: expected only without embedding_and_head_as_layers"}},
    {"recomputing more than a chunk has",
     R"({"recompute": {"granularity": "full", "method": "uniform", "layers": 5}})",
     {"/recompute/layers: expected at most 4, the layers of the largest chunk, found 5"}},
};

TEST(WrongScenario, Layers) { expect_complaints(kWrongLayers); }

const std::vector<Wrong> kWrongBatchAndSchedule = {
    {"global batch",
     R"({"batch": {"global": 1530}})",
     {"/batch/global: expected a multiple of micro 1 x data 16 = 16, found 1530; try 1408 or 1536"}},
    {"global batch below one micro-batch each",
     R"({"batch": {"global": 8}})",
     {"/batch/global: expected a multiple of micro 1 x data 16 = 16, found 8; try 128"}},
    {"beyond the learned positions",
     R"({"batch": {"sequence_length": 4096}})",
     {"/batch/sequence_length: expected at most 2048, the learned positions of model \"gpt3-175b\", found 4096"}},
    {"sequence and context",
     R"({"parallelism": {"context": 2, "data": 8, "sequence_parallel": false}, "attention": "flash",
         "batch": {"sequence_length": 2046}})",
     {"/batch/sequence_length: expected a multiple of 2 x context 2 = 4, found 2046; try 2044 or 2048"}},
    {"sequence and sequence parallelism",
     R"({"batch": {"sequence_length": 2044}})",
     {"/batch/sequence_length: with sequence_parallel, expected a multiple of context 1 x tensor 8, found 2044; try "
      "2040 or 2048"}},
    {"too few heads to trade",
     R"({"parallelism": {"context": 5, "data": 2, "sequence_parallel": false, "context_exchange": "all-to-all"},
         "attention": "flash", "gpus": 640, "batch": {"global": 1536, "sequence_length": 2040}})",
     {"/parallelism/context_exchange: expected \"ring\" or \"all-gather\": all-to-all deals 96 heads and 96 "
      "key-value "
      "heads out to tensor 8 x context 5 = 40 ranks"}},
    {"context without flash attention",
     R"({"parallelism": {"context": 2, "data": 8}})",
     {"/attention: expected \"flash\": context 2 is supported with it only"}},
    {"interleaving with one chunk",
     R"({"parallelism": {"virtual_pipeline": 1}})",
     {"/schedule: \"interleaved-1f1b\" needs parallelism.virtual_pipeline of at least 2, found 1; try \"1f1b\" or "
      "parallelism.virtual_pipeline 2, 3, 4"}},
    {"chunks without interleaving",
     R"({"schedule": "1f1b"})",
     {"/schedule: \"1f1b\" does not interleave, but parallelism.virtual_pipeline is 3; try \"interleaved-1f1b\" or "
      "parallelism.virtual_pipeline 1"}},
    {"more passes than can be replayed",
     R"({"batch": {"global": 1073741824}})",
     {"/batch/global: 67108864 micro-batches over 24 chunks are more than can be simulated (5000000 passes)"}},
    {"modules without selective recomputation",
     R"({"recompute": {"granularity": "full", "modules": ["mlp"]}})",
     {"/recompute/modules: expected only with granularity \"selective\""}},
    {"method without full recomputation",
     R"({"recompute": {"granularity": "selective", "method": "block"}})",
     {"/recompute/method: expected only with granularity \"full\""}},
    {"ZeRO 3 with a pipeline",
     R"({"optimizer": {"zero_stage": 3}})",
     {"/optimizer/zero_stage: expected 0 or 1 with pipeline 8, found 3: gradients and parameters are sharded without "
      "a pipeline only"}},
    {"parameter gather without a sharded optimizer",
     R"({"overlap": {"param_gather": true}})",
     {"/overlap/param_gather: expected false: parameters are gathered only with optimizer.zero_stage 1 to 3"}},
    {"fp8 recipe without fp8",
     R"({"precision_recipe": {"fp8_recipe": "delayed"}})",
     {"/precision_recipe/fp8_recipe: expected only with precision \"fp8\""}},
};

TEST(WrongScenario, BatchAndSchedule) { expect_complaints(kWrongBatchAndSchedule); }

TEST(WrongScenario, ManyAtOnce) {
  expect_complaints({
      {"one complaint each, and no rule built on a wrong part",
       R"({"model": "gpt", "gpus": "many", "parallelism": {"tensor": -1}, "batch": {"global": 1.5}, "precision": "int8",
           "colour": "blue"})",
       {"/colour: unknown key; known here: cluster, compile, cuda_graphs, dropout, gpus, model, moe, notes and 18 more",
        "/model: unknown model \"gpt\"; did you mean \"gpt2\"?",
        "/gpus: expected a whole number from 1 to 1048576, found a string \"many\"",
        "/parallelism/tensor: expected a whole number from 1 to 1048576, found -1",
        "/batch/global: expected a whole number from 1 to 1073741824, found 1.5",
        "/precision: expected \"fp16\", \"bf16\", \"fp8\", \"mxfp8\", \"nvfp4\", \"tf32\" or \"fp32\", found "
        "\"int8\""}},
  });
}

}  // namespace
}  // namespace foretoken::io
