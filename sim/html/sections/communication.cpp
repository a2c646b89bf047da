// Shows the communication of every group of ranks.
#include <fmt/format.h>

#include <array>

#include "sim/html/markup.h"
#include "sim/html/sections.h"
#include "sim/report/text/number.h"

namespace foretoken::html {
namespace {

// Names the links of a group: the network, NVLink or PCIe.
std::string way(const GroupShape& shape, const NodeLinks& links) {
  if (shape.nodes > 1)
    return fmt::format("network, {}; {} on the {} of a node", report::counted(shape.nodes, "node"),
                       report::counted(shape.groups_per_node, "such group"),
                       links.nics == 1 ? "NIC" : fmt::format("{} NICs", links.nics));
  return links.nvlink_per_gpu > BytesPerSecond(0) ? "NVLink inside a node" : "PCIe inside a node";
}

}  // namespace

std::string communication(const ReportData& data) {
  if (data.communication.empty()) return paragraph("One GPU holds the whole model: nothing is exchanged.");
  Table table({{"group", false},
               {"what", false},
               {"ranks"},
               {"over", false},
               {"operations"},
               {"bytes a GPU"},
               {"time"},
               {"hidden"},
               {"exposed"},
               {"of the step"}});
  const Seconds step = data.base.metrics.step_time;
  const auto amounts = [](const observe::Traffic& traffic) {
    return std::array{
        Table::number(static_cast<double>(traffic.operations), report::whole(static_cast<double>(traffic.operations))),
        Table::number(traffic.payload.value(), report::binary_bytes(traffic.payload)),
        Table::number(traffic.time.value(), report::time_text(traffic.time))};
  };
  for (const observe::GroupTraffic& each : data.communication) {
    const auto [operations, bytes, time] = amounts(each);
    table.add({Table::text(each.group), Table::text(each.what),
               Table::number(each.shape.ranks, report::whole(each.shape.ranks)),
               Table::text(each.group == "host" ? "PCIe or C2C, disks" : way(each.shape, each.links)), operations,
               bytes, time, Table::number(each.hidden().value(), report::time_text(each.hidden())),
               Table::number(each.exposed.value(), report::time_text(each.exposed)),
               Table::number(each.exposed / step, report::percent(each.exposed / step))});
    if (each.parts.size() < 2) continue;
    for (const observe::Traffic& part : each.parts) {
      const auto [part_operations, part_bytes, part_time] = amounts(part);
      const Table::Cell none = Table::text("");
      table.add({none, Table::text(part.what), none, none, part_operations, part_bytes, part_time, none, none, none});
    }
  }
  return paragraph(
             fmt::format("One GPU of stage {} over one step. Sizes as nccl-tests counts them. Exposed is the time in "
                         "which the GPU does nothing else; the rest runs beside kernels or other transfers.",
                         data.base.observations.busiest_stage.number())) +
         table.html();
}

}  // namespace foretoken::html
