// Describes clusters, their GPUs and their links in words.
#include <fmt/format.h>

#include "sim/io/hardware/read_cluster.h"
#include "sim/report/text/number.h"
#include "sim/report/text/text.h"
#include "tools/text/describe.h"

namespace foretoken::tools {
namespace {

using report::plain;

std::string gb(BytesPerSecond rate) { return plain(rate.value() / 1e9) + " GB/s"; }

std::string peaks(const net::Gpu& gpu) {
  std::string text;
  for (const auto& [precision, rate] : gpu.peak)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(precision), plain(rate.value() / 1e12));
  return text;
}

// Returns each kind of node and its GPUs, of a cluster with several kinds (docs/decisions/0007); nothing for another.
std::vector<std::pair<net::Cluster, std::int64_t>> groups_of(const io::Node& node) {
  std::vector<std::pair<net::Cluster, std::int64_t>> groups;
  if (!node.has("groups")) return groups;
  for (const io::Node& entry : node.array("groups"))
    if (const auto kind = io::open_reference(entry.child("cluster"), io::kClusters))
      groups.emplace_back(io::read_cluster(kind->root(node.findings())), entry.whole("gpus"));
  return groups;
}

std::vector<std::string> cluster_row(const io::Document& document, io::Findings& findings) {
  const auto groups = groups_of(document.root(findings));
  if (!groups.empty()) {
    std::string gpus;
    for (const auto& [kind, count] : groups)
      gpus += fmt::format("{}{} {}", gpus.empty() ? "" : " + ", count, kind.gpu.name);
    return {document.name, gpus, "", "", "", "", ""};
  }
  const net::Cluster c = io::read_cluster(document.root(findings));
  return {document.name,
          c.gpu.name,
          fmt::format("{}", c.gpus_per_node),
          fmt::format("{}", c.links.gpus),
          plain(c.links.nvlink_per_gpu.value() / 1e9),
          fmt::format("{} x {}", c.links.nics, plain(c.links.nic.value() / 1e9)),
          c.price_per_gpu_hour ? plain(*c.price_per_gpu_hour, 3) : ""};
}

std::string gpu_text(const net::Gpu& gpu, const report::Paint& paint) {
  std::string text = '\n' + paint(report::Ink::kBold, "GPU " + gpu.name) + '\n';
  text += entry(paint, "architecture",
                fmt::format("{}, {} multiprocessors", gpu.architecture, gpu.streaming_multiprocessors));
  text += entry(paint, "dense peak", peaks(gpu) + " TFLOP/s");
  text +=
      entry(paint, "memory",
            fmt::format("{} as the driver reports, {}", report::binary_bytes(gpu.memory), gb(gpu.memory_bandwidth)));
  if (gpu.tdp_watts) text += entry(paint, "power", plain(*gpu.tdp_watts) + " W (board limit)");
  text += entry(paint, "source", gpu.source);
  return text;
}

// Returns the NICs on the fewest PCIe hops, where the cluster states its wiring: "GPU 0-1: 0, 1; GPU 2-3: 2, 3".
std::string nearest_nics(const net::Cluster& cluster) {
  if (cluster.wiring.sockets.empty() || cluster.links.nics == 0) return "";
  const auto nearest = net::nearest_nics(cluster.wiring.sockets, cluster.gpus_per_node);
  std::string text;
  for (std::size_t first = 0, end = 0; first < nearest.size(); first = end) {
    while (end < nearest.size() && nearest[end] == nearest[first]) ++end;
    text += fmt::format("{}GPU {}{}: {}", text.empty() ? "" : "; ", first,
                        end == first + 1 ? "" : fmt::format("-{}", end - 1), fmt::join(nearest[first], ", "));
  }
  return text;
}

std::string nodes_page(const net::Cluster& c, const report::Paint& paint) {
  const NodeLinks& links = c.links;
  std::string text =
      paint(report::Ink::kBold, c.name) + "  " + paint(report::Ink::kDim, "rates are per direction") + '\n';
  text += entry(paint, "node", fmt::format("{} {}", report::counted(c.gpus_per_node, "GPU"), c.gpu.name));
  text += entry(paint, "inside",
                links.nvlink_per_gpu.value() > 0
                    ? fmt::format("NVLink ({}) {} a GPU, domain of {}; PCIe {} a GPU", c.nvlink_fabric,
                                  gb(links.nvlink_per_gpu), report::counted(links.gpus, "GPU"), gb(links.pcie_per_gpu))
                    : fmt::format("{}; PCIe {} a GPU", c.peer_to_peer ? "no NVLink" : "NVLink is not used (p2p: false)",
                                  gb(links.pcie_per_gpu)));
  if (c.segment)
    text +=
        entry(paint, "segments",
              fmt::format("{} of each domain for jobs of several domains", report::counted(c.segment->gpus, "GPU")));
  if (links.nics == 0) {
    text += entry(paint, "network", "no NICs: jobs of one node");
  } else {
    text += entry(paint, "network",
                  fmt::format("{} of {} a {}: {} in all", report::counted(links.nics, "NIC"), gb(links.nic),
                              links.gpus == c.gpus_per_node ? "node" : "domain", gb(links.nics_total())));
    text += entry(paint, "nearest NICs", nearest_nics(c));
    text += entry(paint, "fabric",
                  fmt::format("{}{}, oversubscription {}, {} a switch hop", c.fabric_kind,
                              c.rail_optimized ? " (rail-optimized)" : "", links.oversubscription,
                              report::time_text(links.hop_latency)));
  }
  if (c.price_per_gpu_hour) text += entry(paint, "price", plain(*c.price_per_gpu_hour, 3) + " USD per GPU hour");
  text += entry(paint, "source", c.source);
  if (c.power_limit_watts) text += entry(paint, "power limit", plain(*c.power_limit_watts) + " W a GPU");
  return text + gpu_text(c.gpu, paint);
}

std::string cluster_page(const io::Document& document, io::Findings& findings, const report::Paint& paint) {
  if (document.name == "links") return links_page(paint);
  const io::Node root = document.root(findings);
  const auto groups = groups_of(root);
  if (groups.empty()) return nodes_page(io::read_cluster(root), paint);
  std::string text = paint(report::Ink::kBold, root.text_or("name", document.name)) + '\n';
  for (const auto& [kind, count] : groups)
    text += fmt::format("\n{} of ", report::counted(static_cast<double>(count), "GPU")) + nodes_page(kind, paint);
  return text;
}

}  // namespace

io::Document links_document() {
  const io::DataKind kind{"links file", "topologies/links"};
  const auto path = io::find_data_file(kind, "links");
  io::Findings findings;
  if (!path) findings.complaints.push_back({"links", "", io::unknown_name(kind, "links")});
  findings.throw_if_wrong();
  auto document = io::document_from_file(*path, findings);
  findings.throw_if_wrong();
  return std::move(*document);
}

std::string links_page(const report::Paint& paint) {
  const io::Document document = links_document();
  io::Findings findings;
  using Align = report::Table::Align;
  report::Table table({{"link", Align::kLeft}, {"both ways GB/s"}, {"each way GB/s"}, {"latency us"}});
  std::string sources;
  const io::Node root = document.root(findings);
  for (const io::Node& link : root.array("links")) {
    const auto latency = link.find_number("latency_us");
    table.add({link.text("name"), plain(link.number("both_ways_gb_per_s")),
               plain(link.number("per_direction_gb_per_s")), latency ? plain(*latency) : ""});
    sources += paint.paragraph("  " + link.text("name") + ": ", link.text_or("note", "") + " " + link.text("source"));
  }
  const std::string about = root.text_or("about", "");
  findings.throw_if_wrong();
  return paint.paragraph("", about) + '\n' + table.text(paint) + '\n' + sources;
}

Described described_clusters() {
  using Align = report::Table::Align;
  return {.command = "clusters",
          .about = "List and show clusters (topologies/NAME.json); `clusters show links` shows the rates of links",
          .kind = io::kClusters,
          .columns = {{"name", Align::kLeft},
                      {"GPU", Align::kLeft},
                      {"a node", Align::kRight, 1},
                      {"NVLink domain", Align::kRight, 2},
                      {"NVLink GB/s"},
                      {"NICs x GB/s"},
                      {"USD/GPU h"}},
          .row = cluster_row,
          .page = cluster_page};
}

}  // namespace foretoken::tools
