// The collective laws of a profile, and files of what was measured on one system: calibration/collectives/NAME.json.
#pragma once

#include "sim/cost/collectives/measured_collectives.h"
#include "sim/io/json/node.h"

namespace foretoken::io {

/// Curves inside a node; complains about kinds that have none.
[[nodiscard]] cost::InsideNodeLaw read_inside_node(const Node& node);
/// Curves across nodes; complains about kinds that have none.
[[nodiscard]] cost::AcrossNodesLaw read_across_nodes(const Node& node);
[[nodiscard]] cost::PointToPointLaw read_messages(const Node& node);

/// The measurements of one system; any part may be absent.
[[nodiscard]] cost::MeasuredCollectives read_measured_collectives(const Node& node);

}  // namespace foretoken::io
