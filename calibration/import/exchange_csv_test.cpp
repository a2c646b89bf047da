// Tests tables of exchanges of tokens: each column by hand, and wrong rows with their lines.
#include "calibration/import/exchange_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"

namespace foretoken::measured {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

constexpr const char* kNormal =
    "nodes,gpus_per_node,hidden,tokens,topk,experts,dispatch_sms,dispatch_us,dispatch_notify_us,combine_sms,combine_us,"
    "combine_notify_us,device\n";
constexpr const char* kTensorRt = "implementation,phase,dtype,ep,tokens,hidden,topk,experts,distribution,time_us\n";

TEST(ExchangeCsv, NormalDeepEpHasADispatchAndACombine) {
  const Samples samples =
      parse_exchange_csv(std::string(kNormal) + "1,8,4096,512,1,16,20,100,0,24,200,0,H100\n", "d.csv");
  ASSERT_EQ(samples.exchanges.size(), 2U);
  const ExchangeShape& there = samples.exchanges[0].shape;
  EXPECT_EQ(there.library, ExchangeLibrary::kDeepEp);
  EXPECT_EQ(there.phase, ExchangePhase::kDispatch);
  EXPECT_DOUBLE_EQ(there.copies, 1) << "one expert is on one rank";
  EXPECT_DOUBLE_EQ(there.row.value(), 4096 * (1 + 4.0 / 128)) << "fp8 with its scales";
  EXPECT_EQ(there.ranks, 8);
  EXPECT_EQ(there.multiprocessors, 20);
  EXPECT_DOUBLE_EQ(samples.exchanges[0].time.median.value(), 100e-6);
  const ExchangeShape& back = samples.exchanges[1].shape;
  EXPECT_EQ(back.phase, ExchangePhase::kCombine);
  EXPECT_DOUBLE_EQ(back.row.value(), 2 * 4096);
  EXPECT_EQ(back.multiprocessors, 24);
  EXPECT_DOUBLE_EQ(samples.exchanges[1].time.median.value(), 200e-6);
}

TEST(ExchangeCsv, NodesBeyondFourAreNotReached) {
  const Samples samples = parse_exchange_csv(std::string(kNormal) +
                                                 "2,8,4096,512,8,256,20,100,0,20,200,0,H200\n"
                                                 "8,8,4096,512,8,256,20,100,0,20,200,0,H200\n",
                                             "d.csv");
  const ExchangeShape& two = samples.exchanges[0].shape;
  EXPECT_DOUBLE_EQ(two.network_copies, parts_met(256, 8, 2) / 2);
  EXPECT_DOUBLE_EQ(two.nic.value(), 50e9);
  const ExchangeShape& eight = samples.exchanges[2].shape;
  EXPECT_DOUBLE_EQ(eight.copies, parts_met(128, 8, 32)) << "the experts of four nodes";
  EXPECT_DOUBLE_EQ(eight.network_copies, 7.0 / 8 * parts_met(128, 8, 4));
}

TEST(ExchangeCsv, KernelsOfLowLatencySendACopyToEachExpert) {
  const Samples samples = parse_exchange_csv(
      "nodes,gpus_per_node,hidden,tokens,topk,experts,dispatch_us,combine_us\n2,8,7168,128,8,288,60,98\n", "l.csv");
  const ExchangeShape& shape = samples.exchanges[0].shape;
  EXPECT_EQ(shape.library, ExchangeLibrary::kDeepEpLowLatency);
  EXPECT_DOUBLE_EQ(shape.copies, 8);
  EXPECT_DOUBLE_EQ(shape.network_copies, 4);
  EXPECT_EQ(shape.multiprocessors, 96) << "three experts each";
}

TEST(ExchangeCsv, BalancedExpertsOfTensorRtAreSpread) {
  const Samples samples = parse_exchange_csv(std::string(kTensorRt) +
                                                 "NVLinkTwoSided,dispatch,nvfp4,4,64,4096,8,256,balanced,17\n"
                                                 "NVLinkTwoSided,dispatch,nvfp4,32,64,4096,8,256,balanced,18\n"
                                                 "NVLinkOneSided,combine,nvfp4,4,64,4096,2,256,power_law_1.01,19\n"
                                                 "NVLinkTwoSided,prepare,fp8,4,64,4096,8,256,balanced,12\n",
                                             "t.csv");
  ASSERT_EQ(samples.exchanges.size(), 4U);
  EXPECT_DOUBLE_EQ(samples.exchanges[0].shape.copies, 4);
  EXPECT_DOUBLE_EQ(samples.exchanges[0].shape.row.value(), 4096 * (0.5 + 1.0 / 16));
  EXPECT_DOUBLE_EQ(samples.exchanges[1].shape.copies, 8);
  EXPECT_DOUBLE_EQ(samples.exchanges[2].shape.copies, parts_met(256, 2, 4));
  EXPECT_DOUBLE_EQ(samples.exchanges[2].shape.row.value(), 2 * 4096) << "sums come back in bf16";
  EXPECT_DOUBLE_EQ(samples.exchanges[3].shape.payload().value(), 64 * 8 * 8.0) << "indices and scales";
}

TEST(ExchangeCsv, DiffersFromOtherTablesByItsHeader) {
  EXPECT_TRUE(is_exchange_csv("nodes,gpus_per_node,dispatch_us,combine_us"));
  EXPECT_TRUE(is_exchange_csv("implementation,phase,ep"));
  EXPECT_FALSE(is_exchange_csv("dtype,tokens,hidden,inter,topk,experts,tp,ep,distribution,time_us,kernel"));
  EXPECT_FALSE(is_exchange_csv("m,k,amax_us,cast_us"));
}

std::vector<std::string> exchange_complaints(const std::string& text) {
  try {
    (void)parse_exchange_csv(text, "x.csv");
  } catch (const ConfigError& error) {
    std::vector<std::string> lines;
    for (const Complaint& complaint : error.complaints()) lines.push_back(complaint.line());
    return lines;
  }
  return {};
}

TEST(ExchangeCsv, WrongRowsAreNamed) {
  EXPECT_THAT(exchange_complaints(std::string(kNormal) + "1,8,4096,512,8,4,20,100,0,20,200,0,H100\n"
                                                         "1,8,4096,0,8,64,20,100,0,20,200,0,H100\n"
                                                         "1,8,4096,512,8,64,20,-1,0,20,200,0,H100\n"
                                                         "1,8,4096\n"),
              ElementsAre("x.csv:2: topk: expected at most experts (4), found 8",
                          StartsWith("x.csv:3: tokens: expected a number above 0"),
                          StartsWith("x.csv:4: dispatch_us: expected a number above 0"),
                          StartsWith("x.csv:5: tokens: missing")));
  EXPECT_THAT(
      exchange_complaints(std::string(kTensorRt) + "NVLinkThreeSided,dispatch,nvfp4,4,64,4096,8,256,balanced,17\n"
                                                   "NVLinkTwoSided,send,nvfp4,4,64,4096,8,256,balanced,17\n"
                                                   "NVLinkTwoSided,dispatch,int2,4,64,4096,8,256,balanced,17\n"),
      ElementsAre("x.csv:2: implementation: expected one of NVLinkOneSided, NVLinkTwoSided, found "
                  "\"NVLinkThreeSided\"",
                  "x.csv:3: phase: expected one of prepare, dispatch, combine, combine_low_precision, found "
                  "\"send\"",
                  "x.csv:4: dtype: expected one of bfloat16, fp8, fp8_block, nvfp4, found \"int2\""));
}

}  // namespace
}  // namespace foretoken::measured
