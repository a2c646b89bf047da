// Tests configurations of Megatron-Bridge.
#include "sim/io/import/launch/bridge/read_bridge.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::bridge {
namespace {

Report read_overrides(const std::string& sections) {
  return read_test_launch(
      "train: {micro_batch_size: 1, global_batch_size: 8}\nmodel: {tensor_model_parallel_size: 1, "
      "pipeline_model_parallel_size: 1, seq_length: 2048}\n" +
          sections,
      "overrides.yaml");
}

// comm_overlap is written over ddp at the start; its nulls are not.
TEST(ReadBridge, OverlapsOfItsOwnSectionCount) {
  const Report on = read_overrides("comm_overlap: {overlap_grad_reduce: true, overlap_param_gather: false}\n");
  EXPECT_EQ(on.at("overlap.grad_reduce"), Json(true));
  EXPECT_EQ(on.at("overlap.param_gather"), Json(false));
  const Report off = read_overrides(
      "ddp: {overlap_grad_reduce: true, use_distributed_optimizer: true}\ncomm_overlap: {overlap_grad_reduce: "
      "false}\n");
  EXPECT_EQ(off.at("overlap.grad_reduce"), Json(false));
  const Report kept = read_overrides("ddp: {overlap_grad_reduce: true}\ncomm_overlap: {overlap_grad_reduce: null}\n");
  EXPECT_EQ(kept.at("overlap.grad_reduce"), Json(true));
}

}  // namespace
}  // namespace foretoken::io::launch::bridge
