// Drawings of a cluster: its nodes, NICs and switches, and the links between them.
#pragma once

#include <string>
#include <string_view>

#include "sim/net/fabric.h"

namespace foretoken::draw {

/// The fabric as an SVG of layers: core, spine and leaf switches above, nodes with NICs, PCIe switches, GPUs and NVLink
/// below. A link's width grows with the root of its rate beside the fastest of its kind; rates stand in the legend.
[[nodiscard]] std::string fabric_svg(const net::Fabric& fabric, std::string_view title);

/// The same as a GraphViz graph (`dot -Tsvg`), one edge for both directions of a cable.
[[nodiscard]] std::string fabric_dot(const net::Fabric& fabric, std::string_view title);

}  // namespace foretoken::draw
