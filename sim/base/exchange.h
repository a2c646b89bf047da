// The shape of one exchange of tokens with experts by a library of its own: DeepEP, or the kernels of TensorRT-LLM.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "sim/base/units.h"

namespace foretoken {

/// Libraries of kernels that exchange tokens. DeepEP sends a token once to each rank that has experts of it. Its
/// kernels of low latency send one copy to each expert.
enum class ExchangeLibrary : std::uint8_t { kDeepEp, kDeepEpLowLatency, kTrtllmOneSided, kTrtllmTwoSided };

inline constexpr std::array kExchangeLibraryNames{
    std::pair{ExchangeLibrary::kDeepEp, std::string_view("deepep")},
    std::pair{ExchangeLibrary::kDeepEpLowLatency, std::string_view("deepep-low-latency")},
    std::pair{ExchangeLibrary::kTrtllmOneSided, std::string_view("trtllm-one-sided")},
    std::pair{ExchangeLibrary::kTrtllmTwoSided, std::string_view("trtllm-two-sided")}};

/// The way of the tokens. kPrepare counts them first. kNarrowCombine brings sums back in few bits.
enum class ExchangePhase : std::uint8_t { kPrepare, kDispatch, kCombine, kNarrowCombine };

inline constexpr std::array kExchangePhaseNames{
    std::pair{ExchangePhase::kPrepare, std::string_view("prepare")},
    std::pair{ExchangePhase::kDispatch, std::string_view("dispatch")},
    std::pair{ExchangePhase::kCombine, std::string_view("combine")},
    std::pair{ExchangePhase::kNarrowCombine, std::string_view("combine_low_precision")}};

constexpr std::string_view name_of(ExchangeLibrary library) {
  return kExchangeLibraryNames[static_cast<std::size_t>(library)].second;
}

constexpr std::string_view name_of(ExchangePhase phase) {
  return kExchangePhaseNames[static_cast<std::size_t>(phase)].second;
}

/// One exchange, as each of its ranks takes part in it.
struct ExchangeShape {
  ExchangeLibrary library = ExchangeLibrary::kDeepEp;
  ExchangePhase phase = ExchangePhase::kDispatch;
  double tokens = 0;          ///< of one rank
  Bytes row{};                ///< of one token on its way
  double copies = 1;          ///< copies of a token, the one for its own rank included
  double network_copies = 0;  ///< copies of a token that leave its node
  int ranks = 1, nodes = 1;   ///< of the group; nodes are NVLink domains
  int multiprocessors = 20;   ///< that the kernel holds, where the library lets its caller choose
  double link_factor = 1;     ///< rate of the links inside the node over the rate that the law was fitted at
  BytesPerSecond nic{};       ///< one rank's part of the NICs of its node

  /// Returns the bytes of all copies of a rank.
  [[nodiscard]] constexpr Bytes payload() const { return tokens * copies * row; }
  friend bool operator==(const ExchangeShape&, const ExchangeShape&) = default;
};

/// Returns the mean number of parts, of `parts` equal parts of `count` experts, that hold one of a token's experts,
/// when all choices of `per_token` experts are equally likely:
///
///   parts (1 - C(E - E/parts, k) / C(E, k))
///
/// Precondition: count, per_token, parts >= 1.
[[nodiscard]] inline double parts_met(double count, std::int64_t per_token, double parts) {
  const double others = count - count / parts;
  double none = 1;
  for (std::int64_t i = 0; i < per_token && none > 0; ++i)
    none *= std::max(0.0, others - static_cast<double>(i)) / (count - static_cast<double>(i));
  return parts * (1 - none);
}

}  // namespace foretoken
