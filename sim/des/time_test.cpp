// Tests of instants and durations: sums that compile, and the conversion from seconds.
#include "sim/des/time.h"

#include <gtest/gtest.h>

#include <limits>

#include "sim/base/error.h"

namespace foretoken::des {
namespace {

template <class A, class B>
concept Addable = requires(A left, B right) {
  left + right;
};
static_assert(Addable<Instant, Duration>);
static_assert(!Addable<Instant, Instant>, "two points in time do not add");
static_assert(!Addable<Duration, Seconds>);

TEST(Time, SecondsRoundToTheNearestPicosecond) {
  EXPECT_EQ(to_duration(Seconds(1e-12)).ps, 1);
  EXPECT_EQ(to_duration(Seconds(1.49e-12)).ps, 1);
  EXPECT_EQ(to_duration(Seconds(1.51e-12)).ps, 2);
  EXPECT_EQ(to_duration(microseconds(2.5)).ps, 2'500'000);
  EXPECT_DOUBLE_EQ(to_seconds(Duration{2'500'000}).value(), 2.5e-6);
}

TEST(Time, RefusesTimesThatPicosecondsCannotHold) {
  EXPECT_EQ(to_duration(Seconds(9.2e6)).ps, 9'200'000'000'000'000'000);
  EXPECT_THROW((void)to_duration(Seconds(9.3e6)), ConfigError);
  EXPECT_THROW((void)to_duration(Seconds(std::numeric_limits<double>::infinity())), ConfigError);
  EXPECT_DEATH((void)to_duration(Seconds(std::numeric_limits<double>::quiet_NaN())), "a duration is a number");
}

TEST(Time, LaterStopsBeforeNever) {
  EXPECT_EQ(later({5}, {7}), Instant{12});
  EXPECT_EQ(later(Instant{kNever.ps - 2}, {1}).ps, kNever.ps - 1);
  EXPECT_THROW((void)later(Instant{kNever.ps - 1}, {1}), ConfigError);
}

TEST(Time, SumsAndProductsThatTheClockCannotHoldAreRefused) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(Duration{kMost - 1} + Duration{1}, Duration{kMost});
  EXPECT_THROW((void)(Duration{kMost} + Duration{1}), ConfigError);
  EXPECT_THROW((void)(Instant{kMost} + Duration{1}), ConfigError);
  Duration sum{kMost};
  EXPECT_THROW(sum += Duration{1}, ConfigError);
  EXPECT_EQ(3 * Duration{kMost / 3}, Duration{kMost / 3 * 3});
  EXPECT_THROW((void)(3 * Duration{kMost / 3 + 1}), ConfigError);
}

}  // namespace
}  // namespace foretoken::des
