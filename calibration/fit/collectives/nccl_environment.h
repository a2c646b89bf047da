// The NCCL settings that a published table states.
#pragma once

#include <optional>
#include <string>

#include "sim/cost/collectives/nccl_choice.h"

namespace foretoken::fit {

struct NcclEnvironment {
  cost::NcclSettings settings;
  std::optional<int> message_channels{};  ///< NCCL_NCHANNELS_PER_NET_PEER
};

/// Reads "NCCL_ALGO=Ring NCCL_PROTO=LL128": NAME=VALUE with spaces between. Settings of the queue pairs and CTAs of a
/// channel have no effect here: flows have links, and no channels that could be too few. Throws ConfigError, which
/// names `table`, on any other setting and on values that NCCL does not know.
[[nodiscard]] NcclEnvironment read_nccl_environment(const std::string& environment, const std::string& table);

}  // namespace foretoken::fit
