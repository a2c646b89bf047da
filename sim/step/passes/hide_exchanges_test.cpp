// Tests exchanges of experts beside the pass of another micro-batch, by hand.
#include "sim/step/passes/hide_exchanges.h"

#include <gtest/gtest.h>

#include <vector>

namespace foretoken::step {
namespace {

TimedOp busy(std::int64_t ps) { return {.name = "busy", .duration = {ps}}; }
TimedOp exchange(std::int64_t ps) { return {.name = "exchange", .axis = Axis::kExpert, .duration = {ps}}; }

std::vector<std::int64_t> times(const TimedOps& ops) {
  std::vector<std::int64_t> all;
  for (const TimedOp& op : ops) all.push_back(op.duration.ps);
  return all;
}

TEST(HideExchanges, EachStandsBesideItsPartner) {
  // attention 100, dispatch 90, experts 50, combine 80; then gradients: combine 80, experts 60, dispatch 90, attention
  // 70
  TimedOps forward{busy(100), exchange(90), busy(50), exchange(80)};
  TimedOps backward{exchange(80), busy(60), exchange(90), busy(70)};
  hide_exchanges(forward, backward, with_partner_in_turn(10), 0);
  // hidden: min(90, 60), min(80, 70), min(80, 100), min(90, 50); a tenth of it stays
  EXPECT_EQ(times(forward), (std::vector<std::int64_t>{100, 90 - 54, 50, 80 - 63}));
  EXPECT_EQ(times(backward), (std::vector<std::int64_t>{80 - 72, 60, 90 - 45, 70}));
}

TEST(HideExchanges, KernelsBesideThemLoseTheMultiprocessorsThatTheyHold) {
  TimedOps forward{busy(100), exchange(90), busy(50), exchange(80)};
  TimedOps backward{exchange(80), busy(60), exchange(90), busy(70)};
  hide_exchanges(forward, backward, with_partner_in_turn(10), 0.25);
  // hidden: min(67.5, 60), min(60, 70), min(60, 100), min(67.5, 50); a tenth of it stays
  EXPECT_EQ(times(forward), (std::vector<std::int64_t>{100, 90 - 54, 50, 80 - 54}));
  EXPECT_EQ(times(backward), (std::vector<std::int64_t>{80 - 54, 60, 90 - 45, 70}));
}

TEST(HideExchanges, OneMicrobatchHasNoPartner) {
  TimedOps forward{busy(100), exchange(90), busy(50), exchange(80)}, backward = forward;
  hide_exchanges(forward, backward, with_partner_in_turn(1), 0.2);
  EXPECT_EQ(times(forward), (std::vector<std::int64_t>{100, 90, 50, 80}));
  EXPECT_EQ(times(backward), times(forward));
}

TEST(HideExchanges, LayersWithoutExpertsStay) {
  TimedOps forward{busy(100)}, backward{busy(200)};
  hide_exchanges(forward, backward, with_partner_in_turn(8), 0.2);
  EXPECT_EQ(times(forward), std::vector<std::int64_t>{100});
  EXPECT_EQ(times(backward), std::vector<std::int64_t>{200});
}

}  // namespace
}  // namespace foretoken::step
