// The kernels and copies of products that PyTorch's compiler fuses with a collective.
//
// Source: pytorch/pytorch 006b161f, torch/distributed/_symmetric_memory/__init__.py,
// _pipelined_multi_all_gather_and_consume, _pipelined_produce_and_all2all, _fused_matmul_reduce_scatter_impl. A product
// of t ranks becomes t products of one rank's rows. Two streams take turns with them. Copies are pulls from the memory
// of another rank, all ranks from a different one at the same time; one copy runs at a time. So while a part is
// multiplied, the next one arrives, or the one before it leaves.
//
// Left out: a rank's own part is copied into the gathered tensor beside the last product.
#include "sim/model/micro_pipeline.h"

namespace foretoken::model {
namespace {

constexpr double kSignalBytes = 4;  // a barrier writes a word for each rank, and reads one of each

void wait_for_ranks(OpWriter& ops, int ranks) { ops.memory("barrier", OpRole::kElementwise, 2 * kSignalBytes * ranks); }

GemmShape part_of(GemmShape whole, int ranks) {
  whole.m = (whole.m + ranks - 1) / ranks;
  return whole;
}

}  // namespace

// Products with one scale a tensor are aten._scaled_mm, which the compiler knows as it knows aten.mm
// (torch/_inductor/fx_passes/micro_pipeline_tp.py). It knows no products with scales for blocks.
bool is_micro_pipelined(const Cut& cut) {
  return cut.context.tensor_overlap == TensorOverlap::kMicroPipeline && cut.context.sequence_parallel &&
         cut.context.tensor > 1 && (!cut.quantises() || cut.scales_tensors());
}

// A rank brings its part to memory that the others see, and multiplies it there. Every other part arrives beside the
// product of the part before.
void gather_and_multiply(OpWriter& ops, const Cut& cut, const FusedProduct& product) {
  const int ranks = cut.context.tensor;
  const double part = product.payload / ranks;
  wait_for_ranks(ops, ranks);
  ops.memory("share own tokens", OpRole::kElementwise, 2 * part);
  wait_for_ranks(ops, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank + 1 < ranks) ops.peer_copy("copy tokens", part, 0);
    ops.product_part(product.name, product.role, part_of(product.whole, ranks), part, 0);
  }
  wait_for_ranks(ops, ranks);
}

// The parts of the other ranks come first. Each is pulled by its rank beside the next product, between two barriers.
// The rank's own part is last. Then one kernel adds up the parts of all ranks.
void multiply_and_scatter(OpWriter& ops, const Cut& cut, const FusedProduct& product) {
  constexpr int kBarriers = 2;
  const int ranks = cut.context.tensor;
  const double part = product.payload / ranks;
  wait_for_ranks(ops, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank > 0) ops.peer_copy("copy sums", part, kBarriers);
    ops.product_part(product.name, product.role, part_of(product.whole, ranks), part, kBarriers);
  }
  wait_for_ranks(ops, ranks);
  ops.memory("add up sums", OpRole::kElementwise, product.payload + part);
}

}  // namespace foretoken::model
