// The rules between the parts of a question about serving.
#pragma once

#include "sim/io/json/node.h"
#include "sim/serve/service.h"

namespace foretoken::io {

/// Checks the degrees of a pool against its GPUs, the model and the machines. `node` is the object that states them.
void check_pool(const Node& node, const serve::Service& service, const serve::Pool& pool);

/// Checks precision against the profile, and batching against requests.
void check_service(const Node& root, const serve::Service& service);

}  // namespace foretoken::io
