// The collective laws of a profile, and files of what was measured on one system: calibration/collectives/NAME.json.
#pragma once

#include <string>

#include "sim/cost/collectives/measured_collectives.h"
#include "sim/io/json/node.h"

namespace foretoken::io {

class Fields;

/// The table of curves inside a node; complains about kinds that have none.
void inside_node_fields(Fields& f, cost::InsideNodeLaw& law);
/// The table of curves across nodes; complains about kinds that have none.
void across_nodes_fields(Fields& f, cost::AcrossNodesLaw& law);
/// The table of messages from one GPU to another.
void message_fields(Fields& f, cost::PointToPointLaw& law);

/// The measurements of one system; any part may be absent.
[[nodiscard]] cost::MeasuredCollectives read_measured_collectives(const Node& node);

/// The text of the file: one line for each curve, so that a changed curve is one line of a comparison.
[[nodiscard]] std::string to_json_text(const cost::MeasuredCollectives& measured);

}  // namespace foretoken::io
