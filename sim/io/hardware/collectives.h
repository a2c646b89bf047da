// Reads and writes collective laws: of a profile, and of one measured system (calibration/collectives/NAME.json).
#pragma once

#include <string>

#include "sim/cost/collectives/measured_collectives.h"
#include "sim/io/json/node.h"

namespace foretoken::io {

class Fields;

/// Lists the fields of curves inside a node. Complains about kinds of collectives without a curve.
void inside_node_fields(Fields& f, cost::InsideNodeLaw& law);
/// Lists the fields of curves across nodes. Complains about kinds of collectives without a curve.
void across_nodes_fields(Fields& f, cost::AcrossNodesLaw& law);
/// Lists the fields of messages from one GPU to another.
void message_fields(Fields& f, cost::PointToPointLaw& law);

/// Reads the measurements of one system. Any part may be absent.
[[nodiscard]] cost::MeasuredCollectives read_measured_collectives(const Node& node);

/// Writes the text of the file, one line for each curve, so that a diff shows a changed curve as one line.
[[nodiscard]] std::string to_json_text(const cost::MeasuredCollectives& measured);

}  // namespace foretoken::io
