// Names the dispatchers of tokens as scenarios and runtimes spell them.
#pragma once

#include "sim/io/json/node.h"
#include "sim/model/experts.h"

namespace foretoken::io {

inline const Node::Choices<model::Dispatcher> kDispatcherNames = {{"all-to-all", model::Dispatcher::kAllToAll},
                                                                  {"all-gather", model::Dispatcher::kAllGather},
                                                                  {"deepep", model::Dispatcher::kDeepEp},
                                                                  {"hybridep", model::Dispatcher::kHybridEp}};

}  // namespace foretoken::io
