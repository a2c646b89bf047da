#include "sim/base/large_vector.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace foretoken {
namespace {

TEST(LargeVector, KeepsItsValuesAsItGrowsIntoLargePages) {
  LargeVector<std::uint32_t> values;
  constexpr std::uint32_t kMany = 3'000'000;  // 12 MB
  for (std::uint32_t i = 0; i < kMany; ++i) values.push_back(i);
  const LargeVector<std::uint32_t> copy = values;
  for (std::uint32_t i = 0; i < kMany; ++i) ASSERT_EQ(copy[i], i);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copy.data()) % (std::uintptr_t{1} << 21), 0U);
}

}  // namespace
}  // namespace foretoken
