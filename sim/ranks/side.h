// The GPUs of a job on nodes of one kind, and their numbers in the fabric of these nodes.
#pragma once

#include "sim/base/check.h"
#include "sim/base/ids.h"
#include "sim/net/fabric_ids.h"

namespace foretoken::ranks {

/// The part of a job that is on nodes of one kind.
struct Side {
  Gpu first_gpu;        ///< its first GPU among the job's
  NodeId first_node;    ///< its first node among the job's
  bool joined = false;  ///< true when NICs join it to nodes of other kinds
};

/// Returns the number of a GPU of the job in the fabric of its side. Precondition: the GPU is on this side.
[[nodiscard]] inline net::FabricGpu in_fabric(Gpu gpu, const Side& side) {
  expects(gpu >= side.first_gpu, "a GPU is numbered in the fabric of its own side");
  return {gpu.value - side.first_gpu.value};
}
/// Returns the number in the job of a GPU of a side's fabric.
[[nodiscard]] inline Gpu in_job(net::FabricGpu gpu, const Side& side) { return {gpu.value + side.first_gpu.value}; }

}  // namespace foretoken::ranks
