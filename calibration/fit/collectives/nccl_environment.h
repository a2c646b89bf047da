// Reads the NCCL settings that a published table states.
#pragma once

#include <optional>
#include <string>

#include "sim/cost/collectives/nccl_choice.h"

namespace foretoken::fit {

struct NcclEnvironment {
  cost::NcclSettings settings;
  std::optional<int> message_channels{};  ///< NCCL_NCHANNELS_PER_NET_PEER
};

/// Reads settings such as "NCCL_ALGO=Ring NCCL_PROTO=LL128", separated by spaces. Settings of queue pairs and CTAs have
/// no effect, because a flow is not limited by the number of channels. Throws ConfigError, which names `table`, on any
/// other setting and on values that NCCL does not know.
[[nodiscard]] NcclEnvironment read_nccl_environment(const std::string& environment, const std::string& table);

}  // namespace foretoken::fit
