// Draws a cluster.
//
// Every kind of device has its layer. The devices of a layer are spread evenly over the width of their node, GPUs under
// their PCIe switch. Network switches are spread over the whole drawing. Links inside a layer are arcs: above network
// switches, and below all other devices.
#include "sim/draw/fabric_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/graphviz.hpp>
#include <cmath>
#include <map>
#include <sstream>

#include "sim/base/text.h"
#include "sim/draw/svg.h"
#include "sim/report/text/number.h"

namespace foretoken::draw {
namespace {

using net::Device;
using net::DeviceId;
using net::DeviceKind;
using net::Graph;
using net::LinkKind;
using report::plain;

constexpr double kBox = 46, kGap = 10, kLayer = 74, kMargin = 24, kHead = 58, kHalfBox = 12;

constexpr const char* kStyle =
    "<style>text{font:11px system-ui,sans-serif;fill:#222;text-anchor:middle}.t{font-weight:600;font-size:14px;"
    "text-anchor:start}.k{text-anchor:start}.bg{fill:#fff}.box{fill:#fff;stroke:#555}.node{fill:#f4f6f8;stroke:#c5ccd3}"
    ".gpu{fill:#d9efe6}.switch{fill:#dce9f7}.nvlink{stroke:#009E73}.pcie{stroke:#999}.network{stroke:#0072B2}"
    "@media (prefers-color-scheme:dark){text{fill:#ddd}.bg{fill:#16181c}"
    ".box{fill:#24272d;stroke:#9aa}.node{fill:#1d2025;stroke:#3a4048}.gpu{fill:#1f4a3d}.switch{fill:#1f3a55}}</"
    "style>\n";

// Returns the layer of a device, counted from the top.
int layer_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCore:
    case DeviceKind::kGlobal:
      return 0;
    case DeviceKind::kSpine:
    case DeviceKind::kGroup:
      return 1;
    case DeviceKind::kLeaf:
    case DeviceKind::kRouter:
      return 2;
    case DeviceKind::kNic:
      return 3;
    case DeviceKind::kHost:
      return 4;
    case DeviceKind::kPcieSwitch:
      return 5;
    case DeviceKind::kGpu:
      return 6;
    case DeviceKind::kNvSwitch:
      return 7;
  }
  return 0;
}

std::string_view class_of(LinkKind kind) {
  return kind == LinkKind::kNvlink ? "nvlink" : kind == LinkKind::kPcie ? "pcie" : "network";
}

std::string short_name(const Device& device) {
  switch (device.kind) {
    case DeviceKind::kGpu:
      return fmt::format("GPU {}", device.index);
    case DeviceKind::kNvSwitch:
      return "NVSwitch";
    case DeviceKind::kHost:
      return "PCIe root";
    case DeviceKind::kPcieSwitch:
      return "PCIe";
    case DeviceKind::kNic:
      return fmt::format("NIC {}", device.index);
    case DeviceKind::kLeaf:
      return fmt::format("leaf {}", device.index);
    case DeviceKind::kSpine:
      return fmt::format("spine {}", device.index);
    case DeviceKind::kCore:
      return fmt::format("core {}", device.index);
    case DeviceKind::kRouter:
      return fmt::format("router {}", device.index);
    case DeviceKind::kGroup:
      return fmt::format("group {}", device.index);
    case DeviceKind::kGlobal:
      return "global";
  }
  return "";
}

struct Spot {
  double x = 0, y = 0;
};

// Returns the height of an arc between two devices of a layer, `distance` between them.
double arc_height(LinkKind kind, double distance) {
  return kind == LinkKind::kPcie ? std::min(34.0, 10 + 0.06 * distance) : std::min(96.0, 14 + 0.16 * distance);
}

class Drawing {
 public:
  explicit Drawing(const net::Fabric& fabric) : fabric_(fabric) {
    fabric.copy_whole(graph_);
    for (const net::Link& link : fabric.links())
      fastest_[link.kind] = std::max(fastest_[link.kind], link.capacity.value());
    place();
    leave_room_for_arcs();
  }
  [[nodiscard]] std::string svg(std::string_view title) const;

 private:
  void place();
  [[nodiscard]] double node_width() const {
    return static_cast<double>(std::max(fabric_.node().gpus, fabric_.node().nics)) * (kBox + kGap) + kGap;
  }
  [[nodiscard]] bool is_arc(DeviceId a, DeviceId b) const {
    return layer_of(graph_[a].kind) == layer_of(graph_[b].kind);
  }
  [[nodiscard]] double line_width(LinkKind kind, BytesPerSecond rate) const {
    const double widest = kind == LinkKind::kPcie ? 1.2 : 2.4;
    return 0.8 + widest * std::sqrt(rate.value() / fastest_.at(kind));
  }
  [[nodiscard]] double width_of(DeviceKind kind) const {
    return kind == DeviceKind::kNvSwitch ? node_width() - 2 * kGap
           : kind == DeviceKind::kHost   ? 1.8 * kBox
           : kind == DeviceKind::kRouter ? kBox + 0.8 * kGap
                                         : kBox;
  }
  void leave_room_for_arcs();
  void put_nodes(std::string& out) const;
  void put_links(std::string& out) const;
  void put_devices(std::string& out) const;
  void put_legend(std::string& out) const;

  const net::Fabric& fabric_;
  Graph graph_;
  std::vector<Spot> at_;
  std::vector<int> used_layers_;  // in order, without gaps
  std::map<LinkKind, double> fastest_;
  double width_ = 0, height_ = 0;
  double above_ = 0, below_ = 0;  // room for arcs over the first layer and under the last
};

void Drawing::place() {
  std::map<int, std::map<std::optional<net::FabricNode>, std::vector<DeviceId>>> layers;  // layer -> node -> devices
  for (DeviceId v = 0; v < boost::num_vertices(graph_); ++v)
    layers[layer_of(graph_[v].kind)][graph_[v].node].push_back(v);
  std::size_t most_switches = 0;
  for (const auto& [layer, by_node] : layers) {
    used_layers_.push_back(layer);
    if (by_node.contains(std::nullopt)) most_switches = std::max(most_switches, by_node.at(std::nullopt).size());
  }
  const double node = node_width();
  width_ = std::max(fabric_.nodes() * (node + kGap) - kGap, static_cast<double>(most_switches) * (kBox + kGap)) +
           2 * kMargin;
  height_ = kHead + static_cast<double>(used_layers_.size()) * kLayer + kMargin;
  at_.resize(boost::num_vertices(graph_));
  const double first = (width_ - (fabric_.nodes() * (node + kGap) - kGap)) / 2;
  for (std::size_t row = 0; row < used_layers_.size(); ++row)
    for (const auto& [where, devices] : layers[used_layers_[row]]) {
      const double begin = where ? first + where->number() * (node + kGap) : kMargin;
      const double wide = where ? node : width_ - 2 * kMargin;
      for (std::size_t i = 0; i < devices.size(); ++i)
        at_[devices[i]] = {begin + wide * (static_cast<double>(i) + 0.5) / static_cast<double>(devices.size()),
                           kHead + (static_cast<double>(row) + 0.5) * kLayer};
    }
}

void Drawing::leave_room_for_arcs() {
  net::for_each_edge(graph_, [&](auto edge) {
    const DeviceId a = boost::source(edge, graph_), b = boost::target(edge, graph_);
    if (!is_arc(a, b)) return;
    const double height = arc_height(graph_[edge].kind, std::abs(at_[a].x - at_[b].x));
    if (!graph_[a].node)
      above_ = std::max(above_, height);
    else if (layer_of(graph_[a].kind) == used_layers_.back())
      below_ = std::max(below_, height);
  });
  for (Spot& at : at_) at.y += above_;
  height_ += above_ + below_;
}

void Drawing::put_nodes(std::string& out) const {
  const auto nic_row = std::find_if(used_layers_.begin(), used_layers_.end(), [](int layer) { return layer >= 3; });
  const double top = above_ + kHead + static_cast<double>(nic_row - used_layers_.begin()) * kLayer + 8;
  const double node = node_width();
  const double first = (width_ - (fabric_.nodes() * (node + kGap) - kGap)) / 2;
  for (int n = 0; n < fabric_.nodes(); ++n) {
    const double x = first + n * (node + kGap);
    out += element("rect", {{"class", "node"},
                            {"x", x, 1},
                            {"y", top, 1},
                            {"width", node, 1},
                            {"height", height_ - top - kMargin + 8, 1},
                            {"rx", "8"}});
    out += text({{"class", "k"}, {"x", x + 8, 1}, {"y", height_ - kMargin + 2, 1}}, fmt::format("node {}", n)) + "\n";
  }
}

void Drawing::put_links(std::string& out) const {
  net::for_each_edge(graph_, [&](auto edge) {
    const DeviceId a = boost::source(edge, graph_), b = boost::target(edge, graph_);
    if (a > b) return;  // a cable is drawn once
    const auto& [id, kind, capacity, latency] = graph_[edge];
    Spot p = at_[a], q = at_[b];
    if (graph_[b].kind == DeviceKind::kNvSwitch) q.x = p.x;  // as wide as its node
    double bend = 0;                                         // a cubic curve reaches three quarters of its bend
    if (is_arc(a, b)) {
      const double side = graph_[a].node ? 1 : -1;
      bend = side * arc_height(kind, std::abs(p.x - q.x)) / 0.75;
      p.y += side * kHalfBox;
      q.y += side * kHalfBox;
    }
    const std::string curve =
        bend == 0 ? "L" : fmt::format("C{:.1f} {:.1f} {:.1f} {:.1f} ", p.x, p.y + bend, q.x, q.y + bend);
    out += with_hint("path",
                     {{"class", class_of(kind)},
                      {"fill", "none"},
                      {"stroke-opacity", ".75"},
                      {"stroke-width", line_width(kind, capacity), 1},
                      {"d", fmt::format("M{:.1f} {:.1f}{}{:.1f} {:.1f}", p.x, p.y, curve, q.x, q.y)}},
                     fmt::format("{} to {}: {} GB/s each way", net::name_of(graph_[a]), net::name_of(graph_[b]),
                                 plain(capacity.value() / 1e9))) +
           "\n";
  });
}

void Drawing::put_devices(std::string& out) const {
  for (DeviceId v = 0; v < at_.size(); ++v) {
    const Device& device = graph_[v];
    const double w = width_of(device.kind);
    const char* look = device.kind == DeviceKind::kGpu                        ? " gpu"
                       : !device.node || device.kind == DeviceKind::kNvSwitch ? " switch"
                                                                              : "";
    out += element("rect", {{"class", fmt::format("box{}", look)},
                            {"x", at_[v].x - w / 2, 1},
                            {"y", at_[v].y - kHalfBox, 1},
                            {"width", w, 1},
                            {"height", "24"},
                            {"rx", "5"}});
    out += text({{"x", at_[v].x, 1}, {"y", at_[v].y + 4, 1}}, short_name(device)) + "\n";
  }
}

void Drawing::put_legend(std::string& out) const {
  std::map<std::pair<LinkKind, double>, int> rates;
  for (const net::Link& link : fabric_.links()) ++rates[{link.kind, link.capacity.value() / 1e9}];
  double x = kMargin;
  for (const auto& [what, count] : rates) {
    const std::string label = fmt::format("{} {} GB/s",
                                          what.first == LinkKind::kNvlink ? "NVLink"
                                          : what.first == LinkKind::kPcie ? "PCIe"
                                                                          : "network",
                                          plain(what.second));
    out += element("path", {{"class", class_of(what.first)},
                            {"stroke-width", line_width(what.first, gigabytes_per_second(what.second)), 1},
                            {"d", fmt::format("M{:.0f} 42h22", x)}});
    out += text({{"class", "k"}, {"x", x + 28, 0}, {"y", "46"}}, label) + "\n";
    x += 48 + 6.4 * static_cast<double>(label.size());
  }
}

std::string Drawing::svg(std::string_view title) const {
  const double width = std::max(width_, 640.0);
  std::string out = opened("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                                   {"viewBox", fmt::format("0 0 {:.0f} {:.0f}", width, height_)},
                                   {"width", width, 0},
                                   {"height", height_, 0}}) +
                    "\n" + kStyle + element("rect", {{"class", "bg"}, {"width", width, 0}, {"height", height_, 0}}) +
                    "\n" + text({{"class", "t"}, {"x", kMargin, 0}, {"y", "22"}}, title) + "\n";
  put_legend(out);
  put_nodes(out);
  put_links(out);
  put_devices(out);
  return out + "</svg>\n";
}

// The inside of a quoted string of DOT: backslashes start escapes there too.
std::string dot_text(std::string_view text) {
  std::string quoted;
  for (const char c : printable(text, kAnyLength)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted;
}

}  // namespace

std::string fabric_svg(const net::Fabric& fabric, std::string_view title) { return Drawing(fabric).svg(title); }

std::string fabric_dot(const net::Fabric& fabric, std::string_view title) {
  Graph whole;
  fabric.copy_whole(whole);
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, Device, net::Link> cables(
      boost::num_vertices(whole));
  for (DeviceId v = 0; v < boost::num_vertices(whole); ++v) cables[v] = whole[v];
  net::for_each_edge(whole, [&](auto edge) {
    const DeviceId a = boost::source(edge, whole), b = boost::target(edge, whole);
    if (a < b) boost::add_edge(a, b, whole[edge], cables);
  });
  std::ostringstream out;
  boost::write_graphviz(
      out, cables,
      [&](std::ostream& to, DeviceId v) { to << fmt::format("[label=\"{}\"]", dot_text(net::name_of(cables[v]))); },
      [&](std::ostream& to, const auto& edge) {
        to << fmt::format("[label=\"{} GB/s\"]", plain(cables[edge].capacity.value() / 1e9));
      },
      [&](std::ostream& to) { to << fmt::format("label=\"{}\";\nnode [shape=box];\n", dot_text(title)); });
  return out.str();
}

}  // namespace foretoken::draw
