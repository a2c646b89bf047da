// Numbers of the GPUs and nodes of one fabric. A job on nodes of several kinds has a fabric for each kind, so a number
// in a fabric is not a number in the job.
#pragma once

#include "sim/base/ids.h"

namespace foretoken::net {

using FabricGpu = Id<struct FabricGpuTag>;    ///< position of a GPU in its fabric, node by node
using FabricNode = Id<struct FabricNodeTag>;  ///< position of a node (NVLink domain) in its fabric

}  // namespace foretoken::net
