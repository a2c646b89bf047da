// Tests trees of Megatron-LM whose folder holds their date.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch {
namespace {

Report read_in_tree(const std::string& date, const std::string& program, const std::string& flags = "") {
  return read_test_launch("MEGATRON_PATH=$1/Megatron-LM-" + date +
                              "\nexport PYTHONPATH=${MEGATRON_PATH}:$1:$PYTHONPATH\ntorchrun --nproc_per_node 8 " +
                              program +
                              " --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 "
                              "--max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 8 --bf16 "
                              "--swiglu --vocab-size 50304 " +
                              flags,
                          "train.sh");
}

TEST(DatedTree, DecidesAboutTheKernelsOfAttention) {
  const auto attention = [](const std::string& date, const std::string& program, const std::string& flags = "") {
    return read_in_tree(date, program, flags).at("attention");
  };
  const std::string old = "pretrain_own_llama.py";
  EXPECT_EQ(attention("240126", old), "unfused");
  EXPECT_EQ(attention("240405", old), "flash");
  EXPECT_EQ(attention("250908", old), "flash");
  EXPECT_EQ(attention("240126", old, "--transformer-impl transformer_engine"), "flash");
  EXPECT_EQ(attention("240126", old, "--use-flash-attn"), "flash");
  EXPECT_EQ(attention("240126", "pretrain_mcore_llama.py"), "flash") << "layers of Megatron-Core";
  EXPECT_EQ(attention("240126", old, "--use-mcore-models"), "flash");
  EXPECT_EQ(attention("main", old), "flash");
}

}  // namespace
}  // namespace foretoken::io::launch
