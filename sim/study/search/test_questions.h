// Lists small questions that tests search exhaustively: every overlap, old and new runtimes, one node and several.
#pragma once

#include <string>
#include <vector>

#include "sim/schedule/catalogue.h"

namespace foretoken::search {

inline std::vector<std::string> every_schedule() {
  std::vector<std::string> names;
  for (const schedule::Schedule& each : schedule::all_schedules()) names.emplace_back(each.name);
  return names;
}

inline std::vector<std::string> schedules_with_a_flush() {
  std::vector<std::string> names = every_schedule();
  std::erase_if(names, [](const std::string& name) { return schedule::schedule_named(name).without_flush; });
  return names;
}

/// Layers with experts: alike, behind dense ones, with shared experts, on one node and on several.
inline std::vector<std::string> expert_questions() {
  return {
      R"({"model": {"base": "qwen3-30b-a3b", "num_hidden_layers": 8}, "cluster": "dgx-h100-ndr", "gpus": 16,
          "batch": {"global": 32, "sequence_length": 4096}, "parallelism": {"context": 1}})",
      R"({"model": {"base": "mixtral-8x7b", "num_hidden_layers": 6}, "cluster": "dgx-a100-80gb-hdr", "gpus": 8,
          "batch": {"global": 16, "sequence_length": 2048}, "runtime": "megatron-core-2024",
          "moe": {"capacity_factor": 1.25}})",
      R"({"model": {"base": "deepseek-v2", "num_hidden_layers": 6}, "cluster": "dgx-b200-ndr", "gpus": 32,
          "batch": {"global": 64, "sequence_length": 4096}, "parallelism": {"context": 1},
          "runtime": "megatron-core-2026", "moe": {"imbalance": 1.5}, "overlap": {"grad_reduce": true}})",
  };
}

inline std::vector<std::string> small_questions() {
  const std::string gpt =
      R"("model": {"model_type": "gpt2", "n_layer": 12, "n_embd": 2048, "n_head": 16, "n_positions": 2048,
                   "vocab_size": 50257})";
  const std::string llama = R"("model": {"base": "llama-3-8b", "num_hidden_layers": 12})";
  return {
      "{" + gpt + R"(, "cluster": "dgx-a100-80gb-hdr", "gpus": 16, "runtime": "megatron-2022",
                 "batch": {"global": 48, "sequence_length": 2048}, "overlap": {"p2p": true}})",
      "{" + gpt + R"(, "cluster": "dgx-a100-80gb-hdr", "gpus": 32, "runtime": "megatron-2021", "precision": "fp16",
                 "batch": {"global": 64, "sequence_length": 1024}})",
      "{" + llama + R"(, "cluster": "dgx-h100-ndr", "gpus": 16, "batch": {"global": 32, "sequence_length": 8192}})",
      "{" + llama + R"(, "cluster": "dgx-h100-ndr", "gpus": 8, "batch": {"global": 24, "sequence_length": 4096},
                 "parallelism": {"context": 2}, "optimizer": {"zero_stage": 1},
                 "overlap": {"grad_reduce": true, "param_gather": true, "p2p": true, "tensor_parallel": true}})",
      "{" + llama + R"(, "cluster": "dgx-h100-ndr", "gpus": 32, "batch": {"global": 64, "sequence_length": 4096},
                 "recompute": {"granularity": "full", "method": "block", "layers": 1},
                 "overlap": {"grad_reduce": true}, "parallelism": {"embedding_and_head_as_layers": false}})",
  };
}

}  // namespace foretoken::search
