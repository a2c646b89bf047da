// Draws a cluster: its nodes, NICs and switches, and the links between them.
#pragma once

#include <string>
#include <string_view>

#include "sim/net/fabric.h"

namespace foretoken::draw {

/// Draws the fabric as layers of an SVG: core, spine and leaf switches above, then nodes with NICs, PCIe switches, GPUs
/// and NVLink. The width of a link grows with the root of its rate, relative to the fastest link of its kind. The
/// legend shows the rates.
[[nodiscard]] std::string fabric_svg(const net::Fabric& fabric, std::string_view title);

/// Writes the same as a GraphViz graph (`dot -Tsvg`), with one edge for both directions of a cable.
[[nodiscard]] std::string fabric_dot(const net::Fabric& fabric, std::string_view title);

}  // namespace foretoken::draw
