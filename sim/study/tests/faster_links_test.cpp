// Tests that a faster link lengthens no collective, on every shipped cluster and the system measured on it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <optional>

#include "sim/cost/costs.h"
#include "sim/io/scenario/read_scenario.h"

namespace foretoken::study {
namespace {

using Rate = BytesPerSecond NodeLinks::*;

struct Place {
  NodeLinks links;
  const cost::Profile* profile;
};

// Returns the first rate, as a multiple of the cluster's own, whose collective takes longer than with a slower link.
std::optional<double> first_that_lengthens(const Place& place, const CollectiveShape& shape, Rate rate) {
  double before = std::numeric_limits<double>::infinity();
  for (const double factor : {0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 2.0, 4.0}) {
    NodeLinks links = place.links;
    links.*rate = factor * (links.*rate);
    const double now = cost::collective_time(shape, links, *place.profile).value();
    if (now > before * (1 + 1e-12)) return factor;
    before = now;
  }
  return std::nullopt;
}

void expect_no_longer(const Place& place, const CollectiveShape& shape) {
  constexpr std::pair<const char*, Rate> kRates[] = {
      {"NVLink", &NodeLinks::nvlink_per_gpu}, {"PCIe", &NodeLinks::pcie_per_gpu}, {"NIC", &NodeLinks::nic}};
  for (const auto& [name, rate] : kRates) {
    if ((place.links.*rate).value() == 0) continue;
    const std::optional<double> factor = first_that_lengthens(place, shape, rate);
    EXPECT_FALSE(factor) << fmt::format("{} x {} lengthens collective {} of {} bytes, {} ranks on {} nodes", name,
                                        factor.value_or(0), static_cast<int>(shape.kind), shape.payload.value(),
                                        shape.group.ranks, shape.group.nodes);
  }
}

// Without broadcasts: NCCL chooses their protocol by its own estimate, which is now and then not the fastest one.
constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                     CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll};

TEST(FasterLinks, LengthenNoCollective) {
  int clusters = 0;
  for (const auto& file : std::filesystem::directory_iterator(FORETOKEN_SOURCE_DIR "/topologies")) {
    if (file.path().extension() != ".json") continue;
    SCOPED_TRACE(file.path().stem().string());
    const job::Made made =
        io::read_scenario_text(fmt::format(
                                   R"({{"model": "gpt-1.7b", "cluster": "{}", "gpus": 1, "precision": "fp16",
                "batch": {{"global": 1, "sequence_length": 1024}}}})",
                                   file.path().stem().string()),
                               "scenario");
    const Place place{.links = made.job.cluster.links, .profile = &made.job.profile};
    const bool network = place.links.nic.value() > 0;
    for (const int ranks : {1, 2, 4, 8})
      for (const int nodes : {1, 2, 3, 4, 6, 8, 12, 16, 32, 48, 100}) {
        if (ranks > place.links.gpus || nodes * ranks == 1 || (nodes > 1 && !network)) continue;
        for (const CollectiveKind kind : kKinds)
          for (double bytes = 1e3; bytes < 1e10; bytes *= 8)
            expect_no_longer(place,
                             {kind, Bytes(bytes), {.ranks = nodes * ranks, .nodes = nodes, .ranks_per_node = ranks}});
      }
    ++clusters;
  }
  EXPECT_GE(clusters, 35);
}

}  // namespace
}  // namespace foretoken::study
