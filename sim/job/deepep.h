// The conditions of exchanges by DeepEP.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "sim/base/text.h"
#include "sim/cost/exchanges/exchange.h"
#include "sim/cost/profile.h"

namespace foretoken::job {

/// Returns the reason why nobody knows the times of DeepEP on a GPU. `crosses`: its groups span several nodes.
[[nodiscard]] inline std::optional<std::string> why_no_deepep(const cost::Profile& profile, bool crosses) {
  for (const ExchangePhase phase : {ExchangePhase::kDispatch, ExchangePhase::kCombine}) {
    const cost::ExchangeLaw* law = cost::find_exchange(profile.exchanges, ExchangeLibrary::kDeepEp, phase);
    if (law == nullptr) return fmt::format("profile {} has no law of DeepEP", in_quotes(profile.name));
    if (crosses && !law->across)
      return fmt::format("profile {} has no law of DeepEP across nodes", in_quotes(profile.name));
  }
  return std::nullopt;
}

}  // namespace foretoken::job
