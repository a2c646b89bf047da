// The parts of an architecture beyond one dense layer: experts, latent attention, local attention; and the cut of
// experts.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

namespace foretoken::model {

/// A mixture of experts in place of an MLP. Every token meets `per_token` of `count` experts.
struct Experts {
  std::int64_t count = 1;         ///< E, routed experts of a layer
  std::int64_t per_token = 1;     ///< k
  std::int64_t width = 1;         ///< f_e, of the MLP of one expert
  std::int64_t shared_width = 0;  ///< f_s, of the experts that every token meets, together; 0: none
  bool shared_gate = false;       ///< one number a token scales the shared experts' output (Qwen2-MoE)
  bool router_bias = false;       ///< one number an expert is added to the scores
  /// Shape of the gamma distribution that the experts' popularity follows: the smaller, the fewer experts a few tokens
  /// meet. 0: all are equally popular.
  double popularity_shape = 0;
  std::int64_t dense_first = 0;  ///< layers before the first with experts
  std::int64_t every = 1;        ///< then only every n-th layer of the model has experts

  /// Returns the chance that some of `tokens` chooses an expert: 1 - (1 - k/E)^T where all are equally popular, else
  /// the mean of 1 - exp(-T p k/E) over a gamma distribution of p with mean 1. The second counts as if one token could
  /// choose an expert twice, so it is no less than k/E, which one token chooses.
  [[nodiscard]] double chance_met(double tokens) const {
    const double each = static_cast<double>(per_token) / static_cast<double>(count);
    if (popularity_shape == 0) return 1 - std::pow(1 - each, tokens);
    return std::max(each * std::min(tokens, 1.0),
                    1 - std::pow(1 + tokens * each / popularity_shape, -popularity_shape));
  }

  /// Returns true when a layer has experts. Layers count from 0.
  [[nodiscard]] constexpr bool in_layer(std::int64_t layer) const {
    return layer >= dense_first && (layer + 1) % every == 0;
  }
};

/// Multi-head latent attention (arXiv:2405.04434, section 2.1): queries, keys and values come from narrow vectors.
struct LatentAttention {
  std::int64_t query_rank = 0;  ///< width of the vector that queries come from; 0: they come from the hidden state
  std::int64_t kv_rank = 1;     ///< width of the vector that keys and values come from
  std::int64_t nope_dim = 1;    ///< of a head, without positions
  std::int64_t rope_dim = 1;    ///< of a head, with positions; all heads share this part of the keys
  std::int64_t value_dim = 1;   ///< of a head of values

  [[nodiscard]] constexpr std::int64_t query_dim() const { return nope_dim + rope_dim; }
};

/// Layers whose queries see only the last tokens. Of every `every` layers all but the last are local.
struct LocalAttention {
  std::int64_t window = 0;  ///< tokens that a query sees, itself included; 0: no layer is local
  std::int64_t every = 2;

  [[nodiscard]] constexpr std::int64_t window_of(std::int64_t layer) const {
    return (layer + 1) % every == 0 ? 0 : window;
  }
};

/// The way in which tokens travel to their experts.
enum class Dispatcher : std::uint8_t {
  kAllToAll,   ///< a copy for each expert of the token
  kAllGather,  ///< every rank gets all tokens, and keeps those of its experts
  kDeepEp,     ///< a copy for each rank that has experts of the token
  kHybridEp    ///< likewise
};
inline constexpr std::array kDispatchers{Dispatcher::kAllToAll, Dispatcher::kAllGather, Dispatcher::kDeepEp,
                                         Dispatcher::kHybridEp};

/// Returns true for dispatchers of a library of their own, Megatron-Core's "flex". They are modelled alike.
[[nodiscard]] constexpr bool is_flexible(Dispatcher dispatcher) {
  return dispatcher == Dispatcher::kDeepEp || dispatcher == Dispatcher::kHybridEp;
}

/// Returns the rows of a rank over their mean when all tokens choose its experts. A token meets k of E experts, and at
/// most min(k, E/e) on one of e ranks.
[[nodiscard]] inline double most_imbalance(const Experts& experts, int ranks) {
  return std::min(static_cast<double>(ranks),
                  static_cast<double>(experts.count) / static_cast<double>(experts.per_token));
}

/// The cut of experts over ranks.
struct ExpertCut {
  int expert = 1, expert_tensor = 1;  ///< degrees
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  std::optional<double> capacity_factor{};  ///< rows of every expert are padded or cut to it; none: all tokens are kept
  double imbalance = 1;                     ///< tokens of the rank with the most over their mean
  bool shared_overlap = false;              ///< shared experts run beside the exchanges
};

}  // namespace foretoken::model
