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
