// Tests asynchronous tensor parallelism of PyTorch in whole runs: who has it, what it saves, and how it is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sim/io/json/test_text.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/interval.h"
#include "sim/study/predict/predict.h"
#include "sim/study/search/searcher.h"

namespace foretoken::study {
namespace {

using testing::HasSubstr;

const std::string kEight =
    R"({"model": {"base": "llama-3-70b", "num_hidden_layers": 8}, "cluster": "dgx-h100-ndr", "gpus": 16,
        "runtime": "torchtitan-compiled", "batch": {"micro": 1, "global": 2, "sequence_length": 8192},
        "recompute": "full", "parallelism": {"tensor": 8, "sequence_parallel": true},
        "overlap": {"tensor_parallel": true}})";

job::Job async_job(const std::vector<std::string>& sets = {}) {
  return io::read_scenario_text(kEight, "t.json", sets).job;
}

std::string complaints_of(const std::vector<std::string>& sets) {
  return io::thrown_by([&] { (void)async_job(sets); });
}

std::int64_t picoseconds(const std::vector<std::string>& sets, const How& how = {}) {
  return predict(async_job(sets), how).run.makespan.ps;
}

TEST(TensorOverlap, OneLineSaysWhoDoesNotHaveIt) {
  EXPECT_EQ(complaints_of({}), "");
  EXPECT_EQ(complaints_of({"runtime=torchtitan"}),
            "t.json: /overlap/tensor_parallel: expected false with runtime \"torchtitan\", found true: it "
            "overlaps no tensor-parallel collectives (tensor_overlap of the runtime); try overlap.tensor_parallel "
            "false, or runtime torchtitan-compiled\n");
  EXPECT_THAT(complaints_of({"parallelism.sequence_parallel=false"}),
              HasSubstr("/overlap/tensor_parallel: expected false without sequence parallelism, found true"));
  EXPECT_THAT(
      complaints_of({"parallelism.tensor=16"}),
      HasSubstr("/overlap/tensor_parallel: expected false, found true: tensor groups of 16 ranks span nodes of 8 "
                "GPUs, and PyTorch copies between GPUs of one NVLink domain"));
  EXPECT_THAT(complaints_of({"cluster=dgx-1-v100-32gb-edr", "precision=fp16", "attention=unfused"}),
              HasSubstr("NVLink does not join every two of 8 tensor ranks"));
  EXPECT_EQ(complaints_of({"runtime=megatron-core"}), "") << "userbuffers";
}

TEST(TensorOverlap, RowsWithUserbuffersSayNothingAboutIt) {
  const auto tensor_overlap = [](const std::vector<std::string>& sets) {
    return place_of(async_job(sets)).tensor_overlap.text();
  };
  EXPECT_EQ(tensor_overlap({}), "micro-pipeline");
  EXPECT_EQ(tensor_overlap({"runtime=megatron-core"}), "userbuffers");
  EXPECT_EQ(tensor_overlap({"overlap.tensor_parallel=false"}), "off");
}

TEST(TensorOverlap, ItSavesTimeForLargeProductsAndNothingForOneRank) {
  const std::int64_t with = picoseconds({}), without = picoseconds({"overlap.tensor_parallel=false"});
  EXPECT_LT(with, without);
  EXPECT_GT(4 * with, 3 * without) << "only tensor-parallel communication is hidden";
  const std::vector<std::string> one = {"parallelism.tensor=1", "batch.global=16"};
  EXPECT_EQ(picoseconds(one), picoseconds({one[0], one[1], "overlap.tensor_parallel=false"}));
}

TEST(TensorOverlap, BothFidelitiesAndEveryGpuAgreeToThePicosecond) {
  const std::int64_t stage = picoseconds({});
  EXPECT_EQ(stage, picoseconds({})) << "twice the same";
  EXPECT_EQ(stage, picoseconds({}, {.fidelity = step::Fidelity::kKernel}));
  EXPECT_EQ(stage, picoseconds({}, {.unfolded = true}));
}

TEST(TensorOverlap, AFailedLinkSlowsItsCopies) {
  const std::string failed = R"(imperfections={"failed_links": [{"between": ["node 0 gpu 5", "node 0 nvswitch 0"]}]})";
  EXPECT_GT(picoseconds({failed}, {.unfolded = true}), picoseconds({}, {.unfolded = true}));
}

TEST(TensorOverlap, ASearchFindsIt) {
  const io::OpenScenario question = io::read_open_scenario_text(
      R"({"model": {"base": "llama-3-70b", "num_hidden_layers": 8}, "cluster": "dgx-h100-ndr", "gpus": 8,
          "runtime": "torchtitan-compiled", "batch": {"micro": 1, "global": 1, "sequence_length": 8192},
          "recompute": "full", "parallelism": {"tensor": 8, "context": 1, "pipeline": 1}})",
      "question");
  const search::Space space(question, {});
  const search::SearchResult found = search::run_search(space, {.top = 1});
  ASSERT_FALSE(found.ranking.top().empty());
  EXPECT_TRUE(found.ranking.top().front().overlap.tensor_parallel);
  EXPECT_EQ(found.ranking.top().front().step_time.ps, picoseconds({"gpus=8", "batch.global=1"}));
}

}  // namespace
}  // namespace foretoken::study
