// Drawings of clusters: every device is there, and names are escaped.
#include "sim/report/fabric_svg.h"

#include <gmock/gmock.h>

#include <string>

#include "sim/cost/test_clusters.h"

namespace foretoken::report {
namespace {

using testing::HasSubstr;
using testing::Not;

// Two DGX A100 nodes under a classic fat tree.
net::Fabric two_nodes() {
  net::Cluster cluster;
  cluster.gpus_per_node = 8;
  cluster.nvlink_fabric = "nvswitch";
  cluster.links = cost::dgx_a100();
  cluster.fabric_kind = "fat-tree";
  return net::Fabric(cluster, 2);
}

int count(const std::string& text, const std::string& what) {
  int found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(FabricSvg, TitlesAreEscaped) {
  const std::string svg = fabric_svg(two_nodes(), "<b> & \"c\"");
  EXPECT_THAT(svg, HasSubstr("&lt;b&gt; &amp; &quot;c&quot;"));
  EXPECT_THAT(svg, Not(HasSubstr("<b>")));
}

TEST(FabricSvg, EveryGpuOfEveryNodeIsDrawn) {
  const std::string svg = fabric_svg(two_nodes(), "two nodes");
  EXPECT_EQ(count(svg, ">GPU 0<"), 2);
  EXPECT_EQ(count(svg, ">GPU 7<"), 2);
}

}  // namespace
}  // namespace foretoken::report
