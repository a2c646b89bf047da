// Parts of a profile: all listed, and those of another GPU named.
#include "sim/cost/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/cost/example_profile.h"

namespace foretoken::cost {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> names(const Profile& profile, const Uses& uses = {}) {
  std::vector<std::string> all;
  for (const Part& part : parts_of(profile, uses)) all.push_back(part.name);
  return all;
}

TEST(Parts, EveryPartHasAName) {
  EXPECT_THAT(names(example_a100_profile()),
              ElementsAre("gemm fp16", "gemm bf16", "attention", "memory-bound", "collectives over NVLink",
                          "collectives over PCIe", "collectives across nodes", "messages"));
}

TEST(Parts, OnlyWhatIsUsed) {
  const Uses one_gpu{.precisions = {Precision::kBf16},
                     .fused_attention = false,
                     .nvlink = false,
                     .pcie = false,
                     .network = false,
                     .messages = false};
  EXPECT_THAT(names(example_a100_profile(), one_gpu), ElementsAre("gemm bf16", "memory-bound"));
}

TEST(Parts, ScaledOnesAreNamedWithTheirOrigin) {
  Profile profile = example_a100_profile();
  EXPECT_THAT(scaled_parts(profile), IsEmpty());
  const Evidence lent{.provenance = Provenance::kScaled, .scaled_from = "h100", .source = "by peak 2 / 1"};
  profile.attention.laws[1].evidence = lent;
  profile.gemm.at(Precision::kBf16).evidence = lent;
  EXPECT_THAT(scaled_parts(profile), ElementsAre("gemm bf16: scaled from h100: by peak 2 / 1",
                                                 "attention: scaled from h100 (1 of 4 laws): by peak 2 / 1"));
  EXPECT_THAT(scaled_parts(profile, {.precisions = {Precision::kFp16}, .fused_attention = false}), IsEmpty());
}

}  // namespace
}  // namespace foretoken::cost
