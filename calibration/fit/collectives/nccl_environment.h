// The settings that a published table states its NCCL was run with.
#pragma once

#include <optional>
#include <string>

#include "sim/cost/collectives/nccl_choice.h"

namespace foretoken::fit {

struct NcclEnvironment {
  cost::NcclSettings settings;
  std::optional<int> message_channels{};  ///< NCCL_NCHANNELS_PER_NET_PEER
};

/// "NCCL_ALGO=Ring NCCL_PROTO=LL128": NAME=VALUE with spaces between. Settings of how many queue pairs and CTAs carry a
/// channel count for nothing here: flows have links, and no channels that could be too few. Throws ConfigError on any
/// other setting, and on values that NCCL does not know; `table` is named then.
[[nodiscard]] NcclEnvironment read_nccl_environment(const std::string& environment, const std::string& table);

}  // namespace foretoken::fit
