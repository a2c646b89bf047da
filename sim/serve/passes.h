// Times of passes: a pass takes new tokens of several requests once through the model.
//
// A pass costs the sum of parts, each cached by what it depends on. Products, norms and collectives depend on the
// number of tokens alone. Attention depends on the chunks of prompts, and on the number of decoding requests with the
// tokens in their caches. The head depends on the number of sequences that get a token. So no time is rounded to a
// bucket.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/des/time.h"
#include "sim/job/job.h"
#include "sim/model/stacks/decoder.h"
#include "sim/serve/kernels.h"

namespace foretoken::serve {

/// Prompts in a pass: `sequences` requests, each with `tokens` new tokens behind `before` that are in the cache.
struct PromptChunk {
  std::int64_t sequences = 1, tokens = 1, before = 0;
  bool last = true;  ///< the prompt ends here, and the request gets its first token
};

/// Mean number of keys in the cache that a token of the chunk meets beside those of the chunk itself. A window of 0
/// holds all. With P(n) the pairs of a query and a key in the first n tokens, it is
///
///   (P(before + tokens) - P(before) - P(tokens)) / tokens
[[nodiscard]] double cached_keys(const PromptChunk& chunk, std::int64_t window);

/// The content of one pass over all attention groups of a stage.
struct PassShape {
  std::vector<PromptChunk> prompts;
  std::int64_t decoding = 0;  ///< requests that get their next token; a beam search has its rows for each of them
  std::int64_t checked = 1;   ///< tokens of each of them in the pass: 1 without speculation
  double cached = 0;          ///< tokens that they hold in the cache, together; of an encoder-decoder their answers
  double encoded = 0;         ///< of an encoder-decoder: tokens of their prompts, together

  [[nodiscard]] std::int64_t tokens() const;
  [[nodiscard]] std::int64_t answered() const;   ///< tokens that the head answers: one a sequence, and those it checks
  [[nodiscard]] std::int64_t sequences() const;  ///< that get a token
};

/// Returns the job whose collectives and layers are those of one instance. Its batch is one sequence.
[[nodiscard]] job::Job job_of(const Service& service, const Degrees& degrees);

/// Returns the layers of each stage, dealt out as evenly as possible; earlier stages take what is left.
[[nodiscard]] std::vector<std::vector<model::LayerCount>> stages_of(const Service& service, int stages);

/// Bytes of keys and values of one token in one layer on one GPU.
[[nodiscard]] double layer_cache_bytes(const Service& service, int tensor);

class PassTimes {
 public:
  PassTimes(const Service& service, const Degrees& degrees);

  [[nodiscard]] int stages() const { return static_cast<int>(layers_.size()); }
  /// Writes the time of a pass on each stage to `times`.
  void time(const PassShape& pass, std::vector<des::Duration>& times);
  /// Returns the time of a message with the tokens of a pass to the next stage.
  [[nodiscard]] des::Duration message(std::int64_t tokens);

 private:
  struct Core {  ///< attention of one kind of layer
    std::int64_t heads = 1, kv_heads = 1, head_dim = 128, value_dim = 128, prompt_dim = 128, window = 0;
    double token_bytes = 0;
    bool latent = false;
    bool causal = true;
    model::AttentionCore whole{};  ///< before it is cut
  };
  struct Decoding {  ///< a pass without prompts
    std::int64_t requests = -1, checked = 1;
    double cached = 0;
    friend bool operator==(const Decoding&, const Decoding&) = default;
  };
  struct Dense {  ///< what depends on the number of tokens only
    std::vector<Seconds> layers;
    std::vector<Seconds> launches;  ///< of each kind of layer, with attention: the host's time
    Seconds embedding{};
  };

  void compute(const PassShape& pass, std::vector<des::Duration>& times);
  // `all` tokens are those of all attention groups, which experts meet.
  [[nodiscard]] Seconds ops_time(const model::OpList& ops, double all) const;
  [[nodiscard]] Seconds op_time(const model::LayerOp& op, double all) const;
  [[nodiscard]] GemmShape as_met(GemmShape shape, double all) const;
  [[nodiscard]] Seconds layer_time(const model::OpList& ops, double all) const;
  [[nodiscard]] const Dense& dense(std::int64_t tokens, std::int64_t all);
  [[nodiscard]] Seconds traffic(double bytes) const;
  [[nodiscard]] Seconds memory_bound(MemoryBoundShape kernel) const;
  [[nodiscard]] Seconds head(std::int64_t sequences);  ///< an encoder has none: its outputs are those of the last layer
  [[nodiscard]] Seconds prompts(const Core& core, const PassShape& pass) const;
  [[nodiscard]] Seconds prompt(const Core& core, const PromptChunk& chunk, std::int64_t sequences) const;
  [[nodiscard]] Seconds tiled_outputs(const Core& core, std::int64_t tokens) const;
  [[nodiscard]] Seconds integer_outputs(const GemmShape& product) const;
  [[nodiscard]] Seconds quantized_inputs(std::int64_t tokens) const;
  [[nodiscard]] Seconds unfused_prompt(const Core& core, const PromptChunk& chunk, std::int64_t sequences) const;
  [[nodiscard]] Seconds attention(const Core& core, const PassShape& pass) const;
  [[nodiscard]] Seconds cached_attention(const Core& core, std::int64_t sequences, std::int64_t queries,
                                         double cached) const;
  [[nodiscard]] Seconds halves(const PassShape& pass);
  [[nodiscard]] Seconds encoder(const PromptChunk& prompts) const;
  [[nodiscard]] Seconds encoder_layers(const PromptChunk& prompts) const;
  [[nodiscard]] Seconds encoder_keys(std::int64_t tokens) const;
  [[nodiscard]] Seconds beam_selection(std::int64_t rows) const;
  [[nodiscard]] Seconds decoder_layers(std::int64_t sequences);
  [[nodiscard]] Seconds unfused_kernels(double tokens) const;
  [[nodiscard]] Seconds launches(const Dense& parts, std::size_t stage) const;
  [[nodiscard]] Seconds with_host(Seconds device, Seconds launches, std::int64_t sequences) const;
  [[nodiscard]] std::int64_t a_group(std::int64_t count) const;
  [[nodiscard]] std::int64_t fullest_group(const PassShape& pass) const;

  const Service& service_;
  Degrees degrees_;
  job::Job job_;
  std::vector<std::vector<model::LayerCount>> layers_;            // of each stage
  std::vector<Core> cores_;                                       // of each kind of layer
  std::map<std::pair<std::int64_t, std::int64_t>, Dense> dense_;  // by tokens of the fullest group, and of all
  std::unordered_map<std::int64_t, Seconds> head_, decoder_;      // by sequences
  std::unordered_map<std::int64_t, des::Duration> messages_;
  std::vector<Seconds> attention_;  // of each kind of layer, in the pass that is timed
  // The latest passes without prompts, each in the slot of its hash, and their times on each stage: instances of a
  // fleet, and requests of the same lengths, repeat them.
  std::vector<Decoding> decoding_;
  std::vector<des::Duration> decoding_times_;
};

/// The times of each pool of a service: prompts first where it is disaggregated.
using PoolTimes = std::vector<std::unique_ptr<PassTimes>>;
/// Returns times that refer to `service`.
[[nodiscard]] PoolTimes times_of(const Service& service);

}  // namespace foretoken::serve
