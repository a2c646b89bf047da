// Tests the parts of a profile: all are listed, and parts with another GPU's constants name it.
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
                          "collectives over PCIe", "collectives across nodes", "messages over NVLink",
                          "messages over PCIe", "messages across nodes"));
}

TEST(Parts, ListsOnlyUsedParts) {
  const Uses one_gpu{.precisions = {Precision::kBf16},
                     .fused_attention = false,
                     .nvlink = false,
                     .pcie = false,
                     .network = false,
                     .messages_inside = false,
                     .messages_across = false};
  EXPECT_THAT(names(example_a100_profile(), one_gpu), ElementsAre("gemm bf16", "memory-bound"));
}

TEST(Parts, ScaledOnesAreNamedWithTheirOrigin) {
  Profile profile = example_a100_profile();
  EXPECT_THAT(scaled_parts(profile), IsEmpty());
  const Evidence from_h100{.provenance = Provenance::kScaled, .scaled_from = "h100", .source = "by peak 2 / 1"};
  profile.attention.laws[1].evidence = from_h100;
  profile.gemm.at(Precision::kBf16).evidence = from_h100;
  const std::vector<ScaledPart> scaled = scaled_parts(profile);
  ASSERT_EQ(scaled.size(), 2u);
  EXPECT_EQ(scaled[0].name, "gemm bf16");
  EXPECT_EQ(scaled[0].from, "h100");
  EXPECT_EQ(scaled[0].measured_by, "gemm");
  EXPECT_EQ(scaled[1].name, "attention");
  EXPECT_THAT(scaled_parts(profile, {.precisions = {Precision::kFp16}, .fused_attention = false}), IsEmpty());
}

TEST(Parts, ListsTheAttentionLawsOfTheHeadDimensionOnly) {
  Profile profile = example_a100_profile();
  profile.attention.laws = {{.head_dim = 64, .causal = true},
                            {.head_dim = 128, .causal = true, .evidence = {.provenance = Provenance::kScaled}},
                            {.head_dim = 128, .causal = false, .evidence = {.provenance = Provenance::kScaled}}};
  EXPECT_THAT(scaled_parts(profile, {.head_dim = 64}), IsEmpty());
  EXPECT_THAT(scaled_parts(profile, {.head_dim = 32}), IsEmpty());
  EXPECT_EQ(scaled_parts(profile, {.head_dim = 96}).size(), 1u) << "interpolated between 64 and 128";
  EXPECT_EQ(scaled_parts(profile, {.head_dim = 128}).size(), 1u);
}

}  // namespace
}  // namespace foretoken::cost
