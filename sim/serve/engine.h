// An engine of inference: its ways of batching, its memory, and its few fitted numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "sim/cost/kernels/small_all_reduce.h"

namespace foretoken::serve {

/// The times at which a request gets its pages of the cache, as TensorRT-LLM names them.
enum class CapacityPolicy : std::uint8_t {
  kGuaranteedNoEvict,  ///< a request starts when its whole answer has room, and is never sent back
  kMaxUtilization      ///< a request starts when its prompt has room; a full cache sends the newest request back
};
[[nodiscard]] std::string_view name_of(CapacityPolicy policy);  ///< "guaranteed_no_evict", "max_utilization"

/// Times of a layer of experts by Triton's kernels, beside its products.
struct TritonExperts {
  Seconds launch{};      ///< host, in a pass with prompts
  Seconds sort{};        ///< kernels that sort tokens by experts, in every pass
  Seconds sort_token{};  ///< time of these kernels for each token; every tensor rank sorts all tokens

  [[nodiscard]] Seconds sorting(std::int64_t tokens) const { return sort + real(tokens) * sort_token; }
};

/// An engine file, calibration/engines/NAME.json.
struct Engine {
  std::string name{}, description{}, source{};

  // Batching.
  bool encodes = false;              ///< serves encoders, each batch in one pass, and no decoders
  bool encoder_decoders = false;     ///< serves encoder-decoders, too, in static batches
  bool decoders = true;              ///< serves decoders; otherwise encoder-decoders or encoders alone
  bool continuous = true;            ///< otherwise a batch starts and ends together
  bool splits_batch = false;         ///< a static batch is cut into micro-batches for the stages of a pipeline
  std::int64_t split_tokens = 2048;  ///< most tokens of such a micro-batch
  bool mixes_phases = true;          ///< prompts and decoding share a pass; otherwise prompts go first
  bool chunks_prompts = true;        ///< a prompt may be spread over passes
  std::int64_t token_budget = 8192;  ///< most tokens of a pass
  std::int64_t max_sequences = 256;  ///< most requests that run at once
  bool limits_each_group = false;    ///< both are limits of each attention group; otherwise groups share them
  CapacityPolicy capacity_policy = CapacityPolicy::kMaxUtilization;
  bool overlaps_host = false;  ///< the host composes the next pass, and samples, while a pass runs

  // Memory.
  double memory_fraction = 0.9;   ///< of the GPU's memory that the engine may take
  Bytes overhead{};               ///< CUDA context, workspaces, graphs
  int block_tokens = 16;          ///< of a page of the cache
  double watermark = 0;           ///< part of the pages that no new request may take
  double activation_widths = 0;   ///< hidden vectors that each token of a pass takes
  double score_bytes = 0;         ///< of an attention score, where heads are wider than 64; 0: fused
  double logit_bytes = 0;         ///< of one entry of the vocabulary for each sequence
  bool copies_embedding = false;  ///< a tied table is held twice

  // Time.
  /// Query heads for each key-value head, for which decoding reads the cache once (XQA kernels). With other numbers
  /// each query head reads the keys and values of its own. Nothing: every number has such kernels.
  std::optional<std::vector<std::int64_t>> xqa_group_sizes{};
  /// Head dimensions for which an encoder has fused attention. Nothing: every dimension has.
  std::optional<std::vector<std::int64_t>> fused_head_dims{};
  /// The owner of the decode kernels: trt-llm, vllm or sglang. Where the GPU's laws have a law of theirs, it is taken.
  std::string decode_attention{};
  std::string experts{};     ///< the owner of the kernels of experts, in the same way; empty: no laws of their own
  std::string products{};    ///< the owner of the kernels of products, in the same way; empty: the profile's
  bool dynamic_fp8 = false;  ///< kernels before a product find the scale of its fp8 input; else norms write fp8
  int int8_mode = 2;         ///< of encoders in w8a8: products write 32 bits (1) or 8 bits (2), as FasterTransformer
  cost::AllReduceKernels all_reduce = cost::AllReduceKernels::kTrtLlm;  ///< of small payloads over tensor ranks
  Seconds kernel{};                                                     ///< beyond each kernel's own time
  Seconds launch{};  ///< host, for each kernel of a pass with prompts; CUDA graphs hold all other passes
  std::optional<TritonExperts> triton{};  ///< times with MoeBackend::kTriton; nothing: no such kernels
  Seconds request{};                      ///< HTTP of one request, before it can join the queue
  Seconds prompt_token{};                 ///< host that turns the text of a prompt into tokens, for each of them
  Seconds answer{};                       ///< from the end of a pass until users have its tokens
  Seconds answer_token{};                 ///< front end, for each token that it sends; requests wait behind tokens
  Seconds request_layer{};                ///< of a static batch before its first pass, for each layer of the model
  Seconds pass{};                         ///< host and sampling, once a pass
  Seconds sequence{};                     ///< host and sampling, for each sequence of a pass
  Seconds beam{};                         ///< host and small kernels of a beam search, once a pass
  Seconds collective{};                   ///< beyond each tensor-parallel collective
  double score_traffic = 0;               ///< bytes moved for each attention score of a prompt: unfused attention
  double layer_traffic = 0;   ///< bytes moved for each hidden element, layer and tensor rank by unfused kernels
  double product_factor = 1;  ///< time of products, relative to the profile
  std::optional<std::string> no_interval{};  ///< why intervals do not hold for it; nothing: they do
  std::vector<std::string> assumptions{};    ///< what a reader must know of its numbers
  std::vector<std::string> notes{};          ///< one line for each number with its source
};

}  // namespace foretoken::serve
