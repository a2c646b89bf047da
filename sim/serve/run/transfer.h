// The move of a prompt's cache from the GPUs that computed it to those that decode.
#pragma once

#include "sim/base/units.h"
#include "sim/serve/service.h"

namespace foretoken::serve {

/// Returns the time to move the keys and values of `tokens` tokens from one instance to another. The GPUs of the
/// smaller side send or receive side by side, each over its own share of the links. Both pools stand on nodes of their
/// own when either fills one; otherwise they share a node.
[[nodiscard]] Seconds transfer_time(const Service& service, std::int64_t tokens);

}  // namespace foretoken::serve
