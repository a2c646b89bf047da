// What every group of ranks exchanges.
#include <fmt/format.h>

#include "sim/html/markup.h"
#include "sim/html/sections.h"
#include "sim/report/number.h"

namespace foretoken::html {
namespace {

std::string way(const GroupShape& shape, const lowering::Scenario& scenario) {
  const NodeLinks& links = scenario.cluster.links;
  if (shape.nodes > 1)
    return fmt::format("network, {} nodes; {} such group{} on the {} NICs of a node", shape.nodes,
                       shape.groups_per_node, shape.groups_per_node == 1 ? "" : "s", links.nics);
  return links.nvlink_per_gpu > BytesPerSecond(0) ? "NVLink inside a node" : "PCIe inside a node";
}

}  // namespace

std::string communication(const ReportData& data) {
  if (data.communication.empty()) return paragraph("One GPU holds all of the model: nothing is exchanged.");
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
  for (const observe::GroupTraffic& each : data.communication)
    table.add({Table::text(each.group), Table::text(each.what),
               Table::number(each.shape.ranks, report::whole(each.shape.ranks)),
               Table::text(way(each.shape, data.base.scenario)),
               Table::number(static_cast<double>(each.operations), report::whole(static_cast<double>(each.operations))),
               Table::number(each.payload.value(), report::binary_bytes(each.payload)),
               Table::number(each.time.value(), report::time_text(each.time)),
               Table::number(each.hidden().value(), report::time_text(each.hidden())),
               Table::number(each.exposed.value(), report::time_text(each.exposed)),
               Table::number(each.exposed / step, report::percent(each.exposed / step))});
  return paragraph(
             fmt::format("One GPU of stage {} over one step. Sizes as nccl-tests counts them. Exposed is the time in "
                         "which the GPU does nothing else; the rest runs beside kernels or other transfers.",
                         data.base.observations.busiest_stage)) +
         table.html();
}

}  // namespace foretoken::html
