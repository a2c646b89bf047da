// Tests reading profiles: every wrong law gives one clear line.
#include "sim/io/hardware/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/io/hardware/collectives.h"
#include "sim/io/json/document.h"

namespace foretoken::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

nlohmann::json shipped(const std::string& name = "h100-sxm5-80gb") {
  Findings findings;
  const auto document = document_from_file(FORETOKEN_SOURCE_DIR "/calibration/profiles/" + name + ".json", findings);
  findings.throw_if_wrong();
  return document->value;
}

std::vector<std::string> complaints_about(const nlohmann::json& value) {
  Findings findings;
  const Document document{.value = value, .source = {.file = "p.json"}, .pointer = {}, .name = "p"};
  (void)read_profile(document.root(findings));
  std::vector<std::string> lines;
  for (const Complaint& complaint : findings.complaints.listed()) lines.push_back(complaint.line());
  return lines;
}

TEST(ReadProfile, ShippedProfileIsRight) { EXPECT_THAT(complaints_about(shipped()), IsEmpty()); }

/// Reads every file of a folder, and expects that writing it gives the same bytes.
template <class Read>
void expect_same_bytes(const std::string& folder, const Read& read) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FORETOKEN_SOURCE_DIR + folder)) {
    SCOPED_TRACE(entry.path().string());
    Findings findings;
    const auto document = document_from_file(entry.path(), findings);
    ASSERT_TRUE(document);
    std::stringstream bytes;
    bytes << std::ifstream(entry.path()).rdbuf();
    EXPECT_EQ(to_json_text(read(document->root(findings))), bytes.str());
    EXPECT_THAT(findings.complaints.listed(), IsEmpty());
    ++files;
  }
  EXPECT_GE(files, 9);
}

TEST(ReadProfile, WritingGivesTheBytesThatWereRead) { expect_same_bytes("/calibration/profiles", read_profile); }

TEST(ReadCollectives, WritingGivesTheBytesThatWereRead) {
  expect_same_bytes("/calibration/collectives", read_measured_collectives);
}

TEST(ReadProfile, KeepsUnitsAndKinds) {
  Findings findings;
  const Document document{.value = shipped(), .source = {.file = "p.json"}, .pointer = {}, .name = "p"};
  const cost::Profile profile = read_profile(document.root(findings));
  EXPECT_DOUBLE_EQ(std::get<cost::TileWaveLaw>(profile.gemm.at(Precision::kBf16).law).peak.value(), 989e12);
  EXPECT_DOUBLE_EQ(std::get<cost::TileWaveLaw>(profile.gemm.at(Precision::kFp8).law).peak.value(), 1979e12);
  EXPECT_DOUBLE_EQ(profile.nvlink.reference.value(), 450e9);
  EXPECT_EQ(profile.network.curves.size(), 6u);
  EXPECT_TRUE(std::is_sorted(profile.nvlink.curves.begin(), profile.nvlink.curves.end(),
                             [](auto& a, auto& b) { return a.kind != b.kind ? a.kind < b.kind : a.ranks < b.ranks; }));
}

struct WrongProfile {
  const char* name;
  const char* patch;  ///< RFC 7396, merged over the shipped profile
  const char* line;   ///< part of the only complaint
};
constexpr WrongProfile kWrongProfiles[] = {
    {"a misspelt law", R"({"gemm": {"bf16": {"law": "tile-waves"}}})", "/gemm/bf16/law"},
    {"an efficiency above one", R"({"gemm": {"bf16": {"efficiency": 1.2}}})", "/gemm/bf16/efficiency"},
    {"a misspelt key", R"({"memory_bound": {"eficiency": 0.8}})", "eficiency"},
    {"a speed-up by misaligned rows", R"({"misaligned_rows": {"rows_4_bytes": 0.5}})", "/misaligned_rows/rows_4_bytes"},
    {"no processors", R"({"attention": {"multiprocessors": 0}})", "/attention/multiprocessors"},
    {"text for a number", R"({"memory_bound": {"gb_per_s": "fast"}})", "/memory_bound/gb_per_s"},
    {"a law without evidence", R"({"memory_bound": {"evidence": null}})", "/memory_bound/evidence"},
    {"constants of another GPU without its name", R"({"memory_bound": {"evidence": {"provenance": "scaled"}}})",
     "/memory_bound/evidence/scaled_from"},
    {"a correction with a missing knot", R"({"gemm": {"bf16": {"corrections": {"forward": {"log_ratio_1e4": [1]}}}}})",
     "/gemm/bf16/corrections/forward/log_ratio_1e4: expected 252 values"},
    {"lines with a missing knot", R"({"gemm": {"bf16": {"corrections": {"forward": {"waves_1e4": [1]}}}}})",
     "/gemm/bf16/corrections/forward/waves_1e4: expected 84 values (21 for each of 4 tiles), found 1"},
    {"lines of waves beside a roofline, which has none",
     R"({"gemm": {"bf16": {"law": "roofline", "peak_tflops": null, "multiprocessors": null, "efficiency": null,
         "prologue_k": null, "small_tile_loss": null, "compute_tflops": 200, "sharpness": 2, "corrections": {"forward": {
         "m": {"first_log2": 0, "last_log2": 1, "knots": 2}, "n": {"first_log2": 0, "last_log2": 1, "knots": 2},
         "k": {"first_log2": 0, "last_log2": 1, "knots": 2}, "log_ratio_1e4": [0, 0, 0, 0, 0, 0, 0, 0],
         "waves_1e4": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                       0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                       0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}}}}})",
     "/gemm/bf16/corrections: expected no waves_1e4 beside a roofline"},
    {"a correction of nothing", R"({"gemm": {"bf16": {"corrections": {"forward": {"k": {"last_log2": 1}}}}}})",
     "/gemm/bf16/corrections/forward/k/last_log2"},
    {"exchanges that are no list", R"({"exchanges": {}})", "/exchanges"},
    {"no messages", R"({"point_to_point": null})", "/point_to_point"}};

struct WrongExchange {
  const char* name;
  const char* patch;  ///< RFC 7396, merged over the first law of exchanges
  const char* line;   ///< part of the only complaint
};
constexpr WrongExchange kWrongExchanges[] = {
    {"an unknown library", R"({"library": "deepeep"})", "/exchanges/0/library: expected \"deepep\""},
    {"an unknown phase", R"({"phase": "send"})", "/exchanges/0/phase: expected \"prepare\""},
    {"the phase of another law", R"({"phase": "combine"})",
     "/exchanges: expected one law for each library and phase, found deepep combine again"},
    {"no rate", R"({"gb_per_s": 0})", "/exchanges/0/gb_per_s"},
    {"a bend softer than a sum", R"({"sharpness": 0.5})", "/exchanges/0/sharpness"},
    {"more than the NIC", R"({"across": {"nic_efficiency": 1.5}})", "/exchanges/0/across/nic_efficiency"},
    {"a misspelt key", R"({"link": 300})", "/exchanges/0/link"},
    {"no evidence", R"({"evidence": null})", "/exchanges/0/evidence"}};

TEST(ReadProfile, OneLineForEachWrongExchange) {
  for (const auto& [name, patch, line] : kWrongExchanges) {
    SCOPED_TRACE(name);
    nlohmann::json value = shipped();
    ASSERT_EQ(value.at("exchanges").at(0).at("phase"), "dispatch");
    value["exchanges"][0].merge_patch(nlohmann::json::parse(patch));
    EXPECT_THAT(complaints_about(value), ElementsAre(HasSubstr(line)));
  }
}

TEST(ReadProfile, ThreadBlocksHaveRows) {
  nlohmann::json value = shipped("a100-sxm4-80gb");
  value["attention"]["laws"][0]["forward"]["waves"] = {{"block_rows", 0}, {"softness", 0.1}, {"knee", 1}};
  EXPECT_THAT(complaints_about(value), ElementsAre(HasSubstr("/attention/laws/0/forward/waves/block_rows")));
}

TEST(ReadProfile, ATokenInACacheTakesNoTimeUnlessStated) {
  nlohmann::json value = shipped("a100-sxm4-80gb");
  value["attention"]["laws"][0]["cache_write"] = {{"launch_us", 1}, {"gb_per_s", 1000}};
  value["attention"]["laws"][1]["cache_write"] = {{"launch_us", 1}, {"gb_per_s", 1000}, {"token_ns", -1}};
  EXPECT_THAT(complaints_about(value), ElementsAre(HasSubstr("/attention/laws/1/cache_write/token_ns")));
  value["attention"]["laws"][1]["cache_write"]["token_ns"] = 3.25;
  Findings findings;
  const Document document{.value = value, .source = {.file = "p.json"}, .pointer = {}, .name = "p"};
  const cost::Profile profile = read_profile(document.root(findings));
  EXPECT_EQ(profile.attention.laws[0].cache_write->token, Seconds(0));
  EXPECT_DOUBLE_EQ(profile.attention.laws[1].cache_write->token.value(), 3.25e-9);
  EXPECT_THAT(to_json_text(profile), HasSubstr("\"token_ns\": 3.25"));
}

TEST(ReadProfile, EnginesStandOnceForEachKindOfTheirKernels) {
  nlohmann::json value = shipped("a100-sxm4-80gb");
  const nlohmann::json evidence = value["attention"]["laws"][0]["evidence"];
  const nlohmann::json engine = {
      {"engine", "tensorrt-llm"},
      {"windowed", false},
      {"kernel_factor", 1.25},
      {"forward", {{"peak_tflops", 190}, {"half_length", 150}, {"tail", 0.7}, {"sharpness", 1}}},
      {"cache_write", {{"launch_us", 1}, {"gb_per_s", 1000}, {"query_gb_per_s", 500}}},
      {"evidence", evidence}};
  value["attention"]["laws"][0]["engines"] = nlohmann::json::array({engine, engine});
  EXPECT_THAT(complaints_about(value), ElementsAre(HasSubstr("/attention/laws/0/engines: expected one entry")));
  value["attention"]["laws"][0]["engines"][1]["engine"] = "orca";
  EXPECT_THAT(complaints_about(value), ElementsAre(HasSubstr("/attention/laws/0/engines/1/engine: expected \"vllm\"")));
  value["attention"]["laws"][0]["engines"] = nlohmann::json::array({engine});
  Findings findings;
  const Document document{.value = value, .source = {.file = "p.json"}, .pointer = {}, .name = "p"};
  const cost::Profile profile = read_profile(document.root(findings));
  const cost::EngineAttention& read = profile.attention.laws[0].engines.at(0);
  EXPECT_EQ(read.engine, cost::InferenceEngine::kTensorRtLlm);
  EXPECT_DOUBLE_EQ(read.cache_write->queries.value(), 500e9);
  EXPECT_DOUBLE_EQ(read.forward->peak.value(), 190e12);
  EXPECT_THAT(to_json_text(profile), HasSubstr("\"query_gb_per_s\": 500"));
}

TEST(ReadProfile, OneLineForEachMistake) {
  for (const auto& [name, patch, line] : kWrongProfiles) {
    SCOPED_TRACE(name);
    nlohmann::json value = shipped("a100-sxm4-80gb");
    value.merge_patch(nlohmann::json::parse(patch));
    EXPECT_THAT(complaints_about(value), ElementsAre(HasSubstr(line)));
  }
}

TEST(ReadProfile, EveryKindOfCollectiveAndBothMasksMustBeThere) {
  nlohmann::json value = shipped();
  value["nvlink"]["curves"] = nlohmann::json::array();
  EXPECT_EQ(complaints_about(value).size(), 6u);
  value = shipped();
  for (auto& law : value["attention"]["laws"]) law["causal"] = true;
  EXPECT_THAT(complaints_about(value), ElementsAre(HasSubstr("expected at least one law with \"causal\": false")));
}

}  // namespace
}  // namespace foretoken::io
