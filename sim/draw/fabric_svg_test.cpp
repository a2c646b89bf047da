// Tests drawings of clusters: every device is there, and names are escaped.
#include "sim/draw/fabric_svg.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "sim/base/parse_number.h"
#include "sim/cost/test_clusters.h"
#include "sim/report/test_count.h"

namespace foretoken::draw {
namespace {

using report::count;
using testing::HasSubstr;
using testing::Not;

// Makes two DGX A100 nodes under a classic fat tree.
net::Fabric two_nodes() {
  net::Cluster cluster;
  cluster.gpus_per_node = 8;
  cluster.nvlink_fabric = "nvswitch";
  cluster.links = cost::dgx_a100();
  cluster.fabric_kind = "fat-tree";
  return net::Fabric(cluster, 2);
}

TEST(FabricSvg, TitlesAreEscaped) {
  const std::string svg = fabric_svg(two_nodes(), "<b> & \"c\"");
  EXPECT_THAT(svg, HasSubstr("&lt;b&gt; &amp; &quot;c&quot;"));
  EXPECT_THAT(svg, Not(HasSubstr("<b>")));
}

TEST(FabricSvg, EveryGpuOfEveryNodeIsDrawn) {
  const std::string svg = fabric_svg(two_nodes(), "two nodes");
  EXPECT_EQ(count(svg, ">GPU 0<"), 2u);
  EXPECT_EQ(count(svg, ">GPU 7<"), 2u);
}

double number_at(std::string_view svg, std::size_t at) {
  svg.remove_prefix(at);
  return take_number<double>(svg).value();
}

// Returns the y at which each path of a class begins.
std::vector<double> begins(const std::string& svg, const std::string& of) {
  std::vector<double> at;
  for (std::size_t i = svg.find("class=\"" + of + "\" fill"); i != std::string::npos;
       i = svg.find("class=\"" + of + "\" fill", i + 1)) {
    const std::size_t m = svg.find("d=\"M", i);
    at.push_back(number_at(svg, svg.find(' ', m) + 1));
  }
  return at;
}

double height_of(const std::string& svg) { return number_at(svg, svg.find("height=\"") + 8); }

TEST(FabricSvg, ArcsHaveRoomAboveRoutersAndBelowGpus) {
  net::Cluster cluster;
  cluster.gpus_per_node = 8;
  cluster.nvlink_fabric = "hybrid-cube-mesh";
  cluster.links = cost::dgx_a100();
  cluster.fabric_kind = "dragonfly";
  cluster.adaptive_routing = false;
  cluster.switch_radix = 8;
  const std::string svg = fabric_svg(net::Fabric(cluster, 3), "arcs");
  EXPECT_EQ(count(svg, "class=\"nvlink\" fill"), 3u * 16) << "a cable between two GPUs is drawn once";
  const double height = height_of(svg);
  for (const double y : begins(svg, "nvlink")) EXPECT_LT(y + 0.16 * 4 * 56, height);
  for (const double y : begins(svg, "network")) EXPECT_GT(y, 58);
}

}  // namespace
}  // namespace foretoken::draw
