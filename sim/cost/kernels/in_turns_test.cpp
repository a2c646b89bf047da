// Compares the law of products in turns with a replay of both streams, kernel by kernel.
#include "sim/cost/kernels/in_turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace foretoken::cost {
namespace {

enum class Fills { kTheGpu, kHalfOfIt };

// Runs a product and then the copy and product of each further rank, in turns on two streams. Copies wait for each
// other. Products that fill the GPU do, too.
double replayed(int ranks, double product, double copy, Fills fills) {
  std::array<double, 2> stream{};
  double engine = 0, gpu = 0;
  const auto multiply = [&](double& at) {
    if (fills == Fills::kTheGpu) at = std::max(at, gpu);
    gpu = at += product;
  };
  multiply(stream[0]);
  for (int rank = 1; rank < ranks; ++rank) {
    double& at = stream[static_cast<std::size_t>(rank % 2)];
    engine = at = std::max(at, engine) + copy;
    multiply(at);
  }
  return std::max(stream[0], stream[1]);
}

// Adds up the steps of the schedule: each product but the last beside a copy.
double in_steps(int ranks, double product, double copy, Fills fills) {
  const double both = fills == Fills::kTheGpu ? 2 * product : product;
  const double one = product_time_in_turns({Seconds(product), Seconds(both)}, Seconds(copy)).value();
  return (ranks - 1) * std::max(one, copy) + one;
}

TEST(ProductsInTurns, TakeAsLongAsTheirStreams) {
  for (const int ranks : {2, 4, 8, 72})
    for (const double copy : {0.0, 1.0, 7.0, 8.0, 9.0, 40.0})
      for (const Fills fills : {Fills::kTheGpu, Fills::kHalfOfIt}) {
        SCOPED_TRACE(testing::Message() << ranks << " ranks, copy " << copy
                                        << (fills == Fills::kTheGpu ? ", full" : ""));
        EXPECT_DOUBLE_EQ(in_steps(ranks, 8, copy, fills), replayed(ranks, 8, copy, fills));
      }
}

TEST(ProductsInTurns, TwoAtOnceNeverTakeLongerThanOneAfterAnother) {
  EXPECT_EQ(product_time_in_turns({Seconds(8), Seconds(20)}, Seconds(1)), Seconds(8));
  EXPECT_EQ(product_time_in_turns({Seconds(8), Seconds(12)}, Seconds(1)), Seconds(6)) << "half of both";
  EXPECT_EQ(product_time_in_turns({Seconds(8), Seconds(12)}, Seconds(6)), Seconds(7)) << "half of product and copy";
}

}  // namespace
}  // namespace foretoken::cost
