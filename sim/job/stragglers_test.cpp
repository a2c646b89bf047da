// Tests that questions about hardware take the number that they mean: a GPU, its host or its node.
#include "sim/job/stragglers.h"

#include <gtest/gtest.h>

#include "sim/job/job.h"

namespace foretoken::job {
namespace {

template <class Place>
concept Draws = requires(Stragglers how, Place place) {
  slowness(how, Gpu{}, place);
};
template <class Place>
concept Placed = requires(Job job, Place place) {
  job.node_of(place);
};
template <class Place>
concept Grouped = requires(Job job, Place place) {
  job.cluster_of(place);
};

static_assert(Draws<HostId> && !Draws<NodeId> && !Draws<int>, "hosts are slow, not NVLink domains");
static_assert(Placed<Gpu> && !Placed<Rank> && !Placed<int>, "a placement puts ranks on other GPUs");
static_assert(Grouped<Stage> && !Grouped<Chunk> && !Grouped<int>);

// Two hosts make one NVLink domain of 16 GPUs.
TEST(JobPlaces, ADomainMayHaveSeveralHosts) {
  Job job;
  job.gpus = 32;
  job.cluster.gpus_per_node = 8;
  job.cluster.links.gpus = 16;
  for (const Gpu gpu : ids<Gpu>(job.gpus)) {
    EXPECT_EQ(job.host_of(gpu), id_of<HostId>(gpu.number() / 8));
    EXPECT_EQ(job.node_of(gpu), id_of<NodeId>(gpu.number() / 16));
  }
}

TEST(JobPlaces, APlacementMovesRanksToOtherGpus) {
  Imperfections what;
  EXPECT_EQ(what.gpu_of(Rank{1}), Gpu{1});
  what.placement = Table<Rank, Gpu>(std::vector{Gpu{2}, Gpu{0}, Gpu{1}});
  EXPECT_EQ(what.gpu_of(Rank{1}), Gpu{0});
}

}  // namespace
}  // namespace foretoken::job
